"""
Many callers at once, in a process of their own: each repeats its request after every response.

    python tests/load/callers.py PORT CALLERS SECONDS < requests.json > figures.json

The input is a list of requests as text, which every caller goes through from a place of its own.
The output maps each status to how often it was answered and how long that took, in seconds. SIGTERM
ends the calls at once.
"""

import asyncio
import json
import signal
import sys
import time
from collections import defaultdict
from contextlib import suppress

import uvloop
from raw_http import Line


async def call(port, requests, turn, until, took):
    """Ask until the time is up; a connection that ends is opened again."""
    line = None
    while (began := time.monotonic()) < until:
        try:
            line = line or await Line.open(port)
            status, _ = await line.ask(requests[turn % len(requests)])
        except OSError:
            status, line = 0, None
            await asyncio.sleep(0.01)
        took[status].append(time.monotonic() - began)
        turn += 1
    if line is not None:
        line.close()


async def crowd(port, callers, seconds):
    requests = [text.encode("latin-1") for text in json.load(sys.stdin)]
    took = defaultdict(list)
    until = time.monotonic() + seconds
    calls = asyncio.gather(*(call(port, requests, turn, until, took) for turn in range(callers)))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, calls.cancel)
    with suppress(asyncio.CancelledError):
        await calls
    json.dump({str(status): figures(times) for status, times in sorted(took.items())}, sys.stdout)


def figures(times):
    times.sort()
    return {
        "count": len(times),
        "median": times[len(times) // 2],
        "p99": times[len(times) * 99 // 100],
        "most": times[-1],
    }


if __name__ == "__main__":
    uvloop.run(crowd(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])))
