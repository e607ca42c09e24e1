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
def import_(  # noqa: PLR0913, PLR0917 - each is an option of the command
    files: Annotated[list[Path], typer.Argument(help="mbox, eml, ics or csv files, or folders.")],
    into: Annotated[str, typer.Option(help="provider-a, provider-b, collab or tasks.")],
    list_name: Annotated[str, typer.Option("--list", help="The list of a csv.")] = "",
    board: Annotated[str, typer.Option(help="The board of a csv.")] = "",
    folder: Annotated[str, typer.Option(help="The folder that every message goes to.")] = "",
    label: Annotated[str, typer.Option(help="One more label for every message.")] = "",
    data: Data = Path("data/demo"),
) -> None:
    """Load real mail, calendars, files or tables."""
    from gateway.demo_world import import_file
    from providers.sandbox.importreport import CannotImport

    options = {"list_name": list_name, "board_name": board, "folder": folder, "label": label}
    with failures_as_sentences():
        data.mkdir(parents=True, exist_ok=True)
        for path in files:
            try:
                report = import_file(data, path, into=into, options=options)
            except CannotImport as problem:
                say(str(problem))
                raise typer.Exit(1) from None
            for name, reason in report.skipped:
                say(f"skipped {name}: {reason}")
            give(f"{path}: {report}")
