"""Loops over many records let other tasks run."""

import asyncio
import time

from providers import turns


async def test_a_long_loop_gives_the_event_loop_its_turn(monkeypatch):
    now, beats = [0.0], []
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    async def beat():
        while True:
            beats.append(len(seen))
            await asyncio.sleep(0)

    seen: list[int] = []

    def passes(item):
        seen.append(item)
        now[0] += 0.009
        return item % 2

    beating = asyncio.create_task(beat())
    kept = await turns.filtered(range(10), passes)
    beating.cancel()

    assert kept == [1, 3, 5, 7, 9]
    assert beats == [3, 6, 9]


async def test_a_short_loop_takes_one_turn():
    other = asyncio.create_task(asyncio.sleep(0))

    assert [item async for item in turns.in_turns("abc")] == ["a", "b", "c"]
    assert not other.done()
    other.cancel()
