"""
PostgreSQL and Redis are killed, restarted and frozen while two gateways are under load.

Without PostgreSQL every call is 503, neither allowed nor refused; without Redis limits are
stricter and never open; either way all is well soon after the server is back. The rules:
docs/spec/reliability.md#database-restart-or-freeze and #loss-of-redis.
"""

import asyncio
import json
import os
import statistics
import time
from contextlib import ExitStack

import httpx
import pytest
from background_traffic import crowded, longest, traffic
from database_servers import postgres_server, redis_server
from gateway_processes import (
    ADMIN,
    MESSAGES,
    elsewhere,
    prepare,
    serving,
    tell,
    token_of,
    upstreams,
)
from raw_http import request
from run_sizes import times

pytestmark = pytest.mark.slow

ROUNDS = times(1)
GONE = float(os.environ.get("STORE_SECONDS", "4"))  # that a store is away for
LIMIT, WINDOW = 20, 4
TOKEN = "/api/access/token"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Two gateways over stores of their own; requests of a token that lives and one that died."""
    folder = tmp_path_factory.mktemp("stores")
    with ExitStack() as stack:
        postgres = stack.enter_context(postgres_server())
        redis = stack.enter_context(redis_server(folder))
        upstream = stack.enter_context(upstreams(folder, latency=0.001))
        settings = {
            "AGW_DATABASE_URL": postgres.url,
            "AGW_REDIS_URL": redis.url,
            "AGW_PROCESSES": "2",
            "AGW_TRUSTED_PROXIES": "127.0.0.1",
            "AGW_RATE_LIMIT_WINDOWS": json.dumps({"management": [[LIMIT, WINDOW]]}),
            **upstream.settings,
        }
        gateways = [stack.enter_context(serving(folder, **settings)) for _ in range(2)]
        made = prepare(gateways[0].base, {"PROVIDER_B": upstream.tokens["PROVIDER_B"]})
        yield (
            postgres,
            redis,
            [gateway.port for gateway in gateways],
            requests_of(made, gateways[0].base),
        )


def requests_of(made, base):
    """Return what makes each kind of request; each comes from an address of its own."""
    body = token_of(made.operator, made.resource)
    with httpx.Client(base_url=f"{base}/api", headers=ADMIN, timeout=30) as admin:
        dead = admin.post("/access-tokens", json=body).json()
        assert admin.delete(f"/access-tokens/{dead['id']}").status_code == 204
    revoked = {"Authorization": f"Bearer {dead['token']}"}
    return {
        "token": lambda: request(TOKEN, {**made.bearer, **elsewhere()}),
        "mail": lambda: request(f"{MESSAGES}?limit=1", {**made.bearer, **elsewhere()}),
        "revoked": lambda: request(TOKEN, {**revoked, **elsewhere()}),
        "limited": lambda: request(TOKEN, {**made.bearer, "X-Forwarded-For": "11.0.0.1"}),
    }


def only(requests, *kinds):
    return {kind: requests[kind] for kind in kinds}


def fine(call):
    return call.status in {200, 401}


FAULTS = [
    pytest.param("kill", "start", id="killed"),
    pytest.param("stop", "start", id="restarted"),
    pytest.param("freeze", "thaw", id="frozen"),
]


@pytest.mark.parametrize(("harm", "mend"), FAULTS)
async def test_requests_are_503_while_postgresql_is_down(served, harm, mend):
    postgres, _, ports, requests = served
    for _ in range(ROUNDS):
        async with traffic(ports, only(requests, "token", "mail", "revoked")) as calls:
            await calls.until(lambda call: call.kind == "mail" and call.status == 200)
            harmed = time.monotonic()
            await asyncio.to_thread(getattr(postgres, harm))
            first_refusal = await calls.until(lambda call: call.status == 503)
            await asyncio.sleep(GONE)
            mending = time.monotonic()
            await asyncio.to_thread(getattr(postgres, mend))
            mended = time.monotonic()
            back = await calls.until(lambda call: call.kind == "mail" and call.status == 200)
            await asyncio.sleep(2)
            end = time.monotonic()
        refused = [call for call in calls.seen if call.status == 503]
        last = max(call.began for call in refused)
        figures = {
            "first_503_after": first_refusal.ended - harmed,
            "slowest_without": longest(calls.between(harmed, mending)),
            "first_200_after": back.ended - mended,
            "last_503_began_after": last - mended,
        }
        tell(harm=harm, **{name: round(value, 2) for name, value in figures.items()})

        statuses = calls.statuses()
        assert set(statuses["token"]) == set(statuses["mail"]) == {200, 503}
        assert set(statuses["revoked"]) == {401, 503}
        assert {json.loads(call.body)["error"] for call in refused} == {"OVERLOADED"}
        away = [
            call for call in calls.between(first_refusal.ended, mending) if call.ended < mending
        ]
        assert away
        assert not any(fine(call) for call in away)
        assert figures["slowest_without"] < 12
        assert last < end - 1  # it recovered by itself, and before the last second


@pytest.mark.parametrize(("harm", "mend"), FAULTS)
async def test_without_redis_limits_are_stricter_and_no_request_waits(served, harm, mend):
    _, redis, ports, requests = served
    if harm == "stop":
        harm = "kill"  # it keeps nothing on disk: a restart is the same
    for _ in range(ROUNDS):
        await asyncio.sleep(WINDOW)  # the rounds share an address
        async with traffic(ports, requests) as calls:
            await calls.until(lambda call: call.status == 429)
            healthy = time.monotonic()
            await asyncio.sleep(1)
            harmed = time.monotonic()
            await asyncio.to_thread(getattr(redis, harm))
            await asyncio.sleep(2 * WINDOW + GONE)
            mended = time.monotonic()
            await asyncio.to_thread(getattr(redis, mend))
            await asyncio.sleep(WINDOW + 2)
        passed = [call for call in calls.seen if call.kind == "limited" and call.status == 200]
        alone = [call for call in passed if harmed + WINDOW <= call.began < mended]
        before, after = (
            [call.ended - call.began for call in calls.between(*span) if call.kind == "token"]
            for span in ((healthy, harmed), (harmed, mended))
        )
        tell(
            harm=harm,
            most_in_a_window=crowded(passed, WINDOW),
            most_alone=crowded(alone, WINDOW),
            p99_before=round(statistics.quantiles(before, n=100)[-1], 3),
            p99_without=round(statistics.quantiles(after, n=100)[-1], 3),
        )

        assert [call.body for call in calls.seen if call.status == 503] == []
        statuses = calls.statuses()
        assert set(statuses["token"]) == set(statuses["mail"]) == {200}
        assert set(statuses["revoked"]) == {401}
        assert set(statuses["limited"]) == {200, 429}
        assert crowded(passed, WINDOW) < 2 * LIMIT  # in the window of the loss
        assert 0 < crowded(alone, WINDOW) <= LIMIT
        assert longest([call for call in calls.seen if call.kind == "token"]) < 3
