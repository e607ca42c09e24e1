"""`/api/connections`: connected accounts; their credentials go in and never come back."""

from collections.abc import Container
from typing import Annotated

from fastapi import Depends, Request, Response
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.auth import tokens
from gateway.connections import oauth_pages
from gateway.connections import rows as connection_rows
from gateway.connections.accounts import Accounts
from gateway.management import paging
from gateway.management.auth import Process
from gateway.management.bodies import body, described, invalid
from gateway.management.connection_bodies import (
    ConnectionChange,
    ConnectionFilters,
    NewConnection,
)
from gateway.management.error_handlers import not_found
from gateway.management.ids import long, name
from gateway.management.paging import Pager
from gateway.management.router import Router
from gateway.operations import views
from gateway.operations.row_locks import stays
from gateway.store import timestamps
from gateway.store.tables import ConnectionRow, Operator, Resource
from policy.vocabulary import Code

router = Router(prefix="/api/connections", tags=["connections"])


async def _opener(request: Request) -> Accounts:
    found: Accounts = request.app.state.services.accounts
    return found


Opener = Annotated[Accounts, Depends(_opener)]


@router.post("", status_code=201, openapi_extra=described(NewConnection))
async def create_connection(
    process: Process, new: Annotated[NewConnection, Depends(body(NewConnection))]
) -> views.Connection:
    """Connect an account."""
    known = connection_rows.KINDS[new.kind]
    if new.provider not in known:
        raise invalid("provider", f"must be one of {', '.join(known)} for {new.kind}")
    _require_collab(new.kind, {one for one in _OF_COLLAB if getattr(new, one)})
    base_url = _base_url(process, new.base_url)
    now = timestamps.now_ms()
    row = ConnectionRow(
        resource_id=new.resource_id,
        operator_id=new.operator_id,
        kind=new.kind,
        provider=new.provider,
        mode=(new.mode or "delegated") if new.kind == "collab" else None,
        account_email=new.account_email,
        granted_scopes=new.granted_scopes,
        can_write=connection_rows.can_write(new.granted_scopes),
        status="active",
        base_url=base_url,
        selected_site_ids=new.selected_site_ids,
        created_at=now,
        updated_at=now,
    )
    async with process.database.writing() as session:
        if not await stays(session, Operator, name(new.operator_id)):
            raise invalid("operatorId", "is not an operator")
        if not await stays(session, Resource, new.resource_id):
            raise invalid("resourceId", "is not a resource")
        session.add(row)
        await session.flush()
        if new.credentials is not None:
            connection_rows.replace(row, new.credentials.stored(), process.keyring)
        await tokens.bump_policy_rev(session, [row.resource_id])
    return _view(process, row)


@router.get("", openapi_extra=paging.described(ConnectionFilters))
async def list_connections(
    process: Process,
    query: Annotated[ConnectionFilters, Depends(paging.query(ConnectionFilters))],
    response: Response,
) -> views.ConnectionPage:
    """List connections by id."""
    pager = Pager(process.keyring, "connections", 200)
    limit, after = pager.limit(query, response), pager.after(query)
    rows = select(ConnectionRow).order_by(col(ConnectionRow.id)).limit(limit + 1)
    if after is not None:
        rows = rows.where(col(ConnectionRow.id) > after[0])
    for column, wanted in (
        (ConnectionRow.resource_id, query.resource_id),
        (ConnectionRow.operator_id, query.operator_id and name(query.operator_id)),
        (ConnectionRow.kind, query.kind),
        (ConnectionRow.status, query.status),
    ):
        if wanted is not None:
            rows = rows.where(col(column) == wanted)
    async with process.database.reading() as session:
        found = (await session.exec(rows)).all()
    positions = [(row.id or 0,) for row in found]
    return {
        "connections": [_view(process, row) for row in found[:limit]],
        **pager.page(query, found, limit, positions),
    }


@router.get("/{connection_id}")
async def get_connection(process: Process, connection_id: str) -> views.Connection:
    """Read one connection."""
    async with process.database.reading() as session:
        return _view(process, await _known(session, connection_id))


@router.patch("/{connection_id}", openapi_extra=described(ConnectionChange))
async def change_connection(
    process: Process,
    opener: Opener,
    connection_id: str,
    change: Annotated[ConnectionChange, Depends(body(ConnectionChange))],
) -> views.Connection:
    """Change a connection; new credentials or status `active` make it usable again."""
    async with process.database.writing() as session:
        row = await _known(session, connection_id, to_change=True)
        _apply(process, row, change)
        row.updated_at = timestamps.now_ms()
        session.add(row)
        await tokens.bump_policy_rev(session, [row.resource_id])
    opener.forget(row.id or 0)
    return _view(process, row)


def _apply(process: Process, row: ConnectionRow, change: ConnectionChange) -> None:
    given = change.model_fields_set
    _require_collab(row.kind, given)
    row.sqlmodel_update(change.model_dump(include=_PLAIN, exclude_unset=True))
    row.can_write = connection_rows.can_write(row.granted_scopes)
    if "base_url" in given:
        row.base_url = _base_url(process, change.base_url)
    if change.credentials is not None:
        connection_rows.replace(row, change.credentials.stored(), process.keyring)
        if row.status != "disabled":
            row.status, row.status_detail = "active", None
    elif "credentials" in given:
        row.credentials = None
    if "status" in given:
        row.status, row.status_detail = change.status, None


_PLAIN = {"mode", "account_email", "granted_scopes", "selected_site_ids"}


def _require_collab(kind: str, given: Container[str]) -> None:
    """Refuse members of collab connections on others."""
    for member, field in _OF_COLLAB.items():
        if kind != "collab" and member in given:
            raise invalid(field, "is for collab connections alone")


_OF_COLLAB = {"mode": "mode", "selected_site_ids": "selectedSiteIds"}


@router.delete("/{connection_id}", status_code=204)
async def delete_connection(process: Process, opener: Opener, connection_id: str) -> None:
    """Remove a connection and its credentials."""
    async with process.database.writing() as session:
        row = await _known(session, connection_id, to_change=True)
        await tokens.bump_policy_rev(session, [row.resource_id])
        await session.delete(row)
    opener.forget(long(connection_id))


@router.post("/{connection_id}/test")
async def test_connection(
    process: Process, opener: Opener, connection_id: str
) -> views.ConnectionTest:
    """Make one harmless upstream read and tell how it went."""
    async with process.database.reading() as session:
        row = await _known(session, connection_id)
    return await opener.test(row)


@router.post("/{connection_id}/reconnect")
async def reconnect_connection(
    process: Process, flow: oauth_pages.Flow, connection_id: str
) -> views.Consent:
    """Begin a consent: a person opens `authorizeUrl` before `expiresAt`."""
    redirect_uri = oauth_pages.callback_url(process.settings.base_url)
    started = await flow.start(long(connection_id), redirect_uri=redirect_uri)
    return {
        "authorizeUrl": started.authorize_url,
        "expiresAt": timestamps.to_text(started.expires_at),
    }


def _view(process: Process, row: ConnectionRow) -> views.Connection:
    link = process.links.link_for(
        row.id or 0, provider=row.provider, mode=row.mode, status=row.status
    )
    return connection_rows.view(row, reconnect_url=link)


def _base_url(process: Process, url: str | None) -> str | None:
    if url is None:
        return None
    try:
        return connection_rows.check_base_url(url, process.settings.upstream_hosts)
    except connection_rows.HostNotAllowed:
        raise invalid(
            "baseUrl", "must be an http or https URL whose host this deployment allows"
        ) from None


async def _known(
    session: AsyncSession, connection_id: str, *, to_change: bool = False
) -> ConnectionRow:
    row = await session.get(ConnectionRow, long(connection_id), with_for_update=to_change)
    if row is None:
        raise not_found(Code.CONNECTION_NOT_FOUND, "connection")
    return row
