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

OLDEST_RELEASE = "0.2"  # whose schema the first migration makes
_NEWER = ": a newer one has upgraded it. Start that one, or restore a backup."
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
        CommandError: A newer version of this program has upgraded the database, or it is too old.
    """
    revision = _current(connection)
    if revision is not None:
        require_known(revision, newer=_NEWER)
    return revision


def require_known(revision: str, subject: str = "The database", *, newer: str = ".") -> None:
    """
    Check that there is a migration to *revision*; *newer* ends the sentence about a newer one.

    Raises:
        CommandError: It is of a newer version of this program, or too old to be upgraded.
    """
    oldest = known()[-1]
    if revision < oldest:
        raise CommandError(
            f"{subject} is of version {revision}, which is older than that of access-gateway "
            f"{OLDEST_RELEASE} ({oldest}): upgrade it with access-gateway {OLDEST_RELEASE} first."
        )
    if revision not in known():
        raise CommandError(
            f"{subject} is of version {revision}, which this program does not know{newer}"
        )


def _current(connection: "Connection") -> str | None:
    from sqlalchemy import inspect, text  # noqa: PLC0415 - heavy

    if not inspect(connection).has_table(_TABLE):
        return None
    revision = connection.scalar(text(_REVISION))
    return None if revision is None else str(revision)
