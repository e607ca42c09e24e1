"""The database and the keys as commands use them, opened as the environment configures them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.operations.row_locks import stays
from gateway.secrets.keyring import Keyring
from gateway.settings import Settings
from gateway.store.database import Database
from gateway.store.tables import Operator, Resource
from policy.refusals import NotFound
from policy.vocabulary import Code


@asynccontextmanager
async def opened() -> AsyncIterator[tuple[Database, Keyring, Settings]]:
    """
    Open the store, migrated.

    Raises:
        NotConfigured: There are no secret keys.
    """
    settings = Settings().ready_to_open()
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    keys = settings.secret_keys.get_secret_value() if settings.secret_keys else ""
    database = Database.open(settings.database)
    try:
        await database.migrate()
        yield database, Keyring.read(keys), settings
    finally:
        await database.close()


async def require_operator(session: AsyncSession, operator_id: str) -> None:
    """
    See to it that an operator is there, and stays until the transaction ends.

    Raises:
        NotFound: There is none.
    """
    if not await stays(session, Operator, operator_id):
        raise NotFound(f"There is no operator {operator_id}.", code=Code.OPERATOR_NOT_FOUND)


async def require_resource(session: AsyncSession, resource_id: int) -> None:
    """
    See to it that a resource is there, and stays; operators are looked for first (`staying`).

    Raises:
        NotFound: There is none.
    """
    if not await stays(session, Resource, resource_id):
        raise NotFound(f"There is no resource {resource_id}.", code=Code.RESOURCE_NOT_FOUND)


@asynccontextmanager
async def database_alone() -> AsyncIterator[Database]:
    """Prepare the database as it stands: nothing is made or migrated, and no secret is needed."""
    database = Database.open(Settings().database)
    try:
        yield database
    finally:
        await database.close()
