"""Redis as processes share it: keys by owner, few connections, a short patience, and its losses."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import TypeVar

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

T = TypeVar("T")

TIMEOUT_SECONDS = 0.1  # for Redis to answer; a client's default is to wait for ever
RETRY_SECONDS = 1.0  # without asking Redis after it failed
CONNECTIONS = 8  # of each use; Redis runs one script at a time anyway
_STEPS = 20  # timers per timeout; a new connection alone takes half a dozen exchanges

log = logging.getLogger("gateway")


class RedisLost(Exception):
    """Redis does not answer, or did not a moment ago."""


class RedisStore:
    """
    The Redis of a process.

    Attributes:
        prefix: Begins all keys; empty until it is known.
        client: Without timeouts per step; `exchange` bounds each exchange as a whole.
        lost: Whether it did not answer when it was last asked.
        losses: How often Redis was lost; it may have missed what the process did since.
    """

    def __init__(
        self, url: str, *, prefix: str = "", timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        self.prefix = prefix
        self.lost = False
        self.losses = 0
        pool = BlockingConnectionPool.from_url(
            url,
            max_connections=2 * CONNECTIONS + 1,  # limits, slots, and one that hears messages
            timeout=timeout_seconds,
            socket_timeout=None,
            socket_connect_timeout=None,
            retry=Retry(NoBackoff(), 0),
            decode_responses=True,
            protocol=2,
        )
        self.client: Redis = Redis.from_pool(pool)
        self._timeout_seconds = timeout_seconds
        self._retry_at = 0.0

    def keys(self, owner: str, names: Iterable[str]) -> list[str]:
        """Return the keys of *owner*; the braces put them, and no others, in one cluster slot."""
        return [f"{{{self.prefix}:{owner}}}:{name}" for name in names]

    async def exchange(self, call: Callable[[], Awaitable[T]], turns: asyncio.Semaphore) -> T:
        """
        Return the answer to *call*, which waits for one of the *turns* of its use.

        Waiting for them, unlike waiting for the pool, does not count as a loss.

        Raises:
            RedisLost: There is none; for a while afterwards Redis is not asked.
        """
        async with turns:
            if time.monotonic() < self._retry_at:
                raise RedisLost
            try:
                async with _silence_limit(self._timeout_seconds):
                    answer = await call()
            except (RedisError, OSError) as failure:
                self._lose(failure)
                raise RedisLost from failure
        if self.lost:
            self.lost = False
            log.warning("Redis is back: limits are shared again")
        return answer

    async def aclose(self) -> None:
        await self.client.aclose()

    def _lose(self, failure: Exception) -> None:
        self.losses += 1
        self._retry_at = time.monotonic() + RETRY_SECONDS
        if not self.lost:
            self.lost = True
            kind = type(failure).__name__
            log.warning(
                "Redis is lost: each process applies its share of the limits", extra={"kind": kind}
            )


@asynccontextmanager
async def _silence_limit(seconds: float) -> AsyncIterator[None]:
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
