"""
Answers of upstreams that are failures, collected for the request that the running task serves.

Their texts are the upstream's own and may quote content: they are for administrators alone, and
are part of no failure, log line, metric or trace.
"""

from contextvars import ContextVar
from dataclasses import dataclass, field

from providers.http.response import Response

MAX_CHARACTERS = 1000  # of the text of an answer
MAX_ANSWERS = 5  # of one request: the last ones
_MAX_BYTES = 4 * MAX_CHARACTERS  # of UTF-8 for as many characters


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAnswer:
    """
    An answer that is a failure.

    Attributes:
        upstream, connection: As in `CallEvent`.
        status: None: no whole answer came.
        text: The beginning of the body, in printable characters.
    """

    upstream: str
    connection: int | str | None
    status: int | None
    text: str = field(default="", repr=False)


FailedAnswers = list[FailedAnswer]

# Of the request that the running task serves; None collects none.
collected: ContextVar[FailedAnswers | None] = ContextVar("failed_answers", default=None)


def collection() -> FailedAnswers:
    """Return an empty collection; `collect` keeps the last `MAX_ANSWERS` in it."""
    return []  # not a deque, which takes 800 bytes before it holds anything


def collect(upstream: str, connection: int | str | None, response: Response) -> None:
    """Add *response* to the answers of the running request."""
    answers = collected.get()
    if answers is not None:
        text = _printable(response.body)
        answers.append(
            FailedAnswer(
                upstream=upstream, connection=connection, status=response.status, text=text
            )
        )
        del answers[:-MAX_ANSWERS]


def _printable(body: bytes) -> str:
    """Return the beginning of *body*; control characters, which terminals obey, become blanks."""
    text = body[:_MAX_BYTES].decode("utf-8", "replace")[:MAX_CHARACTERS]
    return "".join(letter if letter.isprintable() else " " for letter in text).strip()
