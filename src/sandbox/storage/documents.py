"""
Records of one kind in the store: typed structs kept as JSON, in an order, each under an owner.

The task wires keep everything this way: their worlds are a few hundred records of many kinds.
"""

from collections.abc import Iterable
from typing import Generic, TypeVar

import msgspec

from sandbox.storage.database import Database, Row

_TABLES = (
    """CREATE TABLE IF NOT EXISTS shelf (
        kind TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL, position REAL NOT NULL,
        document BLOB NOT NULL, PRIMARY KEY (kind, id)) STRICT""",
    "CREATE INDEX IF NOT EXISTS shelf_order ON shelf (kind, owner, position)",
)
_UPSERT = (
    "INSERT INTO shelf (kind, id, owner, position, document) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (kind, id) DO UPDATE SET owner = excluded.owner,"
    " position = excluded.position, document = excluded.document"
)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """
    What can stand on a shelf.

    Attributes:
        owner: The id of what it belongs to, "" for nothing.
        position: Orders it among those of the same owner.
    """

    id: str
    owner: str = ""
    position: float = 0.0


T = TypeVar("T", bound=Document)


class DocumentTable(Generic[T]):
    """All records of one *kind*; what is written is seen by every process at once."""

    def __init__(self, db: Database, kind: str, record: type[T]) -> None:
        self._db = db
        self._kind = kind
        self._decoder = msgspec.json.Decoder(record)
        db.define(*_TABLES)

    def find(self, record_id: str) -> T | None:
        """Return the record with this id, compared exactly."""
        sql = "SELECT document FROM shelf WHERE kind = ? AND id = ?"
        row = self._db.row(sql, self._kind, record_id)
        return None if row is None else self._read(row)

    def of(self, owner: str) -> tuple[T, ...]:
        """Return the records of *owner*, in their order."""
        sql = "SELECT document FROM shelf WHERE kind = ? AND owner = ? ORDER BY position, id"
        return tuple(map(self._read, self._db.rows(sql, self._kind, owner)))

    def all(self) -> tuple[T, ...]:
        """Return every record, by owner and order."""
        sql = "SELECT document FROM shelf WHERE kind = ? ORDER BY owner, position, id"
        return tuple(map(self._read, self._db.rows(sql, self._kind)))

    def count(self, owner: str) -> int:
        """Return how many records *owner* has."""
        sql = "SELECT COUNT(*) FROM shelf WHERE kind = ? AND owner = ?"
        row = self._db.row(sql, self._kind, owner)
        return 0 if row is None else int(row[0] or 0)

    def put(self, record: T) -> T:
        """Keep a record, in place of the one with its id."""
        self._db.run(_UPSERT, *self._cells(record))
        return record

    def put_many(self, records: Iterable[T]) -> None:
        """Keep several records in one transaction."""
        self._db.run_many(_UPSERT, (self._cells(record) for record in records))

    def drop(self, record_id: str) -> None:
        """Forget a record."""
        self._db.run("DELETE FROM shelf WHERE kind = ? AND id = ?", self._kind, record_id)

    def _cells(self, record: T) -> Row:
        document = msgspec.json.encode(record)
        return (self._kind, record.id, record.owner, record.position, document)

    def _read(self, row: Row) -> T:
        return self._decoder.decode(row[0] if isinstance(row[0], bytes) else b"")
