"""
The version of the database schema, read without Alembic.

Importing Alembic takes longer than a command that reads rows, and only an upgrade needs it.
Revisions are numbered in their order; the file of each begins with its number.
"""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.errors import CommandError

if TYPE_CHECKING:  # heavy
    from sqlalchemy import Connection
    from sqlalchemy.ext.asyncio import AsyncEngine

_VERSIONS = Path(__file__).parent / "migrations" / "versions"
_TABLE = "alembic_version"
_REVISION = f"SELECT version_num FROM {_TABLE}"  # noqa: S608 - a constant


@cache
def known() -> tuple[str, ...]:
    """Return the revisions that this program has migrations for, newest first."""
    files = sorted(_VERSIONS.glob("[0-9]*_*.py"), reverse=True)
    return tuple(file.name.partition("_")[0] for file in files)


def newest() -> str:
    """Return the revision of the schema that this program needs."""
    return known()[0]


async def current(path: Path | None, reader: "AsyncEngine") -> str | None:
    """Return the revision of the database; None when it has no tables or its file is absent."""
    if path is not None and not path.exists():  # noqa: ASYNC240 - one look at a local file
        return None
    async with reader.connect() as connection:
        return await connection.run_sync(_current)


def known_revision(connection: "Connection") -> str | None:
    """
    Return the revision of the database; None for an empty one.

    Raises:
        CommandError: A newer version of this program has upgraded the database.
    """
    revision = _current(connection)
    if revision is not None and revision not in known():
        raise CommandError(
            f"The database is of version {revision}, which this program does not know: a newer one "
            "has upgraded it. Start that one, or restore a backup."
        )
    return revision


def _current(connection: "Connection") -> str | None:
    from sqlalchemy import inspect, text  # noqa: PLC0415 - heavy

    if not inspect(connection).has_table(_TABLE):
        return None
    revision = connection.scalar(text(_REVISION))
    return None if revision is None else str(revision)
