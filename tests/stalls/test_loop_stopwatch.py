"""The stopwatch of the event loop measures turns, and not what waits or runs elsewhere."""

import asyncio
import time

import loop_stopwatch
import pytest

pytestmark = pytest.mark.stall

WORK = 0.05  # seconds
SOME = WORK / 2  # the clock of some systems ticks in steps of 15 ms


def work(seconds=WORK):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


async def test_the_longest_turn_counts():
    with loop_stopwatch.running() as watch:
        for _ in range(4):
            work(WORK / 4)
            await asyncio.sleep(0)
    several = watch.longest
    with loop_stopwatch.running() as watch:
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(work)
        await asyncio.sleep(0.001)

    assert several < watch.longest
    assert watch.longest >= SOME


@pytest.mark.parametrize("awaited", [(), (0,), (0, 0)], ids=["no turn", "one turn", "two turns"])
async def test_the_turns_of_the_block_itself_count(awaited):
    with loop_stopwatch.running() as first:
        work()
        for seconds in awaited:
            await asyncio.sleep(seconds)
    with loop_stopwatch.running() as last:
        for seconds in awaited:
            await asyncio.sleep(seconds)
        work()

    assert min(first.longest, last.longest) >= SOME


def test_a_call_that_runs_the_loop_is_measured():
    async def turn():
        await asyncio.sleep(0)
        work()

    with loop_stopwatch.running() as watch:
        asyncio.run(turn())

    assert watch.longest >= SOME


async def test_waiting_threads_and_excluded_work_do_not_count():
    excluded = 0.0

    with loop_stopwatch.running(lambda: excluded) as watch:
        await asyncio.sleep(WORK)
        await asyncio.to_thread(work)
        began = time.thread_time()
        work()
        excluded += time.thread_time() - began

    assert watch.longest < SOME


async def test_a_call_is_repeated_while_it_is_too_long(monkeypatch):
    monkeypatch.setattr(loop_stopwatch, "MOST_SECONDS", SOME)
    monkeypatch.setattr(loop_stopwatch, "slowdown", lambda: 1.0)
    stalls, durations = loop_stopwatch.Stalls(), [WORK, WORK, 0.0, WORK]

    async def call():
        work(durations.pop(0))
        return len(durations)

    assert await stalls.measure("shorter", call) == 1
    assert stalls.too_long() == {}
    durations[:] = [WORK] * loop_stopwatch.TRIES
    assert await stalls.measure("long", call) == 0
    assert list(stalls.too_long()) == ["long"]


async def test_a_machine_that_is_slow_before_and_after_a_call_is_allowed_for(monkeypatch):
    monkeypatch.setattr(loop_stopwatch, "MOST_SECONDS", SOME)
    speeds = [4.0, 4.0, *[1.0, 4.0] * loop_stopwatch.TRIES]
    monkeypatch.setattr(loop_stopwatch, "slowdown", lambda: speeds.pop(0))
    stalls = loop_stopwatch.Stalls()

    async def call():
        work()

    await stalls.measure("on a slow machine", call)
    await stalls.measure("slow", call)

    assert list(stalls.too_long()) == ["slow"]
