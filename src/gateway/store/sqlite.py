"""
The SQLite driver of the process: the packaged one instead of the system's.

SQLite 3.7.0 to 3.51.2, which common systems have, can corrupt a WAL file that several processes
write. Importing this module puts the packaged driver where `import sqlite3` finds it; import it
before anything opens a database.
"""

import os
import sys
import time
from contextlib import closing, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

SAFE_VERSION = (3, 51, 3)
BUSY_TIMEOUT = 5.0  # seconds that a write waits for another process

if find_spec("pysqlite3") is not None:
    sys.modules["sqlite3"] = import_module("pysqlite3")
    sys.modules["sqlite3.dbapi2"] = import_module("pysqlite3.dbapi2")

import sqlite3  # noqa: E402 - from here on it is the packaged one

Connection = sqlite3.Connection
Error = sqlite3.Error
OperationalError = sqlite3.OperationalError
connect = sqlite3.connect


def version() -> tuple[int, ...]:
    """Return the version of the library in use."""
    return tuple(int(part) for part in sqlite3.sqlite_version.split("."))


def safe_for_many_processes() -> bool:
    """Return whether several processes may write one WAL database with this library."""
    return version() >= SAFE_VERSION


def prepare_file(path: Path) -> None:
    """
    Create the file readable by its owner only (SQLite's side files copy its mode), in WAL mode.

    Switching to WAL fails while another process does the same, without SQLite's busy timeout. Any
    other failure shows again when the engine opens the file.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    is_new = path.stat().st_size == 0
    deadline = time.monotonic() + BUSY_TIMEOUT
    with suppress(Error), closing(connect(path, timeout=BUSY_TIMEOUT)) as connection:
        while time.monotonic() < deadline:
            try:
                if is_new:  # free pages of `cleanup` can be returned; later it would need a VACUUM
                    connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
                connection.execute("PRAGMA journal_mode=WAL")
            except OperationalError:
                time.sleep(0.01)
            else:
                return
