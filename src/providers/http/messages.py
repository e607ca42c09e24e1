"""
Requests and incoming responses, between a call and the transport that carries it.

Transports of httpx (an ASGI app of this process, those of tests) are adapted by `HttpxTransport`.
"""

from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from typing import Protocol, cast, runtime_checkable

import httpx
import msgspec

Fields = Sequence[tuple[bytes, bytes]]


class Request(msgspec.Struct, kw_only=True):
    """
    A request, and whether it was sent.

    Attributes:
        origin: Of *url*: ``scheme://host:port``.
        fields: All headers but those of the body; names in lower case, but for the host's.
        lines: *fields* as they are sent, without the line break at the end.
        body: The length of chunks is sent when *length* is set.
        timeouts: Seconds per step: connect, pool, read, write.
        public: Whether the host must not be of this network.
        sent: Whether a byte may have left; the transport sets it.
    """

    method: str
    url: httpx.URL
    origin: str
    fields: Fields
    lines: bytes
    body: bytes | AsyncIterable[bytes] | None
    timeouts: Mapping[str, float | None]
    public: bool
    sent: bool = True


class IncomingResponse(Protocol):
    """
    A response whose head has arrived.

    Attributes:
        headers: Names in lower case.
    """

    status: int

    @property
    def headers(self) -> Fields: ...

    def whole(self) -> bytes | None:
        """Return the body if all of it has arrived, and was not read; else None."""

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def aclose(self) -> None:
        """Give up what has not arrived."""


@runtime_checkable
class Transport(Protocol):
    """Carries requests."""

    async def send(self, request: Request) -> IncomingResponse:
        """Send *request* and wait for the head of the response; errors are those of httpx."""


class HttpxTransport:
    """A transport of httpx as a `Transport`."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport

    async def send(self, request: Request) -> "_HttpxResponse":
        sent = httpx.Request(
            request.method,
            request.url,
            headers=list(request.fields),
            content=request.body,
            extensions={"timeout": request.timeouts, "public": request.public},
        )
        try:
            response = await self._transport.handle_async_request(sent)
        finally:
            request.sent = bool(sent.extensions.get("sent", True))
        return _HttpxResponse(response)


class _HttpxResponse:
    """A response of httpx as an `IncomingResponse`."""

    def __init__(self, response: httpx.Response) -> None:
        self.status = response.status_code
        self.headers = [(name.lower(), value) for name, value in response.headers.raw]
        # Not `aiter_raw`: it refuses responses whose content is set already, as an ASGI app's are.
        self._stream = cast("httpx.AsyncByteStream", response.stream)

    def whole(self) -> bytes | None:
        return None

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._stream.__aiter__()

    async def aclose(self) -> None:
        await self._stream.aclose()
