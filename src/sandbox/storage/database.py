"""
The SQLite file that holds the state of every sandbox upstream, in WAL mode, with synchronous calls.

Each protocol defines its tables with `Database.define` and uses the same connection. Another
process may write to the file, as the import command does: caches notice by
`Database.foreign_writes`.
"""

import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

FILE_NAME = "sandbox.db"
BUSY_TIMEOUT_SECONDS = 30.0  # a write waits so long for another process
_META = "CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT"

Cell = str | int | float | bytes | None
Row = tuple[Cell, ...]


class Database:
    """
    One connection to the file, usable from several threads, one call at a time.

    Attributes:
        writes: Number of transactions that this object has committed, for caches.
    """

    def __init__(self, path: Path | str) -> None:
        """Open *path* (":memory:" keeps everything in this process), creating it when missing."""
        self.writes = 0
        self._lock = RLock()
        self._depth = 0
        self._db = sqlite3.connect(
            str(path), isolation_level=None, check_same_thread=False, timeout=BUSY_TIMEOUT_SECONDS
        )
        _use_wal(self._db)
        self._db.execute("PRAGMA synchronous=NORMAL")
        self.define(_META)

    @property
    def folder(self) -> Path | None:
        """The file's folder; None when everything is in memory."""
        name = str(self._db.execute("PRAGMA database_list").fetchone()[2] or "")
        return Path(name).parent if name else None

    def define(self, *statements: str) -> None:
        """Run ``CREATE … IF NOT EXISTS`` statements."""
        with self._lock:
            for statement in statements:
                self._db.execute(statement)

    def rows(self, sql: str, *values: Cell) -> list[Row]:
        """Return every row of a query."""
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    def row(self, sql: str, *values: Cell) -> Row | None:
        """Return the first row of a query; None when there is none."""
        with self._lock:
            row: Row | None = self._db.execute(sql, values).fetchone()
            return row

    def run(self, sql: str, *values: Cell) -> int:
        """Run one writing statement, in a transaction, and return the number of changed rows."""
        with self.transaction():
            return self._db.execute(sql, values).rowcount

    def run_many(self, sql: str, values: Iterable[Row]) -> None:
        """Run one writing statement for each row of *values*."""
        with self.transaction():
            self._db.executemany(sql, values)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit or roll back everything inside; a nested transaction joins the outermost."""
        with self._lock:
            if self._depth:
                yield
                return
            self._db.execute("BEGIN IMMEDIATE")
            self._depth += 1
            try:
                yield
            except BaseException:
                if self._db.in_transaction:  # a full disk ends it by itself
                    self._db.execute("ROLLBACK")
                raise
            else:
                self._db.execute("COMMIT")
                self.writes += 1
            finally:
                self._depth -= 1

    def foreign_writes(self) -> int:
        """Return a number that changes whenever another connection has written to the file."""
        with self._lock:
            return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def version(self) -> tuple[int, int] | None:
        """Return a value that changes with every write to the file; None in a transaction."""
        with self._lock:
            return None if self._depth else (self.writes, self.foreign_writes())

    def meta(self, key: str, default: str | None = None) -> str | None:
        """Return the text stored under *key*."""
        row = self.row("SELECT value FROM meta WHERE key = ?", key)
        return default if row is None else str(row[0])

    def set_meta(self, key: str, value: str) -> None:
        """Store *value* under *key*."""
        self.run("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", key, value)

    def next(self, counter: str, count: int = 1) -> int:
        """Increase *counter* by *count* and return it; the first value is 1."""
        with self.transaction():
            value = int(self.meta(f"counter:{counter}") or 0) + count
            self.set_meta(f"counter:{counter}", str(value))
        return value

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._db.close()


def open_database(data_dir: Path) -> Database:
    """Open the database in *data_dir*, creating the folder and the file when missing."""
    data_dir.mkdir(parents=True, exist_ok=True)
    file = data_dir / FILE_NAME
    file.touch(mode=0o600)  # imported mail may be real; SQLite's side files take its mode
    return Database(file)


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL mode; SQLite itself does not wait while another process does the same."""
    deadline = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if str(error) != "database is locked" or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return
