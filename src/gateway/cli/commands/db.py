"""`db`: the schema's version, and copies of the whole store."""

from pathlib import Path
from typing import Annotated, Any

import typer

from gateway.cli.console import answer, carried_out, give, progress, say
from gateway.cli.options import AsJson, Yes, sure

app = typer.Typer(help="The database.", no_args_is_help=True)


@app.command("current")
def current(as_json: AsJson = False) -> None:
    """Show the schema's version and what is missing; exit code 1 when something is."""
    from gateway.cli.commands import db_actions as work

    told = carried_out(work.current)
    _show(told, as_json=as_json)
    if told["version"] != told["newest"]:
        raise typer.Exit(1)


@app.command("upgrade")
def upgrade(as_json: AsJson = False) -> None:
    """Bring the schema to the newest version, as every start of `serve` does."""
    from gateway.cli.commands import db_actions as work

    _show(carried_out(work.upgraded), as_json=as_json)


@app.command("downgrade")
def downgrade(
    version: Annotated[str, typer.Argument(help="The version to go back to, such as 0003.")],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Go back to an older version; what it has no place for is lost. Stop the gateways before."""
    from gateway.cli.commands import db_actions as work

    sure("What the older version has no place for will be lost. Go on?", yes=yes)
    _show(carried_out(lambda: work.downgraded(version)), as_json=as_json)


@app.command("backup")
def backup(
    file: Annotated[Path, typer.Argument(help="Where to write the copy.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the file.")] = False,
    as_json: AsJson = False,
) -> None:
    """
    Copy the whole store into one file, while it is served.

    SQLite is copied from one snapshot; PostgreSQL needs pg_dump on the path. Credentials stay
    sealed in the copy: keep AGW_SECRET_KEYS too.
    """
    from gateway.cli.commands import db_actions as work

    if file.exists() and not force:
        say(f"{file} is there already; --force replaces it.")
        raise typer.Exit(1)
    with progress("Copying") as told:
        made = carried_out(lambda: work.backed_up(file, told))
    made["bytes"] = file.stat().st_size
    answer(
        made,
        lambda: say(f"{made['file']}: {made['bytes']} bytes, version {made['version']}."),
        as_json=as_json,
    )


@app.command("restore")
def restore(
    file: Annotated[Path, typer.Argument(help="What `db backup` wrote.")],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """
    Put a copy in place of everything in the store. Stop the gateways before.

    What was made, rotated or revoked since the copy is undone; tokens that come to life again by
    that are named. PostgreSQL needs pg_restore and psql on the path.
    """
    from gateway.cli.commands import db_actions as work

    sure("Everything in the store will be replaced. Go on?", yes=yes)
    with progress("Restoring") as told:
        done = carried_out(lambda: work.restored(file, told=told))
    _show(done, as_json=as_json)
    if done["revived"]:
        listed = ", ".join(map(str, done["revived"]))
        say(f"Tokens that were revoked since the copy are good again: {listed}")


def _show(told: dict[str, Any], *, as_json: bool) -> None:
    answer(told, lambda: _words(told), as_json=as_json)


def _words(told: dict[str, Any]) -> None:
    give(f"{told['database']}")
    give(f"version {told['version'] or '-'}, newest {told['newest']}")
    if told["missing"]:
        say(f"Missing: {', '.join(told['missing'])}; `access-gateway db upgrade` adds them.")
