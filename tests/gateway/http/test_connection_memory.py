"""One connection holds no more memory than its body, whatever it sends."""

import asyncio
import gc
import tracemalloc

import pytest
import pytest_asyncio
from guarded_server import EchoApp, exchange, serve, statuses

GET = b"GET / HTTP/1.1\r\nHost: gateway.test\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: gateway.test\r\nTransfer-Encoding: chunked\r\n\r\n"
TRAILERS = CHUNKED + b"5\r\nhello\r\n0\r\n"
UPGRADE = GET + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
PIECE = 64 * 1024
SENT = 8 * 1024 * 1024  # bytes, at most
MAX_GROWTH = 1024 * 1024
LINES = b"".join(b"X-%d: aaaa\r\n" % number for number in range(5000))


@pytest.fixture
def app():
    return EchoApp()


@pytest_asyncio.fixture
async def port(app):
    async with serve(app) as port:
        yield port


class Growth:
    """
    Growth of the process's Python memory over what it was, while a client floods a connection.

    Attributes:
        peak: Bytes.
        answer: All that the server sent.
        sent: Bytes that the client sent before the server ended the connection.
    """

    peak = sent = 0
    answer = b""


async def flood(port, first, repeated):
    """Send *first*, then *repeated* in pieces until the server ends the connection."""
    piece = repeated * max(1, PIECE // len(repeated))
    growth = Growth()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    gc.collect()
    tracemalloc.start()
    try:
        writer.write(first)
        while growth.sent < SENT and not reader.at_eof():
            writer.write(piece)
            growth.sent += len(piece)
            try:
                await asyncio.wait_for(writer.drain(), 0.5)
            except TimeoutError:  # the server has stopped reading
                break
            await asyncio.sleep(0)
        growth.peak = tracemalloc.get_traced_memory()[1]
        growth.answer = await asyncio.wait_for(reader.read(65536), 0.5)
    except (ConnectionError, TimeoutError):
        growth.peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        writer.transport.abort()
    return growth


# name -> (the beginning, what is repeated, the status of the first answer)
FLOODS = {
    "trailer lines": (TRAILERS, LINES[:4000], 431),
    "trailer lines of an answered request": (TRAILERS[:-3], LINES[:4000], 400),
    "one trailer line": (TRAILERS + b"X-A: ", b"a", 431),
    "one trailer name": (TRAILERS, b"a", 431),
    "chunk extension": (CHUNKED + b"5;a=", b"a", 431),
    "size of a chunk": (CHUNKED, b"0", 431),
    "extensions of many chunks": (CHUNKED, b"1;" + b"a" * 3000 + b"\r\nx\r\n", 431),
    "chunks of one byte": (CHUNKED, b"1\r\nx\r\n", 431),
    "header line": (GET + b"X-A: ", b"a", 431),
    "header lines": (GET, LINES[:4000], 431),
    "header name": (GET, b"a", 431),
    "target": (b"GET /", b"a", 431),
    "method": (b"", b"A", 400),
    "folded header": (GET + b"X-A: b\r\n", b" c\r\n", 400),
    "blank lines": (b"", b"\r\n", None),
    "frames after an offered upgrade": (UPGRADE, b"\x81\x05hello", None),
    "preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x00" * 9, 400),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOODS)
async def test_a_flood_is_not_stored(port, name):
    first, repeated, status = FLOODS[name]
    growth = await flood(port, first, repeated)

    assert growth.peak <= MAX_GROWTH
    if status not in (None, 200):
        assert statuses(growth.answer) == [status]


OFFER = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"


@pytest.mark.slow
@pytest.mark.parametrize("offer", [b"", OFFER])
async def test_pipelined_requests_wait_unparsed(app, port, offer):
    app.gate.clear()
    request = b"GET / HTTP/1.1\r\nHost: a\r\n" + offer + b"\r\n"
    growth = await flood(port, b"", request)

    assert growth.peak <= MAX_GROWTH
    assert len(app.requests) == 1


@pytest.mark.slow
async def test_all_pipelined_requests_are_answered_in_order(app, port):
    requests = [b"GET /%d HTTP/1.1\r\nHost: a\r\n\r\n" % number for number in range(2000)]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"".join(requests))
    for _ in requests:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
    writer.close()

    assert app.requests == [f"/{number}" for number in range(2000)]


@pytest.mark.parametrize("size", [1, 12, 16, 1000])
async def test_small_chunks_are_a_body(port, size):
    chunk = b"%x\r\n%b\r\n" % (size, b"x" * size)
    count = 5_000 if size == 1 else 20_000
    answer = await exchange(port, CHUNKED + chunk * count + b"0\r\n\r\n")

    assert b'"size": %d' % (size * count) in answer


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (b"X-A: b\r\n" * 100, 200),
        (b"X-A: b\r\n" * 101, 431),
        (b"X-A: " + b"b" * 32_000 + b"\r\n", 200),
        (b"X-A: " + b"b" * 32_768 + b"\r\n", 431),
    ],
)
async def test_trailers_have_the_limits_of_a_head(port, lines, status):
    answer = await exchange(port, TRAILERS + lines + b"\r\n")
    assert statuses(answer) == [status]


class Refusing(EchoApp):
    """Answers 429 and ends the connection, without reading the body."""

    async def __call__(self, scope, receive, send):
        headers = [(b"content-length", b"0"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 429, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


async def test_the_body_of_a_refused_request_goes_with_its_response():
    """Not with the garbage collector, which runs seldom: a flood would fill the memory by then."""
    body = b"x" * PIECE
    head = b"POST / HTTP/1.1\r\nHost: gateway.test\r\nContent-Length: %d\r\n\r\n" % (2 * PIECE)
    async with serve(Refusing()) as port:
        gc.disable()
        tracemalloc.start()
        try:
            for _ in range(100):
                assert statuses(await exchange(port, head + body)) == [429]
            held = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
            gc.enable()

    assert held <= 20 * PIECE
