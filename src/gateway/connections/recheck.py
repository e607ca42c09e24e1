"""
Connections that stopped working are tried again, so that nobody must say that they work again.

What a test or a refused refresh has marked stays out of every answer; without this, an upstream
that is well again, or an administrator who lifts a block there, would not be noticed before a
person tests or reconnects the account. All processes together try a connection once in a while,
agreed by leases; a dead refresh token is offered rarely, and never in a loop (reliability D7).
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import Any

from sqlmodel import col, select

from gateway.store.background import repeat, running_tasks
from gateway.store.database import Database
from gateway.store.leases import Leases
from gateway.store.tables import ConnectionRow

_CHECK_SECONDS = 30.0  # seconds between two looks of one process
# Status -> seconds between two tries of one connection, by all processes together.
PAUSE_SECONDS: Mapping[str, float] = MappingProxyType({"error": 60.0, "needs_reauth": 900.0})

log = logging.getLogger("gateway")

# Makes one harmless read and writes down how it went; see `accounts.Accounts.test`.
Test = Callable[[ConnectionRow], Awaitable[Mapping[str, Any]]]


class ConnectionRecheck:
    """Tries what does not work. One per process."""

    def __init__(self, database: Database, leases: Leases, test: Test) -> None:
        self._database = database
        self._leases = leases
        self._test = test

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look again and again, meanwhile."""
        async with running_tasks(
            repeat(
                self.recheck_due,
                pause_seconds=_CHECK_SECONDS,
                failure_message="connections could not be tried again",
            )
        ):
            yield

    async def recheck_due(self) -> int:
        """
        Try every connection whose turn it is; return how many work again.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        async with self._database.reading() as session:
            found = await session.exec(
                select(ConnectionRow)
                .where(
                    col(ConnectionRow.status).in_(PAUSE_SECONDS),
                    col(ConnectionRow.credentials).is_not(None),
                )
                .order_by(col(ConnectionRow.id))
            )
            rows = found.all()
        recovered = 0
        for row in rows:
            if await self._leases.take_turn(f"recovery:{row.id}", PAUSE_SECONDS[row.status]):
                recovered += bool((await self._test(row))["ok"])
        if recovered:
            log.info("connections work again")
        return recovered
