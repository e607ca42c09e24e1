"""
Failures of a database that mean "try again later", and those that mean a fault of the program.

PostgreSQL says it by SQLSTATE: a server that restarts, is full, has become read-only or cancelled
the statement is unavailable; a constraint, a value or a statement that it refuses is not. See
docs/spec/reliability.md#database-failures.
"""

import sqlite3
from collections.abc import Iterator

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

# Classes (the first two characters) of SQLSTATE, and single states of other classes.
UNAVAILABLE = frozenset(
    {
        "08",  # connection
        "25",  # transaction state: read-only after a failover, idle too long
        "28",  # login refused
        "3D",  # no such database
        "40",  # rolled back: serialization, deadlock
        "53",  # disk, memory or connections exhausted
        "55",  # lock not available
        "57",  # cancelled, shutting down, starting up
        "58",  # error of the operating system
        "72",  # snapshot too old
        "F0",  # configuration
        "XX",  # internal error, damaged data
        "42501",  # permission denied
    }
)
# Rolled back because of another transaction: serialization failure, deadlock.
CONFLICTS = frozenset({"40001", "40P01"})
# Data that cannot be stored however often it is tried.
REJECTED = frozenset({"22", "23"})

# No connection in time, refused, reset, or lost during a statement. A statement that is not
# answered in time raises TimeoutError, which is an OSError.
_NO_ANSWER = (OperationalError, InterfaceError, PoolTimeoutError, OSError)
_SQLITE_DATA = (sqlite3.IntegrityError, sqlite3.DataError)
_DRIVER_DATA = (ValueError, TypeError, OverflowError)  # a driver could not encode the value


def is_unavailable(failure: BaseException) -> bool:
    """Return whether the same statement may succeed later, because the database is the reason."""
    if isinstance(failure, _NO_ANSWER):
        return True
    if isinstance(failure, DBAPIError) and failure.connection_invalidated:
        return True
    if type(failure).__name__ == "InternalClientError":  # asyncpg, when the server just hung up
        return True
    if any(state[:2] in UNAVAILABLE or state in UNAVAILABLE for state in _states(failure)):
        return True
    # SQLite raises the bare class for a damaged file.
    return isinstance(failure, DBAPIError) and type(failure.orig) is sqlite3.DatabaseError


def is_conflict(failure: BaseException) -> bool:
    """Return whether the same transaction may succeed at once: another one rolled it back."""
    return any(state in CONFLICTS for state in _states(failure))


def is_rejected(failure: BaseException) -> bool:
    """Return whether the database refused the data itself: a constraint, a type, a length."""
    if isinstance(failure, _DRIVER_DATA):
        return True
    if isinstance(failure, DBAPIError) and isinstance(failure.orig, _SQLITE_DATA):
        return True
    return any(state[:2] in REJECTED for state in _states(failure))


def _states(failure: BaseException) -> Iterator[str]:
    """Yield the SQLSTATE of *failure* and of the driver's exceptions below it."""
    layers = (failure, getattr(failure, "orig", None), failure.__cause__)
    for layer in layers:
        state = getattr(layer, "sqlstate", None)
        if isinstance(state, str):
            yield state
