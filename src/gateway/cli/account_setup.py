"""Connects accounts from a terminal: by consent, by device code, or with a tested secret."""

import asyncio
import signal
import sys
import webbrowser
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec
from sqlmodel import col

from gateway.audit.changes import log_change
from gateway.cli.console import info
from gateway.cli.first_use import only_owner
from gateway.cli.loopback import listen_for_redirect
from gateway.cli.stores import open_services, open_store
from gateway.connections import shared
from gateway.connections.oauth_flow import (
    CONSENT_LIFETIME_MS,
    ConsentFailed,
    no_client_message,
    scopes_to_ask,
)
from gateway.connections.oauth_servers import LOOPBACK_PORT, loopback_uri, scopes_of, shared_scopes
from gateway.connections.revocation import Revocation
from gateway.operations import operators, resources, rows, views
from gateway.operations.connections import ConnectionService, NewConnection, Status, check_view
from gateway.operations.connections.sharing import SharedConnection
from gateway.operations.validation import validated
from gateway.services import Services
from gateway.store.tables import ConnectionRow
from policy.refusals import InvalidInput
from providers.catalogue.tables import KINDS, SERVICES, with_product
from providers.failures import ProviderFailure

if TYPE_CHECKING:
    from gateway.cli.commands.connection_add import AddOptions

_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP)  # besides Ctrl-C, which `asyncio.run` handles


class _KeyFile(msgspec.Struct, tag_field="type", tag="service_account"):
    client_email: str
    private_key: str
    private_key_id: str


def parse(options: "AddOptions", owner: tuple[str, int], secret: str | None) -> NewConnection:
    """
    Return the connection to create.

    Args:
        options: Those of `connection add`.
        owner: The ids of operator and resource.
        secret: An API token, with `--client-id` the secret of an app-only client, with `--server` a
            password; None: consent.

    Raises:
        InvalidInput: There is no such kind or provider, or a value is invalid.
    """
    kind, provider = options.kind or "", options.provider or ""
    providers = KINDS.get(kind)
    if providers is None:
        raise InvalidInput(f"There is no kind {kind}. Known: {', '.join(KINDS)}.")
    if provider not in providers:
        known = ", ".join(with_product(kind, code) for code in providers)
        raise InvalidInput(f"{provider} is not a provider of {kind}. Known: {known}.")
    writing = not options.read_only
    people = SERVICES[kind, provider].people_scopes if options.people else ()
    if options.people and not people:
        raise InvalidInput(f"{with_product(kind, provider)} has no scopes for people.")
    for_shared = shared_scopes(kind, provider, writing=writing) if options.shared_scopes else ()
    if options.shared_scopes and not for_shared:
        raise InvalidInput(f"{with_product(kind, provider)} has no scopes for shared mailboxes.")
    optional = (*people, *for_shared)
    if options.client_id:
        scopes = ["Sites.Selected"]
    elif secret is None and writing and not optional:
        scopes = []  # a consent that has not been given yet
    else:
        scopes = list(scopes_of(kind, provider, writing=writing, granted=optional))
    return validated(
        NewConnection,
        {
            "resourceId": owner[1],
            "operatorId": owner[0],
            "kind": kind,
            "provider": provider,
            "mode": "selected_sites" if options.client_id else None,
            "accountEmail": options.account,
            "grantedScopes": scopes,
            "selectedSiteIds": list(options.site or ()),
            "credentials": None if secret is None else _credentials(options, secret),
            "baseUrl": options.server or None,
        },
    )


def _credentials(options: "AddOptions", secret: str) -> dict[str, str | None]:
    if options.google_delegation is not None:
        return {**_service_account(secret), "subject": options.subject}
    if options.server:
        sending = {"submissionUrl": options.submission} if options.submission else {}
        username = options.username or options.account
        return {"username": username, "password": secret, **sending}
    if options.client_id:
        return {"clientId": options.client_id, "clientSecret": secret, "tenant": options.tenant}
    return {"apiToken": secret}


def _service_account(text: str) -> dict[str, str]:
    """
    Return the credentials in the key file of a service account.

    Raises:
        InvalidInput: It is not such a file.
    """
    try:
        key = msgspec.json.decode(text, type=_KeyFile)
    except msgspec.DecodeError:
        raise InvalidInput("The file is not the JSON key of a service account.") from None
    return {
        "clientEmail": key.client_email,
        "privateKey": key.private_key,
        "privateKeyId": key.private_key_id,
    }


async def add(options: "AddOptions", secret: str | None) -> views.Connection:
    """
    Create a connection, and have its owner consent or its *secret* tested.

    A signal that ends the process removes the connection again.

    Raises:
        InvalidInput: The owner did not consent, or the account does not answer; nothing is stored.
    """
    async with open_store() as (database, _, _), database.reading() as session:
        owner = await only_owner(session, options.operator, options.resource)
    new = parse(options, owner, secret)
    exit_on_signals()
    async with open_services() as services:
        if options.untested:
            async with services.database.writing() as session:
                return await connections_of(services).create(session, new)

        async def consent(row: ConnectionRow) -> ConnectionRow:
            return await _consent(
                services,
                row,
                device=options.device,
                browser=options.browser,
                callback_port=options.callback_port,
            )

        return await create_working(services, new, consent if new.credentials is None else None)


async def share(options: "AddOptions", base_id: int) -> views.Connection:
    """
    Connect a mailbox through connection *base_id*, and test it with one harmless read.

    Raises:
        InvalidInput: The person may not open it, or the consent lacks a scope; nothing is stored.
    """
    members = {
        "accountEmail": options.shared,
        "operatorId": options.operator or None,
        "resourceId": options.resource,
        "readOnly": options.read_only,
    }
    new = validated(SharedConnection, members)
    exit_on_signals()
    async with open_services() as services:
        async with services.database.writing() as session:
            connection = await connections_of(services).share(session, base_id, new)
        if options.untested:
            return connection
        return await _working(services, connection)


def connections_of(services: Services) -> ConnectionService:
    """Return the operations on connections, whose views have no reconnect links here."""
    origins = services.settings.upstream_origins
    return ConnectionService(keyring=services.keyring, allowed_origins=origins)


async def create_working(
    services: Services,
    new: NewConnection,
    consent: Callable[[ConnectionRow], Awaitable[ConnectionRow]] | None = None,
) -> views.Connection:
    """
    Create a connection that works: by *consent*, or tested with one harmless read.

    Raises:
        InvalidInput: The account does not answer; nothing is stored.
    """
    # Until its owner has consented or it has answered, no call may use it.
    status: Status = "needs_reauth"
    async with services.database.writing() as session:
        connection = await connections_of(services).create(session, new, status=status)
    return await _working(services, connection, consent)


async def _working(
    services: Services,
    connection: views.Connection,
    consent: Callable[[ConnectionRow], Awaitable[ConnectionRow]] | None = None,
) -> views.Connection:
    """Have the owner of a new connection consent, or test it; remove it if that fails."""
    try:
        row = await _read(services, connection.id)
        row = await (_try_out(services, row) if consent is None else consent(row))
        return connections_of(services).view(row)
    except BaseException:
        async with services.database.writing() as session:
            await connections_of(services).remove(session, connection.id)
        raise


def exit_on_signals() -> None:
    """Leave the event loop at a signal, so that `asyncio.run` cancels what is running."""
    loop = asyncio.get_running_loop()
    for number in _ENDING_SIGNALS:
        loop.add_signal_handler(number, sys.exit, 128 + number)


async def remove(connection_id: int) -> tuple[views.Connection, Revocation]:
    """Remove a connection, and revoke its consent at the provider; return it as it was."""
    async with open_services() as services:
        removed, revocations = await services.revoker.remove(
            services.database,
            col(ConnectionRow.id) == connection_id,
            lambda session: connections_of(services).remove(session, connection_id),
        )
        return removed, revocations[connection_id]


async def remove_operator(operator_id: str) -> dict[int, Revocation]:
    """Remove an operator and its connections; return the revocations by connection id."""
    async with open_services() as services:
        _, revocations = await services.revoker.remove(
            services.database,
            col(ConnectionRow.operator_id) == operator_id,
            lambda session: operators.remove(session, operator_id),
        )
        return revocations


async def remove_resource(resource_id: int) -> dict[int, Revocation]:
    """Remove a resource and its connections; return the revocations by connection id."""
    async with open_services() as services:
        _, revocations = await services.revoker.remove(
            services.database,
            col(ConnectionRow.resource_id) == resource_id,
            lambda session: resources.remove(session, resource_id),
        )
        return revocations


async def reconnect(
    connection_id: int, *, device: bool, browser: bool, callback_port: int | None
) -> views.Connection:
    """Have the owner of a connection consent again."""
    async with open_services() as services:
        row = await _read(services, connection_id)
        row = await _consent(
            services, row, device=device, browser=browser, callback_port=callback_port
        )
        await log_change(services.database, "reconnectConnection", connection_id)
        return connections_of(services).view(row)


async def make_link(connection_id: int, hours: int) -> views.ReconnectLink:
    """Make a one-time link for the owner of a connection."""
    async with open_services() as services:
        link = await services.one_time_links.create(connection_id, hours=hours)
        return views.ReconnectLink.of(link)


async def test(connection_id: int) -> views.ConnectionTest:
    """Make one harmless upstream read."""
    async with open_services() as services:
        row = await _read(services, connection_id)
        return views.ConnectionTest.of(await services.accounts.test(row))


async def check(connection_id: int) -> views.ConnectionCheck:
    """Check what can be checked of an account without changing anything."""
    async with open_services() as services:
        return check_view(await services.accounts.check(await _read(services, connection_id)))


async def _try_out(services: Services, row: ConnectionRow) -> ConnectionRow:
    result = await services.accounts.test(row)
    if not result.ok:
        raise InvalidInput(
            f"{result.detail} Nothing is stored; --untested stores it without a test."
        )
    info(f"{result.detail} ({result.latency_ms} ms)")
    return await _read(services, row.id or 0)


async def _consent(
    services: Services,
    row: ConnectionRow,
    *,
    device: bool,
    browser: bool,
    callback_port: int | None,
) -> ConnectionRow:
    try:
        if device:
            return await _consent_by_device_code(services, row)
        listening_port = LOOPBACK_PORT if callback_port is None else callback_port
        async with listen_for_redirect(listening_port) as (port, redirected):
            redirect_uri = loopback_uri(row.provider, port)
            started = await services.oauth.start(row.id or 0, redirect_uri=redirect_uri)
            info(f"Redirect URI, to be registered with the provider's client: {redirect_uri}")
            info("Open this address and agree:")
            info(f"\n  {started.authorize_url}\n")
            if browser:
                await asyncio.to_thread(webbrowser.open, started.authorize_url)
            async with asyncio.timeout(CONSENT_LIFETIME_MS / 1000):
                parameters = await redirected
            return await services.oauth.finish(parameters)
    except TimeoutError:
        raise InvalidInput("The consent was not given in time.") from None
    except ConsentFailed as failure:
        raise InvalidInput(failure.message) from None


async def _consent_by_device_code(services: Services, row: ConnectionRow) -> ConnectionRow:
    device_endpoint = services.endpoints.device_endpoint(row.provider)
    token_endpoint = services.endpoints.token_endpoint(row.id or 0, row.provider, {})
    if device_endpoint is None or token_endpoint is None:
        if not services.endpoints.has_client(row.provider):
            raise InvalidInput(no_client_message(row.provider))
        raise InvalidInput(f"{row.provider} has no device flow; leave out --device.")
    async with services.database.reading() as session:
        scopes = scopes_to_ask(row, has_shared=await shared.are_on(session, row.id))
    try:
        begun = await device_endpoint.begin(scopes)
        info(f"Open {begun.verification_uri} and enter the code {begun.user_code}")
        async with asyncio.timeout(begun.lifetime):
            while (tokens := await token_endpoint.device(begun.device_code)) is None:  # noqa: ASYNC110 - the provider is polled
                await asyncio.sleep(begun.interval)
    except ProviderFailure as failure:
        raise InvalidInput(failure.message) from None
    return await services.oauth.accept(row, tokens)


async def _read(services: Services, connection_id: int) -> ConnectionRow:
    async with services.database.reading() as session:
        return await rows.get_connection(session, connection_id)
