"""`connection`: accounts, connected by consent, device code or secret; listed, tested, removed."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.console import output_table, report, report_rows, run_async
from gateway.cli.options import AsJson, argument, refuse

if TYPE_CHECKING:
    from gateway.cli.stores import Store
    from gateway.operations.views import Connection

app = typer.Typer(help="Connected accounts.", no_args_is_help=True)
Id = Annotated[int, typer.Argument(help="The connection's id.")]
Kind = Annotated[str, argument("email, calendar, tasks or collab.", "policy.vocabulary:Surface")]
Provider = Annotated[
    str,
    argument(
        "Its code, such as PROVIDER_A.",
        "policy.vocabulary:Provider",
        "policy.vocabulary:TaskProvider",
    ),
]
Device = Annotated[
    bool,
    typer.Option(
        "--device", help="Consent on another device, by a code; not every provider has this."
    ),
]
CallbackPort = Annotated[
    int | None,
    typer.Option(
        "--callback-port",
        min=0,
        max=65535,
        help="Port of this machine that the provider redirects to after the consent. Default: "
        "8765, for providers that compare the port with the registered one; 0: any free port.",
    ),
]
Browser = Annotated[
    bool, typer.Option("--browser/--no-browser", help="Open the address in a browser.")
]

_FINDING_COLUMNS = {"item": "ITEM", "outcome": "OUTCOME", "latencyMs": "MS", "detail": "DETAIL"}
_COLUMNS = {
    "id": "ID",
    "kind": "KIND",
    "provider": "PROVIDER",
    "accountEmail": "ACCOUNT",
    "status": "STATUS",
    "canWrite": "WRITES",
    "resourceId": "RESOURCE",
    "lastOkAt": "LAST OK",
}


@app.command("add")
def add(  # noqa: PLR0913, PLR0917 - each is an option of the command
    kind: Kind,
    provider: Provider,
    account: Annotated[str, typer.Argument(help="The account's address.")],
    operator: Annotated[str, typer.Option(help="The operator's id.")],
    resource: Annotated[int, typer.Option(help="The resource's id.")],
    read_only: Annotated[bool, typer.Option("--read-only", help="Ask to read only.")] = False,
    api_token: Annotated[
        bool, typer.Option("--api-token", help="Read an API token from standard input.")
    ] = False,
    site: Annotated[
        list[str] | None,
        typer.Option(help="App-only: a site's id; repeat. The secret comes on standard input."),
    ] = None,
    tenant: Annotated[str, typer.Option(help="App-only: the tenant.")] = "",
    client_id: Annotated[str, typer.Option(help="App-only: the client's id.")] = "",
    untested: Annotated[
        bool, typer.Option("--untested", help="Store the secret without a test of it.")
    ] = False,
    device: Device = False,
    browser: Browser = True,
    callback_port: CallbackPort = None,
    as_json: AsJson = False,
) -> None:
    """
    Connect an account: by consent, unless an API token or an app-only client is given.

    What is given is tried with one harmless read. Of an account that does not answer, or whose
    owner does not agree, nothing is left, and the exit code is 1.
    """
    from gateway.cli import account_setup

    has_secret = api_token or client_id
    refuse(
        (api_token and client_id, "give --api-token or --client-id, not both"),
        (bool(client_id) != bool(tenant), "--client-id and --tenant go together"),
        (site and not client_id, "--site goes with --client-id and --tenant"),
        (client_id and kind != "collab", "--client-id is for collab alone"),
        (has_secret and device, "--device is for consent: leave out --api-token and --client-id"),
        (untested and not has_secret, "--untested goes with --api-token or --client-id"),
    )
    new = account_setup.NewAccount(
        kind=kind,
        provider=provider,
        account=account,
        operator_id=operator,
        resource_id=resource,
        writing=not read_only,
        site_ids=tuple(site or ()),
        tenant=tenant,
        client_id=client_id,
        secret=_read_secret() if has_secret else None,
    )
    connection = run_async(
        lambda: account_setup.add(
            new, device=device, browser=browser, untested=untested, callback_port=callback_port
        )
    )
    _report(connection, as_json=as_json)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List connections by id; credentials are not part of it."""
    from gateway.cli.stores import in_store
    from gateway.operations.connections import ConnectionService

    async def read(store: "Store") -> "list[Connection]":
        service = ConnectionService(keyring=store.keyring, allowed_origins=frozenset())
        async with store.database.reading() as session:
            return await service.list_all(session)

    report_rows(in_store(read), _COLUMNS, as_json=as_json)


@app.command("test")
def try_out(connection_id: Id, as_json: AsJson = False) -> None:
    """Make one harmless read; exit code 1 when the account does not answer."""
    from gateway.cli import account_setup

    result = run_async(lambda: account_setup.test(connection_id))
    sentence = f"{result['status']}: {result['detail']} ({result['latencyMs']} ms)"
    report(result, sentence, as_json=as_json)
    if not result["ok"]:
        raise typer.Exit(1)


@app.command("check")
def check(connection_id: Id, as_json: AsJson = False) -> None:
    """Check a real account without changing anything in it; exit code 1 when a check fails."""
    from gateway.cli import account_setup

    result = run_async(lambda: account_setup.check(connection_id))
    report(result, lambda: output_table(result["findings"], _FINDING_COLUMNS), as_json=as_json)
    if not result["ok"]:
        raise typer.Exit(1)


@app.command("reauthorise")
def reauthorise(
    connection_id: Id,
    device: Device = False,
    browser: Browser = True,
    callback_port: CallbackPort = None,
    as_json: AsJson = False,
) -> None:
    """Have the account's owner consent again."""
    from gateway.cli import account_setup

    _report(
        run_async(
            lambda: account_setup.reauthorise(
                connection_id, device=device, browser=browser, callback_port=callback_port
            )
        ),
        as_json=as_json,
    )


@app.command("disable")
def disable(connection_id: Id, as_json: AsJson = False) -> None:
    """Stop using a connection; it keeps its credentials."""
    _set_status(connection_id, "disabled", as_json=as_json)


@app.command("enable")
def enable(connection_id: Id, as_json: AsJson = False) -> None:
    """Use a disabled connection again."""
    _set_status(connection_id, "active", as_json=as_json)


@app.command("remove")
def remove(connection_id: Id, as_json: AsJson = False) -> None:
    """Remove a connection and its credentials, and revoke its consent at the provider."""
    from gateway.cli import account_setup

    removed, revocation = run_async(lambda: account_setup.remove(connection_id))
    sentence = f"Connection {connection_id} is removed. {revocation.sentence}"
    report({**removed, "consentRevocation": revocation}, sentence, as_json=as_json)


def _set_status(connection_id: int, status: str, *, as_json: bool) -> None:
    from gateway.cli.stores import in_store
    from gateway.operations.connections import ConnectionChange, ConnectionService
    from gateway.operations.validation import validated
    from gateway.store.conflicts import retried

    @retried
    async def change(store: "Store") -> "Connection":
        service = ConnectionService(keyring=store.keyring, allowed_origins=frozenset())
        changed = validated(ConnectionChange, {"status": status})
        async with store.database.writing() as session:
            return await service.change(session, connection_id, changed)

    _report(in_store(change), as_json=as_json)


def _report(connection: "Connection", *, as_json: bool) -> None:
    email, status = connection["accountEmail"], connection["status"]
    report(connection, f"Connection {connection['id']} ({email}) is {status}.", as_json=as_json)


def _read_secret() -> str:
    secret = sys.stdin.readline().strip()
    if not secret:
        raise typer.BadParameter("the secret is read from standard input: put `< FILE` behind it")
    return secret
