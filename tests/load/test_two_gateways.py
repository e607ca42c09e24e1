"""
Two gateways on two ports, from an empty PostgreSQL and an empty Redis, as the guide's page says.

Only what `docs/guides/scaling.md` exports is set, besides where the upstreams are and that
the machine itself is a load balancer, so that every round may come from an address of its own.
"""

import asyncio
import json
import re
import time
from collections import Counter
from contextlib import ExitStack

import pytest
from database_servers import postgres_server, redis_server
from gateway_processes import (
    ADMIN,
    MESSAGES,
    SECRET,
    elsewhere,
    prepare,
    serving,
    tell,
    token_of,
    upstreams,
)
from paths import REPOSITORY
from raw_http import lines, request
from run_sizes import times

pytestmark = pytest.mark.slow

PAGE = REPOSITORY / "docs/guides/scaling.md"
LIMIT_ROUNDS = times(2)
REVOCATION_ROUNDS = times(10)
CALLS = 800
HAMMERS = 2  # callers per gateway that use a token while it is revoked


def documented_settings(**values):
    """Return the settings that the page exports, with *values* in place of its examples."""
    exported = dict(re.findall(r"^export (\w+)=(\S+)", PAGE.read_text(), re.MULTILINE))
    assert values.keys() < exported.keys()
    return {**exported, **values}


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Both gateways, and what was made by the management API of the first."""
    folder = tmp_path_factory.mktemp("two")
    with ExitStack() as stack:
        settings = documented_settings(
            AGW_DATABASE_URL=stack.enter_context(postgres_server()).url,
            AGW_REDIS_URL=stack.enter_context(redis_server(folder)).url,
            AGW_ADMIN_TOKEN=SECRET,
            AGW_SECRET_KEYS=SECRET,
        )
        upstream = stack.enter_context(upstreams(folder, latency=0.001))
        settings |= {**upstream.settings, "AGW_TRUSTED_PROXIES": "127.0.0.1"}
        gateways = [stack.enter_context(serving(folder, **settings)) for _ in range(2)]
        yield gateways, prepare(gateways[0].base, {"PROVIDER_B": upstream.tokens["PROVIDER_B"]})


async def test_60_of_800_calls_at_once_pass(two):
    gateways, made = two
    for _ in range(LIMIT_ROUNDS):
        written = request(f"{MESSAGES}?limit=1", {**made.bearer, **elsewhere()})
        async with lines([gateway.port for gateway in gateways] * (CALLS // 2)) as callers:
            calls = (until_let_in(line, written) for line in callers)
            statuses = Counter(await asyncio.gather(*calls))

        assert statuses == {200: 60, 429: CALLS - 60}


async def until_let_in(line, written):
    """Return the status of the response; repeat a call that was shed, which is not counted."""
    async with asyncio.timeout(120):
        while True:
            status, _ = await line.ask(written)
            if status != 503:
                return status


async def manage(line, method, path, body=None):
    """Ask the management API at the other end of *line*."""
    written = b"" if body is None else json.dumps(body).encode()
    headers = {**ADMIN, **elsewhere()}
    return await line.ask(request(f"/api{path}", headers, method=method, body=written))


async def hammer(line, bearer, seen, used, gone):
    """Use a token until it was revoked, and a few times more; note when each call began."""
    after = 0
    while after < 3:
        after += gone.is_set()
        began = time.monotonic()
        status, _ = await line.ask(request("/api/access/token", {**bearer, **elsewhere()}))
        seen.append((began, status))
        used.release()


async def test_a_revocation_takes_effect_in_both_gateways(two):
    gateways, made = two
    ports = [gateway.port for gateway in gateways]
    body = token_of(made.operator, made.resource)
    before = late = 0
    async with lines(ports) as admins, lines(ports * HAMMERS) as callers:
        for turn in range(REVOCATION_ROUNDS):
            admin = admins[turn % 2]
            status, answer = await manage(admin, "POST", "/access-tokens", body)
            assert status == 201, answer
            token = json.loads(answer)
            bearer = {"Authorization": f"Bearer {token['token']}"}
            seen, used, gone = [], asyncio.Semaphore(0), asyncio.Event()
            hammers = [
                asyncio.create_task(hammer(line, bearer, seen, used, gone)) for line in callers
            ]
            for _ in range(2 * len(hammers)):
                await used.acquire()
            status, _ = await manage(admin, "DELETE", f"/access-tokens/{token['id']}")
            revoked = time.monotonic()
            gone.set()
            await asyncio.gather(*hammers)

            assert status == 204
            assert {status for _, status in seen} == {200, 401}
            before += sum(status == 200 for _, status in seen)
            late += sum(status == 200 for began, status in seen if began >= revoked)
    tell(rounds=REVOCATION_ROUNDS, passed_before=before, late=late)
    assert late == 0
