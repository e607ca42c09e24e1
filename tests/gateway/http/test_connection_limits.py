"""Slow, silent, oversized and many clients, over real sockets."""

import asyncio
import itertools
import json
import socket
from ipaddress import ip_network

import pytest
import pytest_asyncio
from guarded_server import exchange, serve, statuses

from gateway.http import connection_limits, protocol
from gateway.http.connection_limits import Limits
from gateway.http.protocol import GuardedProtocol

REQUEST = b"GET / HTTP/1.1\r\nHost: gateway.test\r\n\r\n"


class App:
    """Answers with the size of the body."""

    connection_limits = Limits(connections=20)

    async def __call__(self, scope, receive, send):
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            size += len(message["body"])
            more = message["more_body"]
        length = (b"content-length", str(len(str(size))).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": str(size).encode()})


@pytest.fixture(autouse=True)
def _short_deadlines(monkeypatch):
    """Shorten all deadlines to a tenth or less."""
    monkeypatch.setattr(connection_limits, "TICK", 0.02)
    monkeypatch.setattr(connection_limits, "HEAD_SECONDS", 0.2)
    monkeypatch.setattr(connection_limits, "DRAIN_IDLE_SECONDS", 0.1)
    monkeypatch.setattr(protocol, "DRAIN_PAUSE", 0.001)


@pytest_asyncio.fixture
async def port():
    async with serve(App()) as port:
        yield port


@pytest_asyncio.fixture
async def slow_port():
    """Serve an application that answers after the deadline of a head."""

    class SlowApp(App):
        async def __call__(self, scope, receive, send):
            await asyncio.sleep(0.25)
            await super().__call__(scope, receive, send)

    async with serve(SlowApp()) as port:
        yield port


@pytest_asyncio.fixture
async def connect(port):
    """Return a function that opens a connection."""
    opened = []

    async def open_one():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        opened.append(writer)
        return reader, writer

    yield open_one
    for writer in opened:
        writer.close()


async def read_to_end(reader):
    """Return all bytes until the server closes."""
    return await asyncio.wait_for(reader.read(), 5)


def status(answer):
    return int(answer.split(b" ", 2)[1])


def body(answer):
    return json.loads(answer.partition(b"\r\n\r\n")[2])


async def ask(reader, writer, request=REQUEST):
    """Return the body of an answer on a connection that stays open."""
    writer.write(request)
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
    assert status(head) == 200
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return await reader.readexactly(length)


async def test_a_silent_connection_is_closed_without_a_response(connect):
    reader, _ = await connect()
    assert await read_to_end(reader) == b""


async def test_an_endless_head_is_408(connect):
    reader, writer = await connect()

    async def drip():
        writer.write(b"GET / HTTP/1.1\r\nHost: gateway.test\r\n")
        while True:
            writer.write(b"X-A: b\r\n")
            await asyncio.sleep(0.05)

    dripping = asyncio.create_task(drip())
    answer = await read_to_end(reader)
    dripping.cancel()

    assert status(answer) == 408
    error = body(answer)
    assert error == {
        "error": "REQUEST_TIMEOUT",
        "message": "The request did not arrive in time.",
        "requestId": error["requestId"],
    }
    assert f"x-request-id: {error['requestId']}".encode() in answer
    for line in (b"connection: close", b"x-frame-options: DENY", b"referrer-policy: no-referrer"):
        assert line in answer


async def test_the_second_head_on_a_connection_has_a_deadline_as_well(connect):
    reader, writer = await connect()
    assert await ask(reader, writer) == b"0"
    writer.write(b"GET / HT")

    assert status(await read_to_end(reader)) == 408


async def test_blank_lines_do_not_keep_a_connection(connect):
    reader, writer = await connect()
    assert await ask(reader, writer) == b"0"
    writer.write(b"\r\n")

    assert await read_to_end(reader) == b""


async def test_a_head_in_two_pieces_is_a_request(connect):
    reader, writer = await connect()
    writer.write(REQUEST[:20])
    await asyncio.sleep(0.05)
    assert await ask(reader, writer, REQUEST[20:]) == b"0"

    await asyncio.sleep(0.25)  # longer than the deadline of a head
    assert await ask(reader, writer) == b"0"


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"X-A: b\r\n" * 100, id="101 lines"),
        pytest.param(b"X-A: " + b"b" * 33_000 + b"\r\n", id="one long line"),
        pytest.param(b"".join(b"X-%d: %s\r\n" % (n, b"b" * 700) for n in range(60)), id="40 KB"),
    ],
)
async def test_too_large_a_head_is_431(connect, head):
    reader, writer = await connect()
    writer.write(b"GET / HTTP/1.1\r\nHost: gateway.test\r\n" + head + b"\r\n")
    answer = await read_to_end(reader)

    assert (status(answer), body(answer)["error"]) == (431, "PAYLOAD_TOO_LARGE")


async def test_an_endless_large_head_is_431_before_it_ends(connect):
    reader, writer = await connect()
    writer.write(b"GET / HTTP/1.1\r\nHost: gateway.test\r\nX-A: " + b"b" * 40_000)

    assert status(await read_to_end(reader)) == 431


async def test_a_large_head_within_the_limits_is_a_request(connect):
    head = b"".join(b"X-%d: %s\r\n" % (n, b"b" * 300) for n in range(99))
    assert await ask(*await connect(), REQUEST[:-2] + head + b"\r\n") == b"0"


async def test_pipelined_requests_do_not_count_as_one_head(connect):
    reader, writer = await connect()
    writer.write(REQUEST * 400 + REQUEST[:10])
    for _ in range(400):
        assert await ask(reader, writer, b"") == b"0"
    assert await ask(reader, writer, REQUEST[10:]) == b"0"


async def test_data_that_are_not_http_are_400_in_the_error_shape(connect):
    reader, writer = await connect()
    writer.write(b"\x16\x03\x01 hello\r\n\r\n")
    answer = await read_to_end(reader)

    assert (status(answer), body(answer)["error"]) == (400, "VALIDATION_ERROR")


POST = b"POST / HTTP/1.1\r\nHost: gateway.test\r\nContent-Length: 3\r\n\r\nabc"


FIRST = {"POST": POST, "GET": REQUEST, "GET and POST": REQUEST + POST}
BEHIND = {
    "bytes beyond the length": (b"defghij", 400),
    "bytes that begin no line": (b"\x00\x00", 400),
    "another version": (b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    "a head without Host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "a long head": (b"GET / HTTP/1.1\r\nX: " + b"x" * 60_000, 431),
    "a head that does not end": (b"GET / HT", 408),
}


async def test_a_whole_request_is_answered_before_what_is_behind_it_ends_the_connection(slow_port):
    """All pairs at once: each waits for the deadline of a head."""
    pairs = list(itertools.product(FIRST, BEHIND))

    answers = await asyncio.gather(
        *(
            exchange(slow_port, FIRST[first] + BEHIND[behind][0], end=False)
            for first, behind in pairs
        )
    )

    assert {pair: statuses(answer) for pair, answer in zip(pairs, answers, strict=True)} == {
        (first, behind): [200] * (2 if first == "GET and POST" else 1) + [BEHIND[behind][1]]
        for first, behind in pairs
    }


async def test_the_application_alone_limits_a_body_before_its_response(connect):
    reader, writer = await connect()
    writer.write(b"POST / HTTP/1.1\r\nHost: gateway.test\r\nContent-Length: 4\r\n\r\nabc")
    await asyncio.sleep(0.25)  # longer than each deadline of a connection here

    assert await ask(reader, writer, b"d") == b"4"


async def too_large(scope, receive, send):
    """Answer without reading a byte of the body."""
    length = (b"content-length", b"3")
    await send({"type": "http.response.start", "status": 413, "headers": [length]})
    await send({"type": "http.response.body", "body": b"big"})


def send_all_then_read(port, head, body):
    """Act as a client that reads nothing before it has sent everything."""
    with socket.create_connection(("127.0.0.1", port), 5) as client:
        client.sendall(head)
        for _ in range(body // 65_536):
            client.sendall(b"x" * 65_536)
        client.shutdown(socket.SHUT_WR)
        with client.makefile("rb") as answer:
            return answer.read()


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"POST / HTTP/1.1\r\nConnection: close\r\n", id="to be closed"),
        pytest.param(b"POST / HTTP/1.0\r\n", id="HTTP/1.0"),
        pytest.param(b"POST / HTTP/1.1\r\n", id="to be kept"),
    ],
)
async def test_a_response_sent_before_the_body_is_read_arrives(port, monkeypatch, head):
    """20 MB are more than any buffer on the way; a reset would take the answer with it."""
    monkeypatch.setattr(connection_limits, "DRAIN_IDLE_SECONDS", 30.0)  # busy machines send late
    monkeypatch.setattr(App, "__call__", staticmethod(too_large))
    size = 20 * 1024 * 1024
    head += f"Host: gateway.test\r\nContent-Length: {size}\r\n\r\n".encode()

    answer = await asyncio.to_thread(send_all_then_read, port, head, size)

    assert status(answer) == 413
    assert answer.endswith(b"\r\n\r\nbig")


async def test_a_response_before_the_body_says_that_the_connection_ends(connect, monkeypatch):
    monkeypatch.setattr(App, "__call__", staticmethod(too_large))
    reader, writer = await connect()
    writer.write(b"POST / HTTP/1.1\r\nHost: gateway.test\r\nContent-Length: 500000\r\n\r\n")
    answer = await read_to_end(reader)

    assert answer.endswith(b"\r\nconnection: close\r\n\r\nbig")
    assert answer.count(b"connection: close") == 1


async def test_a_response_after_the_body_keeps_the_connection(connect):
    reader, writer = await connect()
    head = b"POST / HTTP/1.1\r\nHost: gateway.test\r\nExpect: 100-continue\r\n"
    writer.write(head + b"Content-Length: 100000\r\n\r\n")
    assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"

    assert await ask(reader, writer, b"x" * 100_000) == b"100000"
    assert await ask(reader, writer) == b"0"


async def test_an_unread_body_is_discarded_in_pieces_with_pauses(connect, monkeypatch):
    monkeypatch.setattr(App, "__call__", staticmethod(too_large))
    monkeypatch.setattr(protocol, "DRAIN_PAUSE", 60)
    discarded, discard = [], GuardedProtocol._discard
    monkeypatch.setattr(
        GuardedProtocol, "_discard", lambda self: (discarded.append(self), discard(self))
    )
    reader, writer = await connect()
    writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\n")
    assert status(await read_to_end(reader)) == 413
    for _ in range(50):
        writer.write(b"x" * 10_000)
        await asyncio.sleep(0)

    assert len(discarded) <= 1


@pytest.mark.slow
async def test_draining_an_unread_body_ends(port, monkeypatch):
    monkeypatch.setattr(App, "__call__", staticmethod(too_large))
    monkeypatch.setattr(connection_limits, "DRAIN_SECONDS", 0.5)
    head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 9999999999\r\n\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head)

    async def drip():
        while True:
            writer.write(b"x" * 1000)
            await writer.drain()
            await asyncio.sleep(0.02)

    assert status(await read_to_end(reader)) == 413
    with pytest.raises(ConnectionError):
        await asyncio.wait_for(drip(), 5)
    writer.close()


async def test_silent_and_slow_sockets_leave_room_for_honest_ones(connect):
    """20 connections are allowed; 60 come that never finish a request."""
    for turn in range(60):
        _, writer = await connect()
        writer.write([b"", b"GET / HT"][turn % 2])
        if turn % 10 == 0:
            assert await ask(*await connect()) == b"0"
    assert await ask(*await connect()) == b"0"


class Peer:
    """A connection without a socket."""

    def __init__(self, address):
        self.client = (address, 4711)
        self.phase = connection_limits.ConnectionPhase.IDLE
        self.dropped = False

    def drop(self):
        self.dropped = True


async def open_connections(**limits):
    return connection_limits.ConnectionTable(Limits(**limits), asyncio.get_running_loop())


async def test_connections_are_limited_per_address():
    table = await open_connections(per_address=3)
    peers = [Peer("192.0.2.1") for _ in range(5)]

    assert [table.add(peer) for peer in peers] == [True] * 3 + [False] * 2
    assert table.add(Peer("192.0.2.2")) is True
    table.remove(peers[0])
    assert table.add(peers[4]) is True
    assert table.add(peers[3]) is False


async def test_ipv6_addresses_are_limited_by_their_64_prefix():
    table = await open_connections(per_address=1)

    assert table.add(Peer("2001:db8::1")) is True
    assert table.add(Peer("2001:db8::2")) is False
    assert table.add(Peer("2001:db8:0:1::1")) is True


async def test_proxies_and_loopback_have_no_limit_per_address():
    table = await open_connections(per_address=1, proxies=(ip_network("10.0.0.0/8"),))

    assert [table.add(Peer("10.1.2.3")) for _ in range(5)] == [True] * 5
    assert [table.add(Peer("127.0.0.1")) for _ in range(5)] == [True] * 5


async def test_the_longest_idle_connection_is_closed_for_a_new_one():
    table = await open_connections(connections=3)
    first, second, third, fourth = (Peer(f"192.0.2.{n}") for n in range(4))
    for peer in (first, second, third):
        table.add(peer)
    table.unwatch(first)  # a whole request came

    assert table.add(fourth) is True
    assert [peer.dropped for peer in (first, second, third)] == [False, True, False]


async def test_busy_connections_make_no_room():
    table = await open_connections(connections=2)
    peers = [Peer(f"192.0.2.{n}") for n in range(3)]
    for peer in peers[:2]:
        table.add(peer)
        table.unwatch(peer)

    assert table.add(peers[2]) is False
