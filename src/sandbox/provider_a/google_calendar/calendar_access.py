"""Whose calendars provider A's wire shows: found by id, with the account's standing in them."""

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

# From the least to the most that one may do in a calendar.
ROLES: Mapping[str, int] = MappingProxyType(
    {"freeBusyReader": 0, "reader": 1, "writerWithoutPrivateAccess": 2, "writer": 3, "owner": 4}
)


class NotFound(GoogleError):
    """Calendar says it shorter than mail."""

    def __init__(self) -> None:
        super().__init__(404, "Not Found", "notFound")


def require_scope(request: Request, scopes: tuple[str, ...]) -> None:
    """
    Pass when the token has any of *scopes* (last path segments).

    Raises:
        GoogleError: 403 insufficientPermissions.
    """
    if not scope_names(request.grant).intersection(scopes):
        raise GoogleError(
            403, "Request had insufficient authentication scopes.", "insufficientPermissions"
        )


@dataclass(frozen=True, slots=True)
class CalendarAccess:
    """The account's calendars, as every endpoint finds things in them."""

    state: SandboxState

    @property
    def account(self) -> Account:
        """Whose calendars they are."""
        return self.state.mails.account(PROVIDER_A)

    def calendars(self) -> tuple[StoredCalendar, ...]:
        """Return every calendar on the account's list, the primary one first."""
        return self.state.calendars.calendars(PROVIDER_A)

    def name_of(self, calendar: StoredCalendar) -> str:
        """Return a calendar's id on the wire; the primary one is called by its owner's address."""
        return self.account.email if calendar.is_primary else calendar.id

    def find_calendar(self, name: str) -> StoredCalendar | None:
        """Return the calendar of an id, ``primary`` or the account's address."""
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
        As `find_calendar`.

        Raises:
            NotFound: There is none.
        """
        calendar = self.find_calendar(name)
        if calendar is None:
            raise NotFound
        return calendar

    def writable(self, name: str) -> StoredCalendar:
        """
        Return a calendar that the account may change.

        Raises:
            NotFound: There is none.
            GoogleError: 403, somebody else keeps it.
        """
        calendar = self.calendar(name)
        if not calendar.can_edit:
            message = "You need to have writer access to this calendar."
            raise GoogleError(403, message, "requiredAccessLevel")
        return calendar

    def event(self, calendar: StoredCalendar, name: str) -> StoredEvent | None:
        """Return the event or series of an id, deleted ones too; None for occurrences."""
        events = self.state.calendars.find(PROVIDER_A, name)
        return next((event for event in events if event.calendar == calendar.seq), None)

    def occurrence(self, calendar: StoredCalendar, name: str) -> Occurrence:
        """
        Return what an id names: an event, a series as a whole, or one of its occurrences.

        Raises:
            NotFound: Nothing.
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
    """Return what the account may do in a calendar."""
    return "owner" if calendar.can_edit else "reader"
