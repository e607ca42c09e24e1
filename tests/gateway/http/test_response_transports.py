"""The head of a response goes out with its body, and does not wait for one that is late."""

import asyncio

import pytest
import pytest_asyncio
from guarded_server import READ_SECONDS, EchoApp, serve

from gateway.http.response_transports import JoinedWrites


class RecordingTransport:
    """Records writes, each with all that goes out by it."""

    def __init__(self):
        self.writes = []
        self.closing = False

    def write(self, data):
        self.writes.append(data)

    def writelines(self, parts):
        self.writes.append(b"".join(parts))

    def is_closing(self):
        return self.closing

    def close(self):
        self.closing = True

    abort = close


@pytest.fixture
def transport():
    return RecordingTransport()


@pytest_asyncio.fixture
async def out(transport):
    return JoinedWrites(transport, asyncio.get_running_loop())


async def test_head_and_body_are_one_write(transport, out):
    out.expect_head()
    out.write(b"head ")
    out.write(b"body ")
    out.write(b"more")
    await asyncio.sleep(0)

    assert transport.writes == [b"head body ", b"more"]


async def test_a_head_alone_goes_out_in_the_next_turn_of_the_loop(transport, out):
    out.expect_head()
    out.write(b"head")
    assert transport.writes == []
    await asyncio.sleep(0)

    assert transport.writes == [b"head"]
    out.write(b"body")
    assert transport.writes == [b"head", b"body"]


async def test_100_continue_is_never_held(transport, out):
    out.expect_head()
    out.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    out.write(b"HTTP/1.1 200 OK\r\n\r\n")
    out.write(b"body")

    assert transport.writes == [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\nbody"]


async def test_nothing_is_written_to_a_connection_that_closes(transport, out):
    out.expect_head()
    out.write(b"head")
    transport.close()
    await asyncio.sleep(0)

    assert transport.writes == []


class StreamingApp(EchoApp):
    """Answers with a head at once, and with the body when its gate is opened."""

    async def __call__(self, scope, receive, send):
        headers = [(b"content-length", b"4")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await self.gate.wait()
        await send({"type": "http.response.body", "body": b"late"})


@pytest.mark.parametrize("method", ["GET", "POST", "HEAD"])
async def test_a_head_does_not_wait_for_its_body(method):
    app = StreamingApp()
    app.gate.clear()
    async with serve(app) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        request = f"{method} / HTTP/1.1\r\nHost: gateway.test\r\nContent-Length: 0\r\n\r\n"
        writer.write(request.encode())
        async with asyncio.timeout(READ_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
            app.gate.set()
            body = b"" if method == "HEAD" else await reader.readexactly(4)
        writer.close()

    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert body == (b"" if method == "HEAD" else b"late")
