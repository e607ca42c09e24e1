"""
Rate limits that many processes share, exactly: one sorted set per key in Redis.

One script checks and counts all windows of a call; Redis runs scripts one at a time. Without Redis
the process applies its share of every limit (the limit divided by the number of processes) to the
requests that it has let through: stricter, never open. It tries Redis again every second, and then
adds the requests that it let through meanwhile. See docs/spec/reliability.md#loss-of-redis.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from redis.exceptions import RedisError

from gateway.ratelimit.memory import HitLog, MemoryLimiter
from gateway.ratelimit.redis_client import (
    CONNECTIONS,
    RETRY_SECONDS,
    TIMEOUT_SECONDS,
    open_client,
    silence_limit,
)
from gateway.ratelimit.windows import MICROSECONDS, UNLIMITED, SharedCounter, WindowState, judge
from policy.quota import Charge, RateLimitResult

# KEYS: the epoch, then a log per charge. ARGV: the epoch that the caller knows, one for a store
# that has none, the name of this call; then per log its cost, its longest window in microseconds,
# the number of windows and of each limit and microseconds; the number of requests that this store
# may not know yet, and of each moment and name.
# Answers {-1, epoch} to a caller that knows another one; else allowed (1, 0), the moment, and per
# window how many are in it, the oldest, and the one that must leave it (-1: none).
SCRIPT = """
local function text(number) return string.format('%.0f', number) end
local epoch = redis.call('GET', KEYS[1])
if not epoch then
  epoch = ARGV[2]
  redis.call('SET', KEYS[1], epoch)
end
if epoch ~= ARGV[1] then return {-1, epoch} end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local answer = {1, now}
local charges = {}
local at = 4
local function read() at = at + 1 return tonumber(ARGV[at - 1]) end
for i = 2, #KEYS do
  local log, cost, span, windows = KEYS[i], read(), read(), read()
  local first = at
  at = at + 2 * windows
  for _ = 1, read() do
    redis.call('ZADD', log, 'NX', text(math.min(read(), now)), ARGV[at])
    at = at + 1
  end
  redis.call('ZREMRANGEBYSCORE', log, '-inf', text(now - span))
  for w = 0, windows - 1 do
    local limit = tonumber(ARGV[first + 2 * w])
    local from = '(' .. text(now - tonumber(ARGV[first + 2 * w + 1]))
    local used = redis.call('ZCOUNT', log, from, '+inf')
    local function moment(index)
      if index < 0 or index >= used then return -1 end
      local found = redis.call('ZRANGEBYSCORE', log, from, '+inf', 'WITHSCORES', 'LIMIT', index, 1)
      return tonumber(found[2])
    end
    local missing = used + cost - limit
    if missing > 0 then answer[1] = 0 end
    table.insert(answer, used)
    table.insert(answer, moment(0))
    table.insert(answer, moment(missing - 1))
  end
  table.insert(charges, {log, cost, span})
end
for _, charge in ipairs(charges) do
  local log, cost, span = unpack(charge)
  if answer[1] == 1 then
    for n = 1, cost do redis.call('ZADD', log, text(now), ARGV[3] .. ':' .. n) end
  end
  redis.call('PEXPIRE', log, text(math.ceil(span / 1000)))
end
return answer
"""

log = logging.getLogger("gateway")


class _StoreReplaced(Exception):
    """Redis is not the store that this process counted in: restarted, emptied or replaced."""

    def __init__(self, epoch: str) -> None:
        super().__init__()
        self.epoch = epoch


class RedisLimiter(SharedCounter):
    """`policy.quota.RequestCounter` over Redis."""

    def __init__(  # noqa: PLR0913 - keyword-only, most with a default
        self,
        url: str,
        *,
        processes: int,
        prefix: str = "agw",
        timeout_seconds: float = TIMEOUT_SECONDS,
        clock: Callable[[], float] = time.time,
        on_answer: Callable[[float], None] = lambda _: None,
    ) -> None:
        """
        *processes* is how many count together, on all machines, under keys with *prefix*;
        *on_answer* is called with the seconds that Redis took.
        """
        self._on_answer = on_answer
        self.prefix = prefix
        self._redis = open_client(url, timeout_seconds=timeout_seconds)
        self._script: Callable[..., Any] = self._redis.register_script(SCRIPT)
        # Waiting for the semaphore, unlike waiting for the pool, does not count as a loss.
        self._turns = asyncio.Semaphore(CONNECTIONS)
        self._own = MemoryLimiter(clock=clock)
        self._timeout_seconds = timeout_seconds
        self._processes = processes
        self._process = secrets.token_hex(6)
        self._calls = count(1)
        self._epoch = ""
        self._losses = 0
        self._retry_at = 0.0
        self.lost = False

    async def take(self, charges: Sequence[Charge]) -> RateLimitResult:
        """See `policy.quota.RequestCounter`; never fails."""
        charged = [charge for charge in charges if charge.windows]
        if not charged:
            return UNLIMITED
        name = f"{self._process}:{next(self._calls)}"
        async with self._turns:
            if time.monotonic() >= self._retry_at:
                try:
                    async with silence_limit(self._timeout_seconds):
                        return await self._count(charged, name)
                except (RedisError, OSError) as failure:
                    self._lose(failure)
        return self._own.take_share(charged, name, self._processes)

    async def aclose(self) -> None:
        await self._redis.aclose()

    async def _count(self, charges: Sequence[Charge], name: str) -> RateLimitResult:
        try:
            return await self._run_script(charges, name)
        except _StoreReplaced as store:
            self._epoch = store.epoch
            self._losses += 1
        try:
            return await self._run_script(charges, name)
        except _StoreReplaced as store:
            raise RedisError("the store changed twice within one call") from store

    async def _run_script(self, charges: Sequence[Charge], name: str) -> RateLimitResult:
        losses = self._losses
        logs = [self._own.log(charge) for charge in charges]
        arguments: list[str | int] = [self._epoch, secrets.token_hex(8), name]
        for charge, own in zip(charges, logs, strict=True):
            arguments += _window_arguments(charge, own)
            arguments += _missing_hits(own) if own.synced != losses else [0]
        names = ("epoch", *(charge.key for charge in charges))
        # Braces: all keys in one slot of a cluster, as one script needs.
        keys = [f"{{{self.prefix}}}:{name}" for name in names]
        began = time.perf_counter()
        answer = await self._script(keys=keys, args=arguments)
        self._on_answer(time.perf_counter() - began)
        if answer[0] == -1:
            raise _StoreReplaced(answer[1])
        for own in logs:
            own.synced = losses
        self._recover()
        verdict = _parse_verdict(charges, answer)
        if verdict.allowed:
            self._own.count(charges, name)
        return verdict

    def _lose(self, failure: Exception) -> None:
        """Stop asking Redis for a while; it now misses what this process lets through."""
        self._losses += 1
        self._retry_at = time.monotonic() + RETRY_SECONDS
        if not self.lost:
            self.lost = True
            kind = type(failure).__name__
            log.warning("rate limits: the shared count is lost", extra={"kind": kind})

    def _recover(self) -> None:
        if self.lost:
            self.lost = False
            log.warning("rate limits: the shared count is back")


def _window_arguments(charge: Charge, own: HitLog) -> list[str | int]:
    arguments: list[str | int] = [charge.cost, own.span, len(charge.windows)]
    for window in charge.windows:
        arguments += (window.limit, window.seconds * MICROSECONDS)
    return arguments


def _missing_hits(own: HitLog) -> list[str | int]:
    arguments: list[str | int] = [len(own.moments)]
    for hit in zip(own.moments, own.names, strict=True):
        arguments += hit
    return arguments


def _parse_verdict(charges: Sequence[Charge], answer: Sequence[int]) -> RateLimitResult:
    now, rows = answer[1], iter(answer[2:])
    states = []
    for charge in charges:
        for window in charge.windows:
            used, oldest, blocking = next(rows), next(rows), next(rows)
            span = window.seconds * MICROSECONDS
            frees_at = (oldest if oldest > 0 else now) + span
            fits_at = (blocking if blocking >= 0 else now) + span
            left = window.limit - used - charge.cost
            states.append(WindowState(window, charge.cost, left, frees_at, fits_at))
    return judge(states, now)
