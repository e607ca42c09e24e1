"""Response of the REST layer, sent as one ASGI message pair."""

from dataclasses import dataclass, replace

from starlette.types import Send

JSON = (b"content-type", b"application/json")


@dataclass(frozen=True, slots=True, kw_only=True)
class RestResponse:
    """
    A complete response; an empty body has no content type.

    Attributes:
        upload_digest: SHA-256 of the uploaded bytes, to recognise a retry; never sent.
        outcome_status: The status of the outcome, where another status is sent: GraphQL reports
            failures under 200.
    """

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    upload_digest: bytes = b""
    outcome_status: int | None = None

    def with_headers(self, *headers: tuple[str, str]) -> "RestResponse":
        """Return the same response with further headers."""
        return replace(self, headers=self.headers + headers)


async def send_response(response: RestResponse, send: Send, *, head: bool) -> None:
    """Send *response*; for HEAD without the body, but with the body's length."""
    headers = [(name.lower().encode(), value.encode("latin-1")) for name, value in response.headers]
    if response.status != 204:
        headers.append((b"content-length", str(len(response.body)).encode()))
    if response.body:
        headers.append(JSON)
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if head else response.body})
