"""Which version of the schema a database has, which is the newest, and the way back to an older."""

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from gateway.store.database import Database, alembic_config


async def current(database: Database) -> str | None:
    """Return the version that *database* has; None when it has no tables, or is not there."""
    if database.path is not None and not database.path.exists():
        return None
    async with database.reader.connect() as connection:
        return await connection.run_sync(_current)


def known() -> tuple[str, ...]:
    """Return the versions that this program can make, the newest first."""
    scripts = ScriptDirectory.from_config(_nowhere())
    return tuple(script.revision for script in scripts.walk_revisions())


async def downgrade(database: Database, revision: str) -> None:
    """Go back to *revision*; what it has no place for is lost."""

    def back(connection: Connection) -> None:
        command.downgrade(alembic_config(connection), revision)

    async with database.writer.begin() as connection:
        await connection.run_sync(back)


def _current(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _nowhere() -> Config:
    config = Config()
    config.set_main_option("script_location", "gateway.store:migrations")
    return config
