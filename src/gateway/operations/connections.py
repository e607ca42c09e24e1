"""What the `connection` commands do on the store."""

import asyncio
import webbrowser
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from sqlmodel import col, select

from gateway.auth import tokens
from gateway.auth.token_lookup import open_row_reader
from gateway.cli.console import say
from gateway.cli.loopback import listening
from gateway.cli.new_account import NewAccount
from gateway.cli.stores import opened, require_operator, require_resource
from gateway.connections import rows as connection_rows
from gateway.connections.accounts import Accounts
from gateway.connections.credentials import CredentialRepository
from gateway.connections.oauth_flow import CONSENT_LIFETIME_MS, ConsentFailed, OAuthFlow
from gateway.connections.oauth_servers import scopes_of
from gateway.connections.token_endpoints import TokenEndpoints
from gateway.secrets.keyring import Keyring
from gateway.settings import Settings
from gateway.store import timestamps
from gateway.store.database import Database
from gateway.store.leases import Leases
from gateway.store.tables import ConnectionRow
from policy.refusals import InvalidInput, NotFound
from policy.vocabulary import Code
from providers.failures import ProviderFailure
from providers.http.origins import Origins


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How a person consents; *untested*: a secret is stored without being tried."""

    device: bool
    browser: bool
    untested: bool = False


@dataclass(frozen=True, slots=True)
class _Desk:
    database: Database
    keyring: Keyring
    endpoints: TokenEndpoints
    accounts: Accounts
    flow: OAuthFlow


async def add(new: NewAccount, way: Way) -> Mapping[str, Any]:
    """
    Store a connection, and have its owner consent or its secret tried.

    Raises:
        InvalidInput: They did not agree, or it does not answer; nothing is left.
    """
    new.check()
    async with _desk() as desk:
        # Until its owner has agreed, or it has answered, nobody shall call with it.
        row = await _stored(desk, new, status="active" if way.untested else "needs_reauth")
        if way.untested:
            return connection_rows.view(row)
        try:
            if new.credentials is None:
                return connection_rows.view(await _consented(desk, row, way))
            return connection_rows.view(await _answering(desk, row))
        except BaseException:
            await _removed(desk, row.id or 0)
            raise


async def reauthorised(connection_id: int, way: Way) -> Mapping[str, Any]:
    """Have the owner of a connection consent again."""
    async with _desk() as desk:
        row = await _known(desk, connection_id)
        return connection_rows.view(await _consented(desk, row, way))


async def listed() -> list[Mapping[str, Any]]:
    """Return connections by id."""
    async with opened() as (database, _, _settings), database.reading() as session:
        rows = await session.exec(select(ConnectionRow).order_by(col(ConnectionRow.id)))
        return [connection_rows.view(row) for row in rows]


async def tested(connection_id: int) -> Mapping[str, Any]:
    """Make one harmless read."""
    async with _desk() as desk:
        return await desk.accounts.test(await _known(desk, connection_id))


async def removed(connection_id: int) -> Mapping[str, Any]:
    """Remove a connection; return what it was."""
    async with _desk() as desk:
        row = await _known(desk, connection_id)
        await _removed(desk, connection_id)
        return connection_rows.view(row)


async def _answering(desk: _Desk, row: ConnectionRow) -> ConnectionRow:
    """Make one harmless read and say what was found; return the row as it is then."""
    found = await desk.accounts.test(row)
    if not found["ok"]:
        detail = f"{found['detail']} Nothing is stored; --untested stores it without trying."
        raise InvalidInput(detail)
    say(f"{found['detail']} ({found['latencyMs']} ms)")
    return await _known(desk, row.id or 0)


async def _consented(desk: _Desk, row: ConnectionRow, way: Way) -> ConnectionRow:
    try:
        if way.device:
            return await _by_device(desk, row)
        async with listening() as (redirect_uri, told):
            started = await desk.flow.start(row.id or 0, redirect_uri=redirect_uri)
            say("Open this address and agree:")
            say(f"\n  {started.authorize_url}\n")
            if way.browser:
                await asyncio.to_thread(webbrowser.open, started.authorize_url)
            async with asyncio.timeout(CONSENT_LIFETIME_MS / 1000):
                answer = await told
            return await desk.flow.finish(answer)
    except TimeoutError:
        raise InvalidInput("Nobody agreed in time.") from None
    except ConsentFailed as failure:
        raise InvalidInput(failure.message) from None


async def _by_device(desk: _Desk, row: ConnectionRow) -> ConnectionRow:
    door = desk.endpoints.device_endpoint(row.provider)
    endpoint = desk.endpoints.token_endpoint(row.id or 0, row.provider, {})
    if door is None or endpoint is None:
        raise InvalidInput("This provider has no device flow; leave out --device.")
    writing = row.can_write or not row.granted_scopes
    try:
        begun = await door.begin(scopes_of(row.kind, row.provider, writing=writing))
        say(f"Open {begun.verification_uri} and enter the code {begun.user_code}")
        async with asyncio.timeout(begun.lifetime):
            while (got := await endpoint.device(begun.device_code)) is None:  # noqa: ASYNC110 - it is at the provider
                await asyncio.sleep(begun.interval)
    except ProviderFailure as failure:
        raise InvalidInput(failure.message) from None
    return await desk.flow.accept(row, got)


async def _stored(desk: _Desk, new: NewAccount, *, status: str) -> ConnectionRow:
    now = timestamps.now_ms()
    app_only = bool(new.client_id)
    scopes = ["Sites.Selected"] if app_only else []
    if new.credentials is not None and not app_only:
        scopes = list(scopes_of(new.kind, new.provider, writing=new.writing))
    elif not new.writing and not app_only:
        scopes = list(scopes_of(new.kind, new.provider, writing=False))
    row = ConnectionRow(
        resource_id=new.resource_id,
        operator_id=new.operator_id,
        kind=new.kind,
        provider=new.provider,
        mode=("selected_sites" if app_only else "delegated") if new.kind == "collab" else None,
        account_email=new.account,
        granted_scopes=scopes,
        can_write=connection_rows.can_write(scopes),
        status=status,
        selected_site_ids=list(new.site_ids),
        created_at=now,
        updated_at=now,
    )
    async with desk.database.writing() as session:
        await require_operator(session, new.operator_id)
        await require_resource(session, new.resource_id)
        session.add(row)
        await session.flush()
        if new.credentials is not None:
            connection_rows.replace(row, new.credentials, desk.keyring)
        await tokens.bump_policy_rev(session, [row.resource_id])
    return row


async def _removed(desk: _Desk, connection_id: int) -> None:
    async with desk.database.writing() as session:
        row = await session.get(ConnectionRow, connection_id)
        if row is not None:
            await tokens.bump_policy_rev(session, [row.resource_id])
            await session.delete(row)


async def _known(desk: _Desk, connection_id: int) -> ConnectionRow:
    async with desk.database.reading() as session:
        row = await session.get(ConnectionRow, connection_id)
    if row is None:
        raise NotFound(f"There is no connection {connection_id}.", code=Code.CONNECTION_NOT_FOUND)
    return row


@asynccontextmanager
async def _desk() -> AsyncIterator[_Desk]:
    """Open the store and what speaks to providers; a sandbox is spoken to over its socket."""
    async with opened() as (database, keyring, settings):
        origins, lookup = Origins(), open_row_reader(database)
        try:
            yield _made(database, keyring, settings, origins, lookup)
        finally:
            lookup.close()
            await origins.aclose()


def _made(
    database: Database, keyring: Keyring, settings: Settings, origins: Origins, lookup: Any
) -> _Desk:
    endpoints = TokenEndpoints(origins, settings)
    vault = CredentialRepository(
        lookup, database, keyring, endpoints=endpoints.token_endpoint, leases=Leases(database)
    )
    accounts = Accounts(origins, vault, database, settings.upstreams)
    flow = OAuthFlow(database, keyring, endpoints)
    return _Desk(database, keyring, endpoints, accounts, flow)
