"""Throttles of every upstream: waits that are named, waits that are guessed, and their end."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from providers import registry
from providers.connectors.boards.graphql_client import BoardClient
from providers.failures import Throttled
from providers.http.client import Origins, Response
from providers.http.retry_after import named_wait, seconds_until_midnight, wait_for_budget
from providers.ports.connection import ConnectionInfo
from sandbox import app as sandbox
from sandbox import faults
from sandbox.http import json_response

BASE = "http://upstream.example"
# provider -> upstream of the sandbox
SIDES = {
    "PROVIDER_A": "providerA",
    "PROVIDER_B": "providerB",
    "COLLAB": "collab",
    "BOARDS": "tasks",
    "PROJECTS": "projects",
}
GROWING = [1, 2, 4, 8, 16, 32, 60, 60]


class Clock:
    """Time that passes only while somebody sleeps, or when the test says so."""

    def __init__(self):
        self.seconds = 1000.0
        self.sleeps = []

    def monotonic(self):
        return self.seconds

    def now(self):
        return self.seconds

    async def sleep(self, seconds):
        self.sleeps.append(seconds)
        self.seconds += seconds


class Fixed:
    """Credentials that never change."""

    def __init__(self, token, scheme):
        self._token, self.scheme = token, scheme

    async def token(self, *, rejected=None):
        return self._token


@pytest.fixture(name="clock")
def create_clock():
    return Clock()


@pytest.fixture(name="opened")
async def open_upstreams(clock):
    """Return a function that opens a provider: its `Upstream`, and the sandbox's side of it."""
    app = sandbox.create(None, public_base=BASE)
    origins = Origins(apps={BASE: app}, clock=clock)

    def opened(provider):
        name = SIDES[provider]
        mount = next(path for path, upstream in sandbox.MOUNTS.items() if upstream == name)
        token = app.state.tokens.issue(name, account="me@example.com", scopes=[])
        info = ConnectionInfo(
            id=1,
            resource_id=1,
            kind="any",
            provider=provider,
            account_email="me@example.com",
            base_url=f"{BASE}/{mount}",
        )
        scheme = "" if provider == "BOARDS" else "Bearer"
        return registry.open_upstream(origins, info, Fixed(token, scheme)), app.upstreams[name]

    yield opened
    await origins.aclose()


async def read(upstream, provider):
    if provider == "BOARDS":
        return await BoardClient(upstream).read("{boards(limit:1){id}}", dict)
    return await upstream.call("GET", "me")


def _answer(content):
    return lambda request, **_: json_response(content)


UNNAMED = {"message": "x", "extensions": {"code": "maxConcurrencyExceeded"}}
OWN_KINDS = {"good": _answer({"data": {}}), "unnamed": _answer({"errors": [UNNAMED]})}


def throttle(side, kind="429", **fault):
    side.own_faults = {**side.own_faults, **OWN_KINDS}
    side.faults.append(faults.parse_fault({"kind": kind, **fault}, own_kinds=side.own_faults))


async def refused(upstream, provider):
    with pytest.raises(Throttled) as caught:
        await read(upstream, provider)
    return caught.value.retry_after


@pytest.mark.parametrize("provider", SIDES)
async def test_throttles_that_name_no_wait_grow_until_an_answer(opened, clock, provider):
    upstream, side = opened(provider)
    throttle(side, count=8)
    waits = []
    for _ in range(8):
        waits.append(await refused(upstream, provider))
        clock.seconds += waits[-1]

    assert waits == GROWING

    throttle(side, "good", count=1)
    await read(upstream, provider)
    throttle(side, count=1)
    assert await refused(upstream, provider) == 1


@pytest.mark.parametrize(
    ("provider", "reason"),
    [
        ("PROVIDER_A", "rateLimitExceeded"),
        ("PROVIDER_A", "userRateLimitExceeded"),
        ("PROVIDER_A", "concurrentLimitExceeded"),
        ("PROVIDER_B", "ApplicationThrottled"),
        ("COLLAB", "activityLimitReached"),
    ],
)
async def test_throttles_of_another_status_grow_as_well(opened, clock, provider, reason):
    upstream, side = opened(provider)
    throttle(side, "403", reason=reason, count=8)
    waits = []
    for _ in range(8):
        waits.append(await refused(upstream, provider))
        clock.seconds += waits[-1]

    assert waits == GROWING


async def test_throttles_inside_good_answers_grow_until_a_good_one(opened, clock):
    upstream, side = opened("BOARDS")

    throttle(side, "unnamed", count=8)
    waits = []
    for _ in range(8):
        waits.append(await refused(upstream, "BOARDS"))
        clock.seconds += waits[-1]

    assert waits == GROWING

    throttle(side, "good", count=1)
    await read(upstream, "BOARDS")
    throttle(side, "unnamed", count=1)
    assert await refused(upstream, "BOARDS") == 1


async def test_the_remembered_wait_is_told_and_nothing_is_sent_meanwhile(opened, clock):
    upstream, side = opened("PROVIDER_A")
    throttle(side, count=3)
    for wait in (1, 2, 4):
        assert await refused(upstream, "PROVIDER_A") == wait
        clock.seconds += wait if wait < 4 else 1

    assert [await refused(upstream, "PROVIDER_A") for _ in range(2)] == [3, 3]
    assert len(side.calls) == 3


@pytest.mark.parametrize("kind", ["429", "403"])
async def test_a_time_in_the_text_of_provider_a_is_the_wait(opened, kind):
    upstream, side = opened("PROVIDER_A")
    throttle(side, kind, reason="userRateLimitExceeded", retryAfter=37, count=1)

    assert await refused(upstream, "PROVIDER_A") == 37


MONDAY_NOON = datetime(2026, 3, 2, 12, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("provider", "fault", "wait"),
    [
        ("PROVIDER_A", {"kind": "403", "reason": "dailyLimitExceeded"}, 20 * 3600),
        ("PROVIDER_A", {"kind": "403", "reason": "quotaExceeded"}, 3600),
        ("BOARDS", {"kind": "dailyLimit"}, 12 * 3600),
        ("BOARDS", {"kind": "429", "reason": "DAILY_LIMIT_EXCEEDED"}, 12 * 3600),
    ],
)
async def test_a_quota_of_the_day_lasts_until_its_reset(opened, monkeypatch, provider, fault, wait):
    upstream, side = opened(provider)
    throttle(side, **fault)
    monkeypatch.setattr("time.time", lambda: MONDAY_NOON)

    assert await refused(upstream, provider) == wait


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("User-rate limit exceeded.  Retry after 2026-03-02T12:00:30.000Z", 30),
        ("… retry after 2026-03-02T12:00:30.200Z (Mail sending)", 31),
        ("Retry after 2026-03-02T13:00:00+01:00", 1),
        ("Retry after 2026-03-02T12:01:00", 60),
        ("Retry after 2020-01-01T00:00:00Z", 1),
        ("Retry after 9999-01-01T00:00:00Z", 86_400),
        ("Retry after 0001-01-01T00:00:00+14:00", 1),
        ("Retry after ", None),
        ("Retry after some time", None),
        ("Retry after " + "9" * 100_000, None),
        ("Too many concurrent requests for user", None),
        ("", None),
    ],
)
def test_a_wait_is_read_from_a_text(monkeypatch, text, seconds):
    monkeypatch.setattr("time.time", lambda: MONDAY_NOON)
    assert named_wait(Response(429, {}, b""), text) == seconds


def test_a_header_counts_before_a_text_and_zero_is_no_wait(monkeypatch):
    monkeypatch.setattr("time.time", lambda: MONDAY_NOON)
    text = "Retry after 2026-03-02T12:00:30.000Z"
    assert named_wait(Response(429, {"retry-after": "5"}, b""), text) == 5
    assert named_wait(Response(429, {"retry-after": "0"}, b""), text) == 30


# -- budgets


def budget(limit, remaining, reset):
    """Return the headers that SharePoint sends from 80 % of a budget on."""
    return {"ratelimit-limit": limit, "ratelimit-remaining": remaining, "ratelimit-reset": reset}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        pytest.param(budget("6000", "1200", "41"), None, id="enough is left"),
        pytest.param(budget("6000", "121", "41"), None, id="just enough"),
        pytest.param(budget("6000", "120", "41"), 41, id="what a batch may cost"),
        pytest.param(budget("1200", "0", "0"), 1, id="nothing is left"),
        pytest.param(budget("1200", "0", "9" * 5000), 86_400, id="a very long wait"),
        pytest.param(budget("1200", "0", ""), None, id="no reset"),
        pytest.param(budget("1200", "-1", "41"), None, id="a negative number"),
        pytest.param(budget("1200", "²", "41"), None, id="no ASCII digit"),
        pytest.param({}, None, id="no headers"),
    ],
)
def test_a_spent_budget_is_waited_for(headers, seconds):
    assert wait_for_budget(headers) == seconds


@pytest.mark.parametrize(("day", "hour"), [(7, 12), (8, 1)])
def test_a_day_that_changes_its_clock_ends_at_midnight(monkeypatch, day, hour):
    zone = ZoneInfo("America/Los_Angeles")
    now = datetime(2026, 3, day, hour, tzinfo=zone)
    monkeypatch.setattr("time.time", now.timestamp)
    wait = seconds_until_midnight("America/Los_Angeles")
    ends = datetime.fromtimestamp(now.timestamp() + wait, zone)
    assert (ends.hour, ends.minute, ends.day) == (0, 0, now.day + 1)
