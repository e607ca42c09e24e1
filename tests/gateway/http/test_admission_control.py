"""Requests get a slot, wait in the queue or are 503; slow senders hold no slot."""

import asyncio

import pytest
import pytest_asyncio
from waiting_application import READ, Slow, call, settled

from gateway.http import admission_control, caller_pacing
from gateway.http.admission_control import AdmissionControl, buffer_body
from gateway.http.middleware import CommonMiddleware


@pytest_asyncio.fixture
async def slow():
    return Slow()


@pytest.fixture
def middleware(slow):
    async def peek(scope):
        pass

    return CommonMiddleware(
        slow, read_rate_state=peek, admission=AdmissionControl(active=3, queued=2)
    )


async def test_requests_beyond_slots_and_queue_are_503(middleware, slow):
    calls = [asyncio.create_task(call(middleware)) for _ in range(9)]
    await settled()
    assert (slow.running, [task.done() for task in calls]) == (3, [False] * 5 + [True] * 4)
    slow.go.set()
    statuses = [status for status, _ in await asyncio.gather(*calls)]

    assert statuses == [200] * 5 + [503] * 4
    assert slow.most == 3


async def test_slots_are_released(middleware, slow):
    slow.go.set()
    for _ in range(20):
        assert (await call(middleware))[0] == 200


async def test_a_slot_is_released_when_the_client_disconnects(middleware, slow):
    calls = [asyncio.create_task(call(middleware)) for _ in range(5)]
    await settled()
    for task in calls:
        task.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    slow.go.set()

    again = [asyncio.create_task(call(middleware)) for _ in range(5)]
    assert [status for status, _ in await asyncio.gather(*again)] == [200] * 5


async def test_a_request_that_waits_too_long_is_503(middleware, slow, monkeypatch):
    monkeypatch.setattr(admission_control, "MAX_QUEUE_SECONDS", 0.02)
    running = [asyncio.create_task(call(middleware)) for _ in range(3)]
    await settled()

    assert [(await call(middleware))[0], (await call(middleware))[0]] == [503, 503]
    slow.go.set()
    assert [status for status, _ in await asyncio.gather(*running)] == [200] * 3


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(admission_control, "SLOT_SECONDS", 0.01)


@pytest.mark.usefixtures("impatient")
async def test_a_waiting_request_gives_up_its_slot(middleware, slow, monkeypatch):
    hanging = [asyncio.create_task(call(middleware)) for _ in range(3)]
    await asyncio.sleep(0.1)
    more = [asyncio.create_task(call(middleware)) for _ in range(3)]
    await settled()
    assert slow.running == 6
    slow.go.set()
    assert [status for status, _ in await asyncio.gather(*hanging, *more)] == [200] * 6

    slow.go.clear()
    monkeypatch.setattr(admission_control, "SLOT_SECONDS", 60)
    again = [asyncio.create_task(call(middleware)) for _ in range(9)]
    await settled()
    assert slow.running == 3  # no slot was released twice
    slow.go.set()
    assert sorted(status for status, _ in await asyncio.gather(*again)) == [200] * 5 + [503] * 4


async def test_slots_are_kept_while_other_requests_complete():
    slots = AdmissionControl(active=4, queued=0)
    assert [await slots.acquire() for _ in range(5)] == [True] * 4 + [False]
    before = slots.completed
    slots.release(detached=False)
    assert slots.detach(before)  # one of four completed meanwhile: the others hang
    assert [await slots.acquire() for _ in range(3)] == [True] * 2 + [False]

    slots.release(detached=False)
    assert not slots.detach(before)  # two of four: the worker is busy
    assert [await slots.acquire() for _ in range(2)] == [True, False]


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
async def test_the_number_of_detached_requests_is_limited(middleware, slow, monkeypatch):
    monkeypatch.setattr(admission_control, "DETACHED_PER_SLOT", 2)
    monkeypatch.setattr(admission_control, "MAX_QUEUE_SECONDS", 60)
    hanging = []
    for _ in range(4):
        hanging += [asyncio.create_task(call(middleware)) for _ in range(3)]
        await asyncio.sleep(0.1)
    assert slow.running == 9  # six detached, three in slots
    slow.go.set()
    statuses = [status for status, _ in await asyncio.gather(*hanging)]

    assert sorted(statuses) == [200] * 11 + [503]


@pytest.mark.parametrize(
    ("long", "order"),
    [
        pytest.param(60.0, [1, 2, 3], id="in order while waits are short"),
        pytest.param(0.0, [3, 2, 1], id="newest first when the oldest waits long"),
    ],
)
async def test_the_queue_is_newest_first_under_overload(monkeypatch, long, order):
    monkeypatch.setattr(admission_control, "OVERLOAD_SECONDS", long)
    slots, served = AdmissionControl(active=1, queued=3), []

    async def visit(number):
        assert await slots.acquire()
        served.append(number)
        slots.release(detached=False)

    assert await slots.acquire()
    visits = [asyncio.create_task(visit(number)) for number in (1, 2, 3)]
    await settled()
    slots.release(detached=False)
    await asyncio.gather(*visits)

    assert served == order
    assert await slots.acquire()


@pytest.mark.parametrize(
    ("gap", "seconds"),
    [
        pytest.param(0.001, 0.5, id="responses in 0.1 s leave the longest wait"),
        pytest.param(0.008, 0.1, id="responses in 0.8 s leave 0.1 s"),
        pytest.param(0.1, 0.05, id="slow responses leave the shortest wait"),
    ],
)
async def test_the_queue_time_shrinks_with_the_response_time(gap, seconds):
    slots = AdmissionControl(active=100, queued=10)
    for turn in range(200):
        slots._pace.record_release(turn * gap)

    assert slots._queue_seconds() == pytest.approx(seconds)


async def test_waits_are_observed_with_their_outcome(monkeypatch):
    monkeypatch.setattr(admission_control, "MAX_QUEUE_SECONDS", 0.05)
    waits = []

    def observe_wait(seconds, *, admitted):
        waits.append((seconds, admitted))

    slots = AdmissionControl(active=1, queued=2, observe_wait=observe_wait)
    assert await slots.acquire()  # at once: no wait
    admitted, refused = (asyncio.create_task(slots.acquire()) for _ in range(2))
    await settled()
    slots.release(detached=False)

    assert (await admitted, await refused) == (True, False)
    assert [outcome for _, outcome in waits] == [True, False]
    assert waits[0][0] < 0.05 <= waits[1][0]


async def test_a_cancelled_waiter_is_skipped():
    slots = AdmissionControl(active=1, queued=1)
    assert await slots.acquire()
    gone = asyncio.create_task(slots.acquire())
    await settled()
    gone.cancel()
    await settled()

    waiting = asyncio.create_task(slots.acquire())  # the queue has room for one again
    await settled()
    slots.release(detached=False)
    assert await waiting is True


async def test_pages_need_no_slot(middleware, slow):
    calls = [asyncio.create_task(call(middleware, path="/explorer/")) for _ in range(9)]
    await settled()
    assert slow.running == 9
    slow.go.set()
    await asyncio.gather(*calls)


async def test_slow_senders_hold_no_slot(middleware, slow):
    never = asyncio.Event()

    async def silent():
        await never.wait()

    async def send(message):
        pass

    stuck = [
        asyncio.create_task(middleware({**READ, "method": "POST"}, silent, send)) for _ in range(50)
    ]
    await settled()
    slow.go.set()
    assert (await call(middleware))[0] == 200
    for task in stuck:
        task.cancel()
    await asyncio.gather(*stuck, return_exceptions=True)


async def test_a_buffered_body_is_replayed():
    pieces = [
        {"type": "http.request", "body": b"x" * 40_000, "more_body": True},
        {"type": "http.request", "body": b"y" * 40_000, "more_body": True},
        {"type": "http.request", "body": b"z", "more_body": False},
        {"type": "http.disconnect"},
    ]
    left = list(pieces)

    async def receive():
        return left.pop(0)

    again = await buffer_body({**READ, "method": "POST"}, receive)
    assert len(left) == 2  # the first 64 KB are buffered, the rest streams
    assert [await again() for _ in pieces] == pieces


async def test_a_late_body_raises_timeout_where_it_is_read(monkeypatch):
    monkeypatch.setattr(admission_control, "BUFFER_SECONDS", 0.01)
    first = [{"type": "http.request", "body": b"x", "more_body": True}]

    async def receive():
        if not first:
            await asyncio.Event().wait()
        return first.pop()

    again = await buffer_body({**READ, "method": "POST"}, receive)
    assert (await again())["body"] == b"x"
    with pytest.raises(TimeoutError):
        await again()


UPLOAD = "/api/access/collab/files/upload"
ATTACHMENT = "/api/access/email/attachments"
LARGEST_FORM = 104_857_600 + 8_192  # bytes: the largest file, and the form around it


@pytest.mark.parametrize(
    ("path", "size", "waits"),
    [
        pytest.param(UPLOAD, LARGEST_FORM, True, id="an upload of the greatest size"),
        pytest.param(UPLOAD, LARGEST_FORM + 1, False, id="an upload that is too long"),
        pytest.param("/internal" + UPLOAD, LARGEST_FORM, True, id="an internal upload"),
        pytest.param(ATTACHMENT, LARGEST_FORM, True, id="an attachment of the greatest size"),
        pytest.param(ATTACHMENT, LARGEST_FORM + 1, False, id="an attachment that is too long"),
        pytest.param("/api/access/collab/folders", 4_194_304, True, id="JSON of the greatest size"),
        pytest.param("/api/access/collab/folders", 4_194_305, False, id="JSON that is too long"),
    ],
)
async def test_a_body_announced_as_too_long_is_not_awaited(path, size, waits):
    reads = []

    async def receive():
        reads.append(1)
        return {"type": "http.request", "body": b"x" * 65_536, "more_body": True}

    headers = [(b"content-length", str(size).encode())]
    await buffer_body({"method": "POST", "path": path, "headers": headers}, receive)
    assert bool(reads) is waits


async def test_a_caller_that_waits_too_long_for_its_turn_is_503(middleware, slow, monkeypatch):
    monkeypatch.setattr(caller_pacing, "WAIT_SECONDS", 0.01)
    heavy, other = ({"headers": [(b"authorization", name)]} for name in (b"heavy", b"other"))
    slow.go.set()
    await call(middleware, **heavy)
    account = middleware._pacing._accounts[caller_pacing.caller_of(heavy)]
    slow.go.clear()
    running = asyncio.create_task(call(middleware, **other))
    await settled()
    account.balance = -60.0

    assert (await call(middleware, **heavy))[0] == 503
    slow.go.set()
    assert (await running)[0] == 200
