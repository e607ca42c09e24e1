"""
Pulls the notifications of Gmail, in one process, while it or another one follows mailboxes.

A process pulls for as long as it holds the registration of a mailbox, if it has the lease.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from secrets import token_hex
from time import monotonic

from gateway.connections.token_endpoints import TokenEndpoints
from gateway.feeds.push.arrivals import Arrivals
from gateway.feeds.push.registrations import RegistrationStore, digest
from gateway.feeds.wakes import MAX_RETRY_SECONDS, RETRY_SECONDS, WAIT_SECONDS
from gateway.settings import Settings
from gateway.store.background import last_runs
from gateway.store.database import StorageUnavailable
from gateway.store.leases import Leases
from providers.catalogue.tables import CONNECTORS
from providers.connectors.provider_a.pubsub import PULL_SECONDS, SCOPE, PubSub
from providers.failures import ProviderFailure, TimedOut
from providers.http.origins import Origins
from providers.oauth.credentials import ClientCredentials
from providers.oauth.delegation import ServiceAccount
from providers.ports.pushes import CannotNotify

PROVIDER = "PROVIDER_A"
LEASE = "push:mail"
LEASE_SECONDS = PULL_SECONDS + 30
OTHERS_SECONDS = 5.0  # until another process is asked again whether it pulls
NEEDED_SECONDS = 2 * WAIT_SECONDS  # after the last time that somebody needed it
MIN_SECONDS = 0.2  # between two pulls, should the service answer at once

log = logging.getLogger("gateway")


class MailPulls:
    """The pulls of one process."""

    def __init__(
        self, pubsub: PubSub, leases: Leases, store: RegistrationStore, arrivals: Arrivals
    ) -> None:
        self._pubsub, self._leases, self._store = pubsub, leases, store
        self._arrivals = arrivals
        self._holder = token_hex(16)
        self._task: asyncio.Task[None] | None = None
        self._needed_until = 0.0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Stop at the end; what was pulled and not acknowledged comes again."""
        try:
            yield
        finally:
            if self._task is not None:
                self._task.cancel()
                await asyncio.gather(self._task, return_exceptions=True)

    def need(self) -> None:
        """Pull for the next `NEEDED_SECONDS`."""
        self._needed_until = monotonic() + NEEDED_SECONDS
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        pause = 0.0
        try:
            while monotonic() < self._needed_until:
                try:
                    is_mine = await self._leases.extend(LEASE, self._holder, LEASE_SECONDS)
                    pause = await self._pull() if is_mine else OTHERS_SECONDS
                    last_runs[LEASE] = True
                except TimedOut:
                    pause = MIN_SECONDS
                except (ProviderFailure, StorageUnavailable) as failure:
                    pause = min(max(RETRY_SECONDS, 2 * pause), MAX_RETRY_SECONDS)
                    last_runs[LEASE] = False
                    kind = failure.lack.name if isinstance(failure, CannotNotify) else ""
                    log.warning(
                        "notifications of mail could not be pulled",
                        extra={"kind": kind.lower() or type(failure).__name__},
                    )
                await asyncio.sleep(pause)
        finally:
            last_runs[LEASE] = True  # what nobody needs does not fail
            await self._leases.release(LEASE, self._holder)

    async def _pull(self) -> float:
        messages = await self._pubsub.pull()
        marks = {digest(message.mailbox) for message in messages if message.mailbox}
        if marks:
            self._arrivals.add(await self._store.with_mark(sorted(marks)))
        await self._pubsub.acknowledge(messages)
        return MIN_SECONDS


def open_pubsub(settings: Settings, origins: Origins, endpoints: TokenEndpoints) -> PubSub:
    """Open the subscription that the settings name, with the key in them."""
    key = settings.push_key()
    account = ServiceAccount(
        email=key.client_email, private_key=key.private_key, key_id=key.private_key_id, subject=""
    )
    endpoint = endpoints.of_service_account(account, PROVIDER, SCOPE)
    url = settings.provider_a_pubsub_url
    if settings.sandbox:
        url = f"{settings.base_url}/sandbox/{CONNECTORS[PROVIDER].sandbox_path}"
    subscription = settings.provider_a_push_subscription or ""
    return PubSub(origins, url, subscription, ClientCredentials(endpoint))
