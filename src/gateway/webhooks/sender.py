"""
Calls the targets of wake-ups: one loop of each process, which rests while there are no targets.

A call is a POST to a public address: no redirect is followed, nothing of the answer but its status
is used, and it takes 10 seconds at most (docs/spec/webhooks.md#calls).
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus

from gateway.secrets.keyring import Keyring
from gateway.store.background import PeriodicTask, let_end, running_tasks
from gateway.store.database import Database, StorageUnavailable
from gateway.store.timestamps import ClockMs, now_ms
from gateway.webhooks import signatures, targets
from gateway.webhooks.deliveries import Deliveries, Delivery
from providers.failures import ProviderFailure, TimedOut
from providers.http.client import Upstream
from providers.http.origins import Origins
from providers.http.urls import BaseUrl

PAUSE_SECONDS = 1.0  # between two looks for wake-ups
REST_SECONDS = 30.0  # the same while there are no targets
CONCURRENT = 8  # calls of one process, each of another target
CALL_SECONDS = 10.0
STOP_SECONDS = 10.0  # that calls may still take when the process stops
# A base URL that no server has: every other one is foreign to it, and must then be public.
_NOWHERE = "https://webhooks.invalid"
_ANY_STATUS = range(300, 600)

log = logging.getLogger("gateway")


class WebhookSender:
    """Calls the targets of wake-ups, in the background. One per process."""

    def __init__(
        self,
        database: Database,
        keyring: Keyring,
        origins: Origins,
        *,
        on_call: Callable[[str], None] = lambda _: None,
        clock: ClockMs = now_ms,
    ) -> None:
        """
        Start without any call.

        Args:
            database: Has the targets and the wake-ups.
            keyring: Opens the secrets.
            origins: The clients of the process.
            on_call: Told how each call ended: "delivered", "failed" or "dead".
            clock: Of signatures and secrets.
        """
        self._deliveries = Deliveries(database)
        self._keyring = keyring
        self._origins = origins
        self._on_call = on_call
        self._clock = clock
        self._woken = asyncio.Event()
        self._has_targets = True
        self._calls: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look for wake-ups; then let the calls end."""
        look = PeriodicTask(
            name="webhooks",
            work=self._look,
            pause_seconds=0,
            retry_seconds=PAUSE_SECONDS,
            failure_message="wake-up calls could not be made",
        )
        async with running_tasks(look):
            yield
        await let_end(self._calls, STOP_SECONDS)

    def look_soon(self) -> None:
        """Look at once: a target or a wake-up was committed; other processes look by themselves."""
        self._woken.set()

    async def idle(self) -> None:
        """Wait until every call of this process has ended."""
        await asyncio.gather(*self._calls, return_exceptions=True)

    async def _look(self) -> None:
        """Wait until it is time for a look, or one is asked for."""
        with suppress(TimeoutError):
            async with asyncio.timeout(PAUSE_SECONDS if self._has_targets else REST_SECONDS):
                await self._woken.wait()
        self._woken.clear()
        self._has_targets = await self._deliveries.has_targets()
        if self._has_targets:
            await self.run_due()

    async def run_due(self) -> None:
        """
        Begin the calls that are due, as many as there is room for.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        room = CONCURRENT - len(self._calls)
        if room <= 0:
            return
        for delivery in await self._deliveries.take(room):
            task = asyncio.create_task(self._deliver(delivery))
            self._calls.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._calls.discard(task)
        self._woken.set()  # there is room, and the target may have another wake-up

    async def _deliver(self, delivery: Delivery) -> None:
        """Make one call and note how it ended; if that fails, its lease ends and it is repeated."""
        error = await self._call(delivery)
        try:
            if error is None:
                await self._deliveries.delivered(delivery)
                self._on_call("delivered")
                return
            gone = error == str(HTTPStatus.GONE.value)
            is_dead = await self._deliveries.failed(delivery, error, gone=gone)
        except StorageUnavailable:
            return
        self._on_call("dead" if is_dead else "failed")
        if is_dead:
            log.warning("a webhook target is dead: `doctor` names it", extra={"kind": error})

    async def _call(self, delivery: Delivery) -> str | None:
        """Call the target; return None for a 2xx, else the status or a word."""
        target, now = delivery.target, self._clock()
        try:
            secrets = targets.secrets_of(target, self._keyring).valid_at(now)
        except ValueError:
            return "secret_lost"
        headers = signatures.headers(secrets, delivery.webhook_id, now // 1000, delivery.body)
        connection = f"webhook {target.id}"
        origin = BaseUrl.parse(target.url.partition("?")[0]).origin
        upstream = Upstream(
            self._origins, _NOWHERE, connection=connection, name="webhook", hosts=(origin,)
        )
        try:
            async with upstream.open_stream(
                "POST",
                target.url,
                content=delivery.body,
                headers=headers,
                deadline=CALL_SECONDS,
                accept=_ANY_STATUS,
            ) as response:
                status = response.status
        except TimedOut:
            return "timed_out"
        except (ProviderFailure, OSError):
            return "unreachable"
        finally:
            self._origins.forget(connection)
        return None if 200 <= status < 300 else str(status)
