"""`serve`: run the gateway as the environment configures it."""

import os
from typing import Annotated

import typer

from gateway.cli.talk import failures_as_sentences


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
    from gateway.database import Database, guard_processes
    from gateway.server import run, run_many
    from gateway.settings import Settings

    for name, value in (("HOST", host), ("PORT", port), ("WORKERS", workers)):
        if value is not None:
            os.environ[f"AGW_{name}"] = str(value)
    with failures_as_sentences():
        settings = Settings().ready_to_serve()
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        guard_processes(Database.open(settings.database), settings.workers)
        if settings.workers > 1:
            run_many(settings)
        else:
            run(settings)
