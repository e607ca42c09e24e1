"""`secret`: the keys that encrypt what is stored."""

import typer

from gateway.cli.console import info, output, progress, report
from gateway.cli.options import AsJson
from policy.counts import counted

app = typer.Typer(help="Secret keys.", no_args_is_help=True)


@app.command("new")
def new(as_json: AsJson = False) -> None:
    """Create a key for AGW_SECRET_KEYS or AGW_ADMIN_TOKEN; it is not stored."""
    from gateway.secrets.keyring import new_secret

    report({"secret": new_secret()}, lambda: output(new_secret()), as_json=as_json)


@app.command("rotate")
def rotate(as_json: AsJson = False) -> None:
    """
    Encrypt all stored secrets with the first key of AGW_SECRET_KEYS.

    The command also signs the rows of the decision log again that older keys signed, so that
    `decisions verify` no longer needs those keys. Put the new key in front of the old ones, restart
    the gateways, run this command, and then remove the old keys. It may run while gateways serve,
    and again after an interruption. Exit code 1 when a secret is encrypted with a missing key.
    """
    from gateway.cli.stores import in_store
    from gateway.operations import key_rotation

    with progress("Encrypting") as show_progress:
        tables = in_store(
            lambda store: key_rotation.rotate(store.database, store.keyring, show_progress)
        )

    def write_text() -> None:
        info(f"{counted(tables['connections']['sealed'], 'credential')} encrypted again.")
        for table, rows in tables.items():
            if table not in {"connections", "decisions"} and rows["sealed"]:
                info(f"{counted(rows['sealed'], 'row')} of {table} encrypted again.")
        if signed := tables["decisions"]["sealed"]:
            info(f"{counted(signed, 'row')} of the decision log signed again.")

    report(tables, write_text, as_json=as_json)
    decisions = tables.pop("decisions")
    if unverified := decisions["unreadable"]:
        info(f"No key verifies these chains of the decision log: {', '.join(unverified)}")
    unreadable = {table: rows["unreadable"] for table, rows in tables.items() if rows["unreadable"]}
    for table, row_ids in unreadable.items():
        info(f"Sealed with a key that is not in AGW_SECRET_KEYS: {table} {', '.join(row_ids)}")
    if unreadable:
        raise typer.Exit(1)
