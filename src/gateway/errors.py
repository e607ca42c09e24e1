"""Failures of the process itself: an unavailable database, and a command that cannot be done."""

from policy.refusals import Refusal
from policy.vocabulary import Code


class Overloaded(Refusal):
    """
    503: the request was shed, or the database did not answer.

    Without the database, authorization could be neither granted nor refused.
    """

    code = Code.OVERLOADED

    def __init__(self) -> None:
        super().__init__("The service is overloaded. Try again shortly.")


class CommandError(Exception):
    """A command failed for a reason that its message states and the operator may read."""
