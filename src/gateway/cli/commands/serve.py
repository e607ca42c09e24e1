"""`serve`: run the gateway as the environment configures it."""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.console import failures_as_sentences

if TYPE_CHECKING:  # imported when it runs
    from gateway.store.database import Database


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (AGW_HOST).")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on (AGW_PORT).")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=64, help="Processes (AGW_WORKERS).")
    ] = None,
) -> None:
    """Start the gateway. Needs AGW_ADMIN_TOKEN and AGW_SECRET_KEYS."""
    import asyncio

    from gateway.server import run, run_many
    from gateway.settings import Settings
    from gateway.store.database import Database, guard_processes

    for name, value in (("HOST", host), ("PORT", port), ("WORKERS", workers)):
        if value is not None:
            os.environ[f"AGW_{name}"] = str(value)
    with failures_as_sentences():
        settings = Settings().ready_to_serve()
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        database = Database.open(settings.database)
        guard_processes(database, settings.workers)
        asyncio.run(_migrated(database))  # before a worker would fail at it, with more words
        if settings.workers > 1:
            run_many(settings)
        else:
            run(settings)


async def _migrated(database: "Database") -> None:
    try:
        await database.migrate()
    finally:
        await database.close()
