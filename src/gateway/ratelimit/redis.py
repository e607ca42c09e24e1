"""
Rate limits that many processes share, exactly: one sorted set per key in Redis.

One script checks and counts all windows of an owner, whose keys are in one slot of a cluster; Redis
runs scripts one at a time. The owner is the client address; a token with a quota is a second one,
and what one counted is taken back when the other refuses. Without Redis the process applies its
share of every limit (the limit divided by the number of processes) to the requests that it has let
through: stricter, never open. It tries Redis again every second, and then adds the requests that it
let through meanwhile. See docs/spec/reliability.md#loss-of-redis.
"""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any

import msgspec

from gateway.ratelimit.memory import HitLog, MemoryLimiter
from gateway.ratelimit.redis_client import CONNECTIONS, RedisLost, RedisStore
from gateway.ratelimit.windows import MICROSECONDS, UNLIMITED, WindowState, judge
from policy.quota import Charge, RateLimitResult

# KEYS: a log per charge. ARGV: a name for a log that has none, the name of the process, the number
# of the first request; then per log its cost, its longest window in microseconds, the number of
# windows and of each limit and microseconds; the name of the log as the process knows it, how many
# requests of the process are in it, and how many of them follow, of each moment and number.
# The name of a log is a member after all moments: a log that was lost has another one.
# Answers {-1} when the log of a process that has requests in it was lost, and they do not follow;
# else allowed (1, 0), the moment, and per log its name, and per window how many are in it,
# the oldest, and the one that must leave it (-1: none).
SCRIPT = """
local function text(number) return string.format('%.0f', number) end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local answer = {1, now}
local charges = {}
local at = 4
local function read() at = at + 1 return ARGV[at - 1] end
for _, log in ipairs(KEYS) do
  local cost, span, windows = tonumber(read()), tonumber(read()), tonumber(read())
  local first = at
  at = at + 2 * windows
  local known, own, sent = read(), tonumber(read()), tonumber(read())
  local name = redis.call('ZRANGEBYSCORE', log, '+inf', '+inf')[1]
  if name ~= known and own > sent then return {-1} end
  for _ = 1, sent do
    redis.call('ZADD', log, 'NX', text(math.min(tonumber(read()), now)), ARGV[2] .. ':' .. read())
  end
  redis.call('ZREMRANGEBYSCORE', log, '-inf', text(now - span))
  if not name then name = ARGV[1] end
  table.insert(answer, name)
  for w = 0, windows - 1 do
    local limit = tonumber(ARGV[first + 2 * w])
    local from = '(' .. text(now - tonumber(ARGV[first + 2 * w + 1]))
    local used = redis.call('ZCOUNT', log, from, '(+inf')
    local function moment(index)
      if index < 0 or index >= used then return -1 end
      local found = redis.call('ZRANGEBYSCORE', log, from, '(+inf', 'WITHSCORES', 'LIMIT', index, 1)
      return tonumber(found[2])
    end
    local missing = used + cost - limit
    if missing > 0 then answer[1] = 0 end
    table.insert(answer, used)
    table.insert(answer, moment(0))
    table.insert(answer, moment(missing - 1))
  end
  table.insert(charges, {log, cost, span, name})
end
for _, charge in ipairs(charges) do
  local log, cost, span, name = unpack(charge)
  if answer[1] == 1 then
    for n = 0, cost - 1 do
      redis.call('ZADD', log, text(now), ARGV[2] .. ':' .. text(ARGV[3] + n))
    end
  end
  if redis.call('EXISTS', log) == 1 then redis.call('ZADD', log, '+inf', name) end
  redis.call('PEXPIRE', log, text(math.ceil(span / 1000)))
end
return answer
"""


class _Answer(msgspec.Struct, frozen=True):
    """The script's answer about one owner; *now* is in microseconds."""

    allowed: bool
    now: int
    states: list[WindowState]


class RedisLimiter:
    """`policy.quota.RequestCounter` over Redis."""

    def __init__(
        self,
        redis: RedisStore,
        *,
        processes: int,
        clock: Callable[[], float] = time.time,
        on_answer: Callable[[float], None] = lambda _: None,
    ) -> None:
        """
        *processes* is how many count together, on all machines; *on_answer* is called with the
        seconds that Redis took.
        """
        self._redis = redis
        self._on_answer = on_answer
        self._script: Callable[..., Any] = redis.client.register_script(SCRIPT)
        self._turns = asyncio.Semaphore(CONNECTIONS)
        self._own = MemoryLimiter(clock=clock)
        self._processes = processes
        self._process = secrets.token_hex(6)
        self._next_number = 1

    async def take(self, charges: Sequence[Charge]) -> RateLimitResult:
        """See `policy.quota.RequestCounter`; never fails."""
        by_owner: dict[str, list[Charge]] = {}
        for charge in charges:
            if charge.windows:
                by_owner.setdefault(charge.owner, []).append(charge)
        charged = list(chain.from_iterable(by_owner.values()))
        if not charged:
            return UNLIMITED
        number = self._next_number
        self._next_number += max(charge.cost for charge in charged)
        counting = [self._count(group, number) for group in by_owner.values()]
        try:
            # The others end by themselves when one fails.
            answers = [await counting[0]] if len(counting) == 1 else await asyncio.gather(*counting)
        except RedisLost:
            return self._take_share(charged, number)
        states = list(chain.from_iterable(answer.states for answer in answers))
        verdict = judge(states, max(answer.now for answer in answers))
        if verdict.allowed:
            self._own.count(charged, number)
            return verdict
        for group, answer in zip(by_owner.values(), answers, strict=True):
            if answer.allowed:
                await self._take_back(group, number)
        return verdict

    def _take_share(self, charges: Sequence[Charge], number: int) -> RateLimitResult:
        verdict = self._own.take_share(charges, number, self._processes)
        for charge in charges:
            self._own.log(charge).synced = -1
        return verdict

    async def _count(self, charges: Sequence[Charge], number: int) -> _Answer:
        """
        Let one owner's logs in Redis judge *charges*, and count them unless one refuses.

        Raises:
            RedisLost: They may be counted or not.
        """
        losses = self._redis.losses
        logs = [self._own.log(charge) for charge in charges]
        keys = self._keys(charges)
        for is_lost in (False, True):  # the log in Redis
            arguments: list[str | int] = [f"{self._process}.{number}", self._process, number]
            for charge, log in zip(charges, logs, strict=True):
                arguments += _arguments(charge, log, in_full=is_lost or log.synced != losses)
            answer = await self._redis.exchange(
                partial(self._run_script, keys, arguments), self._turns
            )
            if answer[0] >= 0:
                return _read(charges, logs, answer, losses)
        raise RedisLost  # twice within one call

    async def _run_script(self, keys: Sequence[str], arguments: Sequence[str | int]) -> list[Any]:
        began = time.perf_counter()
        answer: list[Any] = await self._script(keys=keys, args=arguments)
        self._on_answer(time.perf_counter() - began)
        return answer

    async def _take_back(self, charges: Sequence[Charge], number: int) -> None:
        """Remove what was counted of a request that another owner's windows refuse."""
        for charge, key in zip(charges, self._keys(charges), strict=True):
            hits = [f"{self._process}:{number + each}" for each in range(charge.cost)]
            if hits:
                with contextlib.suppress(RedisLost):
                    await self._redis.exchange(
                        partial(self._redis.client.zrem, key, *hits), self._turns
                    )

    def _keys(self, charges: Sequence[Charge]) -> list[str]:
        return self._redis.keys(charges[0].owner, [charge.key for charge in charges])


def _arguments(charge: Charge, log: HitLog, *, in_full: bool) -> list[str | int]:
    """Return the script's arguments about one log; *in_full*: all requests of the process."""
    arguments: list[str | int] = [charge.cost, log.span, len(charge.windows)]
    for window in charge.windows:
        arguments += (window.limit, window.seconds * MICROSECONDS)
    own = len(log.moments)
    arguments += (log.store, own, own if in_full else 0)
    if in_full:
        arguments += chain.from_iterable(zip(log.moments, log.numbers, strict=True))
    return arguments


def _read(
    charges: Sequence[Charge], logs: Sequence[HitLog], answer: Sequence[Any], losses: int
) -> _Answer:
    """Return the answer of the script, and note that Redis knows *logs* since *losses*."""
    allowed, now = answer[0] == 1, answer[1]
    rows, states = iter(answer[2:]), []
    for charge, log in zip(charges, logs, strict=True):
        log.store, log.synced = next(rows), losses
        for window in charge.windows:
            used, oldest, blocking = next(rows), next(rows), next(rows)
            span = window.seconds * MICROSECONDS
            frees_at = (oldest if oldest > 0 else now) + span
            fits_at = (blocking if blocking >= 0 else now) + span
            left = window.limit - used - charge.cost
            states.append(WindowState(window, charge.cost, left, frees_at, fits_at))
    return _Answer(allowed, now, states)
