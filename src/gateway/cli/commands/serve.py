"""`serve`: run the gateway as the environment configures it."""

import gc
import os
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.console import failures_as_sentences, info

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
    admin_port: Annotated[
        int | None,
        typer.Option(
            min=0, max=65535, help="Port of management API and metrics alone (AGW_ADMIN_PORT)."
        ),
    ] = None,
    migrate: Annotated[
        bool | None,
        typer.Option(
            "--migrate/--no-migrate",
            help="Bring the database to the newest version first (AGW_MIGRATE).",
        ),
    ] = None,
) -> None:
    """Start the gateway. Needs AGW_ADMIN_TOKEN and AGW_SECRET_KEYS."""
    options = {
        "HOST": host,
        "PORT": port,
        "WORKERS": workers,
        "ADMIN_PORT": admin_port,
        "MIGRATE": migrate,
    }
    for name, value in options.items():
        if value is not None:
            os.environ[f"AGW_{name}"] = str(value)
    # What the imports make stays: collections would walk through it again and again. The server
    # enables them again before its first request (`tune_garbage_collector`).
    gc.disable()
    try:
        _serve()
    finally:
        gc.enable()


def _serve() -> None:
    import asyncio

    from gateway.server import run, run_many
    from gateway.settings import Settings
    from gateway.store.database import Database, guard_processes
    from gateway.unknown_variables import unknown_variables

    with failures_as_sentences():
        settings = Settings().ready_to_serve()
        for sentence in unknown_variables():
            info(sentence)
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        database = Database.open(settings.database, pooler=settings.database_pooler)
        guard_processes(database, settings.workers)
        # Before a worker would fail at it, with more words.
        asyncio.run(_prepare(database, migrates=settings.migrate))
        if settings.workers > 1:
            run_many(settings)
        else:
            run(settings)


async def _prepare(database: "Database", *, migrates: bool) -> None:
    from gateway.store.clock_check import ClockCheck

    try:
        await database.prepare(migrates=migrates)
        await ClockCheck(database).require_agreement()
    finally:
        await database.close()
