"""`serve`: run the gateway as the environment configures it."""

from typing import Annotated

import typer

from gateway.cli import serving
from gateway.cli.console import failures_as_sentences
from gateway.cli.serving import PORTS, WORKERS


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (AGW_HOST).")] = None,
    port: Annotated[
        int | None, typer.Option(min=PORTS[0], max=PORTS[-1], help="Port to listen on (AGW_PORT).")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=WORKERS[0], max=WORKERS[-1], help="Processes (AGW_WORKERS).")
    ] = None,
    admin_port: Annotated[
        int | None,
        typer.Option(
            min=PORTS[0],
            max=PORTS[-1],
            help="Port of management API and metrics alone (AGW_ADMIN_PORT).",
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
    with failures_as_sentences():
        serving.serve(
            {f"AGW_{name}": str(value) for name, value in options.items() if value is not None}
        )
