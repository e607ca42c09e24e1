# ruff: noqa: T201 - prints its figures
"""
What two workers with PostgreSQL and Redis serve, compared with one: at least 1.7 times.

    python tests/load/two_workers.py [SECONDS]

On a machine of few cores the load, the upstream and the servers take what a second worker would
need, so that requests per second say nothing. The capacity of a worker is one second of the
processor divided by what a request takes of it, so the ratio is twice that of one worker's
processor time per request to that of two workers'. Requests per second are printed besides. Load
and upstream are processes of their own. Exit status 0: every row has its ratio.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
sys.path.insert(0, str(Path(__file__).parents[2] / "docs/generators"))

from database_servers import postgres_server, redis_server
from gateway_processes import MESSAGES, prepare, serving, upstreams
from raw_http import request

WANTED = 1.7
CALLERS = 8
PATHS = ("/api/access/token", f"{MESSAGES}?limit=1")


def cpu_seconds(pid):
    """Return the processor time of a process and its children, from proc(5) stat."""
    total = 0
    pids = [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]
    for each in pids:
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:13]))
    return total / os.sysconf("SC_CLK_TCK")


def ask(port, wire, seconds):
    """Let callers ask for a while; return how many requests were answered 200."""
    script = Path(__file__).with_name("callers.py")
    done = subprocess.run(
        [sys.executable, script, str(port), str(CALLERS), str(seconds)],
        input=json.dumps([wire.decode()]),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
        check=True,
    )
    figures = json.loads(done.stdout)
    refused = {status: each["count"] for status, each in figures.items() if status != "200"}
    if refused:
        print(f"not 200: {refused}")
    return figures["200"]["count"]


def measure(folder, shared, tokens, workers, seconds):
    """Return (processor seconds per request, requests per second) by path."""
    rows = {}
    with serving(folder, "--workers", str(workers), **shared) as gateway:
        if not tokens.get("made"):
            tokens["made"] = prepare(gateway.base, tokens["upstream"])
        for path in PATHS:
            wire = request(path, tokens["made"].bearer)
            ask(gateway.port, wire, 3)
            cpu, began = cpu_seconds(gateway.process.pid), time.monotonic()
            count = ask(gateway.port, wire, seconds)
            passed = time.monotonic() - began
            rows[path] = (cpu_seconds(gateway.process.pid) - cpu) / count, count / passed
    return rows


def main():
    seconds = float(sys.argv[1]) if sys.argv[1:] else 10
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="two-workers-")))
        upstream = stack.enter_context(upstreams(folder, latency=0.001))
        windows = {name: [[100_000_000, 60]] for name in ("email", "management")}
        shared = {
            **upstream.settings,
            "AGW_DATABASE_URL": stack.enter_context(postgres_server()).url,
            "AGW_REDIS_URL": stack.enter_context(redis_server(folder)).url,
            "AGW_RATE_LIMIT_WINDOWS": json.dumps(windows),
            "AGW_PROCESSES": "2",
        }
        tokens = {"upstream": {"PROVIDER_B": upstream.tokens["PROVIDER_B"]}}
        one, two, again = (measure(folder, shared, tokens, n, seconds) for n in (1, 2, 1))
    status = 0
    for path in PATHS:
        alone = min(one[path][0], again[path][0])
        ratio = 2 * alone / two[path][0]
        status |= ratio < WANTED
        print(
            f"{path}: {alone * 1e3:.2f} ms of the processor, {two[path][0] * 1e3:.2f} with two;"
            f" {ratio:.2f} times; {one[path][1]:.0f} and {two[path][1]:.0f} requests/s;"
            f" load {os.getloadavg()[0]:.1f}"
        )
    return status


if __name__ == "__main__":
    sys.exit(main())
