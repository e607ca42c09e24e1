"""Calls in a block with a time limit need no timer of their own; steps share one timer."""

import asyncio

import httpx
import pytest
from virtual_time import run

from providers.failures import TimedOut
from providers.fanout import with_timeout
from providers.http.client import Origins, Upstream
from providers.http.step_timer import StepTimer
from providers.http.time_limit import TimeLimit

BASE = "https://up.test"


def noted_timers(monkeypatch):
    """Return the list in which the due times of the timers of the running loop are noted."""
    loop, due = asyncio.get_running_loop(), []
    call_at = loop.call_at

    def noting(when, *rest, **more):
        due.append(when)
        return call_at(when, *rest, **more)

    monkeypatch.setattr(loop, "call_at", noting)
    return due


@pytest.fixture
async def timers(monkeypatch):
    return noted_timers(monkeypatch)


def upstream_of(server):
    origins, attempts = Origins(transport=httpx.MockTransport(server)), []
    origins.listener = attempts.append
    return Upstream(origins, BASE, connection=1), attempts


async def hanging(_):
    await asyncio.Event().wait()


async def answer(_):
    return httpx.Response(200, json={})


async def test_calls_of_one_block_have_one_timer_together(timers):
    upstream, attempts = upstream_of(answer)

    async def read():
        await upstream.call("GET", "first")
        await upstream.call("GET", "second")

    await with_timeout(read(), 15.0)

    assert len(timers) == 1
    assert [attempt.outcome for attempt in attempts] == ["200", "200"]


async def test_a_call_that_ends_before_its_block_has_a_timer_of_its_own(timers):
    upstream, _ = upstream_of(answer)

    await with_timeout(upstream.call("GET", "first", deadline=2.0), 15.0)

    assert len(timers) == 2


async def test_the_end_of_the_block_ends_a_call_and_counts_as_late():
    upstream, attempts = upstream_of(hanging)

    with pytest.raises(TimedOut):
        await with_timeout(upstream.call("GET", "first"), 0.02)

    assert [attempt.outcome for attempt in attempts] == ["late"]


async def test_a_stream_in_a_block_ends_with_it():
    upstream, attempts = upstream_of(hanging)

    async def read():
        async with upstream.stream("GET", "file") as streamed:
            return [chunk async for chunk in streamed.chunks]

    with pytest.raises(TimedOut):
        await with_timeout(read(), 0.02)

    assert [attempt.outcome for attempt in attempts] == ["late"]


async def test_a_call_of_another_task_outlives_the_block_with_its_own_timer(timers):
    release = asyncio.Event()

    async def waiting(_):
        await release.wait()
        return httpx.Response(200, json={})

    upstream, attempts = upstream_of(waiting)

    async def start():
        task = asyncio.create_task(upstream.call("GET", "shared"))
        await asyncio.sleep(0)
        return task

    task = await with_timeout(start(), 14.0)
    started = len(timers)
    release.set()
    await task

    assert started == 2  # the block's, and the task's, which is longer
    assert [attempt.outcome for attempt in attempts] == ["200"]


def test_limits_of_a_length_share_one_timer_and_end_one_by_one(monkeypatch):
    async def limited(delay):
        await asyncio.sleep(delay)
        with pytest.raises(TimeoutError), TimeLimit(1):
            await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    async def both():
        due = noted_timers(monkeypatch)
        return await asyncio.gather(limited(0), limited(0.25)), due

    ends, due = run(both())

    assert ends == [1, 1.25]
    # the second delay, the first limit, and the second limit once the first was over
    assert due == [0.25, 1, 1.25]


def test_a_limit_that_is_left_does_not_end_the_next_one():
    async def two_blocks():
        for _ in range(2):
            with TimeLimit(1):
                await asyncio.sleep(0.6)

    run(two_blocks())


async def test_a_limit_in_a_loop_of_its_own_has_its_timer_there():
    async def limited():
        with pytest.raises(TimeoutError), TimeLimit(1):
            await asyncio.Event().wait()

    with TimeLimit(1):
        await asyncio.sleep(0)
    await asyncio.to_thread(lambda: run(limited()))


async def test_a_limit_of_a_fraction_of_a_second_leaves_no_timer_behind(monkeypatch):
    loop, handles = asyncio.get_running_loop(), []
    call_at = loop.call_at
    monkeypatch.setattr(
        loop, "call_at", lambda *rest: handles.append(call_at(*rest)) or handles[-1]
    )

    with TimeLimit(12.5):
        pass

    assert [handle.cancelled() for handle in handles] == [True]


async def test_many_waits_of_a_length_share_one_timer(timers):
    loop, steps = asyncio.get_running_loop(), StepTimer(0.02)
    waits = [loop.create_future() for _ in range(50)]
    for wait in waits:
        steps.start(wait, httpx.ReadTimeout)
    for wait in waits[:-1]:
        steps.stop(wait)
    shared = len(timers)

    with pytest.raises(httpx.ReadTimeout):
        await waits[-1]

    assert shared == 1
    assert not any(wait.done() for wait in waits[:-1])


async def test_a_later_wait_gets_the_whole_time_of_a_step():
    loop, steps = asyncio.get_running_loop(), StepTimer(0.05)
    first, second = loop.create_future(), loop.create_future()
    steps.start(first, httpx.ReadTimeout)
    await asyncio.sleep(0.03)
    began = loop.time()
    steps.start(second, httpx.ReadTimeout)

    for wait in (first, second):
        with pytest.raises(httpx.ReadTimeout):
            await wait

    assert loop.time() - began >= 0.05
    steps.close()
