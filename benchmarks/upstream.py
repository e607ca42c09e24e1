"""
Server of the fake upstreams in its own process, so that its CPU time is not measured.

    python -m benchmarks.upstream SECONDS

prints its address, and serves until its standard input ends; each response takes SECONDS.
"""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httptools
import uvloop

from benchmarks.corpus import Corpus


class Protocol(asyncio.Protocol):
    """HTTP/1.1 server protocol that answers a connection's requests one after the other."""

    def __init__(self, corpus: Corpus, seconds: float) -> None:
        self._corpus = corpus
        self._seconds = seconds
        self._parser = httptools.HttpRequestParser(self)
        self._target, self._body = b"", b""
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._target, self._body = b"", b""

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        reply = self._corpus.reply(self._target.decode(), self._body)
        head = (
            f"HTTP/1.1 200 OK\r\ncontent-type: {reply.content_type}\r\n"
            f"content-length: {len(reply.body)}\r\n\r\n"
        )
        answer = head.encode() + reply.body
        if self._seconds:
            asyncio.get_running_loop().call_later(self._seconds, self._transport.write, answer)
        else:
            self._transport.write(answer)


async def serve(seconds: float) -> None:
    """Serve until standard input ends; each response takes *seconds*."""
    loop = asyncio.get_running_loop()
    corpus = Corpus()
    server = await loop.create_server(
        lambda: Protocol(corpus, seconds), "127.0.0.1", 0, backlog=512
    )
    corpus.base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    print(corpus.base, flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


@contextmanager
def running(seconds: float = 0.0) -> Iterator[str]:
    """Start the server in a child process; yield its address. Each response takes *seconds*."""
    command = [sys.executable, "-m", "benchmarks.upstream", str(seconds)]
    with subprocess.Popen(  # noqa: S603 - our own module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            yield child.stdout.readline().strip()
        finally:
            child.stdin.close()
            child.wait(10)


if __name__ == "__main__":
    uvloop.run(serve(float(sys.argv[1])))
