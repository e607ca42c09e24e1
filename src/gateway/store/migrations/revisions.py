"""Upgrades and downgrades of the database schema, by Alembic."""

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncEngine

from gateway.store import schema_version


def upgrade(connection: Connection, revision: str = "head") -> None:
    """
    Run the packaged migrations on *connection* up to *revision*.

    Raises:
        CommandError: A newer version of this program has upgraded the database.
    """
    schema_version.known_revision(connection)
    command.upgrade(alembic_config(connection), revision)


async def downgrade(writer: AsyncEngine, revision: str) -> None:
    """Go back to *revision*; data that it has no column for is lost."""

    def run(connection: Connection) -> None:
        command.downgrade(alembic_config(connection), revision)

    async with writer.begin() as connection:
        await connection.run_sync(run)


def alembic_config(connection: Connection | None = None) -> Config:
    """Return a configuration without an ini file; None is enough to list the migrations."""
    config = Config()
    config.set_main_option("script_location", "gateway.store:migrations")
    config.attributes["connection"] = connection
    return config
