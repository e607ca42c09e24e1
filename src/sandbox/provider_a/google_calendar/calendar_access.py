"""Scopes of Google Calendar, and lookup of the account's calendars and events."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sandbox.calendar.ids import split_instance
from sandbox.calendar.records import Occurrence, StoredCalendar, StoredEvent
from sandbox.calendar.store import as_single_occurrence
from sandbox.http import Request
from sandbox.mail.ids import PROVIDER_A
from sandbox.mail.store import Account
from sandbox.provider_a.errors import GoogleError, scope_names
from sandbox.state import SandboxState

ALL = "calendar"
READ = (ALL, "calendar.readonly")
READ_EVENTS = (
    *READ,
    "calendar.app.created",
    "calendar.events",
    "calendar.events.freebusy",
    "calendar.events.owned",
    "calendar.events.owned.readonly",
    "calendar.events.public.readonly",
    "calendar.events.readonly",
)
WRITE_EVENTS = (ALL, "calendar.app.created", "calendar.events", "calendar.events.owned")
READ_LIST = (
    *READ,
    "calendar.app.created",
    "calendar.calendarlist",
    "calendar.calendarlist.readonly",
)
READ_CALENDARS = (
    *READ,
    "calendar.app.created",
    "calendar.calendars",
    "calendar.calendars.readonly",
)
WRITE_CALENDARS = (ALL, "calendar.app.created", "calendar.calendars")
READ_BUSY = (*READ, "calendar.events.freebusy", "calendar.freebusy")

# Access roles, from the weakest to the strongest.
ROLES: Mapping[str, int] = MappingProxyType(
    {"freeBusyReader": 0, "reader": 1, "writerWithoutPrivateAccess": 2, "writer": 3, "owner": 4}
)


class NotFound(GoogleError):
    """404 with the message of Calendar, which differs from Gmail's."""

    def __init__(self) -> None:
        super().__init__(404, "Not Found", "notFound")


def require_scope(request: Request, scopes: tuple[str, ...]) -> None:
    """
    Check that the token has one of *scopes* (last path segments).

    Raises:
        GoogleError: 403 insufficientPermissions.
    """
    if not scope_names(request.grant).intersection(scopes):
        raise GoogleError(
            403, "Request had insufficient authentication scopes.", "insufficientPermissions"
        )


@dataclass(frozen=True, slots=True)
class CalendarAccess:
    """Lookup of the account's calendars, events and occurrences."""

    state: SandboxState

    @property
    def account(self) -> Account:
        """The owner of the calendars."""
        return self.state.mails.account(PROVIDER_A)

    def calendars(self) -> tuple[StoredCalendar, ...]:
        """Return every calendar on the account's list, the primary one first."""
        return self.state.calendars.calendars(PROVIDER_A)

    def name_of(self, calendar: StoredCalendar) -> str:
        """Return the API's id of a calendar; the primary calendar has its owner's address as id."""
        return self.account.email if calendar.is_primary else calendar.id

    def find_calendar(self, name: str) -> StoredCalendar | None:
        """Return a calendar by its id, ``primary`` or the account's address; None if unknown."""
        wanted = name.lower()
        for calendar in self.calendars():
            known = (
                self.name_of(calendar).lower(),
                calendar.id,
                "primary" if calendar.is_primary else calendar.id,
            )
            if wanted in known:
                return calendar
        return None

    def calendar(self, name: str) -> StoredCalendar:
        """
        Return a calendar as `find_calendar` does.

        Raises:
            NotFound: There is no such calendar.
        """
        calendar = self.find_calendar(name)
        if calendar is None:
            raise NotFound
        return calendar

    def writable(self, name: str) -> StoredCalendar:
        """
        Return a calendar that the account may change.

        Raises:
            NotFound: There is no such calendar.
            GoogleError: 403, the account may only read it.
        """
        calendar = self.calendar(name)
        if not calendar.can_edit:
            message = "You need to have writer access to this calendar."
            raise GoogleError(403, message, "requiredAccessLevel")
        return calendar

    def event(self, calendar: StoredCalendar, name: str) -> StoredEvent | None:
        """Return an event or series by its id, deleted ones too; None if the id is another."""
        events = self.state.calendars.find(PROVIDER_A, name)
        return next((event for event in events if event.calendar == calendar.seq), None)

    def occurrence(self, calendar: StoredCalendar, name: str) -> Occurrence:
        """
        Return an event, a series as a whole, or an occurrence of a series by its id.

        Raises:
            NotFound: The id is unknown.
        """
        event = self.event(calendar, name)
        if event is not None:
            return as_single_occurrence(event)
        named = split_instance(PROVIDER_A, name, calendar.zone)
        series = self.event(calendar, named[0]) if named else None
        if named is None or series is None or series.recurrence is None:
            raise NotFound
        occurrence = self.state.calendars.occurrence(series, named[1])
        if occurrence is None:
            raise NotFound
        return occurrence


def role(calendar: StoredCalendar) -> str:
    """Return the account's access role in a calendar."""
    return "owner" if calendar.can_edit else "reader"
