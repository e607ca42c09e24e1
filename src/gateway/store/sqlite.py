"""
The SQLite driver of the process: the packaged one instead of the system's.

SQLite 3.7.0 to 3.51.2, which common systems have, can corrupt a WAL file that several processes
write. Importing this module puts the packaged driver where `import sqlite3` finds it; import it
before anything opens a database.
"""

import sys
from importlib import import_module
from importlib.util import find_spec

SAFE_VERSION = (3, 51, 3)

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
