"""300 silent sockets and 300 that write slowly, all the time: honest requests are answered."""

import asyncio
import contextlib
import os
import time

import pytest
from background_traffic import longest, traffic
from gateway_processes import MESSAGES, serving, tell
from raw_http import Line, request

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("SLOW_SECONDS", "8"))
EACH = 300
POST = f"POST {MESSAGES}/send HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\n".encode()
# What those who write slowly have written before they go on byte by byte.
BEGINNINGS = (b"GET / HTTP/1.1\r\nX-Long: ", POST)


async def hold(port, beginning, ended):
    """Open a socket, say *beginning* and then a byte a second; come again when it is closed."""
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(beginning)
            end = asyncio.create_task(reader.read())
            while not end.done():
                await asyncio.wait({end}, timeout=1)
                if beginning:
                    writer.write(b"a")
            ended.append(time.monotonic())
        except OSError:
            ended.append(time.monotonic())
        finally:
            end.cancel()
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await end


async def test_honest_requests_are_answered_among_600_sockets_that_never_finish(tmp_path):
    with serving(tmp_path, AGW_RATE_LIMITS="off") as gateway:
        ended = []
        kinds = [b""] * EACH + [BEGINNINGS[turn % 2] for turn in range(EACH)]
        sockets = [asyncio.create_task(hold(gateway.port, kind, ended)) for kind in kinds]
        await asyncio.sleep(1)
        before = gateway.resident()
        honest = {"honest": lambda: request(MESSAGES, {"Authorization": "Bearer nobody"})}
        async with traffic([gateway.port], honest, each=4, pause=0.05) as calls:
            await asyncio.sleep(SECONDS)
        grown = gateway.resident() - before
        # One more connection and request, from the beginning.
        line = await Line.open(gateway.port)
        status, _ = await line.ask(honest["honest"]())
        line.close()
        for socket in sockets:
            socket.cancel()
        await asyncio.gather(*sockets, return_exceptions=True)
        await asyncio.sleep(0)
    slowest = longest(calls.seen)
    tell(calls=len(calls.seen), slowest=round(slowest, 3), closed=len(ended), grown=grown)

    assert status == 401
    assert calls.statuses() == {"honest": {401: len(calls.seen)}}
    assert len(calls.seen) > SECONDS
    assert slowest < 3
    assert len(ended) >= EACH  # whoever is silent for 5 seconds is closed, and came again
    assert grown < 16 * 1024 * 1024
