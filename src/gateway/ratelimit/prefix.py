"""Prefix of the keys in Redis: other deployments on the same Redis have another one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from sqlmodel import select

from gateway.store.database import Database
from gateway.store.tables import DeploymentRow

if TYPE_CHECKING:
    from gateway.ratelimit.redis_client import RedisStore


class DeploymentPrefix:
    """Gives the keys in Redis the id of the deployment. One per process."""

    def __init__(self, database: Database, redis: "RedisStore") -> None:
        self._database = database
        self._redis = redis

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """
        Set the prefix where there is none, before the process serves.

        Raises:
            StorageUnavailable: The database did not answer.
        """
        if not self._redis.prefix:
            async with self._database.reading() as session:
                deployment = (await session.exec(select(DeploymentRow.id))).one()
            self._redis.prefix = f"agw:{deployment}"
        yield
