"""400 clients on one worker: admitted requests are answered in time, the others are 503."""

import json
import os
import subprocess
import sys
from collections import Counter

import httpx
import pytest
from gateway_processes import MESSAGES, prepare, serving, tell, upstreams
from paths import TESTS
from raw_http import request

pytestmark = pytest.mark.slow

CALLERS = 400
SECONDS = float(os.environ.get("LOAD_SECONDS", "5"))
REQUESTS = int(os.environ.get("LOAD_REQUESTS", "2000"))
TRIES = 4  # a machine that is busy with something else is no reason
LATENCY = 0.05  # seconds that the upstream takes
DESCRIPTORS = 20  # connections to the upstream that another moment needs
GROWTH = 16 * 1024 * 1024  # bytes of memory, over the whole run


def crowd(port, requests, *, callers=CALLERS):
    """Let them all ask, in a process of their own; return the figures of each status."""
    script = [sys.executable, str(TESTS / "load" / "callers.py")]
    done = subprocess.run(
        [*script, str(port), str(callers), str(SECONDS)],
        input=json.dumps([request.decode() for request in requests]),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("provider", ["PROVIDER_A", "PROVIDER_B"])
def test_admitted_requests_are_answered_within_a_second(provider, tmp_path):
    with (
        upstreams(tmp_path, latency=LATENCY) as upstream,
        serving(tmp_path, AGW_RATE_LIMITS="off", **upstream.settings) as gateway,
    ):
        made = prepare(gateway.base, {provider: upstream.tokens[provider]})
        with httpx.Client(base_url=gateway.base, headers=made.bearer) as client:
            mail = client.get(MESSAGES, params={"limit": 10}).json()["emails"][0]["id"]
            assert client.get(f"{MESSAGES}/{mail}").status_code == 200
        requests = [
            request(f"{MESSAGES}?limit=10", made.bearer),
            request(f"{MESSAGES}/{mail}", made.bearer),
        ]
        crowd(gateway.port, requests)  # memory for so many is there from now on
        before = gateway.resident()
        runs = []
        while len(runs) < TRIES and not (runs and runs[-1]["200"]["p99"] <= 1):
            runs.append(crowd(gateway.port, requests))
            tell(load=os.getloadavg(), **runs[-1])
        grown = gateway.resident() - before

    assert {status for run in runs for status in run} == {"200", "503"}
    assert runs[-1]["200"]["p99"] <= 1, runs
    assert grown < GROWTH


def descriptors(gateway):
    return len(os.listdir(f"/proc/{gateway.process.pid}/fd"))  # noqa: PTH208 - names are enough


def test_memory_and_descriptors_are_flat_over_many_mixed_requests(tmp_path):
    """REST and GraphQL, pages, searches and single messages, and requests that are refused."""
    with (
        upstreams(tmp_path, latency=0.001) as upstream,
        serving(tmp_path, AGW_RATE_LIMITS="off", **upstream.settings) as gateway,
    ):
        made = prepare(gateway.base, upstream.tokens)
        with httpx.Client(base_url=gateway.base, headers=made.bearer) as client:
            mail = client.get(MESSAGES, params={"limit": 10}).json()["emails"][0]["id"]
        query = json.dumps({"query": "{ emails(limit: 5) { emails { id subject } } }"}).encode()
        requests = [
            request(f"{MESSAGES}?limit=10", made.bearer),
            request(f"{MESSAGES}/{mail}", made.bearer),
            request("/graphql", made.bearer, method="POST", body=query),
            request(f"{MESSAGES}?q=lease&limit=5", made.bearer),
            request("/api/access/token", made.bearer),
            request(f"{MESSAGES}/providerA:unknown", made.bearer),
            request(f"{MESSAGES}?limit=x", made.bearer),
            request(MESSAGES, {"Authorization": "Bearer nobody"}),
        ]

        def send(count):
            """Send *count* requests; return how often each status was answered."""
            statuses = Counter()
            while statuses.total() < count:
                for status, figures in crowd(gateway.port, requests, callers=30).items():
                    statuses[status] += figures["count"]
            return statuses

        send(REQUESTS // 4)  # what is filled once is there from now on
        before, opened = gateway.resident(), descriptors(gateway)
        statuses = send(REQUESTS)
        grown, more = gateway.resident() - before, descriptors(gateway) - opened
        tell(statuses=statuses, before=before, grown=grown, descriptors=opened, more=more)

    assert set(statuses) == {"200", "400", "401", "404"}
    assert grown < GROWTH
    assert more < DESCRIPTORS
