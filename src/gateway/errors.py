"""Failures of the process itself: an unavailable database, and a command that cannot be done."""

from gateway.version import VERSION
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


def missing_module(module: str) -> str:
    """Name a module that is not installed, and the command that installs it with its extra."""
    wheel = f"access_gateway-{VERSION}-py3-none-any.whl"
    return (
        f"The module {module.partition('.')[0]} is not installed. The sandbox needs the extra "
        f"packages: pip install 'dist/{wheel}[demo]' (./run build makes the wheel)."
    )
