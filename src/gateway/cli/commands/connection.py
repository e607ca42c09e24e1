"""`connection`: accounts, connected by consent, device code or secret; listed, tested, removed."""

from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.commands import connection_add
from gateway.cli.commands.connection_add import Browser, CallbackPort, Device
from gateway.cli.console import output, output_table, report, report_rows, run_async
from gateway.cli.options import AsJson
from gateway.connections.reconnect_links import DEFAULT_HOURS, MAX_HOURS
from providers.catalogue.tables import with_product

if TYPE_CHECKING:
    from gateway.cli.stores import Store
    from gateway.operations.views import Connection

app = typer.Typer(help="Connected accounts.", no_args_is_help=True)
Id = Annotated[int, typer.Argument(help="The connection's id.")]
_FINDING_COLUMNS = {"item": "ITEM", "outcome": "OUTCOME", "latencyMs": "MS", "detail": "DETAIL"}
_COLUMNS = {
    "id": "ID",
    "kind": "KIND",
    "provider": "PROVIDER",
    "accountEmail": "ACCOUNT",
    "sharedOn": "SHARED ON",
    "status": "STATUS",
    "canWrite": "WRITES",
    "resourceId": "RESOURCE",
    "lastOkAt": "LAST OK",
    "expiresAt": "ENDS",
    "statusCause": "CAUSE",
    "statusDetail": "DETAIL",
}


app.command("add")(connection_add.add)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List connections by id, without credentials."""
    from gateway.cli.stores import in_store
    from gateway.operations.connections import ConnectionService

    async def read(store: "Store") -> "list[Connection]":
        service = ConnectionService(keyring=store.keyring, allowed_origins=frozenset())
        async with store.database.reading() as session:
            return await service.list_all(session)

    rows = in_store(read)
    named = [{**row.as_json(), "provider": with_product(row.kind, row.provider)} for row in rows]
    report_rows(rows if as_json else named, _COLUMNS, as_json=as_json)


@app.command("test")
def try_out(connection_id: Id, as_json: AsJson = False) -> None:
    """Test a connection with one harmless read; exit code 1 when the account does not answer."""
    from gateway.cli import account_setup

    result = run_async(lambda: account_setup.test(connection_id))
    sentence = f"{result.status}: {result.detail} ({result.latency_ms} ms)"
    report(result, sentence, as_json=as_json)
    if not result.ok:
        raise typer.Exit(1)


@app.command("check")
def check(connection_id: Id, as_json: AsJson = False) -> None:
    """Check a real account without changing anything in it; exit code 1 when a check fails."""
    from gateway.cli import account_setup

    result = run_async(lambda: account_setup.check(connection_id))
    report(result, lambda: output_table(result.findings, _FINDING_COLUMNS), as_json=as_json)
    if not result.ok:
        raise typer.Exit(1)


@app.command("reconnect")
def reconnect(  # noqa: PLR0913, PLR0917 - one per option
    connection_id: Id,
    device: Device = False,
    browser: Browser = True,
    callback_port: CallbackPort = None,
    link: Annotated[
        bool, typer.Option("--link", help="Make a one-time link for the owner, and ask nobody.")
    ] = False,
    hours: Annotated[
        int | None,
        typer.Option(
            min=1, max=MAX_HOURS, help=f"How long the link works (default {DEFAULT_HOURS})."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask the account's owner for consent again; for the new password, of an own server."""
    from gateway.cli import account_setup, server_setup

    if hours is not None and not link:
        raise typer.BadParameter("is for --link alone", param_hint="--hours")
    if link:
        made = run_async(lambda: account_setup.make_link(connection_id, hours or DEFAULT_HOURS))
        report(made, lambda: output(made.url), as_json=as_json)
        return
    if run_async(lambda: server_setup.is_own(connection_id)):
        password = connection_add.read_password(f"connection {connection_id}", None)
        changed = run_async(lambda: server_setup.change_password(connection_id, password))
        connection_add.report_connection(changed, as_json=as_json)
        return
    connection_add.report_connection(
        run_async(
            lambda: account_setup.reconnect(
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
    report({**removed.as_json(), "consentRevocation": revocation}, sentence, as_json=as_json)


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

    connection_add.report_connection(in_store(change), as_json=as_json)
