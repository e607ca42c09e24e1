"""
Opens the provider connectors of a caller's connections, merged into one object per surface.

A new surface needs a registry, its ports here and a method that merges them.
"""

import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Generic, Protocol, TypeVar

from gateway.connections import rows as connection_rows
from gateway.connections.credentials import ConnectionCredentials, CredentialRepository
from gateway.connections.oauth_servers import missing_scopes, short_name
from gateway.store.database import Database
from gateway.store.event_ids import EventIds
from gateway.store.tables import ConnectionRow
from policy.caller import Caller
from policy.vocabulary import Surface
from providers import registry
from providers.account_checks.catalogue import CHECKS
from providers.account_checks.checks import Account, Finding, Outcome, run_checks
from providers.bounded_map import BoundedMap
from providers.calendar.merged_calendars import MergedCalendars
from providers.content.merged_content import MergedContent
from providers.failures import NeedsReauth, ProviderFailure
from providers.http.client import Upstream
from providers.http.origins import Origins
from providers.mail.merged_mailbox import MergedMailbox
from providers.ports.connection import ConnectionInfo
from providers.tasks.accounts import TaskAccounts

# Provider -> authentication scheme, where it is not "Bearer"; empty for the bare token.
_SCHEMES: Mapping[str, str] = MappingProxyType({"BOARDS": ""})
_MAX_PORTS = 4096
ALL = frozenset(surface.value for surface in Surface)


class _Port(Protocol):
    async def probe(self) -> None: ...


Port_co = TypeVar("Port_co", bound=_Port, covariant=True)


class _Registry(Protocol[Port_co]):
    def open(self, info: ConnectionInfo, way: Upstream) -> Port_co: ...
    def forget(self, connection: int) -> None: ...


class _Ports(Generic[Port_co]):
    """The open ports of one surface; a port is reused while its connection does not change."""

    def __init__(
        self, registry: _Registry[Port_co], upstream_for: Callable[[ConnectionInfo], Upstream]
    ) -> None:
        self._registry = registry
        self._upstream_for = upstream_for
        self._ports = BoundedMap[ConnectionInfo, Port_co](_MAX_PORTS)

    def open(self, connection: ConnectionInfo) -> Port_co:
        port = self._ports.get(connection)
        if port is None:
            port = self._registry.open(connection, self._upstream_for(connection))
            self._ports[connection] = port
        return port

    def forget(self, connection_id: int) -> None:
        for connection in [known for known in self._ports if known.id == connection_id]:
            del self._ports[connection]
        self._registry.forget(connection_id)


API_ACCESS_REFUSED = "The provider refused the API token: it is wrong, expired or revoked."


@dataclass(frozen=True, slots=True)
class ConnectionTestResult:
    """Result of a connection test; *status* is the connection's, *detail* a sentence."""

    status: str
    detail: str
    latency_ms: int

    @property
    def ok(self) -> bool:
        return self.status == "active"


class Accounts:
    """
    Opens connections. One per process.

    Methods with *surfaces* open no connection of a surface that is not among them.
    """

    def __init__(
        self,
        origins: Origins,
        credentials: CredentialRepository,
        database: Database,
        upstreams: Mapping[tuple[str, str], str],
    ) -> None:
        """*upstreams* is the base URL per (kind, provider), for connections without their own."""
        self._mail = _Ports(registry.MailRegistry(), self._upstream_for)
        self._calendars = _Ports(registry.CalendarRegistry(), self._upstream_for)
        self._tasks = _Ports(registry.TaskRegistry(), self._upstream_for)
        self._collab = _Ports(registry.CollabRegistry(), self._upstream_for)
        self._event_ids = EventIds(database)
        self._mailboxes = BoundedMap[int, tuple[Caller, MergedMailbox]](_MAX_PORTS)  # by id(caller)
        self._no_mail = MergedMailbox([])
        self._no_calendars = MergedCalendars([], self._event_ids)
        self._no_tasks = TaskAccounts([])
        self._kinds: Mapping[str, _Ports[_Port]] = MappingProxyType(
            {
                Surface.EMAIL: self._mail,
                Surface.CALENDAR: self._calendars,
                Surface.TASKS: self._tasks,
                Surface.COLLAB: self._collab,
            }
        )
        self._origins = origins
        self._repository = credentials
        self._database = database
        self._upstreams = upstreams

    def mailbox_for(self, caller: Caller, surfaces: Container[str] = ALL) -> MergedMailbox:
        """Return the mailboxes that *caller* may use, merged; possibly none."""
        if Surface.EMAIL not in surfaces:
            return self._no_mail
        known = self._mailboxes.get(id(caller))
        if known is not None and known[0] is caller:
            return known[1]
        mailbox = MergedMailbox(_open_all(self._mail, _usable(caller, Surface.EMAIL, surfaces)))
        self._mailboxes[id(caller)] = caller, mailbox
        return mailbox

    def calendars_for(self, caller: Caller, surfaces: Container[str] = ALL) -> MergedCalendars:
        """Return the calendars that *caller* may use, merged; possibly none."""
        if Surface.CALENDAR not in surfaces:
            return self._no_calendars
        calendars = _open_all(self._calendars, _usable(caller, Surface.CALENDAR, surfaces))
        return MergedCalendars(calendars, self._event_ids)

    def tasks_for(self, caller: Caller, surfaces: Container[str] = ALL) -> TaskAccounts:
        """Return the task accounts that *caller* may use; possibly none."""
        if Surface.TASKS not in surfaces:
            return self._no_tasks
        return TaskAccounts(_open_all(self._tasks, _usable(caller, Surface.TASKS, surfaces)))

    def content_for(self, caller: Caller, surfaces: Container[str] = ALL) -> MergedContent:
        """Return the collaboration content that *caller* may use, merged; possibly none."""
        return MergedContent(_open_all(self._collab, _usable(caller, Surface.COLLAB, surfaces)))

    def content_of_connections(self, connections: Sequence[ConnectionInfo]) -> MergedContent:
        """Return the collaboration content of *connections*, merged."""
        return MergedContent(_open_all(self._collab, connections))

    def forget(self, connection_id: int) -> None:
        """Drop the cached state of a connection that was changed or removed."""
        self._mailboxes.clear()
        for ports in self._kinds.values():
            ports.forget(connection_id)
        self._origins.forget(connection_id)
        self._repository.forget(connection_id)

    async def test(self, row: ConnectionRow) -> ConnectionTestResult:
        """Make one harmless read, store the resulting status and return the result."""
        connection = self._info(row)
        ports = self._kinds.get(row.kind)
        if ports is None:
            return ConnectionTestResult(
                row.status, "This kind of connection cannot be tested yet.", 0
            )
        if row.status == "needs_reauth":
            self._repository.forget(connection.id)  # so that a refused refresh token is tried again
        started = time.monotonic()
        status, detail = "active", "The account answers."
        try:
            # First the token by itself: an app-only client without a site has nothing to read.
            await self._credentials(connection).token()
            await ports.open(connection).probe()
        except NeedsReauth as failure:
            status, detail = "needs_reauth", failure.message
            if await self._repository.has_api_token(connection.id):
                detail = API_ACCESS_REFUSED
        except ProviderFailure as failure:
            status, detail = "error", failure.message
        elapsed = round((time.monotonic() - started) * 1000)
        await connection_rows.set_status(
            self._database,
            connection.id,
            status,
            None if status == "active" else detail,
            seen=row.updated_at,
        )
        return ConnectionTestResult(status, detail, elapsed)

    async def check(self, row: ConnectionRow) -> list[Finding]:
        """Check what can be checked without a change; see docs/guides/real-accounts.md."""
        connection = self._info(row)
        missing = missing_scopes(
            row.kind, row.provider, row.granted_scopes, writing=connection.can_write
        )
        findings = [_scope_finding(missing, row)]
        try:
            await self._credentials(connection).token()
        except ProviderFailure as failure:
            failed = Finding(item="credentials", outcome=Outcome.FAILED, detail=failure.message)
            return [*findings, failed]
        answered = "A token is valid, or was renewed."
        findings.append(Finding(item="credentials", outcome=Outcome.AS_EXPECTED, detail=answered))
        account = Account(self._upstream_for(connection), connection)
        return findings + await run_checks(CHECKS[row.kind, row.provider], account)

    def _upstream_for(self, connection: ConnectionInfo) -> Upstream:
        missing = missing_scopes(
            connection.kind,
            connection.provider,
            connection.granted_scopes,
            writing=connection.can_write,
        )
        has_consent = connection.mode != "selected_sites"
        return registry.open_upstream(
            self._origins,
            connection,
            self._credentials(connection),
            missing_scopes=tuple(map(short_name, missing)) if has_consent else (),
            reconnect_url=partial(
                self._repository.link_for, connection.id, connection.provider, connection.mode
            ),
        )

    def _credentials(self, connection: ConnectionInfo) -> ConnectionCredentials:
        scheme = _SCHEMES.get(connection.provider, "Bearer")
        return self._repository.for_connection(connection.id, scheme=scheme)

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
            base_url=row.base_url or self._upstreams[row.kind, row.provider],
            selected_site_ids=tuple(row.selected_site_ids),
            granted_scopes=tuple(row.granted_scopes),
        )


def _scope_finding(missing: Sequence[str], row: ConnectionRow) -> Finding:
    outcome, detail = Outcome.AS_EXPECTED, "All scopes that the connection needs are granted."
    if row.mode == "selected_sites" or not row.granted_scopes:
        detail = "The connection has no scopes of a consent: its token decides."
    elif missing:
        outcome = Outcome.DIFFERS
        detail = f"The consent does not include {', '.join(missing)}: let the owner consent again."
    return Finding(item="scopes", outcome=outcome, detail=detail)


def _open_all(
    ports: _Ports[Port_co], connections: Iterable[ConnectionInfo]
) -> list[tuple[ConnectionInfo, Port_co]]:
    return [(connection, ports.open(connection)) for connection in connections]


def _usable(caller: Caller, surface: Surface, surfaces: Container[str]) -> Iterator[ConnectionInfo]:
    if surface.value not in surfaces:
        return
    for connection in caller.connections:
        if (
            isinstance(connection, ConnectionInfo)
            and connection.kind == surface
            and connection.status == "active"
            and not caller.excludes(connection)
        ):
            yield connection
