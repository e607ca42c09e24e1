"""Versions of the database schema: the current one, the known ones, and downgrades."""

from alembic import command
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from gateway.store.database import Database, alembic_config


async def current(database: Database) -> str | None:
    """Return the version of *database*; None when it has no tables or does not exist."""
    if database.path is not None and not database.path.exists():
        return None
    async with database.reader.connect() as connection:
        return await connection.run_sync(
            lambda driver: MigrationContext.configure(driver).get_current_revision()
        )


def known() -> tuple[str, ...]:
    """Return the versions that this program has migrations for, newest first."""
    scripts = ScriptDirectory.from_config(alembic_config())
    return tuple(script.revision for script in scripts.walk_revisions())


async def downgrade(database: Database, revision: str) -> None:
    """Go back to *revision*; data that it has no column for is lost."""

    def run(connection: Connection) -> None:
        command.downgrade(alembic_config(connection), revision)

    async with database.writer.begin() as connection:
        await connection.run_sync(run)
