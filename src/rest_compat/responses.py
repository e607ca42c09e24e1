"""What goes back to the client: a status, bytes and headers, sent as one ASGI answer."""

from dataclasses import dataclass, replace

from starlette.types import Send

JSON = (b"content-type", b"application/json")


@dataclass(frozen=True, slots=True, kw_only=True)
class RestResponse:
    """
    A whole answer; an empty body has no content type.

    Attributes:
        upload: SHA-256 of the streamed bytes that it answers, to know them again; never sent.
        outcome: The status that says what became of the call, where another one is sent:
            GraphQL tells of failures under 200.
    """

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    upload_digest: bytes = b""
    outcome_status: int | None = None

    def with_headers(self, *headers: tuple[str, str]) -> "RestResponse":
        """Return the same answer with further headers."""
        return replace(self, headers=self.headers + headers)


async def send_response(answer: RestResponse, send: Send, *, head: bool) -> None:
    """Send *answer*; for HEAD without the body, with the length it would have had."""
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in answer.headers]
    if answer.status != 204:
        headers.append((b"content-length", str(len(answer.body)).encode()))
    if answer.body:
        headers.append(JSON)
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else answer.body})
