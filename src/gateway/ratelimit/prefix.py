"""Prefix of the keys in Redis: other deployments on the same Redis have another one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlmodel import select

from gateway.ratelimit.windows import SharedCounter
from gateway.store.database import Database
from gateway.store.tables import DeploymentRow


class DeploymentPrefix:
    """Gives what is shared in Redis the id of the deployment. One per process."""

    def __init__(self, database: Database, *shared: object) -> None:
        """*shared*: only a `SharedCounter` has a prefix."""
        self._database = database
        self._shared = [each for each in shared if isinstance(each, SharedCounter)]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """
        Set the prefix where there is none, before the process serves.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        unnamed = [each for each in self._shared if not each.prefix]
        if unnamed:
            async with self._database.reading() as session:
                deployment = (await session.exec(select(DeploymentRow.id))).one()
            for each in unnamed:
                each.prefix = f"agw:{deployment}"
        yield
