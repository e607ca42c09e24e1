"""
Periodic tests of connections that stopped working, so that they recover by themselves.

A connection that a failed test or a refused refresh has marked is left out of every response.
Without these tests, its recovery would not show before a person tests or reconnects the account.
Leases limit the tests of all processes together; a dead refresh token is offered rarely and never
in a loop (docs/spec/reliability.md#token-refresh).
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from types import MappingProxyType

from sqlmodel import col, or_, select

from gateway.connections import shared
from gateway.connections.accounts import ConnectionTestResult
from gateway.store.background import PeriodicTask, for_each, running_tasks
from gateway.store.database import Database
from gateway.store.leases import Leases
from gateway.store.tables import ConnectionRow

_CHECK_SECONDS = 30.0  # between two checks of one process
_CONCURRENT_TESTS = 8  # a hanging upstream must not delay the tests of all other accounts
# Status -> seconds between two tests of a connection, over all processes.
PAUSE_SECONDS: Mapping[str, float] = MappingProxyType({"error": 60.0, "needs_reauth": 900.0})

log = logging.getLogger("gateway")

# Makes one harmless read and stores the result; see `accounts.Accounts.test`.
Test = Callable[[ConnectionRow], Awaitable[ConnectionTestResult]]


class ConnectionRecheck:
    """Tests connections that do not work. One per process."""

    def __init__(self, database: Database, leases: Leases, test: Test) -> None:
        self._database = database
        self._leases = leases
        self._test = test

    def running(self) -> AbstractAsyncContextManager[None]:
        return running_tasks(
            PeriodicTask(
                name="connection_recheck",
                work=self.recheck_due,
                pause_seconds=_CHECK_SECONDS,
                failure_message="connections could not be tried again",
            )
        )

    async def recheck_due(self) -> int:
        """
        Test every connection that is due; return how many work again.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        async with self._database.reading() as session:
            result = await session.exec(
                select(ConnectionRow, shared.BASE)
                .outerjoin(shared.BASE, shared.IS_ON_BASE)
                .where(
                    col(ConnectionRow.status).in_(PAUSE_SECONDS),
                    or_(
                        col(ConnectionRow.credentials).is_not(None),
                        col(shared.BASE.status) == "active",  # else its own test comes first
                    ),
                )
                .order_by(col(ConnectionRow.id))
            )
            rows = [shared.resolved(row, base) for row, base in result.all()]
        return sum(await for_each(rows, self._recheck, concurrent=_CONCURRENT_TESTS))

    async def _recheck(self, row: ConnectionRow) -> bool:
        """Test a connection if it is due; return whether it works again."""
        if not await self._leases.take_turn(f"recovery:{row.id}", PAUSE_SECONDS[row.status]):
            return False
        works = (await self._test(row)).ok
        if works:
            log.info("a connection works again", extra={"connection_id": row.id})
        return works
