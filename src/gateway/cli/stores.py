"""Opens the store that the environment configures, and runs operations in its sessions."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.changes import ChangeLog, act_at_the_command_line
from gateway.cli.console import run_async
from gateway.secrets.keyring import Keyring
from gateway.settings import Settings
from gateway.store.conflicts import retried
from gateway.store.database import Database

if TYPE_CHECKING:
    from gateway.services import Services

Result = TypeVar("Result")


class Store(NamedTuple):
    database: Database
    keyring: Keyring
    settings: Settings


@asynccontextmanager
async def open_store() -> AsyncIterator[Store]:
    """
    Open the store, migrated to the newest schema.

    Raises:
        NotConfigured: There are no secret keys.
    """
    settings = Settings().ready_to_open()
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    keys = settings.secret_keys.get_secret_value() if settings.secret_keys else ""
    database = Database.open(settings.database, pooler=settings.database_pooler)
    try:
        await database.migrate()
        keyring = Keyring.read(keys)
        act_at_the_command_line()
        ChangeLog(database=database, keyring=keyring, days=settings.decision_days).install()
        yield Store(database, keyring, settings)
    finally:
        await database.close()


@asynccontextmanager
async def open_services() -> AsyncIterator["Services"]:
    """
    Open the store, and the composition over it, which calls the providers.

    Raises:
        NotConfigured: As `open_store`, or the proxy or the certificates cannot be used.
    """
    from gateway.infrastructure import Infrastructure
    from gateway.services import Services

    async with open_store() as store:
        # What processes that serve share, and report, is not a command's.
        alone = {"redis_url": None, "traces_endpoint": None}
        settings = store.settings.model_copy(update=alone)
        services = Services(settings, Infrastructure.open(settings, database=store.database))
        try:
            async with services.accounts.running():
                yield services
        finally:
            services.base.reader.close()
            await services.base.clients.aclose()


def in_store(work: Callable[[Store], Awaitable[Result]]) -> Result:
    """Run *work* on the open store; failures become sentences and exit code 1."""

    async def run() -> Result:
        async with open_store() as store:
            return await work(store)

    return run_async(run)


def read_store(work: Callable[[AsyncSession], Awaitable[Result]]) -> Result:
    """Run *work* in a reading session; failures become sentences and exit code 1."""

    async def run(store: Store) -> Result:
        async with store.database.reading() as session:
            return await work(session)

    return in_store(run)


def write_store(work: Callable[[AsyncSession], Awaitable[Result]]) -> Result:
    """Run *work* in a transaction; failures become sentences and exit code 1."""

    @retried
    async def run(store: Store) -> Result:
        async with store.database.writing() as session:
            return await work(session)

    return in_store(run)
