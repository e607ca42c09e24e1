"""Concurrency of an account: weights, order, cancelled waiters, and who shares the slots."""

import asyncio
import gc

import httpx
import pytest

from providers import registry
from providers.http.client import Origins, Upstream
from providers.http.slots import Slots
from providers.ports.connection import ConnectionInfo

BASE = "http://upstream.example"


class Meter:
    """Upstream that answers when it is told to, and counts what runs at once."""

    def __init__(self):
        self.running, self.most, self.go_on = [], 0, asyncio.Event()

    async def __call__(self, request):
        self.running.append(request.url.path)
        self.most = max(self.most, len(self.running))
        await self.go_on.wait()
        self.running.remove(request.url.path)
        return httpx.Response(200)


async def settle():
    for _ in range(20):
        await asyncio.sleep(0)


async def started(slots, weight, log):
    release = await slots.acquire(weight)
    log.append(weight)
    return release


async def test_a_heavy_call_waits_for_all_and_is_not_passed():
    slots, log = Slots(4), []
    release_first = await slots.acquire(1)
    heavy = asyncio.create_task(started(slots, 4, log))
    await settle()
    light = asyncio.create_task(started(slots, 1, log))
    await settle()
    assert log == []

    release_first()
    await settle()
    assert log == [4]

    (await heavy)()
    await light
    assert log == [4, 1]


async def test_a_weight_above_the_limit_takes_all():
    slots = Slots(4)
    release = await slots.acquire(8)
    waiting = asyncio.create_task(slots.acquire(1))
    await settle()
    assert not waiting.done()

    release()
    await asyncio.wait_for(waiting, 1)


@pytest.mark.parametrize("released_first", [False, True])
async def test_cancelled_waiters_keep_no_slots(released_first):
    slots, log = Slots(4), []
    release_first = await slots.acquire(2)
    heavy = asyncio.create_task(started(slots, 4, log))
    await settle()
    light = asyncio.create_task(started(slots, 2, log))
    await settle()
    if released_first:
        release_first()
    heavy.cancel()
    await settle()

    assert heavy.cancelled()
    (await light)()
    if not released_first:
        release_first()
    await asyncio.wait_for(slots.acquire(4), 1)


def opened(origins, number, *, kind="email", provider="PROVIDER_B", email="me@example.com"):
    info = ConnectionInfo(
        id=number, resource_id=1, kind=kind, provider=provider, account_email=email, base_url=BASE
    )
    return registry.open_upstream(origins, info, None)


@pytest.mark.parametrize(
    ("second", "most"),
    [
        pytest.param({"kind": "calendar"}, 4, id="mail and calendar of one account"),
        pytest.param({"email": "ME@Example.com"}, 4, id="another spelling"),
        pytest.param({"email": "you@example.com"}, 8, id="another account"),
        pytest.param({"provider": "COLLAB"}, 12, id="another service"),
        pytest.param({"email": ""}, 8, id="no address"),
    ],
)
async def test_connections_of_one_account_share_its_slots(second, most):
    meter = Meter()
    origins = Origins(transport=httpx.MockTransport(meter))
    upstreams = [opened(origins, 1), opened(origins, 2, **second)]
    calls = [
        asyncio.create_task(upstream.call("GET", f"{number}-{index}"))
        for index in range(10)
        for number, upstream in enumerate(upstreams)
    ]
    await settle()
    assert len(meter.running) == most
    meter.go_on.set()
    await asyncio.gather(*calls)
    assert meter.most == most


async def test_a_call_of_weight_four_runs_alone():
    meter = Meter()
    upstream = Upstream(
        Origins(transport=httpx.MockTransport(meter)), BASE, connection=1, concurrency=4
    )
    calls = [
        asyncio.create_task(upstream.call("GET", path, weight=weight))
        for path, weight in (("a", 1), ("b", 4), ("c", 4), ("d", 1))
    ]
    await settle()
    assert meter.running == ["/a"]
    meter.go_on.set()
    await asyncio.gather(*calls)
    assert meter.most == 1


@pytest.mark.slow
async def test_a_reconnected_account_keeps_to_the_slots_in_use():
    meter = Meter()
    origins = Origins(transport=httpx.MockTransport(meter))
    first = [asyncio.create_task(opened(origins, 1).call("GET", f"{n}")) for n in range(4)]
    await settle()
    origins.forget(1)
    gc.collect()
    second = asyncio.create_task(opened(origins, 1).call("GET", "later"))
    await settle()
    assert len(meter.running) == 4
    meter.go_on.set()
    await asyncio.gather(*first, second)
    assert meter.most == 4


@pytest.mark.parametrize(("processes", "most"), [(1, 4), (2, 2), (3, 1), (9, 1)])
async def test_a_process_has_its_share_of_the_slots(processes, most):
    meter = Meter()
    origins = Origins(transport=httpx.MockTransport(meter), processes=processes)
    upstream = Upstream(origins, BASE, connection=1, concurrency=4)

    calls = [asyncio.create_task(upstream.call("GET", str(number))) for number in range(6)]
    await settle()
    meter.go_on.set()
    await asyncio.gather(*calls)

    assert meter.most == most
    await origins.aclose()
