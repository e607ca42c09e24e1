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
    bool, typer.Option("--force", help="Run even while gateways serve the database.")
]


@app.command("current")
def current(as_json: AsJson = False) -> None:
    """Show the schema's version and missing migrations; exit code 1 when there are any."""
    from gateway.operations import maintenance

    status = run_async(maintenance.current)
    _show(status, as_json=as_json)
    if status["version"] != status["newest"]:
        raise typer.Exit(1)


@app.command("upgrade")
def upgrade(as_json: AsJson = False) -> None:
    """Upgrade the schema to the newest version, as every start of `serve` does."""
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
    Downgrade the schema; data that the older version cannot store is lost.

    Stop the gateways before: the command refuses while they serve.
    """
    from gateway.operations import maintenance

    run_async(lambda: maintenance.require_idle(force=force))
    confirm("Data that the older version cannot store will be lost. Continue?", yes=yes)
    _show(run_async(lambda: maintenance.downgrade(version, force=force)), as_json=as_json)


@app.command("backup")
def back_up(
    file: Annotated[Path, typer.Argument(help="Where to write the copy.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
    as_json: AsJson = False,
) -> None:
    """
    Back up the whole database to one file, also while gateways serve it.

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
    file: Annotated[Path, typer.Argument(help="A file that `db backup` wrote.")],
    yes: Yes = False,
    force: WhileServing = False,
    as_json: AsJson = False,
) -> None:
    """
    Replace the whole database by a backup. Stop the gateways first.

    The command refuses while gateways serve the database, and names them.
    Changes since the copy are undone: first, the tokens and connections are listed that allow more
    in the copy than now. PostgreSQL needs pg_restore and psql on the path.
    """
    from gateway.operations import maintenance

    run_async(lambda: maintenance.require_idle(force=force))
    _write_wider(run_async(lambda: maintenance.compare(file)))
    confirm("The whole database will be replaced. Continue?", yes=yes)
    with progress("Restoring") as show_progress:
        status = run_async(lambda: maintenance.restore(file, show_progress, force=force))
    report(status, lambda: _write_restored(status), as_json=as_json)
    if status["serving"]:
        info(
            f"Restart the gateways that served during the restore: {', '.join(status['serving'])}."
        )


def _write_restored(status: dict[str, Any]) -> None:
    info(f"Restored {status['file']}: every row of {status['database']} is now that of the copy.")
    info(f"Tokens that are not revoked: {status['tokens']}; connections: {status['connections']}.")
    if status["revived"]:
        revived = ", ".join(map(str, status["revived"]))
        info(f"Tokens that were revoked and are valid again: {revived}.")
    if status["unreadable"]:
        unreadable = ", ".join(map(str, status["unreadable"]))
        info(
            f"No key of AGW_SECRET_KEYS opens the credentials of connections {unreadable}. Put the "
            "key of the copy's time back behind the first one, or reconnect these accounts."
        )
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
