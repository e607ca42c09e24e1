"""
Registry of the connectors: provider code -> upstream settings and port.

Callers bring credentials, origins and the connection's description. What connectors remember of
an account between requests is kept here, for the life of the process.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from providers.connectors.boards.failures import classify as classify_boards
from providers.connectors.boards.tasks import BoardTasks
from providers.connectors.boards.writing import BoardLocks
from providers.connectors.collab.connection import CollabConnection
from providers.connectors.collab.failures import classify as classify_collab
from providers.connectors.collab.ttl_cache import ConnectionCache
from providers.connectors.projects.failures import classify as classify_projects
from providers.connectors.projects.tasks import ProjectTasks
from providers.connectors.provider_a.account_cache import AccountCache as CacheA
from providers.connectors.provider_a.failures import classify as classify_a
from providers.connectors.provider_a.gmail.mailbox import GmailMailbox
from providers.connectors.provider_a.google_calendar.calendars import GoogleCalendars
from providers.connectors.provider_b.account_cache import AccountCache as CacheB
from providers.connectors.provider_b.failures import classify as classify_b
from providers.connectors.provider_b.outlook_calendar.calendars import OutlookCalendars
from providers.connectors.provider_b.outlook_mail.mailbox import OutlookMailbox
from providers.failures import MissingScope, ProviderFailure, Refused
from providers.http.call import Classify
from providers.http.client import Credentials, Origins, Upstream
from providers.http.response import Response
from providers.ports.calendar import CalendarPort
from providers.ports.connection import ConnectionInfo
from providers.ports.mail import MailPort
from providers.ports.tasks import TaskPort

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
    }
)
# Concurrent calls per account: docs/spec/upstream/README.md#concurrency.
CONCURRENCY: Mapping[str, int] = MappingProxyType(
    {"PROVIDER_A": 8, "PROVIDER_B": 4, "BOARDS": 4, "PROJECTS": 8, "COLLAB": 8}
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
MAIL_PROVIDERS = ("PROVIDER_A", "PROVIDER_B")


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
    return Upstream(
        origins,
        info.base_url,
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
        if isinstance(failure, MissingScope):
            return MissingScope(missing_scopes, reconnect_url=reconnect_url())
        # Asana's statuses say nearly all: no code tells a missing scope from a missing right.
        if info.provider == "PROJECTS" and response.status == 403 and missing_scopes:
            return Refused(status=403, scopes=missing_scopes)
        return failure

    return named


class MailRegistry:
    """Opens mailboxes. One object per process."""

    def __init__(self) -> None:
        self._caches_a: dict[_Account, CacheA] = {}
        self._caches_b: dict[_Account, CacheB] = {}

    def open(self, info: ConnectionInfo, upstream: Upstream) -> MailPort:
        """
        Return the mailbox behind a connection. Makes no call.

        Raises:
            KeyError: The provider has no mail connector.
        """
        account = _account(info)
        if info.provider == "PROVIDER_A":
            return GmailMailbox(info, upstream, self._caches_a.setdefault(account, CacheA()))
        if info.provider == "PROVIDER_B":
            return OutlookMailbox(info, upstream, self._caches_b.setdefault(account, CacheB()))
        raise KeyError(info.provider)

    def forget(self, connection: int) -> None:
        """Drop the memory of a connection that was removed or reconnected."""
        _forget(self._caches_a, connection)
        _forget(self._caches_b, connection)


class CalendarRegistry:
    """Opens calendars. One object per process."""

    def open(self, info: ConnectionInfo, upstream: Upstream) -> CalendarPort:
        """
        Return the calendars behind a connection. Makes no call.

        Raises:
            KeyError: The provider has no calendar connector.
        """
        return _CALENDARS[info.provider](upstream)

    def forget(self, connection: int) -> None:
        """Do nothing: nothing is remembered of calendars."""


_CALENDARS: Mapping[str, Callable[[Upstream], CalendarPort]] = MappingProxyType(
    {"PROVIDER_A": GoogleCalendars, "PROVIDER_B": OutlookCalendars}
)


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
        return _TASKS[info.provider](upstream, self._locks.setdefault(info.id, BoardLocks()))

    def forget(self, connection: int) -> None:
        """Drop the memory of a connection that was removed or reconnected."""
        self._locks.pop(connection, None)


_TASKS: Mapping[str, Callable[[Upstream, BoardLocks], TaskPort]] = MappingProxyType(
    {"BOARDS": BoardTasks, "PROJECTS": lambda upstream, _: ProjectTasks(upstream)}
)


class CollabRegistry:
    """Opens collaboration content. One object per process."""

    def __init__(self) -> None:
        self._caches: dict[_Account, ConnectionCache] = {}

    def open(self, info: ConnectionInfo, upstream: Upstream) -> CollabConnection:
        """Return the content behind a connection. Makes no call."""
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
