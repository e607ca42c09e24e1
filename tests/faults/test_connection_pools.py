"""A process opens `AGW_DATABASE_CONNECTIONS` connections to PostgreSQL at most."""

import asyncio

import httpx
import pytest
from gateway_processes import ADMIN, serving

from gateway.auth import token_format

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

CONNECTIONS, CALLS = 6, 24
KEPT = 4  # a third for the reads of requests, and a third of the others, rounded up
COUNT = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'app'"


@pytest.mark.parametrize("pooler", ["session", "transaction"])
async def test_more_calls_than_connections_wait_for_one(server, tmp_path, pooler):
    """Statements wait for a lock, so that every call needs a connection at the same time."""
    settings = {
        "AGW_DATABASE_URL": server.url,
        "AGW_DATABASE_CONNECTIONS": str(CONNECTIONS),
        "AGW_DATABASE_POOLER": pooler,
        "AGW_RATE_LIMITS": "off",
    }
    # A transaction counts connections once, so that another one has the lock.
    watcher, locker = await server.admin("store"), await server.admin("store")
    opened, statuses, unknown = [], [], f"Bearer {token_format.generate().text}"

    async def watch(count):
        """Note how many connections are open until there are *count*."""
        opened.clear()
        async with asyncio.timeout(120):
            while count not in opened:
                opened.append(await watcher.fetchval(COUNT))
                await asyncio.sleep(0.02)

    with serving(tmp_path, **settings) as gateway:
        limits = httpx.Limits(max_connections=CALLS)
        async with httpx.AsyncClient(
            base_url=gateway.base, headers=ADMIN, limits=limits, timeout=60
        ) as client:

            async def ask(path, **headers):
                while CONNECTIONS not in opened:  # a busy machine takes several rounds
                    statuses.append((await client.get(path, headers=headers)).status_code)

            async with locker.transaction():
                await locker.execute("LOCK operators, access_tokens IN ACCESS EXCLUSIVE MODE")
                calls = [asyncio.create_task(ask("/api/operators")) for _ in range(CALLS // 2)]
                calls += [
                    asyncio.create_task(ask("/api/access/token", Authorization=unknown))
                    for _ in range(CALLS // 2)
                ]
                await watch(CONNECTIONS)
                await asyncio.sleep(0.5)  # the calls that wait open no more
                most = max(*opened, await watcher.fetchval(COUNT))
            await asyncio.gather(*calls)
            await watch(KEPT)
    await watcher.close()
    await locker.close()

    assert most == CONNECTIONS
    assert set(statuses) <= {200, 401, 503}
