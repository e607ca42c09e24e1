"""`db`: schema versions, backup and restore."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.console import info, output, progress, report, run_async
from gateway.cli.options import AsJson, Yes, confirm

if TYPE_CHECKING:
    from gateway.operations.restored_access import WiderAccess

app = typer.Typer(help="The database.", no_args_is_help=True)


@app.command("current")
def current(as_json: AsJson = False) -> None:
    """Show the schema's version and what is missing; exit code 1 when something is."""
    from gateway.operations import maintenance

    status = run_async(maintenance.current)
    _show(status, as_json=as_json)
    if status["version"] != status["newest"]:
        raise typer.Exit(1)


@app.command("upgrade")
def upgrade(as_json: AsJson = False) -> None:
    """Bring the schema to the newest version, as every start of `serve` does."""
    from gateway.operations import maintenance

    _show(run_async(maintenance.upgrade), as_json=as_json)


@app.command("downgrade")
def downgrade(
    version: Annotated[str, typer.Argument(help="The version to go back to, such as 0003.")],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Go back to an older version; what it has no place for is lost. Stop the gateways before."""
    from gateway.operations import maintenance

    confirm("What the older version has no place for will be lost. Go on?", yes=yes)
    _show(run_async(lambda: maintenance.downgrade(version)), as_json=as_json)


@app.command("backup")
def back_up(
    file: Annotated[Path, typer.Argument(help="Where to write the copy.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
    as_json: AsJson = False,
) -> None:
    """
    Copy the whole store into one file, while it is served.

    SQLite is copied from one snapshot; PostgreSQL needs pg_dump on the path. Credentials stay
    sealed in the copy: keep AGW_SECRET_KEYS too.
    """
    from gateway.operations import maintenance

    if file.exists() and not force:
        info(f"{file} is there already; --force replaces it.")
        raise typer.Exit(1)
    with progress("Copying") as show_progress:
        backup = run_async(lambda: maintenance.back_up(file, show_progress))
    backup["bytes"] = file.stat().st_size
    sentence = f"{backup['file']}: {backup['bytes']} bytes, version {backup['version']}."
    report(backup, sentence, as_json=as_json)


@app.command("restore")
def restore(
    file: Annotated[Path, typer.Argument(help="What `db backup` wrote.")],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """
    Replace everything in the store by a copy. Stop the gateways before.

    Changes since the copy are undone: first, the tokens and connections are listed that allow more
    in the copy than now. PostgreSQL needs pg_restore and psql on the path.
    """
    from gateway.operations import maintenance

    _write_wider(run_async(lambda: maintenance.compare(file)))
    confirm("Everything in the store will be replaced. Go on?", yes=yes)
    with progress("Restoring") as show_progress:
        status = run_async(lambda: maintenance.restore(file, show_progress))
    _show(status, as_json=as_json)


def _write_wider(wider: "list[WiderAccess] | None") -> None:
    from gateway.operations.restored_access import phrases

    if wider is None:
        info("There is no store to compare the copy with: every token in the copy becomes valid.")
    elif wider:
        info("These allow more after the restore than now:")
        for phrase in phrases(wider):
            info(f"  {phrase}")


def _show(status: dict[str, Any], *, as_json: bool) -> None:
    report(status, lambda: _write_status(status), as_json=as_json)


def _write_status(status: dict[str, Any]) -> None:
    output(f"{status['database']}")
    output(f"version {status['version'] or '-'}, newest {status['newest']}")
    if status["missing"]:
        info(f"Missing: {', '.join(status['missing'])}; `access-gateway db upgrade` adds them.")
