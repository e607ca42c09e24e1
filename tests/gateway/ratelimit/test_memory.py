"""Counting in the memory of one process: alone, and as its share of limits of all processes."""

import asyncio

import pytest

from gateway.ratelimit.memory import MemoryLimiter
from gateway.ratelimit.windows import UnlimitedCounter, configured_windows
from policy.quota import SURFACE_WINDOWS, Charge, RateLimitResult, Window

MINUTE = Window(60, 60)
HOUR = Window(300, 3600)


class Clock:
    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def limiter(clock):
    return MemoryLimiter(clock=clock)


def charge(key="email:192.0.2.1", cost=1, windows=(MINUTE, HOUR)):
    return Charge(key, windows, cost)


async def test_exactly_60_of_200_at_once_pass(limiter):
    verdicts = await asyncio.gather(*(limiter.take([charge()]) for _ in range(200)))

    assert sum(verdict.allowed for verdict in verdicts) == 60


async def test_a_verdict_is_about_the_tightest_window(limiter, clock):
    verdict = await limiter.take([charge()])

    assert verdict == RateLimitResult(
        allowed=True, limit=60, remaining=59, reset=int(clock.now) + 60, retry_after=0
    )


async def test_a_refusal_states_when_the_oldest_request_leaves(limiter, clock):
    await limiter.take([charge()])
    clock.now += 20.5
    for _ in range(59):
        await limiter.take([charge()])

    verdict = await limiter.take([charge()])
    assert verdict == RateLimitResult(
        allowed=False, limit=60, remaining=0, reset=1_000_060, retry_after=40
    )
    clock.now += 39.5
    assert (await limiter.take([charge()])).allowed is True
    assert (await limiter.take([charge()])).allowed is False


async def test_the_hour_counts_what_the_minutes_let_through(limiter, clock):
    for _ in range(5):
        for _ in range(60):
            assert (await limiter.take([charge()])).allowed is True
        clock.now += 61

    verdict = await limiter.take([charge()])
    assert (verdict.allowed, verdict.limit) == (False, 300)
    assert verdict.retry_after == 3600 - 5 * 61
    clock.now += verdict.retry_after
    assert (await limiter.take([charge()])).allowed is True


async def test_a_refused_call_is_counted_nowhere(limiter):
    full = charge("token:1", windows=(Window(1, 60),))
    await limiter.take([full])

    for _ in range(100):
        assert (await limiter.take([charge(), full])).allowed is False
    assert (await limiter.take([charge()])).remaining == 59


async def test_a_cost_above_one_takes_that_many_slots_or_none(limiter):
    assert (await limiter.take([charge(cost=50)])).remaining == 10
    assert (await limiter.take([charge(cost=11)])).allowed is False
    assert (await limiter.take([charge(cost=10)])).remaining == 0


async def test_a_cost_above_one_waits_until_there_is_room_for_all_of_it(limiter, clock):
    await limiter.take([charge(cost=1)])
    clock.now += 30
    await limiter.take([charge(cost=59)])
    clock.now += 1

    verdict = await limiter.take([charge(cost=3)])
    assert verdict == RateLimitResult(
        allowed=False, limit=60, remaining=0, reset=1_000_060, retry_after=59
    )
    clock.now += 58
    assert (await limiter.take([charge(cost=3)])).allowed is False
    clock.now += 1
    assert (await limiter.take([charge(cost=3)])).allowed is True


async def test_a_cost_above_the_limit_waits_a_whole_window(limiter):
    verdict = await limiter.take([charge(cost=61)])

    assert (verdict.allowed, verdict.remaining, verdict.retry_after) == (False, 60, 60)


async def test_a_charge_of_zero_counts_nothing(limiter):
    assert (await limiter.take([charge(cost=0)])).remaining == 60
    assert (await limiter.take([charge(cost=0)])).remaining == 60


async def test_addresses_do_not_share_a_window(limiter):
    await limiter.take([charge("email:192.0.2.1", cost=60)])

    assert (await limiter.take([charge("email:192.0.2.2")])).allowed is True


async def test_a_limit_of_zero_refuses_everything(limiter):
    verdict = await limiter.take([charge(windows=(Window(0, 60),))])

    assert (verdict.allowed, verdict.limit, verdict.retry_after) == (False, 0, 60)


async def test_a_charge_without_windows_is_allowed(limiter):
    assert (await limiter.take([charge(windows=())])).allowed is True
    assert (await limiter.take([])).allowed is True


async def test_the_unlimited_counter_counts_nothing():
    for _ in range(100):
        verdict = await UnlimitedCounter().take([charge()])

    assert (verdict.allowed, verdict.limit, verdict.remaining) == (True, 60, 60)


def test_settings_replace_the_windows_of_a_bucket():
    changed = configured_windows({"email": [(2, 10)]})

    assert changed["email"] == (Window(2, 10),)
    assert changed["collab"] == SURFACE_WINDOWS["collab"]


# -- the share of a process, without Redis


def passed(limiter, times, processes=4):
    numbers = range(1, times + 1)
    return sum(limiter.take_share([charge()], n, processes=processes).allowed for n in numbers)


def test_a_share_is_the_limit_divided_by_the_processes(limiter):
    assert passed(limiter, 100) == 15


def test_a_limit_below_the_number_of_processes_is_closed(limiter):
    verdict = limiter.take_share([charge(windows=(Window(3, 60),))], 1, processes=4)

    assert verdict == RateLimitResult(
        allowed=False, limit=3, remaining=0, reset=1_000_060, retry_after=60
    )


def test_calls_before_the_loss_of_redis_count(limiter):
    limiter.count([charge(cost=14)], 1000)

    assert passed(limiter, 100) == 1


def test_an_exhausted_share_refuses(limiter, clock):
    for n in range(40):
        limiter.count([charge()], 1000 + n)
        clock.now += 1

    verdict = limiter.take_share([charge()], 1, processes=4)
    # 26 of the 40 must leave the minute before one of 15 is free: the last of them came 15 s ago.
    assert verdict == RateLimitResult(
        allowed=False, limit=60, remaining=0, reset=1_000_060, retry_after=45
    )


def test_shares_roll_with_the_windows(limiter, clock):
    assert passed(limiter, 100) == 15
    clock.now += 59.5
    assert passed(limiter, 100) == 0
    clock.now += 0.5
    assert passed(limiter, 100) == 15


def test_the_hours_share_holds_over_the_minutes(limiter, clock):
    total = 0
    for _ in range(20):
        total += passed(limiter, 20)
        clock.now += 61

    assert total == 75


def test_every_charge_is_checked_before_any_is_counted(limiter):
    full = charge("token:1", windows=(Window(4, 60),))
    limiter.take_share([full], 1, processes=4)

    assert limiter.take_share([charge(), full], 2, processes=4).allowed is False
    assert limiter.take_share([charge(cost=0)], 3, processes=4).remaining == 15


def test_idle_logs_are_forgotten(limiter, clock):
    passed(limiter, 1)
    clock.now += 4_000

    limiter.take_share([charge("email:192.0.2.2")], 1, processes=4)
    assert list(limiter._logs) == ["email:192.0.2.2"]


@pytest.mark.parametrize("keys", [1, 5_000])
def test_what_is_kept_is_bounded_and_the_oldest_goes(clock, keys):
    """The memory of a process ends at a number of requests, of one key and of many."""
    limiter = MemoryLimiter(clock=clock, most=100_000)
    day = (Window(1_000_000, 86_400),)
    for second in range(300):
        clock.now += 1
        for number in range(10):
            limiter.take_share([charge(f"email:{(second * 10 + number) % keys}", 100, day)])
            assert sum(len(log.moments) for log in limiter._logs.values()) < 170_000

    newest = f"email:{2_999 % keys}"
    assert limiter._logs[newest].moments[-1] == int(clock.now) * 1_000_000
    assert limiter._logs[newest].moments[0] > (clock.now - 250) * 1_000_000
    assert limiter._logs[newest].moments.itemsize == 8
