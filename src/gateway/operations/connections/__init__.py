"""
Connections: accounts of operators; their credentials are stored and never returned.

    credentials  the forms of credentials
    addresses    addresses of own servers as operators write them
    sharing      mailboxes and calendars that are shared with the owner of a connection
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.changes import note
from gateway.auth import tokens
from gateway.connections import expiry, reconnect_links, shared
from gateway.connections import rows as connection_rows
from gateway.connections.reconnect_links import ReconnectLinks
from gateway.operations import resources, rows, views
from gateway.operations.connections.addresses import server_url
from gateway.operations.connections.credentials import Credentials, can_submit, store_credentials
from gateway.operations.connections.sharing import SharedConnection, require_base, require_own
from gateway.operations.inputs import EmailAddress, Input, Name, Patch, RowId, ShortText
from gateway.operations.validation import invalid, validated
from gateway.secrets.keyring import Keyring
from gateway.store import timestamps
from gateway.store.tables import ConnectionRow, Operator, Resource
from providers.catalogue import causes
from providers.catalogue import tables as catalogue
from providers.ports.checks import Finding, Outcome

Kind = Literal["email", "calendar", "tasks", "collab"]
Mode = Literal["delegated", "selected_sites"]
Status = Literal["active", "needs_reauth", "disabled", "error"]
Scopes = Annotated[list[ShortText], Field(max_length=200)]
SiteIds = Annotated[list[ShortText], Field(max_length=1000)]


class NewConnection(Input):
    resource_id: RowId
    operator_id: str
    kind: Kind
    provider: Name
    mode: Mode | None = None
    account_email: EmailAddress
    granted_scopes: Scopes = Field(default_factory=list)
    selected_site_ids: SiteIds = Field(default_factory=list)
    credentials: Credentials | None = None
    base_url: ShortText | None = None


class ConnectionChange(Patch):
    mode: Mode = "delegated"
    account_email: EmailAddress = ""
    granted_scopes: Scopes = Field(default_factory=list)
    selected_site_ids: SiteIds = Field(default_factory=list)
    credentials: Credentials | None = None
    base_url: ShortText | None = None
    status: Literal["active", "disabled"] = "active"


class NewReconnectLink(Input):
    """*hours*: how long the link works."""

    hours: Annotated[int, Field(ge=1, le=reconnect_links.MAX_HOURS)] = reconnect_links.DEFAULT_HOURS


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionService:
    """
    The operations on connections of one deployment.

    Attributes:
        allowed_origins: `scheme://host:port` of the upstreams that a base URL may name.
        links: Makes the reconnect links of views; None: views have none.
    """

    keyring: Keyring
    allowed_origins: frozenset[str]
    links: ReconnectLinks | None = None

    async def create(
        self, session: AsyncSession, new: NewConnection, *, status: Status = "active"
    ) -> views.Connection:
        """
        Connect an account.

        Raises:
            InvalidInput: The provider does not serve the kind, or members do not fit together.
            UnknownReference: The operator or the resource does not exist.
            NotLinked: The operator is not linked to the resource.
        """
        providers = catalogue.KINDS[new.kind]
        if new.provider not in providers:
            raise invalid("provider", f"must be one of {', '.join(providers)} for {new.kind}")
        _require_collab(new.kind, {name for name in _COLLAB_MEMBERS if getattr(new, name)})
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
            status=status,
            base_url=self._base_url(new.provider, new.base_url),
            selected_site_ids=new.selected_site_ids,
            created_at=now,
            updated_at=now,
        )
        await rows.lock_reference(session, Operator, new.operator_id, field="operatorId")
        await resources.lock_linked(session, new.operator_id, {"resourceId": new.resource_id})
        session.add(row)
        await session.flush()
        if new.credentials is not None:
            store_credentials(row, new.credentials, self.keyring)
            row.can_write |= can_submit(row, self.keyring)
        await tokens.bump_policy_rev(session, [row.resource_id])
        note(session, "createConnection", row.id)
        return self.view(row)

    async def share(
        self,
        session: AsyncSession,
        base_id: int,
        new: SharedConnection,
        *,
        status: Status = "active",
    ) -> views.Connection:
        """
        Connect a mailbox through the credentials of connection *base_id*, of a person.

        Operator and resource are those of that connection, unless they are named.

        Raises:
            InvalidInput: Nothing is shared with that connection's account.
            UnknownReference, NotLinked: As `create`.
        """
        base = await rows.get(session, ConnectionRow, base_id)
        require_base(base, new)
        operator_id = new.operator_id or base.operator_id
        resource_id = base.resource_id if new.resource_id is None else new.resource_id
        # Those of the base too: their removal takes with it what is shared on the base then.
        for operator in (operator_id, base.operator_id):
            await rows.lock_reference(session, Operator, operator, field="operatorId")
        await rows.lock_reference(session, Resource, base.resource_id, field="connectionId")
        await resources.lock_linked(session, operator_id, {"resourceId": resource_id})
        await rows.lock_reference(session, ConnectionRow, base_id, field="connectionId")
        now = timestamps.now_ms()
        row = ConnectionRow(
            resource_id=resource_id,
            operator_id=operator_id,
            shared_on=base_id,
            kind=base.kind,
            provider=base.provider,
            account_email=new.account_email,
            granted_scopes=[],
            can_write=not new.read_only,
            status=status,
            selected_site_ids=[],
            created_at=now,
            updated_at=now,
        )
        session.add(row)
        await session.flush()
        await tokens.bump_policy_rev(session, [resource_id])
        note(session, "createConnection", row.id)
        return self.view(shared.resolved(row, base))

    async def list_all(  # noqa: PLR0913 - filters and a page
        self,
        session: AsyncSession,
        *,
        resource_id: int | None = None,
        operator_id: str | None = None,
        kind: str | None = None,
        status: str | None = None,
        after: int = 0,
        limit: int | None = None,
    ) -> list[views.Connection]:
        """Return connections by id; *after* is the id of the last one before."""
        query = select(ConnectionRow, shared.BASE).outerjoin(shared.BASE, shared.IS_ON_BASE)
        query = query.where(col(ConnectionRow.id) > after)
        for column, wanted in (
            (col(ConnectionRow.resource_id), resource_id),
            (col(ConnectionRow.operator_id), operator_id and rows.valid_key(operator_id)),
            (col(ConnectionRow.kind), kind),
        ):
            if wanted is not None:
                query = query.where(column == wanted)
        if status is not None:
            query = query.where(shared.has_status(status))
        listed = await session.exec(query.order_by(col(ConnectionRow.id)).limit(limit))
        return [self.view(shared.resolved(row, base)) for row, base in listed]

    async def read(self, session: AsyncSession, connection_id: int) -> views.Connection:
        return self.view(await rows.get_connection(session, connection_id))

    async def addresses(self, session: AsyncSession, ids: Sequence[int]) -> dict[int, str]:
        """Return the addresses of those connections that there are, by id."""
        wanted = select(ConnectionRow.id, ConnectionRow.account_email)
        listed = await session.exec(wanted.where(col(ConnectionRow.id).in_(ids)))
        return {row_id or 0: address for row_id, address in listed}

    async def change(
        self, session: AsyncSession, connection_id: int, changed: ConnectionChange
    ) -> views.Connection:
        """
        Change a connection; new credentials or status `active` make it usable again.

        Raises:
            InvalidInput: A member does not fit the kind, or the base URL is not allowed.
        """
        row = await rows.get(session, ConnectionRow, connection_id, for_update=True)
        members = changed.model_fields_set
        _require_collab(row.kind, members)
        if row.shared_on is not None:
            require_own(row, members)
        row.sqlmodel_update(changed.model_dump(include=_COPIED_MEMBERS, exclude_unset=True))
        if row.shared_on is None:
            row.can_write = connection_rows.can_write(row.granted_scopes)
        if "base_url" in members:
            row.base_url = self._base_url(row.provider, changed.base_url)
        if changed.credentials is not None:
            store_credentials(row, changed.credentials, self.keyring)
            connection_rows.set_active(row)
        elif "credentials" in members:
            row.credentials = row.expires_at = None
        row.can_write |= row.shared_on is None and can_submit(row, self.keyring)
        if "status" in members:
            row.status, row.status_detail, row.status_cause = changed.status, None, None
        row.updated_at = timestamps.now_ms()
        session.add(row)
        if members & {"credentials", "granted_scopes"}:
            await shared.revive(session, connection_id)
        resource_ids = await shared.resources_on(session, connection_id)
        await tokens.bump_policy_rev(session, [row.resource_id, *resource_ids])
        note(session, "changeConnection", connection_id)
        return self.view(await shared.read(session, row))

    async def replace_secret(
        self, session: AsyncSession, connection_id: int, secret: str
    ) -> views.Connection:
        """
        Store another password, with user and servers as they are, or another API token.

        Raises:
            InvalidInput: *secret* is empty or too long.
        """
        row = await rows.get(session, ConnectionRow, connection_id)
        credentials = {"apiToken": secret}
        if catalogue.CONNECTORS[row.provider].own_server is not None:
            stored = connection_rows.unseal(row, self.keyring)
            unchanged = ("username", "submissionUrl")
            credentials = {"username": row.account_email, "password": secret}
            credentials |= {name: str(stored[name]) for name in unchanged if name in stored}
        change = validated(ConnectionChange, {"credentials": credentials})
        return await self.change(session, connection_id, change)

    async def remove(self, session: AsyncSession, connection_id: int) -> views.Connection:
        """Remove a connection, its credentials and what is shared on it; return it as it was."""
        row = await rows.get(session, ConnectionRow, connection_id, for_update=True)
        removed = self.view(await shared.read(session, row))
        resource_ids = await shared.remove(session, col(ConnectionRow.id) == connection_id)
        await tokens.bump_policy_rev(session, resource_ids)
        note(session, "removeConnection", connection_id)
        return removed

    def view(self, row: ConnectionRow) -> views.Connection:
        """Return the API's Connection object of a row of `shared.resolved`, without credentials."""
        link, due = None, causes.renewal_due(row.status, row.expires_at)
        if self.links is not None and due is not None and due <= timestamps.now_ms():
            credential_id = row.shared_on or row.id or 0
            link = self.links.link_for(credential_id, provider=row.provider, mode=row.mode)
        ends = row.expires_at
        if ends is None and row.shared_on is None:
            ends = expiry.unused_end(row, self.keyring)
        return views.Connection.of(row, reconnect_url=link, expires_at=ends)

    def _base_url(self, provider: str, url: str | None) -> str | None:
        own_server = catalogue.CONNECTORS[provider].own_server
        if own_server is not None:
            return server_url(own_server, url)
        if url is None:
            return None
        try:
            return connection_rows.check_base_url(url, self.allowed_origins)
        except connection_rows.OriginNotAllowed:
            raise invalid(
                "baseUrl", "must be a URL whose scheme, host and port this deployment allows"
            ) from None


def check_view(findings: Sequence[Finding]) -> views.ConnectionCheck:
    """Return the API's ConnectionCheck object."""
    ok = all(finding.outcome is not Outcome.FAILED for finding in findings)
    return views.ConnectionCheck(ok=ok, findings=list(map(views.CheckFinding.of, findings)))


_COPIED_MEMBERS = {"mode", "account_email", "granted_scopes", "selected_site_ids"}
_COLLAB_MEMBERS = {"mode": "mode", "selected_site_ids": "selectedSiteIds"}


def _require_collab(kind: str, members: Container[str]) -> None:
    """Refuse the members of collab connections on connections of other kinds."""
    for member, field in _COLLAB_MEMBERS.items():
        if kind != "collab" and member in members:
            raise invalid(field, "is for collab connections only")
