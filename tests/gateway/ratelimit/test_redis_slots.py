"""Slots that processes share: never more than there are, in turns, and none lost for good."""

import asyncio

import pytest
import pytest_asyncio
from database_servers import redis_server
from redis.asyncio import Redis

from gateway.ratelimit.redis_client import RedisStore
from gateway.ratelimit.redis_slots import RedisSlots

pytestmark = pytest.mark.slow

ACCOUNT, ORIGIN = ("PROVIDER_B", "me@example.com"), "https://upstream.example:443"
PATIENT = 5.0  # seconds for Redis to answer, however busy the machine is


@pytest.fixture(scope="module", params=["one server", "cluster"])
def server(request, tmp_path_factory):
    """A Redis; that of a cluster refuses a script with keys in two slots."""
    folder = tmp_path_factory.mktemp("redis")
    with redis_server(folder, is_cluster=request.param == "cluster") as running:
        yield running


@pytest_asyncio.fixture
async def store(server):
    client = Redis.from_url(server.url, decode_responses=True)
    await client.flushall()
    yield client
    await client.aclose()


@pytest_asyncio.fixture
async def processes(store, server):
    """Return what makes the shared slots of a further process."""
    made = []

    def make(**options):
        redis = RedisStore(server.url, prefix="agw", timeout_seconds=PATIENT)
        process = RedisSlots(redis, **{"processes": 2, **options})
        made.append((process, redis))
        return process, process.open(ACCOUNT, ORIGIN, 4)

    yield make
    for process, redis in made:
        await process.aclose()
        await redis.aclose()


class Meter:
    """Counts what runs at once, and which process ran."""

    def __init__(self):
        self.running = self.most = 0
        self.order = []
        self.begun = asyncio.Event()

    async def call(self, slots, name, *, weight=1):
        release = await slots.acquire(weight)
        self.running += weight
        self.most = max(self.most, self.running)
        self.order.append(name)
        self.begun.set()
        await asyncio.sleep(0.002)
        self.running -= weight
        release()


async def test_two_processes_have_the_slots_of_one(processes):
    meter, sides = Meter(), {"a": processes()[1], "b": processes()[1]}

    calls = [(name, weight) for weight in (1, 4, 1, 2) * 8 for name in sides]
    await asyncio.gather(*(meter.call(sides[name], name, weight=weight) for name, weight in calls))

    assert meter.most == 4
    assert len(meter.order) == len(calls)


async def test_a_busy_process_has_all_slots_while_the_other_is_idle(processes):
    (_, busy), _ = processes(), processes()

    await asyncio.wait_for(asyncio.gather(*(busy.acquire(1) for _ in range(4))), 10)

    assert len(busy.held) == 4


async def test_a_process_with_many_waiters_does_not_keep_another_one_waiting(processes):
    meter, (_, busy), (_, calm) = Meter(), processes(), processes()
    crowd = [asyncio.create_task(meter.call(busy, "busy", weight=4)) for _ in range(30)]
    await meter.begun.wait()

    await meter.call(calm, "calm", weight=4)
    position = meter.order.index("calm")
    await asyncio.gather(*crowd)

    assert position < 15  # after the call that ran, the one that waited, and a few that raced


async def test_slots_of_a_dead_process_come_back_when_its_leases_end(processes):
    (dead, dead_slots), (_, living) = processes(lease_seconds=0.2), processes()
    for _ in range(4):
        await dead_slots.acquire(1)
    waiting = asyncio.create_task(living.acquire(1))
    for _ in range(3):  # a living process renews its leases
        await asyncio.sleep(0.1)
        await dead.renew()
    assert not waiting.done()

    await asyncio.wait_for(waiting, 10)


async def test_a_waiter_that_died_does_not_block_the_queue(processes, store):
    (_, first), (_, second) = processes(), processes()
    release = await first.acquire(4)
    queue, asked = (f"{{agw:slots:{first.key}}}:{part}" for part in ("queue", "asked"))
    await store.zadd(queue, {"dead.1:4": 1})
    await store.zadd(asked, {"dead.1:4": 1})

    release()
    await asyncio.wait_for(second.acquire(4), 10)

    assert await store.zcard(queue) == 0


async def test_cancelled_calls_keep_no_slots(processes):
    _, slots = processes()
    release = await slots.acquire(4)
    waiting = [asyncio.create_task(slots.acquire(2)) for _ in range(3)]
    await asyncio.sleep(0.05)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    release()

    await asyncio.wait_for(slots.acquire(4), 10)


async def test_without_redis_a_process_has_its_share_and_afterwards_what_runs_counts(
    processes, store
):
    process, slots = processes()
    process._redis._retry_at = float("inf")  # lost
    releases = [await slots.acquire(1) for _ in range(2)]
    third = asyncio.create_task(slots.acquire(1))
    await asyncio.sleep(0.05)
    assert not third.done()  # 4 slots, 2 processes

    process._redis._retry_at = (
        0.0  # back: the two that run are told to Redis with the next question
    )
    await asyncio.wait_for(third, 10)
    assert await store.zcard(f"{{agw:slots:{slots.key}}}:leases") == 3

    for release in releases:
        release()


async def test_a_frozen_redis_delays_a_call_by_its_timeout_alone(tmp_path):
    with redis_server(tmp_path) as own:
        redis = RedisStore(own.url, prefix="agw")
        process = RedisSlots(redis, processes=2)
        slots = process.open(ACCOUNT, ORIGIN, 4)
        own.freeze()
        release = await asyncio.wait_for(slots.acquire(1), 10)
        assert redis.lost
        own.thaw()
        release()
        process._redis._retry_at = 0.0
        (await asyncio.wait_for(slots.acquire(4), 10))()
        await process.aclose()
        await redis.aclose()

    assert not redis.lost


async def test_the_keys_hold_no_address(processes, store):
    _, slots = processes()
    await slots.acquire(1)

    assert [key for key in await store.keys("*") if "example" in key] == []
    assert all([await store.pttl(key) > 0 for key in await store.keys("*")])


async def test_a_call_is_one_script_and_one_command(processes, monkeypatch):
    process, slots = processes()
    calls, exchange = [], process._exchange

    async def counted(call):
        calls.append(call)
        return await exchange(call)

    monkeypatch.setattr(process, "_exchange", counted)
    for _ in range(3):
        (await slots.acquire(1))()
        await asyncio.gather(*process._tasks)

    assert len(calls) == 6
