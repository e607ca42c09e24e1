"""Response of the REST layer, sent as one ASGI message pair unless it is a stream."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from typing import Any

import msgspec
from starlette.types import Send

JSON = "application/json"


class Content(msgspec.Struct, frozen=True):
    """
    An opened file.

    Attributes:
        name: As its owner wrote it.
        mime_type: As its owner declared it.
        size: Bytes; None when it is known at the end only.
        chunks: The bytes, to be read once.
    """

    name: str
    mime_type: str | None
    size: int | None
    chunks: AsyncIterator[bytes]


class Stream(msgspec.Struct, frozen=True):
    """
    A body that is passed on as it arrives.

    Attributes:
        chunks: To be read once, inside *opened*. Raises `Refusal`.
        opened: To be left by the task that opened it, also after an error.
    """

    chunks: AsyncIterator[bytes]
    opened: AsyncExitStack


class RestResponse(msgspec.Struct, frozen=True, kw_only=True):
    """
    A complete response; an empty body has no content type.

    Attributes:
        upload_digest: SHA-256 of the uploaded bytes, to recognize a retry; never sent.
        outcome_status: The status of the outcome, where another status is sent: GraphQL reports
            failures under 200.
        kept_result: How the operation ended, without content, for `RequestEntry.repeat`; empty when
            that is not known; never sent.
        view: The intent's view of the run that made the response; never sent.
        hold: The id of the write that waits for a person; empty: none does. Never sent.
        stream: The body instead of *body*; `contents.send_stream` sends it.
        errors: What refused or failed, as GraphQL describes it; none of a replay; never sent.
        causes: The exceptions behind *errors*, in the same order; never sent.
        error: The code that the error body of REST shows; None where it shows none.
        framed: Whether *headers* have type and length of the body already.
        content_type: Of *body*.
    """

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    upload_digest: bytes = b""
    outcome_status: int | None = None
    kept_result: bytes = b""
    view: bytes = b""
    hold: str = ""
    stream: Stream | None = None
    errors: tuple[Mapping[str, Any], ...] = ()
    causes: tuple[BaseException, ...] = ()
    error: str | None = None
    framed: bool = False
    content_type: str = JSON

    def with_headers(self, *headers: tuple[str, str]) -> "RestResponse":
        """Return the same response with further headers."""
        if not headers:
            return self
        return msgspec.structs.replace(self, headers=self.headers + headers)


async def send_response(response: RestResponse, send: Send, *, head: bool) -> None:
    """Send *response*; for HEAD without the body, but with the body's length."""
    headers = []
    for name, value in response.headers:  # a comprehension costs a function more
        headers.append((name.lower().encode(), value.encode("latin-1")))
    if response.status != 204 and not response.framed:
        headers.append((b"content-length", str(len(response.body)).encode()))
    if response.body:
        headers.append((b"content-type", response.content_type.encode()))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else response.body})
