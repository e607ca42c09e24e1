"""
Reads of the SQLite file by the driver alone, for commands that list rows.

Importing SQLAlchemy and the tables takes longer than such a command does otherwise.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from gateway.store import schema_version, sqlite

Error = sqlite.Error
_BUSY_SECONDS = 5.0
_URL = "sqlite+aiosqlite:///"


class FileReader:
    """Reads one state of the file: all queries are of one transaction."""

    def __init__(self, connection: sqlite.Connection) -> None:
        self._connection = connection

    def rows(self, query: str) -> Sequence[tuple[Any, ...]]:
        """Return all rows of *query*."""
        return self._connection.execute(query).fetchall()


def path_of(url: str) -> Path | None:
    """Return the file of a database URL; None: PostgreSQL's, or one that says more than a path."""
    path = url.removeprefix(_URL)
    return Path(path) if path and path != url and not set("?%:") & set(path) else None


@contextmanager
def open_current(path: Path) -> Iterator[FileReader | None]:
    """
    Open the file at *path* for reading.

    Yields:
        None when there is no file, or its schema is not the newest: `Database.migrate` comes first.

    Raises:
        Error: The file cannot be read.
    """
    if not path.exists():
        yield None
        return
    uri = f"{path.absolute().as_uri()}?mode=rw"
    with closing(
        sqlite.connect(uri, uri=True, isolation_level=None, timeout=_BUSY_SECONDS)
    ) as connection:
        connection.execute("PRAGMA query_only=ON")
        connection.execute("BEGIN")
        current = schema_version.of_file(connection) == schema_version.newest()
        yield FileReader(connection) if current else None
