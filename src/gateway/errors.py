"""The answer when the database does not answer: 503, for whoever asked."""

from policy.refusals import Refusal
from policy.vocabulary import Code


class Overloaded(Refusal):
    """The database did not answer in time: nobody passes, and nobody is told no."""

    code = Code.OVERLOADED

    def __init__(self) -> None:
        super().__init__("The service is overloaded. Try again shortly.")
