"""`sandbox`: the upstreams' stand-ins alone, and loading real data into them."""

from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.talk import failures_as_sentences, give, say

app = typer.Typer(help="Sandbox upstreams.", invoke_without_command=True)
Data = Annotated[Path, typer.Option("--data", help="Folder of the sandbox's store.")]


@app.callback()
def sandbox(
    context: typer.Context,
    port: Annotated[int, typer.Option(help="Port to listen on; 0: any free.")] = 8001,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    data: Data = Path("data/demo"),
) -> None:
    """Serve the sandbox upstreams alone."""
    if context.invoked_subcommand is not None:
        return
    from gateway.demo_world import open_sandbox
    from gateway.server import bind, run_app

    with failures_as_sentences():
        data.mkdir(parents=True, exist_ok=True)
        socket, base = bind(host, port)
        say(f"Sandbox upstreams at {base}")
        run_app(open_sandbox(data, public_base=base), socket)


@app.command("import")
def import_(
    files: Annotated[list[Path], typer.Argument(help="mbox, eml, ics or csv files, or folders.")],
    into: Annotated[str, typer.Option(help="provider-a, provider-b, collab or tasks.")],
    list_name: Annotated[str | None, typer.Option("--list", help="The list of a csv.")] = None,
    board: Annotated[str | None, typer.Option("--board", help="The board of a csv.")] = None,
    data: Data = Path("data/demo"),
) -> None:
    """Load real mail, calendars, files or tables."""
    from gateway.demo_world import import_file

    with failures_as_sentences():
        for path in files:
            give(import_file(data, path, into=into, list_name=list_name, board=board))
