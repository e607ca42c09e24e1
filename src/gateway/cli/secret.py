"""`secret`: keys that seal what is stored."""

import asyncio

import typer

from gateway.cli.talk import failures_as_sentences, give, say

app = typer.Typer(help="Secret keys.", no_args_is_help=True)


@app.command("new")
def new() -> None:
    """Make a key for AGW_SECRET_KEYS or AGW_ADMIN_TOKEN."""
    from gateway.keyring import new_secret

    give(new_secret())


@app.command("rotate")
def rotate() -> None:
    """Seal everything that is stored under the first key of AGW_SECRET_KEYS."""
    from gateway.cli.store import opened
    from gateway.connections import rotate as rotate_all

    async def work() -> int:
        async with opened() as (database, keyring, _):
            return await rotate_all(database, keyring)

    with failures_as_sentences():
        say(f"{asyncio.run(work())} credentials sealed again.")
