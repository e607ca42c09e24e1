"""The database and the keys as commands use them, opened as the environment configures them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gateway.database import Database
from gateway.keyring import Keyring
from gateway.settings import Settings


@asynccontextmanager
async def opened() -> AsyncIterator[tuple[Database, Keyring, Settings]]:
    """
    Open the store, migrated.

    Raises:
        NotConfigured: A secret is missing.
    """
    settings = Settings().ready_to_serve()
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    keys = settings.secret_keys.get_secret_value() if settings.secret_keys else ""
    database = Database.open(settings.database)
    try:
        await database.migrate()
        yield database, Keyring.read(keys), settings
    finally:
        await database.close()


@asynccontextmanager
async def database_alone() -> AsyncIterator[Database]:
    """Prepare the database as it stands: nothing is made or migrated, and no secret is needed."""
    database = Database.open(Settings().database)
    try:
        yield database
    finally:
        await database.close()
