"""`client`: applications that people sign in, and one-time links for these people."""

from typing import Annotated

import typer

from gateway.cli.console import info, output, report, report_rows
from gateway.cli.options import AsJson, Yes, confirm

app = typer.Typer(help="Applications that people sign in.", no_args_is_help=True)
ClientId = Annotated[str, typer.Argument(help="The client id.")]

_COLUMNS = {"clientId": "CLIENT", "name": "NAME", "redirectUris": "REDIRECT URIS"}


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Its name, for people.")],
    redirect_uri: Annotated[
        list[str], typer.Option(help="Where it may send people back to; repeatable.")
    ],
    secret: Annotated[bool, typer.Option("--secret", help="Give it a secret to prove.")] = False,
    as_json: AsJson = False,
) -> None:
    """Register an application; its id, and its secret if any, are written to standard output."""
    from gateway.cli.stores import write_store
    from gateway.operations.validation import validated
    from gateway.sign_in import clients

    members = {"name": name, "redirectUris": redirect_uri, "hasSecret": secret}
    made = write_store(lambda session: clients.add(session, validated(clients.NewClient, members)))

    def write_text() -> None:
        output(made.client_id)
        if made.client_secret is not None:
            output(made.client_secret)
            info("The second line is its secret, which is shown this once.")

    report(made, write_text, as_json=as_json)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the registered applications, oldest first."""
    from gateway.cli.stores import read_store
    from gateway.sign_in import clients

    report_rows(read_store(clients.list_all), _COLUMNS, as_json=as_json)


@app.command("remove")
def remove(client_id: ClientId, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove an application, and revoke the tokens that were granted to it."""
    from gateway.cli.stores import write_store
    from gateway.sign_in import clients

    confirm("The tokens that were granted to it will be revoked. Continue?", yes=yes)
    write_store(lambda session: clients.remove(session, client_id))
    report({"clientId": client_id}, f"Client {client_id} is removed.", as_json=as_json)


@app.command("link")
def link(
    token_id: Annotated[int, typer.Argument(help="The token that the person may grant out of.")],
    as_json: AsJson = False,
) -> None:
    """Make a one-time link, which a person pastes instead of a token; it ends after a day."""
    from gateway.cli.stores import Store, in_store
    from gateway.operations import rows
    from gateway.sign_in import grants
    from gateway.sign_in.views import SignInLink
    from gateway.store.conflicts import retried
    from gateway.store.tables import AccessToken

    @retried
    async def make(store: Store) -> SignInLink:
        async with store.database.writing() as session:
            token = await rows.get(session, AccessToken, token_id)
            return await grants.make_link(session, token, store.settings.base_url)

    made = in_store(make)
    report(made, lambda: output(made.url), as_json=as_json)
