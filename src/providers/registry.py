"""
Registry of the connectors: provider code -> upstream settings and port.

Callers bring credentials, origins and the connection's description. What connectors remember of
an account between requests is kept here, for the life of the process.

A connector is imported when the first of its accounts is opened, or before by `load`: few
deployments use all of them, and together they are a tenth of the start and 7 MB.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from providers.calendar.calendar_memory import CalendarMemory
from providers.connectors.boards.failures import classify as classify_boards
from providers.connectors.caldav.failures import classify as classify_caldav
from providers.connectors.collab.failures import classify as classify_collab
from providers.connectors.projects.failures import classify as classify_projects
from providers.connectors.provider_a.failures import classify as classify_a
from providers.connectors.provider_b.failures import classify as classify_b
from providers.failures import (
    DENIED_BY_POLICY,
    Inaccessible,
    MissingScope,
    ProviderFailure,
    Refused,
)
from providers.http.attempt import Classify
from providers.http.client import Credentials, Origins, Upstream
from providers.http.events import CallEvent, CallListener
from providers.http.response import Response
from providers.http.urls import BaseUrl
from providers.imap.logins import Login, Logins
from providers.ports.calendar import CalendarPort
from providers.ports.connection import ConnectionInfo
from providers.ports.mail import MailPort
from providers.ports.tasks import TaskPort

if TYPE_CHECKING:  # imported when the first of their accounts is opened
    from providers.connectors.boards.writing import BoardLocks
    from providers.connectors.caldav.account_memory import AccountMemory as CaldavMemory
    from providers.connectors.caldav.account_memory import RangeCache
    from providers.connectors.collab.connection import CollabConnection
    from providers.connectors.collab.ttl_cache import ConnectionCache
    from providers.connectors.imap.account_memory import AccountMemory
    from providers.connectors.imap.sign_in import ImapAccess
    from providers.connectors.provider_a.account_cache import AccountCache as CacheA
    from providers.connectors.provider_b.account_cache import AccountCache as CacheB

T = TypeVar("T")

# A connection's memory belongs to its id, base URL and account: with another one it starts anew.
_Account = tuple[int, str, str]

CLASSIFIERS: Mapping[str, Classify] = MappingProxyType(
    {
        "PROVIDER_A": classify_a,
        "PROVIDER_B": classify_b,
        "BOARDS": classify_boards,
        "PROJECTS": classify_projects,
        "COLLAB": classify_collab,
        "CALDAV": classify_caldav,
    }
)
# Concurrent calls per account: docs/spec/upstream/README.md#concurrency.
CONCURRENCY: Mapping[str, int] = MappingProxyType(
    {"PROVIDER_A": 8, "PROVIDER_B": 4, "BOARDS": 4, "PROJECTS": 8, "COLLAB": 8, "CALDAV": 4}
)
# Hosts of pre-authenticated URLs: docs/spec/upstream/README.md#pre-authenticated-addresses.
CONTENT_HOSTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "PROVIDER_B": ("outlook.office.com", "outlook.office365.com", "outlook.office365.us"),
        "COLLAB": (
            *(".sharepoint.com", ".sharepoint.us", ".sharepoint-mil.us", ".dps.mil"),
            *(".sharepoint.cn", ".sharepoint.de", ".svc.ms", ".1drv.com"),
            *(".livefilestore.com", ".storage.live.com", ".microsoftpersonalcontent.com"),
            *("api.onedrive.com", "onedrive.live.com"),
        ),
    }
)
OWN_SERVERS = frozenset({"IMAP", "CALDAV"})  # providers with a server and a password
WITHOUT_HTTP = frozenset({"IMAP"})  # providers that are not called by `Upstream`

_CONNECTORS = "providers.connectors."
# Kind and provider -> the module that has the port.
_MODULES: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("email", "PROVIDER_A"): "provider_a.gmail.mailbox",
        ("email", "PROVIDER_B"): "provider_b.outlook_mail.mailbox",
        ("email", "IMAP"): "imap.mailbox",
        ("calendar", "PROVIDER_A"): "provider_a.google_calendar.calendars",
        ("calendar", "PROVIDER_B"): "provider_b.outlook_calendar.calendars",
        ("calendar", "CALDAV"): "caldav.calendars",
        ("tasks", "BOARDS"): "boards.tasks",
        ("tasks", "PROJECTS"): "projects.tasks",
        ("collab", "COLLAB"): "collab.connection",
    }
)


def load(kind: str, provider: str) -> None:
    """Import the connector of *kind* and *provider*, if there is one, before it is needed."""
    if module := _MODULES.get((kind, provider)):
        import_module(_CONNECTORS + module)


def open_upstream(
    origins: Origins,
    info: ConnectionInfo,
    credentials: Credentials,
    *,
    missing_scopes: Sequence[str] = (),
    reconnect_url: Callable[[], str | None] = lambda: None,
) -> Upstream:
    """
    Return the HTTP client of a connection, with its provider's limits and error mapping.

    Args:
        origins: The process's clients.
        info: The connection.
        credentials: Its tokens.
        missing_scopes: What its recorded consent lacks; a refusal for a missing scope names them.
        reconnect_url: Returns where a person can consent again; None: nowhere.

    Raises:
        KeyError: The provider has no connector.
        ValueError: The connection's base URL is not valid.
    """
    base_url = info.base_url
    if info.provider == "CALDAV":  # its servers send addresses anywhere on their origin
        base_url = BaseUrl.parse(base_url).origin
    return Upstream(
        origins,
        base_url,
        connection=info.id,
        account=(info.provider, info.account_email.casefold() or info.id),
        name=info.provider,
        credentials=credentials,
        classify=_naming_scopes(CLASSIFIERS[info.provider], info, missing_scopes, reconnect_url),
        concurrency=CONCURRENCY[info.provider],
        hosts=CONTENT_HOSTS.get(info.provider, ()),
    )


def _naming_scopes(
    classify: Classify,
    info: ConnectionInfo,
    missing_scopes: Sequence[str],
    reconnect_url: Callable[[], str | None],
) -> Classify:
    """Add the missing scopes to failures that are about scopes, or may be on Asana's 403."""

    def named(response: Response) -> ProviderFailure | None:
        failure = classify(response)
        has_all = bool(info.granted_scopes) and not missing_scopes
        if isinstance(failure, MissingScope) and failure.may_be_policy and has_all:
            return Inaccessible(DENIED_BY_POLICY, status=response.status)
        if isinstance(failure, MissingScope):
            return MissingScope(missing_scopes, reconnect_url=reconnect_url())
        # Asana's statuses say nearly all: no code tells a missing scope from a missing right.
        if info.provider == "PROJECTS" and response.status == 403 and missing_scopes:
            return Refused(status=403, scopes=missing_scopes)
        return failure

    return named


class MailRegistry:
    """Opens mailboxes. One object per process."""

    def __init__(self, logins: Logins | None = None, notify: CallListener | None = None) -> None:
        """
        Take the logins at IMAP servers; without them no such mailbox can be opened.

        *notify* learns of their calls.
        """
        self._logins = logins
        self._notify = notify
        self._imap: dict[_Account, AccountMemory] = {}
        self._caches_a: dict[_Account, CacheA] = {}
        self._caches_b: dict[_Account, CacheB] = {}

    def open(
        self, info: ConnectionInfo, upstream_for: Callable[[ConnectionInfo], Upstream]
    ) -> MailPort:
        """
        Return the mailbox behind a connection. Makes no call.

        *upstream_for* returns the HTTP client of a connection that is called by HTTP.

        Raises:
            KeyError: The provider has no mail connector.
        """
        account = _account(info)
        if info.provider == "IMAP" and self._logins is not None:
            from providers.connectors.imap.account_memory import AccountMemory
            from providers.connectors.imap.mailbox import ImapMailbox

            memory = self._imap.setdefault(account, AccountMemory())
            access = _imap_access(info, self._logins, self._notify)
            return ImapMailbox(info, access, memory)
        if info.provider == "PROVIDER_A":
            from providers.connectors.provider_a import account_cache as cache_a
            from providers.connectors.provider_a.gmail.mailbox import GmailMailbox

            upstream = upstream_for(info)
            return GmailMailbox(
                info, upstream, self._caches_a.setdefault(account, cache_a.AccountCache())
            )
        if info.provider == "PROVIDER_B":
            from providers.connectors.provider_b import account_cache as cache_b
            from providers.connectors.provider_b.outlook_mail.mailbox import OutlookMailbox

            upstream = upstream_for(info)
            return OutlookMailbox(
                info, upstream, self._caches_b.setdefault(account, cache_b.AccountCache())
            )
        raise KeyError(info.provider)

    def access(self, info: ConnectionInfo) -> "ImapAccess":
        """
        Return what reads the login of a mailbox on an own server.

        Raises:
            KeyError: There are no logins.
        """
        if self._logins is None:
            raise KeyError(info.provider)
        return _imap_access(info, self._logins, self._notify)

    def forget(self, connection: int) -> None:
        """Drop the memory of a connection that was removed or reconnected."""
        _forget(self._caches_a, connection)
        _forget(self._caches_b, connection)
        for account in [account for account in self._imap if account[0] == connection]:
            self._imap.pop(account).pool.close()

    def close(self) -> None:
        """End the connections to IMAP servers that are kept open."""
        for memory in self._imap.values():
            memory.pool.close()


def _imap_access(
    info: ConnectionInfo, logins: Logins, listener: CallListener | None
) -> "ImapAccess":
    from providers.connectors.imap.message_ids import MessageIds
    from providers.connectors.imap.sign_in import SignIn
    from providers.imap.accounts import Account
    from providers.imap.endpoints import Endpoint

    endpoint = Endpoint.parse(info.base_url, "imap")

    def notify(method: str, outcome: str, began: float) -> None:
        if listener is not None:
            ended = time.perf_counter()
            listener(CallEvent(info.provider, method, outcome, began, ended, info.id))

    def sign_in(login: Login) -> SignIn:
        async def refused() -> None:
            await logins.mark_refused(info.id, login)

        async def renew() -> SignIn | None:
            renewed = await logins.renew(info.id, login)
            return None if renewed is None else sign_in(renewed)

        def account_at(server: Endpoint) -> Account:
            return Account(server, login.username, login.password, notify, login.has_token)

        submission = Endpoint.parse(login.submission, "smtp") if login.submission else None
        return SignIn(
            account_at(endpoint),
            MessageIds(login.id_key),
            refused,
            None if submission is None else account_at(submission),
            renew,
            partial(logins.note_submission, info.id),
        )

    async def read() -> SignIn:
        return sign_in(await logins.read(info.id))

    return read


class CalendarRegistry:
    """Opens calendars. One object per process."""

    def __init__(self) -> None:
        self._caldav: dict[_Account, CaldavMemory] = {}
        self._lists: dict[_Account, CalendarMemory] = {}
        self._ranges: RangeCache | None = None

    def open(self, info: ConnectionInfo, upstream: Upstream) -> CalendarPort:
        """
        Return the calendars behind a connection. Makes no call.

        Raises:
            KeyError: The provider has no calendar connector.
        """
        if info.provider == "CALDAV":
            from providers.connectors.caldav import account_memory
            from providers.connectors.caldav.calendars import CaldavCalendars

            self._ranges = self._ranges or account_memory.RangeCache()
            memory = self._caldav.setdefault(_account(info), account_memory.AccountMemory())
            return CaldavCalendars(info, upstream, memory, self._ranges)
        calendar_memory = self._lists.setdefault(_account(info), CalendarMemory())
        if info.provider == "PROVIDER_A":
            from providers.connectors.provider_a.google_calendar.calendars import GoogleCalendars

            return GoogleCalendars(upstream, calendar_memory)
        if info.provider == "PROVIDER_B":
            from providers.connectors.provider_b.outlook_calendar.calendars import OutlookCalendars

            return OutlookCalendars(upstream, calendar_memory)
        raise KeyError(info.provider)

    def forget(self, connection: int) -> None:
        """Drop the memory of a connection that was removed or reconnected."""
        _forget(self._caldav, connection)
        _forget(self._lists, connection)
        if self._ranges is not None:
            self._ranges.forget(connection)


class TaskRegistry:
    """Opens task accounts. One object per process."""

    def __init__(self) -> None:
        self._locks: dict[int, BoardLocks] = {}

    def open(self, info: ConnectionInfo, upstream: Upstream) -> TaskPort:
        """
        Return the task account behind a connection. Makes no call.

        Raises:
            KeyError: The provider has no task connector.
        """
        if info.provider == "BOARDS":
            from providers.connectors.boards.tasks import BoardTasks
            from providers.connectors.boards.writing import BoardLocks

            return BoardTasks(upstream, self._locks.setdefault(info.id, BoardLocks()))
        if info.provider == "PROJECTS":
            from providers.connectors.projects.tasks import ProjectTasks

            return ProjectTasks(upstream)
        raise KeyError(info.provider)

    def forget(self, connection: int) -> None:
        """Drop the memory of a connection that was removed or reconnected."""
        self._locks.pop(connection, None)


class CollabRegistry:
    """Opens collaboration content. One object per process."""

    def __init__(self) -> None:
        self._caches: dict[_Account, ConnectionCache] = {}

    def open(self, info: ConnectionInfo, upstream: Upstream) -> "CollabConnection":
        """Return the content behind a connection. Makes no call."""
        from providers.connectors.collab.connection import CollabConnection
        from providers.connectors.collab.ttl_cache import ConnectionCache

        account = _account(info)
        return CollabConnection(info, upstream, self._caches.setdefault(account, ConnectionCache()))

    def forget(self, connection: int) -> None:
        """Drop the memory of a connection that was removed or reconnected."""
        _forget(self._caches, connection)


def _account(info: ConnectionInfo) -> _Account:
    return info.id, info.base_url, info.account_email


def _forget(memory: dict[_Account, T], connection: int) -> None:
    for account in [account for account in memory if account[0] == connection]:
        del memory[account]
