"""
Opens the provider connectors of a caller's connections, merged into one object per surface.

A new surface needs a method that merges its ports.
"""

import asyncio
import time
from base64 import b64encode
from collections.abc import AsyncIterator, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from gateway.connections import rows as connection_rows
from gateway.connections import shared
from gateway.connections.credentials import ConnectionCredentials, CredentialRepository
from gateway.connections.logins import StoredLogins, TriedLogin
from gateway.connections.oauth_servers import missing_scopes, short_name
from gateway.store.database import Database, StorageUnavailable
from gateway.store.event_ids import EventIds
from gateway.store.tables import ConnectionRow
from policy.caller import Caller
from policy.vocabulary import Surface
from providers import registry
from providers.calendar.merged_calendars import MergedCalendars
from providers.catalogue import tables as catalogue
from providers.catalogue.causes import Cause
from providers.catalogue.descriptors import resolve
from providers.content.merged_content import MergedContent
from providers.failures import Missing, MissingScope, NeedsReauth, ProviderFailure, SendingRefused
from providers.http.client import Upstream
from providers.http.events import CallEvent
from providers.http.origins import Origins
from providers.mail.merged_mailbox import MergedMailbox
from providers.oauth.credentials import StaticToken
from providers.ports.changes import WaitingPort
from providers.ports.checks import Account, Finding, Outcome, run_checks
from providers.ports.connection import ConnectionInfo
from providers.ports.people import PeoplePort
from providers.ports.pushes import PushPort
from providers.tasks.accounts import TaskAccounts

if TYPE_CHECKING:
    from providers.server_discovery.search import Discovery, Search

LOGIN_REFUSED = "The server refused the user name or the password."
API_ACCESS_REFUSED = "The provider refused the API token: it is wrong, expired or revoked."


class ConnectionTestResult(msgspec.Struct, frozen=True):
    """
    Result of a connection test.

    Attributes:
        status: The connection's.
        detail: A sentence.
        can_send: False for a mailbox whose server for outgoing mail refuses the login.
    """

    status: str
    detail: str
    latency_ms: int
    can_send: bool = True

    @property
    def ok(self) -> bool:
        return self.status == "active" and self.can_send


class Accounts:
    """
    Opens connections. One per process.

    `ports_for` opens no connection of a surface that is not asked for.
    """

    def __init__(
        self,
        origins: Origins,
        credentials: CredentialRepository,
        database: Database,
        upstreams: Mapping[tuple[str, str], str],
    ) -> None:
        """*upstreams* is the base URL per (kind, provider), for connections without their own."""
        self._ports = registry.PortRegistry(
            self._upstream_for, logins=StoredLogins(credentials), notify=partial(_notify, origins)
        )
        self._event_ids = EventIds(database)
        self._none = {
            "mail": MergedMailbox([]),
            "people": tuple,
            "calendars": MergedCalendars([], self._event_ids),
            "tasks": TaskAccounts([]),
            "content": MergedContent([]),
        }
        self.origins = origins
        self._repository = credentials
        self._database = database
        self._upstreams = upstreams

    def ports_for(self, caller: Caller, surfaces: Container[str]) -> dict[str, Any]:
        """Return what *caller* may use, by the attributes of `graph.context.Context`."""
        ports: dict[str, Any] = dict(self._none)
        if Surface.EMAIL in surfaces:
            ports["mail"] = self.mailbox_for(caller)
            ports["people"] = partial(self.people_for, caller)
        if Surface.CALENDAR in surfaces:
            ports["calendars"] = self.calendars_for(caller)
        if Surface.TASKS in surfaces:
            ports["tasks"] = self.tasks_for(caller)
        if Surface.COLLAB in surfaces:
            ports["content"] = self.content_for(caller)
        return ports

    def mailbox_for(self, caller: Caller) -> MergedMailbox:
        """Return the mailboxes that *caller* may use, merged; possibly none."""
        return MergedMailbox(self._open_all(_usable(caller, Surface.EMAIL)))

    def people_for(self, caller: Caller) -> list[tuple[ConnectionInfo, PeoplePort]]:
        """
        Return what the accounts that *caller* may use know of people; makes no call.

        They are mailboxes, and calendar accounts on servers that have contacts too.
        """
        return [
            (info, resolve(opener)(self._ports.opening(self._at_people(info))))
            for surface in (Surface.EMAIL, Surface.CALENDAR)
            for info in _usable(caller, surface)
            if (opener := catalogue.SERVICES[info.kind, info.provider].people)
            and info.shared_on is None  # they are the person's, not the mailbox's
        ]

    def calendars_for(self, caller: Caller) -> MergedCalendars:
        """Return the calendars that *caller* may use, merged; possibly none."""
        calendars = self._open_all(_usable(caller, Surface.CALENDAR))
        return MergedCalendars(calendars, self._event_ids)

    def tasks_for(self, caller: Caller) -> TaskAccounts:
        """Return the task accounts that *caller* may use; possibly none."""
        return TaskAccounts(self._open_all(_usable(caller, Surface.TASKS)))

    def content_for(self, caller: Caller) -> MergedContent:
        """Return the collaboration content that *caller* may use, merged; possibly none."""
        return MergedContent(self._open_all(_usable(caller, Surface.COLLAB)))

    def content_of_connections(self, connections: Sequence[ConnectionInfo]) -> MergedContent:
        """Return the collaboration content of *connections*, merged."""
        return MergedContent(self._open_all(connections))

    def forget(self, connection_id: int) -> None:
        """Drop the cached state of a connection that was changed or removed."""
        self._ports.forget(connection_id)
        self.origins.forget(connection_id)
        self._repository.forget(connection_id)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """
        Import the connectors of all connections, so that no request waits for it.

        At the end, end the connections to mail servers, which are kept open.
        """
        with suppress(StorageUnavailable):  # then they are imported when they are needed
            for kind, provider in await connection_rows.kinds_and_providers(self._database):
                registry.load(kind, provider)
        try:
            yield
        finally:
            self._ports.close()

    async def test(self, row: ConnectionRow) -> ConnectionTestResult:
        """Make one harmless read, and store the status, of a row of `shared.resolved`."""
        # A connection is tested when it was connected: perhaps the first of its provider.
        await asyncio.to_thread(registry.load, row.kind, row.provider)
        connection = self._info(row)
        if (row.kind, row.provider) not in catalogue.SERVICES:
            return ConnectionTestResult(
                row.status, "This kind of connection cannot be tested yet.", 0
            )
        if row.status == "needs_reauth":
            # So that a refused refresh token is tried again.
            self._repository.forget(connection.credential_id)
        started = time.monotonic()
        status, detail, can_send, is_of_base = "active", "The account answers.", True, False
        cause: Cause | None = None
        try:
            if row.provider not in catalogue.WITHOUT_HTTP:
                # The token by itself: an app-only client without a site has nothing to read.
                await self._credentials(connection).token()
            await self._ports.open(connection).probe()
        except SendingRefused:
            detail, can_send = connection_rows.SENDING_REFUSED, False
        except NeedsReauth as failure:
            status, detail, cause = "needs_reauth", failure.message, failure.cause
            if await self._repository.has_api_token(connection.credential_id):
                detail, cause = API_ACCESS_REFUSED, cause or Cause.TOKEN_REFUSED
            is_of_base = not isinstance(failure, MissingScope)
        except ProviderFailure as failure:
            status, detail, cause = "error", failure.message, failure.cause
        elapsed = round((time.monotonic() - started) * 1000)
        if not (is_of_base and connection.shared_on):  # the base's status tells it of both
            await connection_rows.set_status(
                self._database,
                connection.id,
                status,
                None if status == "active" and can_send else detail,
                cause=cause,
                seen=row.updated_at,
            )
        return ConnectionTestResult(status, detail, elapsed, can_send)

    async def wait_for_change(self, connection_id: int, seconds: float) -> bool:
        """
        Wait until the inbox of a connection changes; False: it did not within *seconds*.

        Raises:
            ProviderFailure: It cannot be waited for.
        """
        history: object = self._ports.open(await self._loaded(connection_id)).changes
        if isinstance(history, WaitingPort):
            return await history.wait_for_change(seconds)
        raise Missing

    async def pushes_of(self, connection_id: int) -> PushPort:
        """
        Return the notifications of a connection; makes no call.

        Raises:
            Missing: Its provider has none, or the connection was deleted.
        """
        info = await self._loaded(connection_id)
        opener = catalogue.SERVICES[info.kind, info.provider].pushes
        if not opener or info.shared_on is not None:
            raise Missing
        port: PushPort = resolve(opener)(self._ports.opening(info))
        return port

    async def _loaded(self, connection_id: int) -> ConnectionInfo:
        """Return a connection whose connector is imported; raises Missing."""
        async with self._database.reading() as session:
            if (row := await session.get(ConnectionRow, connection_id)) is None:
                raise Missing
            row = await shared.read(session, row)
        await asyncio.to_thread(registry.load, row.kind, row.provider)
        return self._info(row)

    async def try_login(self, row: ConnectionRow, login: Mapping[str, Any]) -> ConnectionTestResult:
        """Make one harmless read at an own server with *login*; nothing is stored or reused."""
        await asyncio.to_thread(registry.load, row.kind, row.provider)
        pair = f"{login['username']}:{login['password']}"
        ports = registry.PortRegistry(
            partial(
                registry.open_upstream,
                self.origins,
                credentials=StaticToken(b64encode(pair.encode()).decode("ascii"), "Basic"),
            ),
            logins=TriedLogin(login),
            notify=partial(_notify, self.origins),
        )
        started = time.monotonic()
        status, detail = "active", "The account answers."
        try:
            await ports.open(self._info(row)).probe()
        except SendingRefused:
            detail = connection_rows.SENDING_REFUSED
        except NeedsReauth as failure:
            is_named = failure.cause not in {None, Cause.TOKEN_REFUSED}
            status, detail = "needs_reauth", failure.message if is_named else LOGIN_REFUSED
        except ProviderFailure as failure:
            status, detail = "error", failure.message
        finally:
            ports.close()
        return ConnectionTestResult(status, detail, round((time.monotonic() - started) * 1000))

    async def check(self, row: ConnectionRow) -> list[Finding]:
        """Check what can be checked without a change; see docs/guides/real-accounts.md."""
        connection = self._info(row)
        checks = resolve(catalogue.SERVICES[row.kind, row.provider].checks)
        if callable(checks):
            findings: list[Finding] = await checks(self._ports.opening(connection))
            return findings
        missing = _missing_scopes(connection)
        findings = [_scope_finding(missing, row)]
        try:
            await self._credentials(connection).token()
        except ProviderFailure as failure:
            failed = Finding(item="credentials", outcome=Outcome.FAILED, detail=failure.message)
            return [*findings, failed]
        answered = "A token is valid, or was renewed."
        findings.append(Finding(item="credentials", outcome=Outcome.AS_EXPECTED, detail=answered))
        account = Account(self._upstream_for(connection), connection)
        return findings + await run_checks(checks, account)

    async def discover(self, search: "Search", *, dns_server: str) -> "Discovery":
        """Search for the servers of an address; see `providers.server_discovery.discovery`."""
        from providers.server_discovery.discovery import discover  # noqa: PLC0415 - rarely used
        from providers.server_discovery.dns_records import DnsResolver  # noqa: PLC0415

        return await discover(search, resolver=DnsResolver(dns_server), origins=self.origins)

    def _upstream_for(self, connection: ConnectionInfo) -> Upstream:
        missing = _missing_scopes(connection)
        has_consent = connection.mode != "selected_sites"
        return registry.open_upstream(
            self.origins,
            connection,
            self._credentials(connection),
            missing_scopes=tuple(map(short_name, missing)) if has_consent else (),
            reconnect_url=partial(
                self._repository.link_for,
                connection.credential_id,
                connection.provider,
                connection.mode,
            ),
        )

    def _at_people(self, info: ConnectionInfo) -> ConnectionInfo:
        """Return a connection with the base URL of its people; its own one, where it names one."""
        url = self._upstreams.get(("people", info.provider))
        if url is None or info.base_url != self._upstreams.get((info.kind, info.provider)):
            return info
        return msgspec.structs.replace(info, base_url=url)

    def _credentials(self, connection: ConnectionInfo) -> ConnectionCredentials:
        http = catalogue.CONNECTORS[connection.provider].http
        scheme = "Bearer" if http is None else http.scheme
        return self._repository.for_connection(connection.credential_id, scheme=scheme)

    def _open_all(self, connections: Iterable[ConnectionInfo]) -> list[tuple[ConnectionInfo, Any]]:
        return [(connection, self._ports.open(connection)) for connection in connections]

    def _info(self, row: ConnectionRow) -> ConnectionInfo:
        return ConnectionInfo(
            id=row.id or 0,
            resource_id=row.resource_id,
            kind=row.kind,
            provider=row.provider,
            mode=row.mode,
            account_email=row.account_email,
            can_write=row.can_write,
            status=row.status,
            base_url=row.base_url or self._upstreams.get((row.kind, row.provider), ""),
            selected_site_ids=tuple(row.selected_site_ids),
            granted_scopes=tuple(row.granted_scopes),
            shared_on=row.shared_on,
        )


def _notify(origins: Origins, event: CallEvent) -> None:
    if origins.listener is not None:
        origins.listener(event)


def _missing_scopes(info: ConnectionInfo) -> tuple[str, ...]:
    granted, writing, shared = info.granted_scopes, info.can_write, info.shared_on is not None
    return missing_scopes(info.kind, info.provider, granted, writing=writing, shared=shared)


def _scope_finding(missing: Sequence[str], row: ConnectionRow) -> Finding:
    outcome, detail = Outcome.AS_EXPECTED, "All scopes that the connection needs are granted."
    if row.mode == "selected_sites" or not row.granted_scopes:
        detail = "The connection has no scopes of a consent: its token decides."
    elif missing:
        outcome = Outcome.DIFFERS
        detail = f"The consent does not include {', '.join(missing)}: let the owner consent again."
    return Finding(item="scopes", outcome=outcome, detail=detail)


def _usable(caller: Caller, surface: Surface) -> Iterator[ConnectionInfo]:
    for connection in caller.connections:
        if (
            isinstance(connection, ConnectionInfo)
            and connection.kind == surface
            and connection.status == "active"
            and not caller.excludes(connection)
        ):
            yield connection
