"""Connections: accounts of operators; their credentials are stored and never returned."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.changes import note
from gateway.auth import tokens
from gateway.connections import reconnect_links
from gateway.connections import rows as connection_rows
from gateway.connections.reconnect_links import ReconnectLinks
from gateway.operations import resources, rows, views
from gateway.operations.inputs import (
    EmailAddress,
    Input,
    Name,
    Patch,
    RowId,
    Secret,
    ShortText,
    Tenant,
    Time,
)
from gateway.operations.validation import invalid, validated
from gateway.secrets.keyring import Keyring
from gateway.store import timestamps
from gateway.store.tables import ConnectionRow, Operator
from providers.catalogue import tables as catalogue
from providers.catalogue.descriptors import Connector, OwnServer
from providers.ports.checks import Finding, Outcome

Kind = Literal["email", "calendar", "tasks", "collab"]
Mode = Literal["delegated", "selected_sites"]
Status = Literal["active", "needs_reauth", "disabled", "error"]
Scopes = Annotated[list[ShortText], Field(max_length=200)]
SiteIds = Annotated[list[ShortText], Field(max_length=1000)]


class Credentials(Input):
    """
    One of: accessToken with what renews it, a client of its own, an API token, a password.

    At an own mail server: a password, or an access token, with what renews it.
    """

    access_token: Secret | None = None
    refresh_token: Secret | None = None
    expires_at: Time | None = None
    client_id: Secret | None = None
    client_secret: Secret | None = None
    tenant: Tenant | None = None
    api_token: Secret | None = None
    username: Secret | None = None
    password: Secret | None = None
    submission_url: ShortText | None = None
    token_url: ShortText | None = None

    def stored(self) -> Mapping[str, Any]:
        """
        Return the members that are encrypted.

        Raises:
            InvalidInput: They are not exactly one of the forms.
        """
        members = self.model_dump(by_alias=True, exclude_none=True)
        for required, optional in _CREDENTIAL_FORMS:
            if required <= set(members) <= required | optional:
                return members
        raise invalid("credentials", f"must be one of: {_CREDENTIAL_FORMS_TEXT}")


_CREDENTIAL_FORMS = (  # required members, optional members
    ({"accessToken"}, {"refreshToken", "expiresAt"}),
    ({"clientId", "clientSecret", "tenant"}, set[str]()),
    ({"apiToken"}, set[str]()),
    ({"username", "password"}, {"submissionUrl"}),
    ({"username", "accessToken"}, {"expiresAt", "submissionUrl"}),
    (
        {"username", "accessToken", "refreshToken", "tokenUrl", "clientId"},
        {"expiresAt", "clientSecret", "submissionUrl"},
    ),
)
_CREDENTIAL_FORMS_TEXT = (
    "accessToken (refreshToken, expiresAt); clientId, clientSecret, tenant; apiToken; "
    "username, password (submissionUrl); username, accessToken (expiresAt, submissionUrl); "
    "username, accessToken, refreshToken, tokenUrl, clientId (expiresAt, clientSecret, "
    "submissionUrl)"
)


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
            _store_credentials(row, new.credentials, self.keyring)
            row.can_write |= _can_submit(row, self.keyring)
        await tokens.bump_policy_rev(session, [row.resource_id])
        note(session, "createConnection", row.id)
        return self.view(row)

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
        query = select(ConnectionRow).where(col(ConnectionRow.id) > after)
        for column, wanted in (
            (ConnectionRow.resource_id, resource_id),
            (ConnectionRow.operator_id, operator_id and rows.valid_key(operator_id)),
            (ConnectionRow.kind, kind),
            (ConnectionRow.status, status),
        ):
            if wanted is not None:
                query = query.where(col(column) == wanted)
        listed = await session.exec(query.order_by(col(ConnectionRow.id)).limit(limit))
        return [self.view(row) for row in listed]

    async def read(self, session: AsyncSession, connection_id: int) -> views.Connection:
        return self.view(await rows.get(session, ConnectionRow, connection_id))

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
        row.sqlmodel_update(changed.model_dump(include=_COPIED_MEMBERS, exclude_unset=True))
        row.can_write = connection_rows.can_write(row.granted_scopes)
        if "base_url" in members:
            row.base_url = self._base_url(row.provider, changed.base_url)
        if changed.credentials is not None:
            _store_credentials(row, changed.credentials, self.keyring)
            if row.status != "disabled":
                row.status, row.status_detail = "active", None
        elif "credentials" in members:
            row.credentials = None
        row.can_write |= _can_submit(row, self.keyring)
        if "status" in members:
            row.status, row.status_detail = changed.status, None
        row.updated_at = timestamps.now_ms()
        session.add(row)
        await tokens.bump_policy_rev(session, [row.resource_id])
        note(session, "changeConnection", connection_id)
        return self.view(row)

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
        """Remove a connection and its credentials; return it as it was."""
        row = await rows.get(session, ConnectionRow, connection_id, for_update=True)
        await tokens.bump_policy_rev(session, [row.resource_id])
        await session.delete(row)
        note(session, "removeConnection", connection_id)
        return self.view(row)

    def view(self, row: ConnectionRow) -> views.Connection:
        """Return the API's Connection object; credentials are not part of it."""
        link = None
        if self.links is not None:
            link = self.links.link_for(
                row.id or 0, provider=row.provider, mode=row.mode, status=row.status
            )
        return views.Connection.of(row, reconnect_url=link)

    def _base_url(self, provider: str, url: str | None) -> str | None:
        own_server = catalogue.CONNECTORS[provider].own_server
        if own_server is not None:
            return _server_url(own_server, url)
        if url is None:
            return None
        try:
            return connection_rows.check_base_url(url, self.allowed_origins)
        except connection_rows.OriginNotAllowed:
            raise invalid(
                "baseUrl", "must be a URL whose scheme, host and port this deployment allows"
            ) from None


def _server_url(server: OwnServer, url: str | None) -> str:
    """Return the address of an own server; an administrator may name any server."""
    if url is None:
        raise invalid("baseUrl", f"is required: the server, such as {server.example}")
    try:
        return https_url(url) if server.scheme == "https" else _endpoint_url(url, server.scheme)
    except ValueError as failure:
        reason = str(failure) if server.scheme == "https" else str(failure).rstrip(".")
        raise invalid("baseUrl", f"is no {server.protocol} server: {reason}") from None


def _endpoint_url(url: str, scheme: str) -> str:
    from providers.imap.endpoints import Endpoint  # noqa: PLC0415 - few connections need it

    Endpoint.parse(url, scheme)
    return url.strip().rstrip("/")


def https_url(url: str) -> str:
    """Return an https address without a slash at its end; raises ValueError for another."""
    from providers.http.urls import BaseUrl  # noqa: PLC0415 - httpx is heavy for a command

    server = BaseUrl.parse(url.strip())
    if server.origin.startswith("http:") and not server.is_loopback:
        raise ValueError("Plain http may only lead to this machine.")
    return url.strip().rstrip("/")


def _store_credentials(row: ConnectionRow, credentials: Credentials, keyring: Keyring) -> None:
    stored = credentials.stored()
    server = catalogue.CONNECTORS[row.provider].own_server
    is_own = server is not None
    needs_password = server is not None and not server.takes_tokens
    if ("username" in stored) != is_own or (needs_password and "accessToken" in stored):
        form = "username and password" if is_own else "no username and password"
        raise invalid("credentials", f"of {row.provider} must have {form}")
    if "tokenUrl" in stored:
        _check_token_url(str(stored["tokenUrl"]))
    if "submissionUrl" in stored:
        if server is None or not server.submits:
            submitting = (code for code, other in catalogue.CONNECTORS.items() if _submits(other))
            raise invalid("credentials.submissionUrl", f"is for {', '.join(submitting)} alone")
        _check_submission_url(str(stored["submissionUrl"]))
    connection_rows.replace(row, stored, keyring)


def _check_submission_url(url: str) -> None:
    from providers.imap.endpoints import Endpoint  # noqa: PLC0415 - few connections need it

    try:
        Endpoint.parse(url, "smtp")
    except ValueError as failure:
        raise invalid("credentials.submissionUrl", f"is no server: {failure}") from None


def _check_token_url(url: str) -> None:
    try:
        https_url(url)
    except ValueError as failure:
        raise invalid("credentials.tokenUrl", f"is no token endpoint: {failure}") from None


def _can_submit(row: ConnectionRow, keyring: Keyring) -> bool:
    """Return whether mail of an own server can be sent, and so be changed."""
    connector = catalogue.CONNECTORS[row.provider]
    return _submits(connector) and "submissionUrl" in connection_rows.unseal(row, keyring)


def _submits(connector: Connector) -> bool:
    return connector.own_server is not None and connector.own_server.submits


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
