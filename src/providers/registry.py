"""
Provider code to opener: the one list of what connectors there are.

The caller brings credentials, origins and connection details; what is remembered of an account
between requests is kept here, by connection, for the life of the process.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from providers.connectors.boards.failures import classify as classify_boards
from providers.connectors.boards.tasks import Tasks as Boards
from providers.connectors.boards.writing import Locks
from providers.connectors.collab.connection import CollabConnection
from providers.connectors.collab.failures import classify as classify_collab
from providers.connectors.collab.ttl_cache import ConnectionCache as MemoryC
from providers.connectors.projects.failures import classify as classify_projects
from providers.connectors.projects.tasks import Tasks as Projects
from providers.connectors.provider_a.failures import classify as classify_a
from providers.connectors.provider_a.gmail.mailbox import Mail as MailA
from providers.connectors.provider_a.google_calendar.calendars import Calendars as CalendarsA
from providers.connectors.provider_a.memory import Memory as MemoryA
from providers.connectors.provider_b.failures import classify as classify_b
from providers.connectors.provider_b.memory import Memory as MemoryB
from providers.connectors.provider_b.outlook_calendar.calendars import Calendars as CalendarsB
from providers.connectors.provider_b.outlook_mail.mailbox import Mail as MailB
from providers.failures import ProviderFailure
from providers.http.client import Credentials, Origins, Upstream
from providers.http.response import Response
from providers.ports.calendar import CalendarPort
from providers.ports.collab_port import CollabPort
from providers.ports.connection import ConnectionInfo
from providers.ports.mail import MailPort
from providers.ports.tasks import TaskPort

Classify = Callable[[Response], ProviderFailure | None]

CLASSIFIERS: Mapping[str, Classify] = MappingProxyType(
    {
        "PROVIDER_A": classify_a,
        "PROVIDER_B": classify_b,
        "BOARDS": classify_boards,
        "PROJECTS": classify_projects,
        "COLLAB": classify_collab,
    }
)
# Calls under way at once per connection; wire report 2.2 (four per mailbox on provider B).
CONCURRENCY: Mapping[str, int] = MappingProxyType(
    {"PROVIDER_A": 8, "PROVIDER_B": 4, "BOARDS": 4, "PROJECTS": 8, "COLLAB": 8}
)
# Where pre-authenticated addresses of downloads and uploads may lead; wire report 1D.3, 1D.4.
CONTENT_HOSTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"COLLAB": (".sharepoint.com", ".sharepoint.us", ".svc.ms", ".1drv.com")}
)
MAIL_PROVIDERS = ("PROVIDER_A", "PROVIDER_B")


def open_upstream(origins: Origins, info: ConnectionInfo, credentials: Credentials) -> Upstream:
    """
    Return the way to a connection's upstream, with its provider's reading of errors.

    Raises:
        KeyError: No connector speaks to this provider.
        ValueError: The connection's base URL is none.
    """
    return Upstream(
        origins,
        info.base_url,
        connection=info.id,
        name=info.provider,
        credentials=credentials,
        classify=CLASSIFIERS[info.provider],
        concurrency=CONCURRENCY[info.provider],
        hosts=CONTENT_HOSTS.get(info.provider, ()),
    )


class MailRegistry:
    """Opens mailboxes. One object per process."""

    def __init__(self) -> None:
        self._memory_a: dict[tuple[int, str, str], MemoryA] = {}
        self._memory_b: dict[tuple[int, str, str], MemoryB] = {}

    def open(self, info: ConnectionInfo, way: Upstream) -> MailPort:
        """
        Return the mailbox behind a connection. Cheap: nothing is called.

        Raises:
            KeyError: No mail connector speaks to this provider.
        """
        account = (info.id, info.base_url, info.account_email)
        if info.provider == "PROVIDER_A":
            return MailA(info, way, self._memory_a.setdefault(account, MemoryA()))
        if info.provider == "PROVIDER_B":
            return MailB(info, way, self._memory_b.setdefault(account, MemoryB()))
        raise KeyError(info.provider)

    def forget(self, connection: int) -> None:
        """Drop what is remembered of a connection that was removed or reconnected."""
        for account in [one for one in self._memory_a if one[0] == connection]:
            del self._memory_a[account]
        for account in [one for one in self._memory_b if one[0] == connection]:
            del self._memory_b[account]


class CalendarRegistry:
    """Opens calendars. One object per process."""

    def open(self, info: ConnectionInfo, way: Upstream) -> CalendarPort:
        """
        Return the calendars behind a connection. Cheap: nothing is called.

        Raises:
            KeyError: No calendar connector speaks to this provider.
        """
        return _CALENDARS[info.provider](way)

    def forget(self, connection: int) -> None:
        """Nothing is remembered of an account's calendars."""


_CALENDARS: Mapping[str, Callable[[Upstream], CalendarPort]] = MappingProxyType(
    {"PROVIDER_A": CalendarsA, "PROVIDER_B": CalendarsB}
)


class TaskRegistry:
    """Opens task accounts. One object per process."""

    def __init__(self) -> None:
        self._locks: dict[int, Locks] = {}

    def open(self, info: ConnectionInfo, way: Upstream) -> TaskPort:
        """
        Return the task account behind a connection. Cheap: nothing is called.

        Raises:
            KeyError: No task connector speaks to this provider.
        """
        return _TASKS[info.provider](way, self._locks.setdefault(info.id, Locks()))

    def forget(self, connection: int) -> None:
        """Drop what is remembered of a connection that was removed or reconnected."""
        self._locks.pop(connection, None)


_TASKS: Mapping[str, Callable[[Upstream, Locks], TaskPort]] = MappingProxyType(
    {"BOARDS": Boards, "PROJECTS": lambda way, _: Projects(way)}
)


class CollabRegistry:
    """Opens collaboration content. One object per process."""

    def __init__(self) -> None:
        self._memory: dict[tuple[int, str, str], MemoryC] = {}

    def open(self, info: ConnectionInfo, way: Upstream) -> CollabPort:
        """Return the content behind a connection. Cheap: nothing is called."""
        account = (info.id, info.base_url, info.account_email)
        return CollabConnection(info, way, self._memory.setdefault(account, MemoryC()))

    def forget(self, connection: int) -> None:
        """Drop what is remembered of a connection that was removed or reconnected."""
        for account in [one for one in self._memory if one[0] == connection]:
            del self._memory[account]
