"""
Registers connections for notifications while they are followed, renews and ends that.

The process that has the lease of a connection (`gateway.feeds.wakes`) does it. A wait here ends
early only when a registration was made: what came before it is not known.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from secrets import token_urlsafe

from gateway.feeds.push.registrations import RegistrationStore, digest, is_valid
from gateway.feeds.wakes import Wait, WakeStore
from gateway.store.background import PeriodicTask, running_tasks
from gateway.store.further_tables import PushRegistration
from providers.failures import Missing, ProviderFailure
from providers.ports.pushes import CannotNotify, Lack, PushPort

RENEW_MS = 24 * 60 * 60 * 1000  # after it was made or renewed, or after half of its time
RETRY_MS = 15 * 60 * 1000  # of a renewal that failed, while the registration is valid
SWEEP_SECONDS = 30.0
ABANDONED_MS = 60_000  # nobody follows; a client that opens its stream again needs less


class Receiver:
    """
    The receiver of the notifications of a provider.

    Attributes:
        target: Digest of the setting that names it; registrations for another one are made anew.
    """

    def __init__(
        self,
        target: str,
        address: Callable[[str], str] | None = None,
        need: Callable[[], None] = lambda: None,
    ) -> None:
        """
        *address* returns the receiver of the notifications with a mark, a digest; None: *target*.

        *need* is called again and again while a connection of the provider is followed.
        """
        self.target = digest(target)
        self.address = address or (lambda _mark: target)
        self.need = need


class Holds:
    """The registrations that this process holds."""

    def __init__(
        self,
        store: RegistrationStore,
        wakes: WakeStore,
        receivers: Mapping[str, Receiver],
        *,
        port_of: Callable[[int], Awaitable[PushPort]],
        wait_otherwise: Wait,
    ) -> None:
        """*receivers* are by provider; the connections of others are left to *wait_otherwise*."""
        self._store, self._wakes, self._receivers = store, wakes, receivers
        self._port_of, self._wait_otherwise = port_of, wait_otherwise
        self._held: set[int] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """End the registrations of connections that nobody follows any more."""
        task = PeriodicTask(
            name="push_ends",
            work=self.sweep,
            pause_seconds=SWEEP_SECONDS,
            failure_message="registrations for notifications could not be ended",
        )
        async with running_tasks(*([task] if self._receivers else [])):
            yield

    async def wait(self, connection: int, seconds: float) -> bool:
        """
        Keep a connection registered for *seconds*; True at once when that was done anew.

        Raises:
            ProviderFailure: It cannot be registered.
        """
        provider = await self._store.provider_of(connection)
        receiver = self._receivers.get(provider)
        if receiver is None:
            return await self._wait_otherwise(connection, seconds)
        receiver.need()
        self._held.add(connection)
        try:
            return await self._keep(connection, receiver, seconds)
        finally:
            self._held.discard(connection)

    async def _keep(self, connection: int, receiver: Receiver, seconds: float) -> bool:
        row, now = await self._store.read(connection), self._store.now()
        if row is None or not is_valid(row, receiver.target, now):
            await self._register(connection, receiver, row)
            return True
        if row.renew_at <= now and not await self._renew(row):
            await self._register(connection, receiver, row)
            return True
        await asyncio.sleep(seconds)
        return False

    async def _register(
        self, connection: int, receiver: Receiver, before: PushRegistration | None
    ) -> None:
        port = await self._port_of(connection)
        if before is not None and before.name and before.target != receiver.target:
            with suppress(ProviderFailure):
                await port.end(before.name)
        secret = token_urlsafe(32)
        await self._store.begin(connection, receiver.target, digest(secret))
        try:
            made = await port.register(receiver.address(digest(secret)), secret)
        except ProviderFailure as failure:
            await self._store.failed(connection, _lack(failure))
            raise
        await self._store.store(connection, made, self._renew_at(made.ends_ms))

    async def _renew(self, row: PushRegistration) -> bool:
        """Return whether a registration is still there; a failure is tried again later."""
        try:
            port = await self._port_of(row.connection_id)
            ends_at = await port.renew(row.name)
        except Missing:
            return False
        except ProviderFailure as failure:
            retry_at = self._store.now() + RETRY_MS
            await self._store.failed(row.connection_id, _lack(failure), retry_at)
            return True
        await self._store.renewed(row.connection_id, ends_at, self._renew_at(ends_at))
        return True

    def _renew_at(self, ends_at: int) -> int:
        now = self._store.now()
        return now + min(RENEW_MS, max(0, ends_at - now) // 2)

    async def sweep(self) -> None:
        """
        End what nobody follows.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        for row in await self._store.abandoned(ABANDONED_MS):
            is_held = row.connection_id in self._held  # by this process, since a moment
            if not is_held and await self._wakes.take(row.connection_id):
                try:
                    await self._end(row)
                finally:
                    await self._wakes.release(row.connection_id)

    async def _end(self, row: PushRegistration) -> None:
        """End a registration; one that cannot be ended ends by itself."""
        if row.name and not await self._store.is_shared(row):
            with suppress(ProviderFailure):
                port = await self._port_of(row.connection_id)
                await port.end(row.name)
        await self._store.delete(row.connection_id)


def _lack(failure: ProviderFailure) -> Lack | None:
    return failure.lack if isinstance(failure, CannotNotify) else None
