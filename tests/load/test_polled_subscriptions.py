"""
Two workers look for the changes of many mailboxes, and answer other calls as they do without it.

`POLLED=10000 pytest -m slow -s tests/load/test_polled_subscriptions.py` is the long run.
"""

import asyncio
import json
import os
import statistics
import time
from contextlib import ExitStack

import filled_store
import pytest
from database_servers import postgres_server, redis_server
from expired_rows import execute
from gateway_processes import MESSAGES, elsewhere, serving, tell, upstreams
from raw_http import lines, request
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

pytestmark = pytest.mark.slow

POLLED = int(os.environ.get("POLLED", "100"))  # mailboxes, each with a token and a subscription
POLL_SECONDS = max(5, POLLED // 34)
LATE_SECONDS = 10  # that a look may be late
MEASURED = 1000  # from so many on, the machine is taken to be idle but for this test
CALLS_PER_SECOND = 10
SECONDS = float(os.environ.get("POLLED_SECONDS", "5"))  # of calls, without and beside looks
SETTINGS = {
    "emailAccessEnabled": True,
    "allowedEmailOperations": ["all"],
    "subscriptionsEnabled": True,
}


@pytest.fixture
async def polled(tmp_path):
    """Two workers, the database's URL, and the texts of the tokens, that of a caller last."""
    with ExitStack() as stack:
        server = stack.enter_context(postgres_server())
        upstream = stack.enter_context(upstreams(tmp_path, latency=0.005, many=True))
        url = await filled_store.new_database(server, tmp_path, "polled")
        tokens = await filled_store.fill(
            url,
            tokens=POLLED + 1,
            owners=POLLED + 1,
            settings=SETTINGS,
            access_token=upstream.tokens["PROVIDER_B"],
        )
        settings = upstream.settings | {
            "AGW_DATABASE_URL": url,
            "AGW_REDIS_URL": stack.enter_context(redis_server(tmp_path)).url,
            "AGW_SECRET_KEYS": "a secret key of the tests",
            "AGW_TRUSTED_PROXIES": "127.0.0.1",
            "AGW_FEED_POLL_SECONDS": str(POLL_SECONDS),
        }
        gateway = stack.enter_context(serving(tmp_path, "--workers", "2", **settings))
        yield gateway, url, tokens


async def subscribe(line, tokens):
    """Make a subscription with each of *tokens*, taken one after the other."""
    body = json.dumps({"url": "https://hooks.example/changes"}).encode()
    for token in tokens:
        headers = {"Authorization": f"Bearer {token}", **elsewhere()}
        written = request("/api/access/subscriptions", headers, method="POST", body=body)
        status, answer = await line.ask(written)
        assert status == 201, answer


async def latencies(port, token):
    """Return the sorted times of calls at a steady rate, in milliseconds."""
    times = []

    async def call(line):
        began = time.perf_counter()
        headers = {"Authorization": f"Bearer {token}", **elsewhere()}
        status, answer = await line.ask(request(f"{MESSAGES}?limit=1", headers))
        times.append((time.perf_counter() - began) * 1000)
        assert status == 200, answer

    async with lines([port] * CALLS_PER_SECOND) as callers, asyncio.TaskGroup() as group:
        for number in range(round(SECONDS * CALLS_PER_SECOND)):
            group.create_task(call(callers[number % CALLS_PER_SECOND]))
            await asyncio.sleep(1 / CALLS_PER_SECOND)
    return sorted(times)


async def due(url):
    """Return when each subscription is due next, by its id."""
    engine = create_async_engine(url)
    async with engine.begin() as connection:
        rows = (await connection.execute(text("SELECT id, due_at FROM feed_subscriptions"))).all()
    await engine.dispose()
    return dict(rows)


async def postpone(url, seconds):
    """Let the subscriptions be due at random moments from now to *seconds*."""
    moment = f"(extract(epoch from clock_timestamp()) + random() * {seconds}) * 1000"
    await execute(url, f"UPDATE feed_subscriptions SET due_at = {moment}")


def shown(times):
    """Return median, 95th percentile and longest."""
    return [
        round(each, 1) for each in (statistics.median(times), times[-len(times) // 20], times[-1])
    ]


async def test_calls_beside_looks_are_as_fast_as_without(polled):
    gateway, url, tokens = polled
    caller, waiting = tokens.pop(), iter(tokens)
    async with lines([gateway.port] * 8) as made:
        await asyncio.gather(*(subscribe(line, waiting) for line in made))
    await execute(url, f"UPDATE feed_subscriptions SET due_at = due_at + {24 * 3_600_000}")
    await asyncio.sleep(5)

    alone = await latencies(gateway.port, caller)
    await postpone(url, POLL_SECONDS)
    planned, began = await due(url), time.monotonic()
    beside = await latencies(gateway.port, caller)
    async with asyncio.timeout(2 * POLL_SECONDS + 60):
        while planned.items() & (now := await due(url)).items():  # noqa: ASYNC110 - a table
            await asyncio.sleep(0.5)
    seconds = round(time.monotonic() - began, 1)

    tell(
        polled=POLLED, every=POLL_SECONDS, looked=seconds, alone=shown(alone), beside=shown(beside)
    )
    assert len(planned) == len(now) == POLLED
    if POLLED >= MEASURED:
        assert seconds < POLL_SECONDS + LATE_SECONDS
        assert statistics.median(beside) < 1.5 * statistics.median(alone)
