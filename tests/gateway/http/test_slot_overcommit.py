"""More requests than regular slots run at a time while the work of all of them is little."""

import asyncio

import pytest
from waiting_application import Slow, call, settled

from gateway.http import admission_control, caller_pacing
from gateway.http.admission_control import OVERCOMMIT_SECONDS, AdmissionControl
from gateway.http.middleware import CommonMiddleware
from providers.http.slots import QueuedCalls


def spacious():
    """Return one slot, and two for requests that have little work."""
    return AdmissionControl(active=1, queued=3, overcommit=2)


async def test_there_are_more_slots_while_the_admitted_requests_have_little_work():
    slots = spacious()
    little = OVERCOMMIT_SECONDS / 4
    assert [slots.acquire_free(little) for _ in range(4)] == [True] * 3 + [False]
    slots.release(little, detached=False)
    assert not slots.acquire_free(2.5 * little)  # too much with the other two
    assert slots.acquire_free(2 * little)


async def test_a_request_of_any_work_gets_a_regular_slot():
    slots = spacious()
    much = 2 * OVERCOMMIT_SECONDS
    assert [slots.acquire_free(much), slots.acquire_free(0.0)] == [True, False]
    slots.release(much, detached=False)
    assert slots.acquire_free(much)


async def test_there_are_no_more_slots_while_many_calls_wait_for_their_accounts():
    calls = QueuedCalls()
    slots = AdmissionControl(active=4, queued=3, overcommit=4, calls=calls)
    assert all(slots.acquire_free() for _ in range(4))
    calls.count = 2  # more than a quarter of four

    assert not slots.acquire_free()
    calls.count = 1
    assert slots.acquire_free()


@pytest.mark.parametrize("end", ["release", "detach", "detach_idle"])
async def test_the_work_of_a_request_without_a_slot_does_not_count(end):
    slots = spacious()
    work = OVERCOMMIT_SECONDS / 2
    assert [slots.acquire_free(work) for _ in range(3)] == [True, True, False]
    if end == "release":
        slots.release(work, detached=False)
    elif end == "detach":
        assert slots.detach(slots.completed, work)
    else:
        slots.detach_idle(work)
    assert [slots.acquire_free(work) for _ in range(2)] == [True, False]


async def test_a_request_with_little_work_does_not_pass_one_with_much_that_waits():
    slots, served = spacious(), []
    much = OVERCOMMIT_SECONDS

    async def visit(name, work):
        assert await slots.acquire(work)
        served.append(name)

    assert slots.acquire_free(much)
    waiting = [asyncio.create_task(visit("much", much)), asyncio.create_task(visit("little", 0.0))]
    await settled()
    assert (served, slots.acquire_free(0.0)) == ([], False)
    slots.release(much, detached=False)
    await asyncio.gather(*waiting)

    assert served == ["much", "little"]


async def test_one_release_admits_all_who_have_room_then():
    slots = spacious()
    much = OVERCOMMIT_SECONDS + 0.01
    assert slots.acquire_free(much)
    waiting = [asyncio.create_task(slots.acquire(0.001)) for _ in range(3)]
    await settled()
    slots.release(much, detached=False)
    await settled()

    assert [task.done() for task in waiting] == [True] * 3


@pytest.mark.parametrize("how", ["cancelled", "late"])
async def test_a_waiter_that_leaves_makes_room_for_one_with_less_work(how, monkeypatch):
    monkeypatch.setattr(admission_control, "MAX_QUEUE_SECONDS", 0.05)
    slots = spacious()
    half = OVERCOMMIT_SECONDS / 2
    assert slots.acquire_free(half)
    much = asyncio.create_task(slots.acquire(OVERCOMMIT_SECONDS))
    await settled()
    monkeypatch.setattr(admission_control, "MAX_QUEUE_SECONDS", 60)
    little = asyncio.create_task(slots.acquire(half))
    await settled()
    assert not little.done()
    if how == "cancelled":
        much.cancel()
    else:
        assert await much is False
    assert await asyncio.wait_for(little, 1) is True


async def test_requests_of_a_caller_that_had_little_work_overlap():
    async def peek(scope):
        pass

    slow = Slow()
    admission = AdmissionControl(active=2, queued=9, overcommit=14)
    middleware = CommonMiddleware(slow, read_rate_state=peek, admission=admission)
    calls = [asyncio.create_task(call(middleware)) for _ in range(9)]
    await settled()
    unknown_work = int(OVERCOMMIT_SECONDS / caller_pacing.FIRST_GUESS)
    assert slow.running == unknown_work < 9
    slow.go.set()
    await asyncio.gather(*calls)
    for _ in range(20):
        await call(middleware)

    slow.go.clear()
    calls = [asyncio.create_task(call(middleware)) for _ in range(9)]
    await settled()
    assert slow.running == 9
    slow.go.set()
    assert [status for status, _ in await asyncio.gather(*calls)] == [200] * 9
