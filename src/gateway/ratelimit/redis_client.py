"""Redis client of the limits that processes share: few connections, and a short patience."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

TIMEOUT_SECONDS = 0.1  # for Redis to answer; a client's default is to wait for ever
RETRY_SECONDS = 1.0  # without asking Redis after it failed
CONNECTIONS = 8  # Redis runs one script at a time anyway
_STEPS = 20  # timers per timeout; a new connection alone takes half a dozen exchanges


def open_client(url: str, *, timeout_seconds: float) -> Redis:
    """Return a client without timeouts per step: `silence_limit` bounds a whole exchange."""
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=CONNECTIONS,
        timeout=timeout_seconds,
        socket_timeout=None,
        socket_connect_timeout=None,
        retry=Retry(NoBackoff(), 0),
        decode_responses=True,
        protocol=2,
    )
    client: Redis = Redis.from_pool(pool)
    return client


@asynccontextmanager
async def silence_limit(seconds: float) -> AsyncIterator[None]:
    """
    Raise TimeoutError after *seconds* in which the loop could have read an answer.

    A loop that was busy runs late timers before it reads its sockets. One timer would take that
    for the silence of Redis; of several in a row, each gives the loop a chance to read.
    """
    loop = asyncio.get_running_loop()
    left = _STEPS
    timer: asyncio.TimerHandle

    def step() -> None:
        nonlocal left, timer
        left -= 1
        if left:
            timer = loop.call_later(seconds / _STEPS, step)
        else:
            limit.reschedule(loop.time())

    timer = loop.call_later(seconds / _STEPS, step)
    try:
        async with asyncio.timeout(None) as limit:
            yield
    finally:
        timer.cancel()
