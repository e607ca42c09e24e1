"""`secret`: keys that seal what is stored."""

import typer

from gateway.cli.console import answer, carried_out, give, progress, say
from gateway.cli.options import AsJson

app = typer.Typer(help="Secret keys.", no_args_is_help=True)


@app.command("new")
def new(as_json: AsJson = False) -> None:
    """Make a key for AGW_SECRET_KEYS or AGW_ADMIN_TOKEN; it is stored nowhere."""
    from gateway.secrets.keyring import new_secret

    answer({"secret": new_secret()}, lambda: give(new_secret()), as_json=as_json)


@app.command("rotate")
def rotate(as_json: AsJson = False) -> None:
    """
    Seal everything that is stored under the first key of AGW_SECRET_KEYS.

    Put the new key first and leave the old ones behind it, restart the gateways, run this, and take
    the old keys away. It may be run while the gateways serve, and again after it was cut off. Exit
    code 1 when something is sealed with a key that is not there.
    """
    from gateway.cli.commands import secret_actions as work

    with progress("Sealing") as told:
        done = carried_out(lambda: work.rotated(told))

    def words() -> None:
        say(f"{done['connections']['sealed']} credentials sealed again.")
        for table, rows in done.items():
            if table != "connections" and rows["sealed"]:
                say(f"{rows['sealed']} of {table} sealed again.")

    answer(done, words, as_json=as_json)
    lost = {table: rows["unreadable"] for table, rows in done.items() if rows["unreadable"]}
    for table, rows in lost.items():
        say(f"Sealed with a key that is not in AGW_SECRET_KEYS: {table} {', '.join(rows)}")
    if lost:
        raise typer.Exit(1)
