"""
Slots of upstream accounts that all processes share, in Redis.

A grant is a lease, which its process renews while the call runs: a process that dies gives its
slots back when the leases end. Each process has one waiter per account in the queue in Redis, so
processes take turns, and a busy one has all slots while the others need none. Without Redis a
process has its share of them. See docs/spec/upstream/README.md#concurrency.
"""

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from itertools import count
from typing import Any
from weakref import WeakSet

from gateway.ratelimit.redis_client import CONNECTIONS, RedisLost, RedisStore
from gateway.ratelimit.windows import MICROSECONDS
from gateway.store.background import PeriodicTask, running_tasks
from providers.http.slots import AccountSlots, Release

LEASE_SECONDS = 15.0
RENEW_SECONDS = 5.0
POLL_SECONDS = 0.02  # between two questions of a waiter, unless a call of this process ends
WAITER_SECONDS = 1.0  # a waiter that has not asked for so long is gone

# KEYS: leases, queue, times of the waiters' last questions. ARGV: the caller's member ("" only
# renews), its weight, the number of slots, microseconds of a lease and of a waiter, and the members
# that the process holds already, which a new store may not know. A member is "name:weight".
# Answers 1 when the slots are granted, else 0.
SCRIPT = """
local leases, queue, asked = KEYS[1], KEYS[2], KEYS[3]
local member, weight, slots = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local function text(number) return string.format('%.0f', number) end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ends = text(now + ARGV[4])
for i = 6, #ARGV do redis.call('ZADD', leases, ends, ARGV[i]) end
redis.call('ZREMRANGEBYSCORE', leases, '-inf', text(now))
local function expire()
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, text(math.ceil(ARGV[4] / 1000))) end
end
if member == '' or redis.call('ZSCORE', leases, member) then
  expire()
  return 1
end
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', asked, '-inf', text(now - ARGV[5]))) do
  redis.call('ZREM', queue, gone)
  redis.call('ZREM', asked, gone)
end
redis.call('ZADD', queue, 'NX', text(now), member)
redis.call('ZADD', asked, text(now), member)
local used = 0
for _, lease in ipairs(redis.call('ZRANGE', leases, 0, -1)) do
  used = used + tonumber(string.match(lease, ':(%d+)$'))
end
local granted = 0
if redis.call('ZRANGE', queue, 0, 0)[1] == member and used + weight <= slots then
  redis.call('ZADD', leases, ends, member)
  redis.call('ZREM', queue, member)
  redis.call('ZREM', asked, member)
  granted = 1
end
expire()
return granted
"""


class RedisSlots:
    """Opens the shared slots of accounts. One per process."""

    def __init__(
        self, redis: RedisStore, *, processes: int, lease_seconds: float = LEASE_SECONDS
    ) -> None:
        """*processes* is how many share the slots; it decides the share without Redis."""
        self.processes = processes
        self._redis = redis
        self._script: Callable[..., Any] = redis.client.register_script(SCRIPT)
        self._turns = asyncio.Semaphore(CONNECTIONS)
        self._lease_seconds = lease_seconds
        self._process = secrets.token_hex(6)
        self._numbers = count(1)
        self._accounts = WeakSet[_SharedAccountSlots]()
        self._tasks = set[asyncio.Task[Any]]()

    def open(self, account: object, origin: str, slots: int) -> AccountSlots:
        # A digest, because the account is an address.
        key = hashlib.sha256(f"{account!r}\n{origin}".encode()).hexdigest()[:32]
        opened = _SharedAccountSlots(self, key, slots)
        self._accounts.add(opened)
        return opened

    def running(self) -> AbstractAsyncContextManager[None]:
        return running_tasks(
            PeriodicTask(
                name="account_slots",
                work=self.renew,
                pause_seconds=RENEW_SECONDS,
                failure_message="leases of account slots were not renewed",
            )
        )

    async def renew(self) -> None:
        """Renew the leases of all calls under way."""
        for account in tuple(self._accounts):
            if account.held:
                await self.ask(account.key, "", 0, account.slots, account.held)

    async def ask(
        self, key: str, name: str, weight: int, slots: int, held: Mapping[str, int]
    ) -> bool | None:
        """Ask for the slots of a call; None: Redis is lost."""
        member = _member(name, weight) if name else ""
        microseconds = [
            int(seconds * MICROSECONDS) for seconds in (self._lease_seconds, WAITER_SECONDS)
        ]
        members = [_member(*lease) for lease in held.items()]
        arguments = [member, weight, slots, *microseconds, *members]
        call = partial(self._script, keys=self._keys(key), args=arguments)
        granted = await self._exchange(call)
        return None if granted is None else bool(granted)

    async def give_back(self, key: str, name: str, weight: int, *, waits: bool) -> None:
        """Remove a lease, and of a call that *waits* its waiter; without Redis they just end."""
        keys, member = self._keys(key), _member(name, weight)
        for each in keys if waits else keys[:1]:
            await self._exchange(partial(self._redis.client.zrem, each, member))

    def new_name(self) -> str:
        return f"{self._process}.{next(self._numbers)}"

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run *work* beside its caller, also when the caller is cancelled."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def aclose(self) -> None:
        """Wait for the slots that are being given back."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _exchange(self, call: Callable[[], Awaitable[Any]]) -> Any:
        """Return the answer of Redis; None while it is lost."""
        try:
            return await self._redis.exchange(call, self._turns)
        except RedisLost:
            return None

    def _keys(self, key: str) -> list[str]:
        return self._redis.keys(f"slots:{key}", ("leases", "queue", "asked"))


class _SharedAccountSlots:
    """
    The slots of one account at one origin, as this process sees them.

    Attributes:
        held: Name -> weight of this process's calls under way.
    """

    def __init__(self, store: RedisSlots, key: str, slots: int) -> None:
        self.key = key
        self.slots = slots
        self.held: dict[str, int] = {}
        self._store = store
        self._share = max(1, slots // store.processes)
        self._turn = asyncio.Lock()  # its waiters are served in order
        self._released = asyncio.Event()

    async def acquire(self, weight: int) -> Release:
        weight = min(weight, self.slots)
        async with self._turn:
            name = self._store.new_name()
            while True:
                self._released.clear()
                # Not cancelled with its caller: whether it was granted must be known.
                asking = self._store.spawn(
                    self._store.ask(self.key, name, weight, self.slots, self.held)
                )
                try:
                    granted = await asyncio.shield(asking)
                    if granted or (granted is None and self._fits_share(weight)):
                        self.held[name] = weight
                        return partial(self._release, name)
                    await self._wait_for_release()
                except asyncio.CancelledError:
                    self._store.spawn(self._give_back(name, weight, after=asking))
                    raise

    def _fits_share(self, weight: int) -> bool:
        return not self.held or sum(self.held.values()) + weight <= self._share

    async def _wait_for_release(self) -> None:
        try:
            async with asyncio.timeout(POLL_SECONDS):
                await self._released.wait()
        except TimeoutError:
            pass

    def _release(self, name: str) -> None:
        weight = self.held.pop(name)
        self._store.spawn(self._give_back(name, weight))

    async def _give_back(
        self, name: str, weight: int, *, after: asyncio.Task[Any] | None = None
    ) -> None:
        if after is not None:
            await after
        await self._store.give_back(self.key, name, weight, waits=after is not None)
        self._released.set()


def _member(name: str, weight: int) -> str:
    return f"{name}:{weight}"
