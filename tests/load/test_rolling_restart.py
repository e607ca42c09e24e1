"""
Rolling restarts of two gateways behind the nginx of `deploy/nginx.conf` lose no request.

`TIMES` is how often both are restarted, `RATE` how many requests
begin in a second.
"""

import asyncio
import itertools
import os
import ssl
import time
from collections import Counter
from contextlib import ExitStack, suppress

import httpx
import nginx
import pytest
from gateway_processes import ADMIN, MESSAGES, prepare, serving, tell, upstreams
from programs import program
from run_sizes import times

pytestmark = pytest.mark.slow
ROLLS = times(1)
RATE = int(os.environ.get("RATE", "100"))
DRAIN = "1"
READ = {"query": "{ emails(limit: 1) { emails { id } } }"}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Two gateways over one store behind nginx, and a token."""
    program("nginx")  # before the gateways start
    folder = tmp_path_factory.mktemp("site")
    with ExitStack() as stack:
        upstream = stack.enter_context(upstreams(folder, latency=0.001))
        settings = {
            **upstream.settings,
            "AGW_RATE_LIMITS": "off",
            "AGW_TRUSTED_PROXIES": "127.0.0.1",
            "AGW_DRAIN_SECONDS": DRAIN,
            "AGW_STOP_SECONDS": "30",
        }
        gateways = [stack.enter_context(serving(folder, **settings)) for _ in range(2)]
        made = prepare(gateways[0].base, {"PROVIDER_B": upstream.tokens["PROVIDER_B"]})
        ports = (gateways[0].port, gateways[1].port)
        proxy = stack.enter_context(nginx.running(folder / "nginx", ports))
        yield gateways, proxy, made


def client(proxy, **options):
    trust = ssl.create_default_context(cafile=str(proxy.certificate))
    return httpx.AsyncClient(base_url=proxy.base, verify=trust, timeout=60, **options)


async def test_no_request_is_lost_while_both_gateways_restart(site):
    gateways, proxy, made = site
    outcomes, slowest, stopped = Counter(), [0.0], asyncio.Event()
    numbers = itertools.count()

    async def ask(caller):
        number, began = next(numbers), time.monotonic()
        try:
            if number % 2:
                answer = await caller.get(f"{MESSAGES}?limit=1", headers=made.bearer)
            else:
                answer = await caller.post("/graphql", json=READ, headers=made.bearer)
            outcomes[answer.status_code if "errors" not in answer.json() else "errors"] += 1
        except httpx.HTTPError as failure:
            outcomes[type(failure).__name__] += 1
        slowest[0] = max(slowest[0], time.monotonic() - began)

    async def load():
        running = set()
        async with client(proxy) as caller:
            while not stopped.is_set():
                running.add(task := asyncio.create_task(ask(caller)))
                task.add_done_callback(running.discard)
                with suppress(TimeoutError):
                    await asyncio.wait_for(stopped.wait(), 1 / RATE)
            await asyncio.gather(*running)

    began = time.monotonic()
    loading = asyncio.create_task(load())
    for _, gateway in itertools.product(range(ROLLS), gateways):
        await asyncio.to_thread(gateway.restart)
    stopped.set()
    await loading

    total, seconds = sum(outcomes.values()), time.monotonic() - began
    tell(restarts=2 * ROLLS, outcomes=dict(outcomes), per_second=total / seconds, slowest=slowest)
    assert outcomes == {200: total}
    assert total > 2 * ROLLS


async def test_the_proxy_shows_no_administration(site):
    _, proxy, made = site
    hidden = ["/metrics", "/readyz", "/api/operators", "/api//operators", "/%61pi/access-tokens"]
    hidden += ["/api/access/../connections", "//metrics", "/sandbox/provider-a", "/api/documents"]
    hidden += ["/api/saved/../documents"]
    async with client(proxy, headers=ADMIN) as caller:
        answers = [await caller.get(httpx.URL(proxy.base + path)) for path in hidden]
        mine = await caller.get("/api/access/token", headers=made.bearer)
        saved = await caller.get("/api/saved/none", headers=made.bearer)

    assert [answer.status_code for answer in answers] == [404] * len(hidden)
    assert {answer.json()["error"] for answer in answers} == {"NOT_FOUND"}
    assert mine.status_code == 200
    assert "x-ratelimit-limit" in saved.headers  # the gateway's own 404
    assert mine.headers["strict-transport-security"] == "max-age=31536000"


async def test_plain_http_is_sent_to_https(site):
    _, proxy, _ = site
    async with httpx.AsyncClient() as caller:
        answer = await caller.get(f"http://127.0.0.1:{proxy.plain_port}/explorer/?a=b")

    assert answer.status_code == 308
    assert answer.headers["location"] == "https://127.0.0.1/explorer/?a=b"
