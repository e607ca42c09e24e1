"""
Key rotation: seals stored values again under the first key of the ring.

It runs while the gateway serves. Every batch is one transaction, and values under the first key are
skipped, so an interrupted run is simply started again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func
from sqlmodel import SQLModel, col, select

from gateway.secrets.keyring import Keyring, column_context
from gateway.store.background import ProgressListener
from gateway.store.conflicts import retried
from gateway.store.database import Database
from gateway.store.tables import ConnectionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedColumn:
    """
    A column of sealed values.

    Attributes:
        before: A value lower than every primary key of the table.
        context: Returns the context of a row whose value is text (`Keyring.seal`); None for bytes,
            which are sealed for their column.
    """

    table: type[SQLModel]
    column: str
    before: int | str
    context: Callable[[Any], bytes] | None = None

    @property
    def name(self) -> str:
        """The table name that the context of a sealed value begins with."""
        return str(self.table.__tablename__)

    def rotated(self, row: Any, keyring: Keyring) -> bytes | str | None:
        """
        Return the value of *row* under the first key; None when it already is.

        Raises:
            ValueError: No key of the ring opens it.
        """
        value = getattr(row, self.column)
        if self.context is not None:
            return keyring.reseal(value, context=self.context(row))
        return keyring.rotate(value, context=column_context(self.name, row.id, self.column))


CREDENTIALS = SealedColumn(table=ConnectionRow, column="credentials", before=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationResult:
    """
    Result of rotating one column.

    Attributes:
        changed: Number of values sealed again.
        unreadable: Primary keys of the rows that no key of the ring opens; they stay unchanged.
    """

    changed: int
    unreadable: Sequence[int | str]


@retried
async def rotate_column(
    database: Database,
    keyring: Keyring,
    column: SealedColumn,
    *,
    batch: int = 100,
    progress: ProgressListener = lambda _done, _total: None,
) -> RotationResult:
    """Seal all values of *column* under the first key; *progress* gets (rows done, all rows)."""
    key, value = col(column.table.id), col(getattr(column.table, column.column))  # type: ignore[attr-defined]  # every table's key
    async with database.reading() as session:
        total = (await session.exec(select(func.count()).where(value.is_not(None)))).one()
    changed, checked, unreadable = 0, 0, []
    last: Any = column.before
    while True:
        async with database.writing() as session:
            query = select(column.table).where(value.is_not(None), key > last).order_by(key)
            # Locked against a refresh that stores new credentials meanwhile.
            rows = (await session.exec(query.limit(batch).with_for_update())).all()
            for row in rows:
                last = row.id  # type: ignore[attr-defined]  # every table's key
                try:
                    rotated = column.rotated(row, keyring)
                except ValueError:
                    unreadable.append(last)
                    continue
                if rotated is not None:
                    setattr(row, column.column, rotated)
                    session.add(row)
                    changed += 1
        checked += len(rows)
        progress(checked, total)
        if len(rows) < batch:
            return RotationResult(changed=changed, unreadable=unreadable)
