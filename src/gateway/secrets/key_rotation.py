"""
Sealing again, under the first key, what older keys sealed.

Every batch is a transaction of its own, and what is under the first key already is passed over: a
run that was cut off is simply started again, while the gateway serves.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func
from sqlmodel import SQLModel, col, select

from gateway.secrets.keyring import Keyring, place
from gateway.store.background import ProgressListener
from gateway.store.database import Database
from gateway.store.tables import ConnectionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedColumn:
    """
    A column that holds sealed values.

    Attributes:
        before: A key before all others of the table.
        context: What a row's value is sealed for when it is text (`Keyring.seal`); None for bytes,
            which are sealed for their place.
    """

    table: type[SQLModel]
    column: str
    before: int | str
    context: Callable[[Any], bytes] | None = None

    @property
    def name(self) -> str:
        """The table's name, as the sealed values' places have it."""
        return str(self.table.__tablename__)

    def renewed(self, row: Any, keyring: Keyring) -> bytes | str | None:
        """
        Return the value of *row* under the first key; None when it is so already.

        Raises:
            ValueError: No key of the ring opens it.
        """
        value = getattr(row, self.column)
        if self.context is not None:
            return keyring.reseal(value, context=self.context(row))
        return keyring.rotate(value, place=place(self.name, row.id, self.column))


CREDENTIALS = SealedColumn(table=ConnectionRow, column="credentials", before=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationResult:
    """
    What was done.

    Attributes:
        changed: How many values got another key.
        unreadable: The rows whose values open with no key of the ring; they stay as they are.
    """

    changed: int
    unreadable: Sequence[int | str]


async def rotate_column(
    database: Database,
    keyring: Keyring,
    sealed: SealedColumn,
    *,
    batch: int = 100,
    progress: ProgressListener = lambda _done, _total: None,
) -> RotationResult:
    """Seal all values of a column under the first key of *keyring*."""
    key, held = col(sealed.table.id), col(getattr(sealed.table, sealed.column))  # type: ignore[attr-defined]  # every table's key
    async with database.reading() as session:
        total = (await session.exec(select(func.count()).where(held.is_not(None)))).one()
    changed, looked_at, unreadable = 0, 0, []
    last: Any = sealed.before
    while True:
        async with database.writing() as session:
            wanted = select(sealed.table).where(held.is_not(None), key > last).order_by(key)
            # Held against a refresh that stores new credentials meanwhile.
            rows = (await session.exec(wanted.limit(batch).with_for_update())).all()
            for row in rows:
                last = row.id  # type: ignore[attr-defined]  # every table's key
                try:
                    renewed = sealed.renewed(row, keyring)
                except ValueError:
                    unreadable.append(last)
                    continue
                if renewed is not None:
                    setattr(row, sealed.column, renewed)
                    session.add(row)
                    changed += 1
        looked_at += len(rows)
        progress(looked_at, total)
        if len(rows) < batch:
            return RotationResult(changed=changed, unreadable=unreadable)
