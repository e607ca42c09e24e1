"""Prefix of the keys in Redis: other deployments on the same Redis have another one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlmodel import select

from gateway.ratelimit.windows import SharedCounter
from gateway.store.database import Database
from gateway.store.tables import DeploymentRow
from policy.quota import RequestCounter


class DeploymentPrefix:
    """Gives the limiter the id of the deployment. One per process."""

    def __init__(self, database: Database, counter: RequestCounter) -> None:
        self._database = database
        self._counter = counter

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """
        Set the prefix of a limiter without one, before the process serves.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        if isinstance(self._counter, SharedCounter) and not self._counter.prefix:
            async with self._database.reading() as session:
                deployment = (await session.exec(select(DeploymentRow.id))).one()
            self._counter.prefix = f"agw:{deployment}"
        yield
