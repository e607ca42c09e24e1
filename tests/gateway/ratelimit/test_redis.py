"""Limits that processes share are exact; without Redis they are stricter, and never open."""

import asyncio
import json
import re
import subprocess
import sys
import time

import pytest
import pytest_asyncio
from database_servers import redis_server
from redis.asyncio import Redis

from gateway.app import assemble
from gateway.ratelimit.redis import RedisLimiter
from gateway.ratelimit.redis_client import RedisStore
from gateway.ratelimit.windows import questions
from gateway.settings import Settings
from policy.quota import Charge, RateLimitResult, Window

pytestmark = pytest.mark.slow

MINUTE = Window(60, 60)
HOUR = Window(300, 3600)
PATIENT = 5.0  # seconds: these tests count what Redis says, however busy the machine is

# One process of several: waits for the line "go", asks 200 times at once, prints what passed.
MEMBER = """
import asyncio, json, sys
from gateway.ratelimit.redis import RedisLimiter
from gateway.ratelimit.redis_client import RedisStore
from policy.quota import Charge, Window

async def main():
    redis = RedisStore(sys.argv[1], timeout_seconds=30)
    limiter = RedisLimiter(redis, processes=4)
    charges = [Charge("email:192.0.2.1", (Window(60, 60), Window(300, 3600)), 1, "192.0.2.1")]
    charges.append(Charge("token:1", (Window(1000, 60),), 1, "token:1"))
    await limiter.take([Charge("warm", (Window(60, 60),), 0)])
    print("ready", flush=True)
    sys.stdin.readline()
    verdicts = await asyncio.gather(*(limiter.take(charges) for _ in range(200)))
    passed = [verdict for verdict in verdicts if verdict.allowed]
    print(json.dumps({"passed": len(passed), "left": [verdict.remaining for verdict in passed]}))
    await redis.aclose()

asyncio.run(main())
"""


@pytest.fixture(scope="module", params=["one server", "cluster"])
def running(request, tmp_path_factory):
    """A Redis; that of a cluster refuses a script with keys in two slots."""
    folder = tmp_path_factory.mktemp("redis")
    with redis_server(folder, is_cluster=request.param == "cluster") as server:
        yield server


@pytest_asyncio.fixture
async def redis(running):
    client = Redis.from_url(running.url, decode_responses=True)
    await client.flushall()
    yield client
    await client.aclose()


@pytest_asyncio.fixture
async def limiters(redis, running):
    """Return what makes limiters of one group."""
    made = []

    def make(processes=4, timeout_seconds=PATIENT, prefix="agw"):
        made.append(RedisStore(running.url, prefix=prefix, timeout_seconds=timeout_seconds))
        return RedisLimiter(made[-1], processes=processes)

    yield make
    for store in made:
        await store.aclose()


def charge(key="email:192.0.2.1", cost=1, windows=(MINUTE, HOUR)):
    _, _, address = key.partition(":")
    return Charge(key, windows, cost, key if key.startswith("token:") else address)


async def passed(limiter, times, **options):
    verdicts = await asyncio.gather(*(limiter.take([charge(**options)]) for _ in range(times)))
    return sum(verdict.allowed for verdict in verdicts)


def test_exactly_60_of_800_calls_of_four_processes_pass(running, redis):
    members = [
        subprocess.Popen(
            [sys.executable, "-c", MEMBER, running.url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    assert [member.stdout.readline() for member in members] == ["ready\n"] * 4
    for member in members:
        member.stdin.write("go\n")
        member.stdin.flush()
    reports = [json.loads(member.communicate()[0]) for member in members]

    assert sum(report["passed"] for report in reports) == 60
    assert sorted(left for report in reports for left in report["left"]) == list(range(60))


async def test_every_charge_is_checked_before_any_is_counted(limiters, redis):
    limiter = limiters()
    full = charge("token:1", windows=(Window(1, 60),))
    await limiter.take([full])

    for _ in range(20):
        assert (await limiter.take([charge(), full])).allowed is False
    assert await redis.zcount("{agw:192.0.2.1}:email:192.0.2.1", 0, "(+inf") == 0
    assert (await limiter.take([charge(cost=0)])).remaining == 60


async def test_the_time_of_each_answer_is_measured(limiters, monkeypatch):
    limiter, heard = limiters(), []
    monkeypatch.setattr(limiter, "_on_answer", heard.append)
    for _ in range(3):
        await limiter.take([charge()])

    assert len(heard) >= 3
    assert min(heard) > 0


async def test_the_verdict_is_about_the_tightest_window(limiters):
    before = time.time()
    verdict = await limiters().take([charge(cost=2), charge("token:1", windows=(Window(9, 10),))])
    after = time.time()

    assert (verdict.allowed, verdict.limit, verdict.remaining) == (True, 9, 8)
    assert before + 10 <= verdict.reset <= after + 11


async def test_a_refusal_states_when_enough_slots_are_free(limiters, redis):
    limiter = limiters()
    seconds, microseconds = await redis.time()
    now = seconds * 1_000_000 + microseconds
    ages = {f"old{age}": now - age * 1_000_000 for age in range(1, 56)}
    await redis.zadd("{agw:192.0.2.1}:email:192.0.2.1", ages)

    verdict = await limiter.take([charge(cost=10)])
    # 55 are in the minute, 5 must leave it: they are 55, 54, 53, 52 and 51 seconds old.
    assert verdict == RateLimitResult(
        allowed=False, limit=60, remaining=5, reset=verdict.reset, retry_after=verdict.retry_after
    )
    assert verdict.retry_after in {8, 9}
    assert verdict.reset - int(now / 1_000_000) in {5, 6}


async def test_windows_roll(limiters):
    limiter = limiters()
    short = (Window(3, 1),)
    assert await passed(limiter, 10, windows=short) == 3

    await asyncio.sleep(1.05)
    assert await passed(limiter, 10, windows=short) == 3


async def test_redis_drops_requests_out_of_every_window(limiters, redis):
    await limiters().take([charge(windows=(Window(3, 1),))])
    await asyncio.sleep(1.2)

    assert await redis.keys("*") == []


async def test_a_charge_of_zero_stores_nothing(limiters, redis):
    assert (await limiters().take([charge(cost=0)])).remaining == 60

    assert await redis.keys("*") == []


async def test_an_emptied_store_is_refilled(limiters, redis):
    first, second = limiters(), limiters()
    assert await passed(first, 20) == 20
    assert await passed(second, 30) == 30

    await redis.flushall()
    assert (await first.take([charge(cost=0)])).remaining == 40
    assert (await second.take([charge(cost=0)])).remaining == 10
    assert await passed(first, 100) == 10


async def test_a_script_cache_that_was_emptied_is_filled_again(limiters, redis):
    limiter = limiters()
    await limiter.take([charge()])
    await redis.script_flush()

    assert (await limiter.take([charge()])).remaining == 58
    assert limiter._redis.lost is False


async def test_a_burst_beyond_the_connections_is_no_loss(limiters):
    limiter = limiters()
    assert await passed(limiter, 400) == 60
    assert limiter._redis.lost is False


# -- Redis lost ----------------------------------------------------------------------------------


@pytest_asyncio.fixture
async def lonely(tmp_path):
    """Return a Redis of this test alone, and a limiter of a group of four that uses it."""
    with redis_server(tmp_path) as server:
        store = RedisStore(server.url, prefix="agw")
        yield server, RedisLimiter(store, processes=4)
        await store.aclose()


async def test_a_busy_process_does_not_take_its_own_delay_for_a_loss(lonely):
    _, limiter = lonely
    await limiter.take([charge(cost=0)])

    async def busy():
        for _ in range(20):
            time.sleep(0.15)  # noqa: ASYNC251 - that is the case: nothing else may run
            await asyncio.sleep(0)

    hogging = asyncio.create_task(busy())
    assert await passed(limiter, 200) == 60
    hogging.cancel()
    assert limiter._redis.lost is False


async def test_without_redis_a_process_has_its_share(lonely):
    server, limiter = lonely
    server.kill()

    assert await passed(limiter, 200) == 15
    assert limiter._redis.lost is True


async def test_a_frozen_redis_opens_no_fresh_window(lonely):
    server, limiter = lonely
    assert await passed(limiter, 40) == 40
    server.freeze()

    assert await passed(limiter, 200) == 0
    server.thaw()


async def test_a_frozen_redis_is_tried_once_a_second(lonely, monkeypatch):
    server, limiter = lonely
    calls = 0
    run = limiter._run_script

    async def counting(*arguments):
        nonlocal calls
        calls += 1
        return await run(*arguments)

    monkeypatch.setattr(limiter, "_run_script", counting)
    server.freeze()
    for _ in range(50):
        await limiter.take([charge()])
    server.thaw()

    assert calls == 1


async def test_a_recovered_redis_receives_the_calls_of_the_outage(lonely):
    server, limiter = lonely
    assert await passed(limiter, 10) == 10
    server.kill()
    assert await passed(limiter, 100) == 5
    server.start()

    async def back():
        while limiter._redis.lost:
            await limiter.take([charge("other", cost=0)])
            await asyncio.sleep(0.05)

    await asyncio.wait_for(back(), 10)
    assert (await limiter.take([charge(cost=0)])).remaining == 45
    assert await passed(limiter, 100) == 45


async def test_a_group_that_loses_redis_stays_below_twice_the_limit(lonely):
    server, _ = lonely
    stores = [RedisStore(server.url, prefix="agw") for _ in range(4)]
    group = [RedisLimiter(store, processes=4) for store in stores]
    before = sum([await passed(limiter, 30) for limiter in group])
    server.kill()
    during = sum([await passed(limiter, 100) for limiter in group])

    assert before == 60
    assert during < 60
    for store in stores:
        await store.aclose()


async def test_deployments_with_different_prefixes_count_apart(limiters, redis):
    first, second = limiters(prefix="agw:1"), limiters(prefix="agw:2")
    for key in ("email:192.0.2.1", "token:1"):
        used = charge(key, cost=20, windows=(Window(20, 60),))
        assert (await first.take([used])).allowed is True
        assert (await first.take([used])).allowed is False
        assert (await second.take([used])).allowed is True

    assert sorted(await redis.keys("*")) == [
        f"{{agw:{number}:{owner}}}:{name}"
        for number in (1, 2)
        for owner, name in (("192.0.2.1", "email:192.0.2.1"), ("token:1", "token:1"))
    ]


def settings(folder, redis, **more):
    return Settings(
        _env_file=None,
        data_dir=folder,
        admin_token="the-admin-token-of-the-tests",
        secret_keys="a secret key of the tests",
        redis_url=redis.url,
        **more,
    )


async def test_the_database_tells_deployments_apart(running, tmp_path):
    prefixes = []
    for name in ("one", "one", "two"):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        async with assemble(settings(folder, running)).running() as gateway:
            prefixes.append(gateway.services.redis.prefix)

    assert prefixes[0] == prefixes[1] != prefixes[2]
    assert all(re.fullmatch("agw:[0-9a-f]{16}", prefix) for prefix in prefixes)


async def test_a_configured_prefix_is_used(running, tmp_path):
    configured = settings(tmp_path, running, redis_prefix="staging")
    async with assemble(configured).running() as gateway:
        assert gateway.services.redis.prefix == "staging"


async def test_a_question_about_one_window_forgets_nothing_of_the_others(limiters):
    """By a process that has seen no charge of the key, as one that explains a refusal."""
    second, hour = Window(5, 1), Window(10, 3600)
    counting, asking = limiters(), limiters()
    for _ in range(3):
        await counting.take([charge(windows=(second, hour))])
    await asyncio.sleep(1.1)  # the server's own clock counts

    asked = {
        window.seconds: (await asking.take([question])).remaining
        for window, question in questions(charge(windows=(second, hour)))
    }
    after = await counting.take([charge(windows=(second, hour), cost=0)])

    assert asked == {1: 5, 3600: 7}
    assert await passed(counting, 10, windows=(hour,)) == 7
    assert after.allowed
