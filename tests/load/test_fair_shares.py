"""
What crowds, floods and a hanging mailbox take from another token: no call, and little time.

The crowd calls without pause, from a process of its own: callers that call once leave room again.
Beside it another token calls on one connection, and probes come on fresh connections. Refusals are
counted on any machine; times have a tenth of their bounds with `TIME_BOUNDS=on`, on an idle one.
`-s` prints the figures, `LOAD_SECONDS` sets how long each crowd calls at least.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx
import pytest
from gateway_processes import ADMIN, MESSAGES, prepare, serving, tell, token_of, upstreams
from paths import TESTS
from raw_http import Line
from raw_http import request as asked
from time_bounds import time_bound

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("LOAD_SECONDS", "2"))
CALLS = 50  # of the other token, at least
LATENCY = 0.05  # seconds that the upstream takes
FRESH_SECONDS = time_bound(0.1)  # from opening a connection to the response of /healthz
PROBE_SECONDS = time_bound(1)
SLOWER = time_bound(2)  # times the 99th percentile without a crowd
ADMITTED_SECONDS = {400: time_bound(1.0), 1000: time_bound(1.5)}  # 99th percentile of the crowd
TRIES = 4  # a machine that is busy with something else is no reason
WRONG = {"Authorization": "Bearer nobody"}


@pytest.fixture(scope="module")
def works(tmp_path_factory):
    """A gateway whose tokens `A` and `B` read a mailbox each."""
    with running(tmp_path_factory.mktemp("works")) as gateway:
        yield gateway


@pytest.fixture(scope="module")
def hangs(tmp_path_factory):
    """The same, and the mailbox of `A` accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=2000) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with running(tmp_path_factory.mktemp("hangs"), AGW_PROVIDER_A_URL=url) as gateway:
            yield gateway
            silent.close()  # and the calls that wait for it end


@contextmanager
def running(folder, **more):
    limits = {"AGW_RATE_LIMITS": "off", "AGW_MAX_CONNECTIONS": "2000"}
    with (
        upstreams(folder, latency=LATENCY) as upstream,
        serving(folder, **{**upstream.settings, **limits, **more}) as gateway,
    ):
        gateway.tokens = tokens_of(gateway.base, upstream.tokens)
        yield gateway


def tokens_of(base, upstream_tokens):
    """Make a token for each mailbox; return their headers by `A` and `B`."""
    made = prepare(base, upstream_tokens)
    headers = {}
    for name, connection in zip("AB", made.connections.values(), strict=True):
        body = token_of(made.operator, made.resource)
        body["settings"]["allowedConnectionIds"] = [connection]
        answer = httpx.post(f"{base}/api/access-tokens", json=body, headers=ADMIN)
        answer.raise_for_status()
        headers[name] = {"Authorization": f"Bearer {answer.json()['token']}"}
    return headers


@contextmanager
def crowd(port, callers, wire):
    """Let *callers* ask for the length of the block; yield a dict of their figures by status."""
    script = [sys.executable, str(TESTS / "load" / "callers.py")]
    figures = {}
    with subprocess.Popen(
        [*script, str(port), str(callers), "600"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
    ) as process:
        process.stdin.write(json.dumps([wire.decode()]))
        process.stdin.close()
        try:
            yield figures
        finally:
            process.send_signal(signal.SIGTERM)
        figures |= json.load(process.stdout)


async def timed(line, wire):
    """Return the status of a request, and the seconds that it took."""
    began = time.monotonic()
    status, _ = await line.ask(wire)
    return status, time.monotonic() - began


async def fresh(port, path):
    """The same for a request on a new connection."""
    began = time.monotonic()
    line = await Line.open(port)
    try:
        status, _ = await line.ask(asked(path, {}))
    finally:
        line.close()
    return status, time.monotonic() - began


async def beside(port, headers, seconds):
    """Call until the time is up, and let probes come; return (status, seconds) by kind."""
    until = time.monotonic() + seconds
    answers = {"calls": [], "/healthz": [], "/readyz": []}

    async def call():
        line = await Line.open(port)
        while time.monotonic() < until or len(answers["calls"]) < CALLS:
            answers["calls"].append(await timed(line, asked(f"{MESSAGES}?limit=1", headers)))
        line.close()

    async def probe(path):
        while not calls.done():
            answers[path].append(await fresh(port, path))
            await asyncio.sleep(0.1)

    calls = asyncio.create_task(call())
    await asyncio.gather(calls, probe("/healthz"), probe("/readyz"))
    return answers


def p99(answers):
    return sorted(seconds for _, seconds in answers)[len(answers) * 99 // 100]


@pytest.mark.parametrize(
    ("name", "callers", "path", "caller"),
    [
        pytest.param("works", 400, f"{MESSAGES}?limit=10", "A", id="400 callers of one token"),
        pytest.param("works", 1000, f"{MESSAGES}?limit=10", "A", id="1000 callers of one token"),
        pytest.param("works", 400, f"{MESSAGES}?limit=1", None, id="wrong tokens"),
        pytest.param("works", 400, "/healthz", None, id="probes"),
        pytest.param("hangs", 100, f"{MESSAGES}?limit=1", "A", id="100 at a hanging mailbox"),
        pytest.param("hangs", 400, f"{MESSAGES}?limit=1", "A", id="400 at a hanging mailbox"),
    ],
)
async def test_a_crowd_takes_nothing_from_another_token(request, name, callers, path, caller):
    gateway = request.getfixturevalue(name)
    wire, others = asked(path, gateway.tokens.get(caller, WRONG)), gateway.tokens["B"]
    for _ in range(TRIES):
        alone = await beside(gateway.port, others, 0)
        with crowd(gateway.port, callers, wire) as figures:
            await asyncio.sleep(1)
            answers = await beside(gateway.port, others, SECONDS)
        times = {kind: round(p99(each), 3) for kind, each in answers.items()}
        tell(load=os.getloadavg(), alone=round(p99(alone["calls"]), 3), **times, crowd=figures)
        assert {status for each in answers.values() for status, _ in each} == {200}

        bounds = {
            "calls": SLOWER * p99(alone["calls"]),
            "/healthz": FRESH_SECONDS,
            "/readyz": PROBE_SECONDS,
        }
        if caller is not None and "200" in figures:
            times["crowd"], bounds["crowd"] = figures["200"]["p99"], ADMITTED_SECONDS[callers]
        late = {kind: seconds for kind, seconds in times.items() if seconds > bounds[kind]}
        if not late:
            break
    assert late == {}
