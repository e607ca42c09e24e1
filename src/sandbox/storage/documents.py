"""
Tables of documents: typed structs stored as JSON, ordered, each belonging to an owner.

The task protocols store everything here: a few hundred records of many kinds.
"""

from collections.abc import Iterable
from typing import Generic, TypeVar

import msgspec

from sandbox.storage.database import Cell, Database, Row

_TABLES = (
    """CREATE TABLE IF NOT EXISTS shelf (
        kind TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL, position REAL NOT NULL,
        document BLOB NOT NULL, PRIMARY KEY (kind, id)) STRICT""",
    "CREATE INDEX IF NOT EXISTS shelf_order ON shelf (kind, owner, position)",
)
_MOST_READ = 1000  # collections that are kept
_UPSERT = (
    "INSERT INTO shelf (kind, id, owner, position, document) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (kind, id) DO UPDATE SET owner = excluded.owner,"
    " position = excluded.position, document = excluded.document"
)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """
    Base of the records that a document table holds.

    Attributes:
        owner: The id of the record it belongs to; "" for none.
        position: Its place among the documents of the same owner.
    """

    id: str
    owner: str = ""
    position: float = 0.0


T = TypeVar("T", bound=Document)


class DocumentTable(Generic[T]):
    """
    All documents of one *kind*.

    What was read last is kept until something is written, because a page of a large collection is
    cut from the whole of it.
    """

    def __init__(self, db: Database, kind: str, record: type[T]) -> None:
        self._db = db
        self._kind = kind
        self._decoder = msgspec.json.Decoder(record)
        self._read: dict[tuple[Cell, ...], tuple[T, ...]] = {}
        self._read_at: tuple[int, int] | None = None
        db.define(*_TABLES)

    def find(self, record_id: str) -> T | None:
        """Return the record with this id (compared exactly)."""
        sql = "SELECT document FROM shelf WHERE kind = ? AND id = ?"
        row = self._db.row(sql, self._kind, record_id)
        return None if row is None else self._from_row(row)

    def of(self, owner: str) -> tuple[T, ...]:
        """Return the records of *owner*, ordered by position."""
        sql = "SELECT document FROM shelf WHERE kind = ? AND owner = ? ORDER BY position, id"
        return self._rows(sql, self._kind, owner)

    def all(self) -> tuple[T, ...]:
        """Return every record, ordered by owner and position."""
        sql = "SELECT document FROM shelf WHERE kind = ? ORDER BY owner, position, id"
        return self._rows(sql, self._kind)

    def count(self, owner: str) -> int:
        """Return the number of records of *owner*."""
        sql = "SELECT COUNT(*) FROM shelf WHERE kind = ? AND owner = ?"
        row = self._db.row(sql, self._kind, owner)
        return 0 if row is None else int(row[0] or 0)

    def put(self, record: T) -> T:
        """Store a record, replacing the one with its id, and return it."""
        self._db.run(_UPSERT, *self._to_row(record))
        return record

    def put_many(self, records: Iterable[T]) -> None:
        """Store several records in one transaction."""
        self._db.run_many(_UPSERT, (self._to_row(record) for record in records))

    def drop(self, record_id: str) -> None:
        """Delete a record."""
        self._db.run("DELETE FROM shelf WHERE kind = ? AND id = ?", self._kind, record_id)

    def _rows(self, sql: str, *values: Cell) -> tuple[T, ...]:
        version = self._db.version()
        if version != self._read_at or len(self._read) > _MOST_READ:
            self._read.clear()
            self._read_at = version
        if version is None:
            return tuple(map(self._from_row, self._db.rows(sql, *values)))
        if values not in self._read:
            self._read[values] = tuple(map(self._from_row, self._db.rows(sql, *values)))
        return self._read[values]

    def _to_row(self, record: T) -> Row:
        document = msgspec.json.encode(record)
        return (self._kind, record.id, record.owner, record.position, document)

    def _from_row(self, row: Row) -> T:
        return self._decoder.decode(row[0] if isinstance(row[0], bytes) else b"")
