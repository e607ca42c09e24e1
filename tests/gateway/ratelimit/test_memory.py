"""Shared limits in one process without Redis: its share, counted from earlier requests."""

import pytest

from gateway.ratelimit.memory import MemoryLimiter
from policy.quota import Charge, RateLimitResult, Window

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


def passed(limiter, times, processes=4):
    return sum(
        limiter.take_share([charge()], f"n{n}", processes=processes).allowed for n in range(times)
    )


def test_a_share_is_the_limit_divided_by_the_processes(limiter):
    assert passed(limiter, 100) == 15


def test_a_limit_below_the_number_of_processes_is_closed(limiter):
    verdict = limiter.take_share([charge(windows=(Window(3, 60),))], "n", processes=4)

    assert verdict == RateLimitResult(
        allowed=False, limit=3, remaining=0, reset=1_000_060, retry_after=60
    )


def test_calls_before_the_loss_of_redis_count(limiter):
    limiter.count([charge(cost=14)], "before")

    assert passed(limiter, 100) == 1


def test_an_exhausted_share_refuses(limiter, clock):
    for n in range(40):
        limiter.count([charge()], f"before{n}")
        clock.now += 1

    verdict = limiter.take_share([charge()], "n", processes=4)
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
    limiter.take_share([full], "n", processes=4)

    assert limiter.take_share([charge(), full], "m", processes=4).allowed is False
    assert limiter.take_share([charge(cost=0)], "o", processes=4).remaining == 15


def test_idle_logs_are_forgotten(limiter, clock):
    passed(limiter, 1)
    clock.now += 4_000

    limiter.take_share([charge("email:192.0.2.2")], "n", processes=4)
    assert list(limiter._logs) == ["email:192.0.2.2"]
