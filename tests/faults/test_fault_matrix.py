"""
Every way an upstream can fail, for reads and for writes, over real sockets.

Each row names the failure that a call ends in and how many requests upstream saw; afterwards
nothing is left open and twenty healthy calls succeed. The list:
docs/spec/reliability.md#fault-matrix.
"""

import asyncio
import gzip
import tracemalloc
from dataclasses import dataclass

import pytest

from providers.failures import (
    Broken,
    Missing,
    NeedsReauth,
    ProviderFailure,
    Throttled,
    TimedOut,
    TooLarge,
    Unreachable,
)
from providers.http.client import Upstream
from providers.http.resilience import Throttle

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
SIZED = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
ZIPPED = "Content-Encoding: gzip\r\n"


async def silence(wire, request, number):
    await wire.gone()


async def close(wire, request, number):
    wire.close()


async def reset(wire, request, number):
    wire.reset()


async def reset_within_the_body(wire, request, number):
    await wire.send(SIZED + b"{")
    await asyncio.sleep(0.01)
    wire.reset()


async def short_body(wire, request, number):
    await wire.send(SIZED + b"{")
    wire.close()


async def cut_chunk(wire, request, number):
    await wire.send(CHUNKED + b"a\r\n{")
    wire.close()


async def garbage(wire, request, number):
    await wire.send(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n")
    await wire.gone()


async def huge_header(wire, request, number):
    await wire.send(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 2_000_000 + b"\r\n\r\n")
    await wire.gone()


async def damaged_gzip(wire, request, number):
    await wire.answer(b"\x1f\x8b\x08\x00 this is not gzip", headers=ZIPPED)


async def cut_gzip(wire, request, number):
    await wire.answer(gzip.compress(b'{"ok":true}')[:-6], headers=ZIPPED)


async def unknown_encoding(wire, request, number):
    await wire.answer(b"....", headers="Content-Encoding: br\r\n")


async def too_large(wire, request, number):
    await wire.send(CHUNKED)
    while True:
        await wire.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")


async def drip(wire, request, number):
    await wire.send(SIZED)
    while True:
        await wire.send(b" ")
        await asyncio.sleep(0.01)


async def drip_headers(wire, request, number):
    await wire.send(b"HTTP/1.1 200 OK\r\nX: ")
    while True:
        await wire.send(b"a")
        await asyncio.sleep(0.01)


def status(code: int, headers: str = "", body: bytes = b"{}"):
    async def script(wire, request, number):
        await wire.answer(body, status=code, headers=headers)

    return script


def once(script):
    async def first_only(wire, request, number):
        await (script(wire, request, number) if number == 1 else wire.answer())

    return first_only


@dataclass(frozen=True)
class Row:
    """
    One fault.

    *read*, *write*: the failure of a GET, of a POST; None: it succeeds. *reads*, *writes*: the
    requests upstream sees. *sent*: what a failed write says of itself.
    """

    script: object
    read: type[ProviderFailure] | None
    write: type[ProviderFailure] | None
    reads: int = 1
    writes: int = 1
    sent: bool | None = None


ROWS = {
    "accepts and never answers": Row(silence, TimedOut, TimedOut, sent=True),
    "closes before the answer": Row(close, Unreachable, Unreachable, reads=2, sent=True),
    "closes before the answer, once": Row(once(close), None, Unreachable, reads=2, sent=True),
    "resets before the answer": Row(reset, Unreachable, Unreachable, reads=2, sent=True),
    "resets within the body": Row(
        reset_within_the_body, Unreachable, Unreachable, reads=2, sent=True
    ),
    "short body": Row(short_body, Unreachable, Unreachable, reads=2, sent=True),
    "short body, once": Row(once(short_body), None, Unreachable, reads=2, sent=True),
    "cut chunk": Row(cut_chunk, Unreachable, Unreachable, reads=2, sent=True),
    "garbage status line": Row(garbage, Broken, Unreachable, sent=True),
    "2 MB header": Row(huge_header, Broken, Unreachable, sent=True),
    "damaged gzip": Row(damaged_gzip, Broken, Unreachable, sent=True),
    "cut gzip": Row(cut_gzip, Broken, Unreachable, sent=True),
    "an encoding nobody asked for": Row(unknown_encoding, Broken, Unreachable, sent=True),
    "endless body": Row(too_large, TooLarge, Unreachable, sent=True),
    "drip of body": Row(drip, TimedOut, TimedOut, sent=True),
    "drip of headers": Row(drip_headers, TimedOut, TimedOut, sent=True),
    "302 to a metadata address": Row(
        status(302, "Location: http://169.254.169.254/latest\r\n"), Broken, Broken
    ),
    "429 with a second": Row(status(429, "Retry-After: 1\r\n"), Throttled, Throttled),
    "429 with an hour": Row(status(429, "Retry-After: 3600\r\n"), Throttled, Throttled),
    "429 with nothing": Row(status(429), Throttled, Throttled),
    "503 with a wait": Row(status(503, "Retry-After: 9\r\n"), Throttled, Throttled),
    "503 once": Row(once(status(503)), None, Broken, reads=2),
    "503 always": Row(status(503), Broken, Broken, reads=2),
    "500 always": Row(status(500), Broken, Broken, reads=2),
    "501": Row(status(501), Broken, Broken),
    "504 always": Row(status(504), TimedOut, TimedOut, reads=2, sent=True),
    "keep-alive closed after each answer": Row(status(200, "Connection: close\r\n"), None, None),
}


async def attempt(
    upstream: Upstream,
    method: str,
    *,
    deadline: float = 0.9,  # less than a throttle's wait
) -> ProviderFailure | None:
    try:
        await upstream.call(
            method,
            "things",
            json={"a": 1} if method == "POST" else None,
            deadline=deadline,
            max_bytes=1024 * 1024,
        )
    except ProviderFailure as failure:
        return failure
    return None


@pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in ROWS.items()])
@pytest.mark.parametrize("method", ["GET", "POST"], ids=["read", "write"])
async def test_each_fault_maps_to_its_specified_failure(
    *, row, method, stub, origins, upstream, clock, caplog
):
    stub.script = row.script
    never_ends = row.script in {silence, drip, drip_headers}
    failure = await attempt(upstream, method, **{"deadline": 0.1} if never_ends else {})
    expected, requests = (row.read, row.reads) if method == "GET" else (row.write, row.writes)

    assert type(failure) is (type(None) if expected is None else expected)
    assert len(stub.asked) == requests
    if method == "POST" and row.sent is not None:
        assert failure.sent is row.sent
    assert origins.transport.busy == 0

    stub.script = status(200)
    clock.seconds += 3_600
    for _ in range(20):
        assert (await upstream.call("GET", "things")).status == 200
    assert caplog.records == []


@pytest.mark.parametrize("status_code", [429, 404])
@pytest.mark.parametrize("script", [damaged_gzip, too_large], ids=["damaged", "endless"])
async def test_a_refusal_whose_body_cannot_be_read_is_still_one(
    script, status_code, stub, upstream
):
    async def refuse(wire, request, number):
        send = wire.send

        async def other_status(data):
            await send(data.replace(b" 200 ", b" %d " % status_code, 1))

        wire.send = other_status
        await script(wire, request, number)

    stub.script = refuse
    with pytest.raises(Throttled if status_code == 429 else Missing):
        await upstream.call("POST", "things")


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_refused_connection_is_tried_twice_and_surely_not_sent(origins, method):
    upstream = Upstream(origins, "http://127.0.0.1:1", connection=1)
    failure = await attempt(upstream, method)

    assert type(failure) is Unreachable
    assert failure.sent is False


async def test_an_unknown_host_is_unreachable_and_surely_not_sent(origins):
    upstream = Upstream(origins, "http://nowhere.invalid", connection=1)
    with pytest.raises(Unreachable) as caught:
        await upstream.call("POST", "things", deadline=5.0)

    assert caught.value.sent is False


async def test_a_pool_timeout_is_an_unsent_timeout(origins, stub):
    stub.script = silence
    upstream = Upstream(origins, stub.url, connection=1, concurrency=1)
    first = asyncio.create_task(upstream.call("GET", "first"))
    await asyncio.sleep(0.05)
    with pytest.raises(TimedOut) as caught:
        await upstream.call("POST", "second", deadline=0.02)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)

    assert caught.value.sent is False
    assert [request.target for request in stub.asked] == ["/first"]


@pytest.mark.slow
async def test_a_gzip_bomb_costs_no_more_memory_than_the_limit(stub, upstream):
    bomb = gzip.compress(b"\0" * 300_000_000, compresslevel=1)

    async def script(wire, request, number):
        await wire.answer(bomb, headers=ZIPPED)

    stub.script = script
    tracemalloc.start()
    try:
        with pytest.raises(Broken):
            await upstream.call("GET", "bomb")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 32 * 1024 * 1024


class Renewing:
    """Credentials whose token number grows with each rejected one."""

    scheme = "Bearer"

    def __init__(self) -> None:
        self.number = 1

    async def token(self, *, rejected=None):
        if rejected == f"token-{self.number}":
            self.number += 1
        return f"token-{self.number}"


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_refused_token_is_renewed_once_and_the_call_made_again(stub, origins, method):
    async def script(wire, request, number):
        known = request.headers["authorization"] == "Bearer token-2"
        await wire.answer(status=200 if known else 401)

    stub.script = script
    upstream = Upstream(origins, stub.url, connection=1, credentials=Renewing())

    assert (await upstream.call(method, "a", content=b"body")).status == 200
    assert [request.body for request in stub.asked] == [b"body", b"body"]


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_token_refused_again_needs_a_person(stub, origins, method):
    stub.script = status(401)
    upstream = Upstream(origins, stub.url, connection=1, credentials=Renewing())
    with pytest.raises(NeedsReauth):
        await upstream.call(method, "a")

    assert len(stub.asked) == 2


async def test_a_spent_body_is_not_sent_again_after_a_renewal(stub, origins):
    async def body():
        yield b"once"

    stub.script = status(401)
    upstream = Upstream(origins, stub.url, connection=1, credentials=Renewing())
    with pytest.raises(Unreachable) as caught:
        await upstream.call("POST", "a", content=body())

    assert caught.value.sent is False
    assert len(stub.asked) == 1


async def test_no_call_is_made_before_a_throttle_ends(stub, upstream, clock):
    stub.script = once(status(429, "Retry-After: 30\r\n"))
    waits = []
    for seconds in (0, 10, 19.5, 1):
        clock.seconds += seconds
        try:
            await upstream.call("GET", "a")
        except Throttled as failure:
            waits.append(failure.retry_after)

    assert waits == [30, 20, 1]
    assert len(stub.asked) == 2


async def test_queued_calls_are_not_sent_during_a_throttle(stub, origins):
    stub.script = status(429, "Retry-After: 30\r\n")
    upstream = Upstream(origins, stub.url, connection=1, concurrency=1)
    results = await asyncio.gather(
        *(upstream.call("GET", str(n)) for n in range(10)), return_exceptions=True
    )

    assert [type(result) for result in results] == [Throttled] * 10
    assert len(stub.asked) == 1


async def test_throttles_without_a_time_are_guessed_longer_and_longer(stub, upstream, clock):
    stub.script = status(429)
    waits = []
    for _ in range(9):
        with pytest.raises(Throttled) as caught:
            await upstream.call("GET", "a")
        waits.append(caught.value.retry_after)
        clock.seconds += 3600

    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, Throttle.MAX_GUESS]


async def test_a_good_answer_ends_the_guessing(stub, upstream, clock):
    async def every_other(wire, request, number):
        await wire.answer(status=429 if number % 2 else 200)

    stub.script = every_other
    for _ in range(3):
        with pytest.raises(Throttled) as caught:
            await upstream.call("GET", "a")
        assert caught.value.retry_after == 1
        clock.seconds += 1
        await upstream.call("GET", "a")


async def test_a_throttle_of_one_connection_is_not_that_of_another(stub, origins):
    stub.script = once(status(429, "Retry-After: 30\r\n"))
    mine = Upstream(origins, stub.url, connection=1)
    yours = Upstream(origins, stub.url, connection=2)
    with pytest.raises(Throttled):
        await mine.call("GET", "a")

    assert (await yours.call("GET", "a")).status == 200


async def test_a_link_elsewhere_is_not_followed(start_stub, stub, origins):
    foreign = await start_stub()
    upstream = Upstream(origins, f"{stub.url}/v1.0", connection=1)
    for link in (
        f"{foreign.url}/v1.0/next",
        f"http://user@127.0.0.1:{stub.port}/v1.0/next",
        f"http://127.0.0.1:{stub.port}@127.0.0.1:{foreign.port}/v1.0/next",
        f"{stub.url}/v2.0/next",
        f"{stub.url}/v1.0/../admin",
        f"{stub.url}/v1.0/%2e%2e/admin",
        f"{stub.url}/v1.0/next#fragment",
        f"{stub.url}\\@127.0.0.1:{foreign.port}/v1.0/next",
        f"//127.0.0.1:{foreign.port}/v1.0/next",
        "/v1.0/next",
        "file:///etc/passwd",
        "",
    ):
        with pytest.raises(Broken):
            await upstream.follow(link)

    assert (foreign.accepted, stub.accepted) == (0, 0)


async def test_a_link_on_our_own_origin_is_followed_as_it_is(stub, origins):
    upstream = Upstream(origins, f"{stub.url}/v1.0", connection=1)
    await upstream.follow(f"{stub.url}/v1.0/me/messages?$skiptoken=a%2Fb%3D&$top=5")

    assert stub.asked[0].target == "/v1.0/me/messages?$skiptoken=a%2Fb%3D&$top=5"


async def test_retries_add_at_most_a_tenth_to_the_calls(stub, origins):
    """With the breaker out of the way: the budget alone bounds the retries."""
    stub.script = status(500)
    upstream = Upstream(origins, stub.url, connection=1)
    health = origins.health(1, stub.url, upstream._shared)
    health.breaker.CALLS = 10**9
    for _ in range(300):
        with pytest.raises(Broken):
            await upstream.call("GET", "a")

    assert len(stub.asked) <= 300 * 1.1 + health.budget.MAX


async def test_an_open_circuit_is_probed_by_one_call(stub, origins, clock):
    stub.script = status(500)
    upstream = Upstream(origins, stub.url, connection=1, concurrency=50)
    for _ in range(100):
        with pytest.raises((Broken, Unreachable)):
            await upstream.call("GET", "a")
    seen = len(stub.asked)

    clock.seconds += 5

    async def slow(wire, request, number):
        await asyncio.sleep(0.05)
        await wire.answer()

    stub.script = slow
    results = await asyncio.gather(
        *(upstream.call("GET", "a") for _ in range(20)), return_exceptions=True
    )

    assert seen <= 20
    assert sorted(type(result).__name__ for result in results) == ["CircuitOpen"] * 19 + [
        "Response"
    ]
    assert len(stub.asked) == seen + 1
    assert (await upstream.call("GET", "a")).status == 200


async def test_cancelled_calls_do_not_count_as_upstream_failures(stub, origins):
    stub.script = silence
    upstream = Upstream(origins, stub.url, connection=1, concurrency=5)
    for _ in range(10):
        calls = [asyncio.create_task(upstream.call("GET", "a")) for _ in range(5)]
        await asyncio.sleep(0.01)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
    stub.script = status(200)

    assert origins.transport.busy == 0
    assert (await upstream.call("GET", "a")).status == 200


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["closes before the answer", "short body", "drip of body"])
async def test_many_cancelled_and_failing_calls_leave_upstream_usable(fault, stub, origins):
    upstream = Upstream(origins, stub.url, connection=1, concurrency=8)
    for round_ in range(300):
        stub.script = ROWS[fault].script
        calls = [asyncio.create_task(upstream.call("POST", "a", deadline=0.5)) for _ in range(12)]
        await asyncio.sleep(0.001 * (round_ % 7))
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        assert origins.transport.busy == 0
    stub.script = status(200)
    origins.forget(1)
    answers = await asyncio.gather(*(upstream.call("GET", "a") for _ in range(100)))

    assert {answer.status for answer in answers} == {200}
