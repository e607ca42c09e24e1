"""
What a request costs Redis: one script for its limits, and a lease of each upstream call.

A token with a quota takes a script more: its keys are in another slot than those of the address.
"""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager

import httpx
import pytest
from database_servers import redis_server
from gateway_processes import ADMIN, MESSAGES, prepare, serving, tell, token_of, upstreams
from redis.asyncio import Redis

pytestmark = pytest.mark.slow

TIMES = 10


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A Redis, gateways by `AGW_PROCESSES`, the headers of tokens without and with a quota."""
    folder = tmp_path_factory.mktemp("commands")
    # That of a cluster refuses a script with keys in two slots.
    with (
        redis_server(folder, is_cluster=True) as redis,
        upstreams(folder, latency=0.001) as upstream,
    ):
        settings = {"AGW_REDIS_URL": redis.url, **upstream.settings}
        with (
            serving(folder, AGW_PROCESSES="2", **settings) as gateway,
            serving(folder, AGW_PROCESSES="1", **settings) as alone,
        ):
            made = prepare(gateway.base, upstream.tokens)
            body = token_of(made.operator, made.resource)
            body["settings"]["quota"] = {"perDay": 1000}
            answer = httpx.post(f"{gateway.base}/api/access-tokens", json=body, headers=ADMIN)
            answer.raise_for_status()
            quota = {"Authorization": f"Bearer {answer.json()['token']}"}
            bases = {2: gateway.base, 1: alone.base}
            yield redis, bases, {"plain": made.bearer, "quota": quota}


@asynccontextmanager
async def commands(redis):
    """Yield a Counter of the commands that clients send, scripts' own left out."""
    seen = Counter()
    client = Redis.from_url(redis.url, decode_responses=True)
    async with client, client.monitor() as monitor:
        await client.echo("the beginning")
        yield seen
        await asyncio.sleep(0.5)  # slots are given back after the response
        await client.echo("the end")
        is_counted = False
        async for told in monitor.listen():
            words = told["command"].split()
            if words[-1] == "end":
                return
            if is_counted and told["client_type"] != "lua":
                seen[f"{words[0]} slots" if ":slots:" in told["command"] else words[0]] += 1
            is_counted = is_counted or words[-1] == "beginning"


async def cost(served, processes, path, token):
    """Return the commands of each of some like requests in turn, once the first was answered."""
    redis, bases, tokens = served
    async with httpx.AsyncClient(
        base_url=bases[processes], headers=tokens[token], timeout=30
    ) as client:
        for _ in range(2):
            assert (await client.get(path)).status_code == 200
        async with commands(redis) as seen:
            for _ in range(TIMES):
                assert (await client.get(path)).status_code == 200
    tell(path=path, token=token, commands=dict(seen))
    return seen


PAGE = f"{MESSAGES}?limit=1"  # of two mailboxes, by three upstream calls


@pytest.mark.parametrize(
    ("processes", "path", "token", "expected"),
    [
        pytest.param(2, "/api/access/token", "plain", {"EVALSHA": 1}, id="token"),
        pytest.param(
            *(2, PAGE, "plain", {"EVALSHA": 1, "EVALSHA slots": 3, "ZREM slots": 3}), id="page"
        ),
        pytest.param(
            *(2, PAGE, "quota", {"EVALSHA": 2, "EVALSHA slots": 3, "ZREM slots": 3}), id="quota"
        ),
        pytest.param(1, PAGE, "plain", {"EVALSHA": 1}, id="page of the only process"),
        pytest.param(1, PAGE, "quota", {"EVALSHA": 2}, id="quota at the only process"),
    ],
)
async def test_a_request_costs_as_many_commands(served, processes, path, token, expected):
    seen = await cost(served, processes, path, token)

    assert seen == {command: count * TIMES for command, count in expected.items()}
