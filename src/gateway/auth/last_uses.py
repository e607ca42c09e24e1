"""
Time of the last use of each token (`lastUsedAt`), written in batches.

Uses are recorded in memory and written every few seconds, if the stored time is more than a minute
old; so of many processes only the first one writes. See docs/spec/tokens.md#lifetime.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from sqlalchemy import bindparam, update
from sqlmodel import col

from gateway.store.background import PeriodicTask, running_tasks
from gateway.store.conflicts import retried
from gateway.store.database import Database, StorageUnavailable
from gateway.store.tables import AccessToken
from gateway.store.timestamps import LAST_USE_MS

_WRITE_SECONDS = 5.0  # between two writes
_BATCH = 1000  # rows per transaction, so that other writers hardly wait

_USED = col(AccessToken.last_used_at)
_WRITE = (
    update(AccessToken.__table__)  # type: ignore[attr-defined]  # SQLModel makes it
    .where(
        col(AccessToken.id) == bindparam("token"),
        _USED.is_(None) | (bindparam("used") >= _USED + LAST_USE_MS),
    )
    .values(last_used_at=bindparam("used"))
)


class LastUses:
    """Records when tokens are used. One per process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._used: dict[int, int] = {}  # token id -> milliseconds

    def record(self, token_id: int, now: int) -> None:
        """Record a use at *now*, in milliseconds."""
        self._used[token_id] = now

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write periodically, and once more at the end."""
        task = PeriodicTask(
            name="token_uses",
            work=self.write,
            pause_seconds=_WRITE_SECONDS,
            failure_message="the times of the last uses of tokens could not be stored",
        )
        async with running_tasks(task):
            yield
        with suppress(StorageUnavailable):
            await self.write()

    async def write(self) -> None:
        """
        Write what was recorded.

        Raises:
            StorageUnavailable: The database did not answer; the recorded times are lost.
        """
        used, self._used = sorted(self._used.items()), {}
        for start in range(0, len(used), _BATCH):
            await self._store(used[start : start + _BATCH])

    @retried
    async def _store(self, used: Sequence[tuple[int, int]]) -> None:
        # In ascending order, so that two processes do not wait for each other.
        values = [{"token": token_id, "used": now} for token_id, now in used]
        async with self._database.writing() as session:
            await (await session.connection()).execute(_WRITE, values)
