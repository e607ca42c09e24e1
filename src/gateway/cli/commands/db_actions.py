"""What the `db` commands do."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import func, update
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DatabaseError
from sqlmodel import col, select

from gateway.cli.console import Told
from gateway.cli.stores import database_alone
from gateway.errors import CommandError
from gateway.store import backups, revisions
from gateway.store.database import Database
from gateway.store.tables import AccessToken


async def current() -> dict[str, Any]:
    """Return where the database is, its version, the newest one, and those that are missing."""
    async with database_alone() as database:
        return await _standing(database)


async def upgraded() -> dict[str, Any]:
    """Bring the schema to the newest version; return as `current`, and the version `before`."""
    async with database_alone() as database:
        before = await _known(database)
        if database.path is not None:
            database.path.parent.mkdir(parents=True, exist_ok=True)
        await database.migrate()
        return {**await _standing(database), "before": before}


async def downgraded(revision: str) -> dict[str, Any]:
    """Go back to *revision*; return as `current`, and the version `before`."""
    if revision not in (versions := revisions.known()):
        raise CommandError(f"There is no version {revision}, only {', '.join(reversed(versions))}.")
    async with database_alone() as database:
        before = await _known(database)
        if before is None or before < revision:
            raise CommandError(f"The database is at {before or 'nothing'}: that is no way back.")
        await revisions.downgrade(database, revision)
        return {**await _standing(database), "before": before}


async def backed_up(target: Path, told: Told) -> dict[str, Any]:
    """Copy the store to *target*; return where it is, and its version."""
    async with database_alone() as database:
        if await revisions.current(database) is None:
            raise CommandError(f"There is nothing to copy at {shown(database)}.")
        url = database.url
    backups.back_up(url, target, told)
    return {"file": str(target), "version": backups.version_of(url, target)}


async def restored(copy: Path, *, told: Told) -> dict[str, Any]:
    """
    Put *copy* in place of the store, and bring it to the newest version.

    Returns:
        As `current`, and the ids of tokens that were `revived`: revoked until now, alive in the
        copy.
    """
    async with database_alone() as database:
        url = database.url
        version = backups.version_of(url, copy)
        if version not in revisions.known():
            raise CommandError(f"{copy} is of version {version}, which this program does not know.")
        dead, highest = await _before(database)
    if database.path is not None:
        database.path.parent.mkdir(parents=True, exist_ok=True)
    backups.restore(url, copy, told)
    async with database_alone() as database:
        await database.migrate()
        async with database.writing() as session:
            # No process may use a policy that it compiled from what was there before.
            await session.exec(
                update(AccessToken).values(policy_rev=AccessToken.policy_rev + highest + 1)
            )
            alive = await session.exec(
                select(AccessToken.id).where(col(AccessToken.revoked_at).is_(None))
            )
            revived = sorted(dead & {number or 0 for number in alive})
        return {**await _standing(database), "revived": revived}


def shown(database: Database) -> str:
    """Return the address of *database* without its password."""
    return make_url(database.url).render_as_string(hide_password=True)


async def _standing(database: Database) -> dict[str, Any]:
    version, known = await revisions.current(database), revisions.known()
    return {
        "database": shown(database),
        "version": version,
        "newest": known[0],
        "missing": sorted(_missing(version, known)),
    }


def _missing(version: str | None, known: Sequence[str]) -> Sequence[str]:
    if version is None:
        return known
    return known[: known.index(version)] if version in known else ()


async def _known(database: Database) -> str | None:
    version = await revisions.current(database)
    if version is not None and version not in revisions.known():
        raise CommandError(
            f"The database is of version {version}, which this program does not know."
        )
    return version


async def _before(database: Database) -> tuple[set[int], int]:
    """Return the ids of revoked tokens and the highest policy revision, if they can be read."""
    try:
        if await revisions.current(database) != revisions.known()[0]:
            return set(), 0
    except DatabaseError:  # damaged: this is why a copy is wanted
        return set(), 0
    async with database.reading() as session:
        dead = await session.exec(
            select(AccessToken.id).where(col(AccessToken.revoked_at).is_not(None))
        )
        highest = await session.exec(select(func.max(AccessToken.policy_rev)))
        return {number or 0 for number in dead}, highest.one() or 0
