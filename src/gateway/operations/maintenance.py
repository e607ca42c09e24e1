"""Maintenance of the store: schema versions, backup and restore."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import func, text, update
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DatabaseError
from sqlmodel import col, select

from gateway.audit.changes import ChangeLog, act_at_the_command_line, note
from gateway.errors import CommandError
from gateway.operations import restored_access
from gateway.operations.key_rotation import credential_keys
from gateway.operations.restored_access import WiderAccess
from gateway.secrets.keyring import Keyring
from gateway.settings import Settings
from gateway.store import backups, schema_version
from gateway.store.database import Database
from gateway.store.serving import TERM_SECONDS, forget_serving_processes, serving_processes
from gateway.store.tables import AccessToken, ConnectionRow
from gateway.store.timestamps import now_ms

Progress = Callable[[int, int | None], None]  # units done, and their total if it is known


async def current() -> dict[str, Any]:
    """Return the `database` URL, its `version`, the `newest` version and the `missing` ones."""
    async with _open_database() as database:
        return await _status(database)


async def upgrade() -> dict[str, Any]:
    """Upgrade the schema to the newest version; return as `current`, and the version `before`."""
    async with _open_database() as database:
        before = await _known_version(database)
        if database.path is not None:
            database.path.parent.mkdir(parents=True, exist_ok=True)
        await database.migrate()
        return {**await _status(database), "before": before}


async def downgrade(version: str, *, force: bool = False) -> dict[str, Any]:
    """
    Downgrade the schema to *version*; return as `current`, and the version `before`.

    Raises:
        CommandError: There is no such version, or gateways serve and there is no *force*.
    """
    if version not in (versions := schema_version.known()):
        raise CommandError(f"There is no version {version}, only {', '.join(reversed(versions))}.")
    async with _open_database() as database:
        before = await _known_version(database)
        if before is None or before < version:
            raise CommandError(f"The database has version {before or 'none'}, not a newer one.")
        await _require_idle(database, force=force)
        from gateway.store.migrations import revisions  # noqa: PLC0415 - Alembic is heavy

        await revisions.downgrade(database.writer, version)
        return {**await _status(database), "before": before}


async def back_up(target: Path, progress: Progress) -> dict[str, Any]:
    """Copy the store to *target*; return the `file` and its `version`."""
    async with _open_database() as database:
        if await schema_version.current(database.path, database.reader) is None:
            raise CommandError(f"There is no database to copy at {safe_url(database)}.")
        url = database.url
    backups.back_up(url, target, progress)
    return {"file": str(target), "version": backups.version_of(url, target)}


async def compare(copy: Path) -> list[WiderAccess] | None:
    """
    List the access that restoring *copy* would widen.

    Returns:
        Tokens, then connections, by id; None when there is no readable store to compare with.

    Raises:
        CommandError: *copy* is not a backup that this program can restore.
    """
    async with _open_database() as database:
        _check_copy(database.url, copy)
        return await _compare(database, copy)


async def require_idle(*, force: bool) -> None:
    """
    Check that no gateway serves the database; with *force*, check nothing.

    Raises:
        CommandError: Some do; the message names them.
    """
    async with _open_database() as database:
        await _require_idle(database, force=force)


async def restore(copy: Path, progress: Progress, *, force: bool = False) -> dict[str, Any]:
    """
    Replace the store by *copy* and upgrade it to the newest version.

    Returns:
        As `current`; the `file` and its version (`before`); the numbers of `tokens` that are not
        revoked and of `connections`; the processes that are `serving`, which only *force* allows;
        `wider`, as `compare` lists it; the ids of `revived` tokens: revoked before, but not in
        the copy; and the ids of `unreadable` connections: no key of AGW_SECRET_KEYS opens their
        credentials.

    Raises:
        CommandError: *copy* is not a backup that this program can restore, or gateways serve and
            there is no *force*.
    """
    async with _open_database() as database:
        url = database.url
        before = _check_copy(url, copy)
        serving = await _require_idle(database, force=force)
        wider = await _compare(database, copy)
        revoked, highest_rev = await _revoked_tokens(database)
    if database.path is not None:
        database.path.parent.mkdir(parents=True, exist_ok=True)
    backups.restore(url, copy, progress)
    async with _open_database() as database:
        await database.migrate()
        _log_changes(database)
        async with database.writing() as session:
            note(session, "restoreDatabase", None)
            # Running processes must not use a policy that they compiled before the restore.
            await session.exec(
                update(AccessToken).values(policy_rev=AccessToken.policy_rev + highest_rev + 1)
            )
            unrevoked = await session.exec(
                select(AccessToken.id).where(col(AccessToken.revoked_at).is_(None))
            )
            usable = {token_id or 0 for token_id in unrevoked}
            connections = (await session.exec(select(func.count(col(ConnectionRow.id))))).one()
        await forget_serving_processes(database)  # the leases of the copy's time
        return {
            **await _status(database),
            "file": str(copy),
            "before": before,
            "tokens": len(usable),
            "connections": connections,
            "serving": serving,
            "revived": sorted(revoked & usable),
            "wider": wider,
            "unreadable": await _unreadable_connections(database),
        }


async def _unreadable_connections(database: Database) -> Sequence[int]:
    keyring = _keyring(Settings())
    return (await credential_keys(database, keyring)).unreadable if keyring else ()


def _keyring(settings: Settings) -> Keyring | None:
    keys = settings.secret_keys
    return Keyring.read(keys.get_secret_value()) if keys else None


def _log_changes(database: Database) -> None:
    """Have changes of *database* logged, if there are keys to sign the rows with."""
    settings = Settings()
    if keyring := _keyring(settings):
        act_at_the_command_line()
        ChangeLog(database=database, keyring=keyring, days=settings.decision_days).install()


async def _require_idle(database: Database, *, force: bool) -> list[str]:
    """Return the processes that serve *database*; without *force*, refuse if there are any."""
    try:
        if await schema_version.current(database.path, database.reader) is None:
            return []
        serving = await serving_processes(database)
    except DatabaseError:  # a damaged store, or one older than leases
        return []
    if serving and not force:
        raise CommandError(
            f"Gateways serve this database: {', '.join(serving)}. Stop them first; one that was "
            f"killed counts for {TERM_SECONDS:.0f} seconds more. --force continues nevertheless."
        )
    return serving


def _check_copy(url: str, copy: Path) -> str:
    """Return the version of *copy*, which must be known."""
    version = backups.version_of(url, copy)
    schema_version.require_known(version, str(copy))
    return version


async def _compare(database: Database, copy: Path) -> list[WiderAccess] | None:
    try:
        if await schema_version.current(database.path, database.reader) is None:
            return None
        present = {table: await _rows(database, table) for table in restored_access.TABLES}
    except DatabaseError:  # a damaged store is the reason for a restore
        return None
    now = now_ms()
    restored = backups.rows_of(database.url, copy, restored_access.TABLES)
    before, after = (restored_access.access_of(rows, now) for rows in (present, restored))
    return restored_access.wider_access(before, after, now)


async def _rows(database: Database, table: str) -> list[dict[str, Any]]:
    """Read a table as it is: the columns of an older schema version included."""
    async with database.reading() as session:
        connection = await session.connection()
        result = await connection.execute(text(f"SELECT * FROM {table}"))  # noqa: S608 - a name of our tables
        return [dict(row) for row in result.mappings()]


def safe_url(database: Database) -> str:
    """Return the URL of *database* without its password."""
    return make_url(database.url).render_as_string(hide_password=True)


@asynccontextmanager
async def _open_database() -> AsyncIterator[Database]:
    """Open the database as it is: it is neither created nor migrated, and needs no secret key."""
    settings = Settings()
    database = Database.open(settings.database, pooler=settings.database_pooler)
    try:
        yield database
    finally:
        await database.close()


async def _status(database: Database) -> dict[str, Any]:
    version, known = (
        await schema_version.current(database.path, database.reader),
        schema_version.known(),
    )
    return {
        "database": safe_url(database),
        "version": version,
        "newest": known[0],
        "missing": sorted(_missing(version, known)),
    }


def _missing(version: str | None, known: Sequence[str]) -> Sequence[str]:
    if version is None:
        return known
    return known[: known.index(version)] if version in known else ()


async def _known_version(database: Database) -> str | None:
    version = await schema_version.current(database.path, database.reader)
    if version is not None:
        schema_version.require_known(version)
    return version


async def _revoked_tokens(database: Database) -> tuple[set[int], int]:
    """Return the ids of revoked tokens and the highest policy revision; none if unreadable."""
    try:
        if (
            await schema_version.current(database.path, database.reader)
            != schema_version.known()[0]
        ):
            return set(), 0
    except DatabaseError:  # a damaged store is the reason for a restore
        return set(), 0
    async with database.reading() as session:
        revoked = await session.exec(
            select(AccessToken.id).where(col(AccessToken.revoked_at).is_not(None))
        )
        highest_rev = await session.exec(select(func.max(AccessToken.policy_rev)))
        return {token_id or 0 for token_id in revoked}, highest_rev.one() or 0
