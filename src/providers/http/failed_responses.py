"""
Responses of upstreams that are failures, collected for the request that the running task serves.

Their texts are the upstream's own and may quote content: they are for administrators alone, and
are part of no failure, log line, metric or trace.
"""

from contextvars import ContextVar
from dataclasses import dataclass, field

from providers.http.response import Response

MAX_CHARACTERS = 1000  # of the text of a response
MAX_RESPONSES = 5  # of one request: the last ones
_MAX_BYTES = 4 * MAX_CHARACTERS  # of UTF-8 for as many characters


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedResponse:
    """
    A response that is a failure.

    Attributes:
        upstream, connection: As in `CallEvent`.
        status: None: no whole response came.
        text: The beginning of the body, in printable characters.
    """

    upstream: str
    connection: int | str | None
    status: int | None
    text: str = field(default="", repr=False)


FailedResponses = list[FailedResponse]

# Of the request that the running task serves; None collects none.
collected: ContextVar[FailedResponses | None] = ContextVar("failed_responses", default=None)


def collection() -> FailedResponses:
    """Return an empty collection; `collect` keeps the last `MAX_RESPONSES` in it."""
    return []  # not a deque, which takes 800 bytes before it holds anything


def collect(upstream: str, connection: int | str | None, response: Response) -> None:
    """Add *response* to the responses of the running request."""
    responses = collected.get()
    if responses is not None:
        text = _printable(response.body)
        responses.append(
            FailedResponse(
                upstream=upstream, connection=connection, status=response.status, text=text
            )
        )
        del responses[:-MAX_RESPONSES]


def _printable(body: bytes) -> str:
    """Return the beginning of *body*; control characters, which terminals obey, become blanks."""
    text = body[:_MAX_BYTES].decode("utf-8", "replace")[:MAX_CHARACTERS]
    return "".join(letter if letter.isprintable() else " " for letter in text).strip()
