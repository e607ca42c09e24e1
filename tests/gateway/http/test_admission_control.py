"""Callers have slots and queues of their own, served in turn; what finds no place is 503."""

import asyncio

import pytest
import pytest_asyncio
from waiting_application import READ, Slow, call, settled

from gateway.http import admission_control
from gateway.http.admission_control import BEGINNING, CALLERS, AdmissionControl, buffer_body
from gateway.http.caller_keys import CallerKeys
from gateway.http.middleware import CommonMiddleware
from policy.refusals import Refusal
from rest_compat import body as bodies


@pytest_asyncio.fixture
async def slow():
    return Slow()


@pytest.fixture(autouse=True)
def _settings(monkeypatch):
    """Refuse at once; let no turn of the loop be long on a busy machine."""
    monkeypatch.setattr(admission_control, "REFUSAL_SECONDS", 0.0)
    monkeypatch.setattr(admission_control, "REFUSALS_PER_SECOND", 1e9)
    monkeypatch.setattr(admission_control, "LONG_TURN_SECONDS", 60.0)


def control(*, running, waiting, observe_wait=None):
    """Return an admission control with so many places for each caller."""
    slots = CALLERS * running // admission_control.IDLE_FACTOR
    return AdmissionControl(slots, CALLERS * waiting, observe_wait)


@pytest.fixture
def middleware(slow):
    async def peek(scope):
        pass

    return CommonMiddleware(
        slow,
        read_rate_state=peek,
        admission=control(running=3, waiting=2),
        callers=CallerKeys(lambda scope: scope.get("client", "?")),
    )


async def begun(slots, *keys):
    """Begin a request for each key; return the tasks that wait for their slots."""
    tasks = [asyncio.create_task(slots.acquire(key)) for key in keys]
    await settled()
    return tasks


async def turns(slots, count):
    """Let *count* turns of the loop pass, by pages."""
    for _ in range(count):
        slots.release(await slots.acquire("page", limited=False))
        await settled()


async def test_requests_beyond_slots_and_queue_of_their_caller_are_503(middleware, slow):
    calls = [asyncio.create_task(call(middleware)) for _ in range(9)]
    await settled()
    assert (slow.running, [task.done() for task in calls]) == (3, [False] * 5 + [True] * 4)
    slow.go.set()
    statuses = [status for status, _ in await asyncio.gather(*calls)]

    assert statuses == [200] * 5 + [503] * 4
    assert slow.most == 3


async def test_a_full_queue_of_one_caller_refuses_no_other(middleware, slow):
    calls = [asyncio.create_task(call(middleware)) for _ in range(9)]
    others = [asyncio.create_task(call(middleware, client=name)) for name in "abc"]
    await settled()
    assert slow.running == 3 + 3
    slow.go.set()

    assert [status for status, _ in await asyncio.gather(*others)] == [200] * 3
    await asyncio.gather(*calls)


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
    monkeypatch.setattr(admission_control, "QUEUE_SECONDS", 0.02)
    running = [asyncio.create_task(call(middleware)) for _ in range(3)]
    await settled()

    assert [(await call(middleware))[0], (await call(middleware))[0]] == [503, 503]
    slow.go.set()
    assert [status for status, _ in await asyncio.gather(*running)] == [200] * 3


async def test_few_requests_begin_in_one_turn_of_the_loop(middleware, slow):
    slow.go.set()
    counts = []

    class Counting(Slow):
        async def __call__(self, scope, receive, send):
            counts[-1] += 1
            await slow(scope, receive, send)

    middleware.app = Counting()
    pages = [asyncio.create_task(call(middleware, path="/explorer/")) for _ in range(10)]
    while not all(task.done() for task in pages):
        counts.append(0)
        await asyncio.sleep(0)

    assert sum(counts) == 10
    assert max(counts) <= BEGINNING


async def test_queues_are_served_in_turn_and_each_oldest_first():
    slots, served = control(running=1, waiting=4), []

    async def visit(key, number):
        slot = await slots.acquire(key)
        served.append(f"{key}{number}")
        await asyncio.sleep(0)
        slots.release(slot)

    held = [await slots.acquire(key) for key in "ab"]
    visits = [asyncio.create_task(visit("a", number)) for number in range(3)]
    await settled()
    visits += [asyncio.create_task(visit("b", number)) for number in range(3)]
    await settled()
    for slot in held:
        slots.release(slot)
    await asyncio.gather(*visits)

    assert served == ["a0", "b0", "a1", "b1", "a2", "b2"]


async def test_slots_and_queues_are_divided_by_the_callers():
    slots = AdmissionControl(active=CALLERS, queued=2 * CALLERS)
    held = [await slots.acquire(number) for number in range(2 * CALLERS)]
    share = admission_control.IDLE_FACTOR // 2
    more = await begun(slots, *[0] * (share + 1))
    assert [task.done() for task in more] == [True] * (share - 1) + [False, True]
    assert more[-1].result() is None  # it is refused, and the one before it waits

    for slot in held[CALLERS:]:
        slots.release(slot)
    await settled()
    assert more[-2].result() is not None


async def test_there_are_fewer_slots_while_turns_of_the_loop_are_long(monkeypatch):
    slots = AdmissionControl(active=CALLERS, queued=80 * CALLERS)
    most = await begun(slots, *["a"] * 20)
    assert sum(task.done() for task in most) == admission_control.IDLE_FACTOR
    monkeypatch.setattr(admission_control, "LONG_TURN_SECONDS", 0.0)
    await turns(slots, 40)
    for task in most[: admission_control.IDLE_FACTOR]:
        slots.release(task.result())
    await settled()
    assert sum(task.done() for task in most) == admission_control.IDLE_FACTOR + 1

    monkeypatch.setattr(admission_control, "LONG_TURN_SECONDS", 60.0)
    await turns(slots, 100)
    assert sum(task.done() for task in most) == 2 * admission_control.IDLE_FACTOR


async def test_requests_that_wait_for_slow_peers_take_slots_of_their_callers_alone(monkeypatch):
    slots = AdmissionControl(active=1, queued=800)
    monkeypatch.setattr(admission_control, "LONG_TURN_SECONDS", 0.0)
    await turns(slots, 40)  # until there is one slot
    await slots.acquire("hangs")
    waiting = await begun(slots, "hangs", "works")
    assert [task.done() for task in waiting] == [False, False]

    monkeypatch.setattr(admission_control, "SLOW_SECONDS", 0.0)
    await turns(slots, 1)
    assert [task.done() for task in waiting] == [False, True]
    waiting[0].cancel()


async def test_refusals_are_sent_after_a_while_and_spread(monkeypatch):
    monkeypatch.setattr(admission_control, "REFUSAL_SECONDS", 0.05)
    monkeypatch.setattr(admission_control, "REFUSALS_PER_SECOND", 20)
    slots = AdmissionControl(active=0, queued=0)
    loop, ends = asyncio.get_running_loop(), []

    async def refused():
        began = loop.time()
        assert await slots.acquire("a") is None
        ends.append(loop.time() - began)

    await asyncio.gather(refused(), refused(), refused())
    assert [end >= least for end, least in zip(ends, (0.04, 0.09, 0.14), strict=True)] == [True] * 3
    assert slots._callers == {}


async def test_waits_are_observed_with_their_outcome(monkeypatch):
    monkeypatch.setattr(admission_control, "QUEUE_SECONDS", 0.05)
    waits = []

    def observe_wait(seconds, *, admitted):
        waits.append((seconds, admitted))

    slots = control(running=1, waiting=2, observe_wait=observe_wait)
    held = await slots.acquire("a")  # at once: no wait
    admitted, refused = await begun(slots, "a", "a")
    slots.release(held)

    assert await admitted is not None
    assert await refused is None
    assert [outcome for _, outcome in waits] == [True, False]
    assert waits[0][0] < 0.05 <= waits[1][0] + 0.002


async def test_a_request_that_waits_for_its_turn_alone_is_not_refused(monkeypatch):
    monkeypatch.setattr(admission_control, "QUEUE_SECONDS", 0.0)
    slots = control(running=BEGINNING + 1, waiting=1)
    monkeypatch.setattr(slots, "_next_turn", lambda: None)  # the loop is late
    for _ in range(BEGINNING):
        await slots.acquire("a")
    (waiting,) = await begun(slots, "a")
    await asyncio.sleep(0.01)  # the time in the queue is over
    assert not waiting.done()

    AdmissionControl._next_turn(slots)
    assert await waiting is not None


async def test_a_cancelled_waiter_is_skipped():
    slots = control(running=1, waiting=1)
    held = await slots.acquire("a")
    (gone,) = await begun(slots, "a")
    gone.cancel()
    await settled()

    (waiting,) = await begun(slots, "a")  # the queue has room for one again
    assert not waiting.done()
    slots.release(held)
    slots.release(await waiting)
    assert slots._callers == {}


async def test_a_slot_that_is_granted_to_a_cancelled_waiter_is_released():
    slots = control(running=1, waiting=2)
    held = await slots.acquire("a")
    gone, waiting = await begun(slots, "a", "a")
    slots.release(held)
    slots._next_turn()  # grants the slot
    gone.cancel()  # before the waiter sees it

    slots.release(await asyncio.wait_for(waiting, 5))
    assert slots._callers == {}


async def test_pages_and_probes_need_no_slot_and_wait_for_their_turn_alone(middleware, slow):
    busy = [asyncio.create_task(call(middleware)) for _ in range(5)]
    pages = [asyncio.create_task(call(middleware, path="/explorer/")) for _ in range(9)]
    await settled()
    assert slow.running == 3 + 9
    slow.go.set()
    assert [status for status, _ in await asyncio.gather(*busy, *pages)] == [200] * 14


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

    again = await buffer_body(READ, receive)
    assert len(left) == 2  # the first 64 KB are buffered, the rest streams
    assert [await again() for _ in pieces] == pieces


async def test_what_receiving_raises_is_raised_where_the_body_is_read(monkeypatch):
    monkeypatch.setattr(bodies, "READ_SECONDS", 0.01)
    first = [{"type": "http.request", "body": b"x", "more_body": True}]

    async def receive():
        if not first:
            await asyncio.Event().wait()
        return first.pop()

    again = await buffer_body(READ, bodies.PacedBody(receive, is_upload=False))
    assert (await again())["body"] == b"x"
    for _ in range(2):
        with pytest.raises(Refusal) as problem:
            await again()
        assert problem.value.code == "REQUEST_TIMEOUT"


@pytest.mark.parametrize(
    ("size", "waits"),
    [
        pytest.param(b"262144", True, id="as long as most bodies may be"),
        pytest.param(b"262145", False, id="longer"),
        pytest.param(b"1" * 4000, False, id="too long to be a number"),
    ],
)
async def test_a_body_announced_as_long_is_left_to_who_reads_it(size, waits):
    reads = []

    async def receive():
        reads.append(1)
        return {"type": "http.request", "body": b"x" * 65_536, "more_body": True}

    await buffer_body({**READ, "headers": [(b"content-length", size)]}, receive)
    assert bool(reads) is waits
