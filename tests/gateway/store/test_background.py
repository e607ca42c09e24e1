"""Work of background tasks over several items."""

import asyncio

import pytest

from gateway.store.background import for_each


async def test_items_are_worked_on_side_by_side_up_to_the_bound():
    running, most = 0, 0

    async def work(number):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001 * (10 - number))
        running -= 1
        return number * number

    assert await for_each(range(10), work, concurrent=3) == [n * n for n in range(10)]
    assert most == 3


async def test_items_are_worked_on_in_order_one_after_another():
    ended = []

    async def work(number):
        await asyncio.sleep(0.001 * (3 - number))
        ended.append(number)

    await for_each(range(3), work)
    assert ended == [0, 1, 2]


async def test_a_failure_keeps_no_other_item_from_its_work():
    ended = []

    async def work(number):
        if number == 1:
            raise ValueError
        ended.append(number)

    with pytest.raises(ValueError):
        await for_each(range(3), work)
    assert ended == [0, 2]
