"""Transport that answers from memory: for httpx, and for the gateway's own client."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import httpx

from benchmarks.corpus import Corpus, Reply

if TYPE_CHECKING:  # importing the gateway would distort the plain application's figures
    from providers.http.messages import Request


class FromMemory(httpx.AsyncBaseTransport):
    """Answers with the responses of the corpus."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response of the corpus, its body as a stream, as transports of httpx do."""
        body = await request.aread() if request.method == "POST" else b""
        reply = self._corpus.reply(request.url.raw_path.decode(), body)
        headers = {"content-type": reply.content_type, "content-length": str(len(reply.body))}
        return httpx.Response(200, headers=headers, stream=httpx.ByteStream(reply.body))

    async def send(self, request: "Request") -> "Arrived":
        """Return the same; see `providers.http.messages.Transport`."""
        body = request.body if isinstance(request.body, bytes) else b""
        return Arrived(self._corpus.reply(request.url.raw_path.decode(), body))


class Arrived:
    """A response that has arrived as a whole."""

    status = 200

    def __init__(self, reply: Reply) -> None:
        self._body = reply.body
        self.headers = [
            (b"content-type", reply.content_type.encode()),
            (b"content-length", b"%d" % len(reply.body)),
        ]

    def whole(self) -> bytes:
        return self._body

    def __aiter__(self) -> AsyncIterator[bytes]:
        raise NotImplementedError

    async def aclose(self) -> None:
        """Do nothing: nothing is open."""
