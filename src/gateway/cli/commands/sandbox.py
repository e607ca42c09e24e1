"""
`sandbox`: serves the sandbox upstreams alone, and imports real data into them.

`seed` fills the configured store with the accounts of the demo, which are the sandbox's.
"""

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.console import failures_as_sentences, info, output, output_json, progress, report
from gateway.cli.options import AsJson, option

if TYPE_CHECKING:
    from gateway.cli.stores import Store
    from gateway.demo.launcher import SeededAccounts

app = typer.Typer(
    help="Serve the sandbox upstreams alone, or import real data into them.",
    invoke_without_command=True,
)
_TARGETS = ("provider-a", "provider-b", "collab", "tasks")
Data = Annotated[Path, typer.Option("--data", help="Folder of the sandbox's store.")]


@app.callback()
def sandbox(
    context: typer.Context,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free.")
    ] = 8001,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    data: Data = Path("data/demo"),
) -> None:
    """Serve the sandbox upstreams alone."""
    gc.enable()  # `main.run` disables it for the imports
    if context.invoked_subcommand is not None:
        return
    with failures_as_sentences():
        from gateway.demo.world import open_sandbox
        from gateway.server import bind, run_app

        data.mkdir(parents=True, exist_ok=True)
        socket, base = bind(host, port)
        info(f"Sandbox upstreams at {base}")
        run_app(open_sandbox(data, public_base=base), socket)


@app.command("import")
def import_(  # noqa: PLR0913, PLR0917 - each is an option of the command
    files: Annotated[
        list[Path], typer.Argument(help="mbox, eml, ics or csv files, or folders of them.")
    ],
    into: Annotated[str, option("provider-a, provider-b, collab or tasks.", *_TARGETS)],
    list_name: Annotated[str, typer.Option("--list", help="The list of a csv.")] = "",
    board: Annotated[str, typer.Option(help="The board of a csv; default: the file's name.")] = "",
    folder: Annotated[str, typer.Option(help="The folder that every message goes to.")] = "",
    label: Annotated[str, typer.Option(help="One more label for every message.")] = "",
    data: Data = Path("data/demo"),
    as_json: AsJson = False,
) -> None:
    """
    Import real mail, calendars, files or tables; list the skipped files.

    The exit code is 1 when nothing was imported.
    """
    options = {"list_name": list_name, "board_name": board, "folder": folder, "label": label}
    reports: list[dict[str, Any]] = []
    with failures_as_sentences():
        from gateway.demo.world import import_file

        data.mkdir(parents=True, exist_ok=True)
        for path in files:
            with progress(f"Reading {path.name}") as show_progress:
                report = import_file(
                    data,
                    path,
                    into=into,
                    options=options,
                    progress=lambda count: show_progress(count, None),
                )
            for name, reason in report.skipped:
                info(f"skipped {name}: {reason}")
            if not as_json:
                output(f"{path}: {report.imported} imported, {len(report.skipped)} skipped.")
            skipped = [{"name": name, "reason": reason} for name, reason in report.skipped]
            reports.append({"file": str(path), "imported": report.imported, "skipped": skipped})
    if as_json:
        output_json(reports)
    if not any(report["imported"] for report in reports):
        info("Nothing was imported.")
        raise typer.Exit(1)


def seed(as_json: AsJson = False) -> None:
    """
    Fill an empty store with the demo's operator, resources, connections and tokens.

    For `serve` with AGW_SANDBOX=true, on SQLite or PostgreSQL. The tokens' texts are shown once.
    """
    from gateway.cli.stores import in_store

    seeded = in_store(_seed)
    value = {
        "operatorId": seeded.operator_id,
        "resources": dict(seeded.resources),
        "tokens": dict(seeded.tokens),
    }

    def write_text() -> None:
        info("This is the only time that the tokens' texts are shown:")
        for name, text in seeded.tokens.items():
            output(f"{name}\t{text}")

    report(value, write_text, as_json=as_json)


async def _seed(store: "Store") -> "SeededAccounts":
    from gateway.errors import CommandError

    if not store.settings.sandbox:
        raise CommandError("These accounts are the sandbox's: set AGW_SANDBOX=true.")
    from gateway.demo.launcher import fill, require_empty
    from gateway.demo.world import open_sandbox

    async with store.database.reading() as session:
        await require_empty(session)
    public_base = f"{store.settings.base_url}/sandbox"
    sandbox = open_sandbox(store.settings.data_dir, public_base=public_base)
    return await fill(store.database, store.keyring, sandbox)
