"""`db`: schema versions, backup and restore."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.console import info, output, progress, report, run_async
from gateway.cli.options import AsJson, Yes, confirm

if TYPE_CHECKING:
    from gateway.operations.restored_access import WiderAccess

app = typer.Typer(help="The database.", no_args_is_help=True)

WhileServing = Annotated[
    bool, typer.Option("--force", help="Do it even while gateways serve the database.")
]


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
    force: WhileServing = False,
    as_json: AsJson = False,
) -> None:
    """
    Go back to an older version; what it has no place for is lost.

    Stop the gateways before: the command refuses while they serve.
    """
    from gateway.operations import maintenance

    run_async(lambda: maintenance.require_idle(force=force))
    confirm("What the older version has no place for will be lost. Go on?", yes=yes)
    _show(run_async(lambda: maintenance.downgrade(version, force=force)), as_json=as_json)


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
    force: WhileServing = False,
    as_json: AsJson = False,
) -> None:
    """
    Replace everything in the store by a copy. Stop the gateways before.

    The command refuses while gateways serve the database, and names them.
    Changes since the copy are undone: first, the tokens and connections are listed that allow more
    in the copy than now. PostgreSQL needs pg_restore and psql on the path.
    """
    from gateway.operations import maintenance

    run_async(lambda: maintenance.require_idle(force=force))
    _write_wider(run_async(lambda: maintenance.compare(file)))
    confirm("Everything in the store will be replaced. Go on?", yes=yes)
    with progress("Restoring") as show_progress:
        status = run_async(lambda: maintenance.restore(file, show_progress, force=force))
    report(status, lambda: _write_restored(status), as_json=as_json)
    if status["serving"]:
        info(f"Restart what served meanwhile: {', '.join(status['serving'])}.")


def _write_restored(status: dict[str, Any]) -> None:
    info(f"Restored {status['file']}: every row of {status['database']} is now that of the copy.")
    info(f"Tokens that are not revoked: {status['tokens']}; connections: {status['connections']}.")
    if status["revived"]:
        revived = ", ".join(map(str, status["revived"]))
        info(f"Tokens that were revoked and are valid again: {revived}.")
    if status["before"] != status["version"]:
        info(f"Migrated from version {status['before']} of the copy to {status['version']}.")
    _write_status(status)


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
