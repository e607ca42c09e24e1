"""The HTTP transport against a server that speaks in odd but valid, or invalid, ways."""

import asyncio

import httpx
import pytest
from run_sizes import times

from providers.http.transport import PooledTransport


async def test_one_connection_serves_calls_in_a_row(client, stub):
    for _ in range(3):
        assert (await client.get("/a")).json() == {"ok": True}

    assert stub.accepted == 1


async def test_no_more_connections_than_places(client, stub, transport):
    answers = await asyncio.gather(*(client.get(f"/{n}") for n in range(30)))

    assert [a.status_code for a in answers] == [200] * 30
    assert stub.accepted == 4
    assert transport.busy == 0


async def test_calls_that_wait_are_served_in_order(stub):
    transport = PooledTransport(max_connections=1)
    async with httpx.AsyncClient(transport=transport, base_url=stub.url) as client:
        await asyncio.gather(*(client.get(f"/{n}") for n in range(10)))

    assert [request.target for request in stub.asked] == [f"/{n}" for n in range(10)]


async def test_waiting_too_long_for_a_connection_is_a_pool_timeout(stub):
    async def silent(wire, request, number):
        await wire.gone()

    stub.script = silent
    transport = PooledTransport(max_connections=1)
    async with httpx.AsyncClient(transport=transport, base_url=stub.url) as client:
        first = asyncio.create_task(client.get("/first", timeout=None))
        await asyncio.sleep(0.02)
        with pytest.raises(httpx.PoolTimeout):
            await client.get("/second", timeout=httpx.Timeout(None, pool=0.01))
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert transport.busy == 0


ANSWERS = {
    "a length": (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", False),
    "chunks": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
        False,
    ),
    "chunks and a trailer": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n",
        False,
    ),
    "a hint before the answer": (
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        False,
    ),
    "the end of the connection": (b"HTTP/1.1 200 OK\r\n\r\nhello", True),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", True),
}


@pytest.mark.parametrize(("answer", "closes"), ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("cut", [None, 1], ids=["at once", "byte by byte"])
async def test_bodies_end_where_the_protocol_specifies(client, stub, answer, closes, cut):
    async def script(wire, request, number):
        for start in range(0, len(answer), cut or len(answer)):
            await wire.send(answer[start : start + (cut or len(answer))])
            await asyncio.sleep(0)
        if closes:
            wire.close()

    stub.script = script
    first = await client.get("/")
    second = await client.get("/")

    assert (first.content, second.content) == (b"hello", b"hello")
    assert "link" not in first.headers
    assert "x" not in first.headers
    assert stub.accepted == (2 if closes else 1)


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
        ("HEAD", b"HTTP/1.1 200 OK\r\n\r\n"),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
    ],
)
async def test_answers_without_a_body_do_not_wait_for_one(client, stub, method, answer):
    async def script(wire, request, number):
        await wire.send(answer)

    stub.script = script
    for _ in range(2):
        response = await client.request(method, "/")
        assert response.content == b""


async def test_headers_keep_their_order_and_repetitions(client, stub):
    async def script(wire, request, number):
        await wire.answer(headers="X-A: 1\r\nX-B: 2\r\nx-a: 3\r\n")

    stub.script = script
    answer = await client.get("/")

    assert answer.headers.get_list("x-a") == ["1", "3"]


async def test_surplus_data_is_never_the_next_response(client, stub):
    async def script(wire, request, number):
        good = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
        await wire.send(good + b"mine" + (good + b"evil" if number == 1 else b""))

    stub.script = script
    bodies = [(await client.get("/")).content for _ in range(3)]

    assert bodies == [b"mine"] * 3
    assert stub.accepted == 2


async def test_an_unasked_answer_on_an_idle_connection_is_thrown_away(client, stub):
    wires = []

    async def script(wire, request, number):
        wires.append(wire)
        await wire.answer()

    stub.script = script
    await client.get("/")
    await wires[0].answer(b"evil")
    await asyncio.sleep(0.02)

    assert (await client.get("/")).json() == {"ok": True}
    assert stub.accepted == 2


NOT_HTTP = {
    "a garbage status line": b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "an impossible status": b"HTTP/1.1 abc OK\r\n\r\n",
    "one header of 2 MB": b"HTTP/1.1 200 OK\r\nX: " + b"a" * 2_000_000 + b"\r\n\r\n",
    "20,000 headers": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
    "101 headers": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 101 + b"\r\n",
    "a garbage chunk size": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a chunk extension without end": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"e" * 200_000
    ),
    "a trailer without end": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + b"e" * 200_000
    ),
    "101 trailers": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"2000\r\n" + b"a" * 0x2000 + b"\r\n0\r\n" + b"X: y\r\n" * 101 + b"\r\n"
    ),
    "interim answers without end": b"HTTP/1.1 102 Processing\r\n\r\n" * 2000,
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "another protocol": b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
}


@pytest.mark.parametrize("answer", NOT_HTTP.values(), ids=NOT_HTTP)
async def test_invalid_http_is_a_protocol_error(client, stub, transport, answer):
    async def script(wire, request, number):
        await wire.send(answer)
        await wire.gone()

    stub.script = script
    with pytest.raises(httpx.RemoteProtocolError):
        await client.get("/")

    assert transport.busy == 0


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


async def test_small_chunks_cost_no_more_than_large_ones(client, stub):
    """The body is handed on once per read from the socket, however many chunks it came in."""
    lines = b"c\r\n" + b"a" * 12 + b"\r\n"

    async def script(wire, request, number):
        await wire.send(CHUNKED + lines * 100_000 + b"0\r\n\r\n")

    stub.script = script
    async with client.stream("GET", "/") as response:
        pieces = [piece async for piece in response.stream]

    assert b"".join(pieces) == b"a" * 1_200_000
    assert len(pieces) < 1000


@pytest.mark.parametrize(("size", "whole"), [(1, False), (8, False), (24, True)])
async def test_many_tiny_chunks_are_not_read_to_the_end(client, stub, size, whole):
    chunk = b"%x\r\n%b\r\n" % (size, b"a" * size)
    body_bytes = 0

    async def script(wire, request, number):
        await wire.send(CHUNKED + chunk * 200_000 + b"0\r\n\r\n")

    stub.script = script
    try:
        async with client.stream("GET", "/") as response:
            async for piece in response.stream:
                body_bytes += len(piece)
    except httpx.RemoteProtocolError:
        assert not whole
        assert body_bytes < 1024 * 1024
    else:
        assert whole
        assert body_bytes == 200_000 * size


async def test_headers_up_to_the_limit_are_read(client, stub):
    async def script(wire, request, number):
        await wire.answer(headers=f"X-Long: {'a' * 30_000}\r\n")

    stub.script = script

    assert len((await client.get("/")).headers["x-long"]) == 30_000


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_failure_on_a_new_connection_is_not_retried(client, stub, method):
    async def script(wire, request, number):
        wire.close()

    stub.script = script
    with pytest.raises(httpx.ReadError):
        await client.request(method, "/")

    assert len(stub.asked) == 1


async def close_the_second(wire, request, number):
    """Answer on a fresh connection; close at the second request on the same one."""
    if number == 2:
        wire.reset()
    else:
        await wire.answer()


async def test_a_read_on_a_stale_connection_is_made_once_more(client, stub):
    stub.script = close_the_second
    await client.get("/1")

    assert (await client.get("/2")).status_code == 200
    assert [request.target for request in stub.asked] == ["/1", "/2", "/2"]


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE", "PUT"])
async def test_a_write_on_a_stale_connection_is_not(client, stub, method):
    stub.script = close_the_second
    await client.get("/1")
    with pytest.raises(httpx.ReadError):
        await client.request(method, "/2")

    assert [request.target for request in stub.asked] == ["/1", "/2"]


@pytest.mark.parametrize(("reuse_seconds", "accepted"), [(60.0, 1), (0.0, 2)])
async def test_a_write_uses_a_recently_used_connection(stub, reuse_seconds, accepted):
    transport = PooledTransport(write_reuse_seconds=reuse_seconds)
    async with httpx.AsyncClient(transport=transport, base_url=stub.url) as client:
        await client.get("/")
        await client.get("/")
        assert stub.accepted == 1
        await client.post("/")

    assert stub.accepted == accepted


async def test_a_read_with_a_partial_response_is_not_retried(client, stub):
    async def script(wire, request, number):
        if number == 2:
            await wire.send(b"H")
            wire.close()
        else:
            await wire.answer()

    stub.script = script
    await client.get("/1")
    with pytest.raises(httpx.ReadError):
        await client.get("/2")

    assert len(stub.asked) == 2


async def test_a_connection_closed_after_its_answer_is_not_used_again(client, stub):
    async def script(wire, request, number):
        await wire.answer()
        wire.close()

    stub.script = script
    for _ in range(3):
        assert (await client.post("/", content=b"x")).status_code == 200
        await asyncio.sleep(0.01)

    assert len(stub.asked) == 3


async def test_idle_connections_are_closed_after_a_while(stub):
    transport = PooledTransport(idle_seconds=0.02)
    async with httpx.AsyncClient(transport=transport, base_url=stub.url) as client:
        await client.get("/")
        assert transport.open == 1
        await asyncio.sleep(0.1)
        assert transport.open == 0
        await client.get("/")

    assert stub.accepted == 2


async def pieces(*parts):
    for part in parts:
        await asyncio.sleep(0)
        yield part


async def test_a_body_of_unknown_length_is_sent_in_chunks(client, stub):
    await client.post("/", content=pieces(b"ab", b"", b"cde"))

    assert stub.asked[0].body == b"abcde"
    assert stub.asked[0].headers["transfer-encoding"] == "chunked"


async def test_a_body_of_known_length_is_sent_with_content_length(client, stub):
    await client.post("/", content=pieces(b"ab", b"cde"), headers={"content-length": "5"})

    assert stub.asked[0].body == b"abcde"
    assert "transfer-encoding" not in stub.asked[0].headers
    assert (await client.get("/")).status_code == 200
    assert stub.accepted == 1


@pytest.mark.parametrize("length", ["4", "6"], ids=["too long", "too short"])
async def test_a_body_that_differs_from_its_length_is_not_completed(
    client, stub, transport, length
):
    with pytest.raises(httpx.LocalProtocolError):
        await client.post("/", content=pieces(b"ab", b"cde"), headers={"content-length": length})

    assert [request.body for request in stub.asked] == []
    assert transport.busy == 0


async def test_a_body_whose_source_fails_is_not_completed(client, stub, transport):
    async def failing():
        yield b"half"
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await client.post("/", content=failing())

    assert stub.asked == []
    assert transport.busy == 0


@pytest.mark.slow
async def test_an_upload_reads_its_source_no_faster_than_upstream(stub, client):
    release = asyncio.Event()
    taken = 0

    async def on_head(wire):
        await release.wait()
        return False

    async def source():
        nonlocal taken
        for _ in range(1000):
            taken += 1
            yield b"x" * 65536

    stub.on_head = on_head
    upload = asyncio.create_task(client.post("/", content=source(), timeout=None))
    await asyncio.sleep(0.2)
    held = taken
    release.set()
    await upload

    assert held < 400  # of 1,000 pieces: the rest waits while the server reads nothing
    assert len(stub.asked[0].body) == 65_536_000


async def test_an_early_refusal_stops_an_upload(client, stub, transport):
    async def on_head(wire):
        await wire.answer(b"no", status=413)
        return True

    taken = 0

    async def source():
        nonlocal taken
        for _ in range(100_000):
            taken += 1
            await asyncio.sleep(0)
            yield b"x" * 1024

    stub.on_head = on_head
    answer = await client.post("/", content=source())

    assert answer.status_code == 413
    assert taken < 100_000
    assert transport.busy == 0


@pytest.mark.slow
async def test_a_download_is_read_no_faster_than_its_reader(client, stub):
    sent = 0

    async def script(wire, request, number):
        nonlocal sent
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 65536000\r\n\r\n")
        for _ in range(1000):
            await wire.send(b"x" * 65536)
            sent += 65536

    stub.script = script
    total = 0
    async with client.stream("GET", "/") as answer:
        await asyncio.sleep(0.2)
        held = sent
        async for piece in answer.aiter_raw():
            total += len(piece)

    assert held < 32 * 1024 * 1024
    assert total == 65_536_000
    assert (await client.get("/x")).status_code == 200


async def test_a_connection_that_was_held_back_to_the_end_reads_on_for_the_next(client, stub):
    async def script(wire, request, number):
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 263144\r\n\r\n" + b"x" * 250_000)
        await asyncio.sleep(0.02)
        await wire.send(b"x" * 13_144)

    stub.script = script
    async with client.stream("GET", "/1") as first:
        await asyncio.sleep(0.1)  # complete, and not yet read
        assert len((await client.get("/2")).content) == 263_144
        assert len(await first.aread()) == 263_144

    assert stub.accepted == 1


async def test_an_abandoned_download_frees_its_connection_slot(client, stub, transport):
    async def script(wire, request, number):
        await wire.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000\r\n\r\n" + b"x" * 1000)
        await wire.gone()

    stub.script = script
    for _ in range(10):
        async with client.stream("GET", "/") as answer:
            async for _ in answer.aiter_raw():
                break

    assert transport.busy == 0


@pytest.mark.parametrize("header", ["a\r\nX-Evil: 1", "a\nb", "a\0b"])
async def test_a_line_break_in_a_header_is_not_sent(client, stub, header):
    with pytest.raises(httpx.LocalProtocolError):
        await client.get("/", headers={"x": header})

    assert stub.accepted == 0


async def test_a_refused_connection_is_a_connect_error(transport):
    request = httpx.Request("GET", "http://127.0.0.1:1/")
    with pytest.raises(httpx.ConnectError):
        await transport.handle_async_request(request)

    assert request.extensions["sent"] is False
    assert transport.busy == 0


async def test_silence_is_a_read_timeout(client, stub, transport):
    async def script(wire, request, number):
        await wire.gone()

    stub.script = script
    with pytest.raises(httpx.ReadTimeout):
        await client.get("/", timeout=0.02)

    assert transport.busy == 0


@pytest.mark.slow
@pytest.mark.parametrize("storms", [pytest.param(times(10), id="storms")])
async def test_cancelled_calls_leak_no_connections(stub, storms):
    """The stock pool stays full for good after this (encode/httpcore#1093)."""

    async def script(wire, request, number):
        await asyncio.sleep(0 if number % 3 else 0.01)
        await wire.answer(b"x" * 100_000)

    stub.script = script
    transport = PooledTransport(max_connections=10)
    async with httpx.AsyncClient(transport=transport, base_url=stub.url, timeout=None) as client:
        for storm in range(storms):
            calls = [asyncio.create_task(client.get("/")) for _ in range(30)]
            for _ in range(storm % 23):
                await asyncio.sleep(0)
            if storm % 5 == 4:
                await asyncio.sleep(0.003)
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            assert transport.busy == 0

        answers = await asyncio.gather(*(client.get("/") for _ in range(100)))
        assert [a.status_code for a in answers] == [200] * 100
        assert transport.busy == 0
    await asyncio.sleep(0.05)

    assert transport.open == 0
    assert stub.open == 0
