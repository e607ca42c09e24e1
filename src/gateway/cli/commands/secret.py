"""`secret`: the keys that encrypt what is stored."""

import typer

from gateway.cli.console import info, output, progress, report
from gateway.cli.options import AsJson

app = typer.Typer(help="Secret keys.", no_args_is_help=True)


@app.command("new")
def new(as_json: AsJson = False) -> None:
    """Make a key for AGW_SECRET_KEYS or AGW_ADMIN_TOKEN; it is stored nowhere."""
    from gateway.secrets.keyring import new_secret

    report({"secret": new_secret()}, lambda: output(new_secret()), as_json=as_json)


@app.command("rotate")
def rotate(as_json: AsJson = False) -> None:
    """
    Seal everything that is stored under the first key of AGW_SECRET_KEYS.

    Rows of the decision log that older keys signed are signed anew, so that `decisions verify`
    needs these keys no more. Put the new key first and leave the old ones behind it, restart the
    gateways, run this, and take the old keys away. It may be run while the gateways serve, and
    again after it was cut off. Exit code 1 when something is sealed with a key that is not there.
    """
    from gateway.cli.stores import in_store
    from gateway.operations import key_rotation

    with progress("Sealing") as show_progress:
        tables = in_store(
            lambda store: key_rotation.rotate(store.database, store.keyring, show_progress)
        )

    def write_text() -> None:
        info(f"{tables['connections']['sealed']} credentials encrypted again.")
        for table, rows in tables.items():
            if table not in {"connections", "decisions"} and rows["sealed"]:
                info(f"{rows['sealed']} rows of {table} encrypted again.")
        if signed := tables["decisions"]["sealed"]:
            info(f"{signed} rows of the decision log signed anew.")

    report(tables, write_text, as_json=as_json)
    decisions = tables.pop("decisions")
    if unverified := decisions["unreadable"]:
        info(f"No key verifies these chains of the decision log: {', '.join(unverified)}")
    unreadable = {table: rows["unreadable"] for table, rows in tables.items() if rows["unreadable"]}
    for table, row_ids in unreadable.items():
        info(f"Sealed with a key that is not in AGW_SECRET_KEYS: {table} {', '.join(row_ids)}")
    if unreadable:
        raise typer.Exit(1)
