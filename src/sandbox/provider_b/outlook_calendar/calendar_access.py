"""Permissions of calendars, and lookup of the account's calendars and events."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sandbox.calendar.ids import split_instance
from sandbox.calendar.records import Occurrence, StoredCalendar, Window
from sandbox.calendar.store import as_single_occurrence
from sandbox.mail.ids import PROVIDER_B
from sandbox.provider_b.endpoint import UserCall
from sandbox.provider_b.outlook_calendar import event_views, time_zones
from sandbox.provider_b.outlook_calendar.event_views import is_mine
from sandbox.provider_b.outlook_mail.mailbox import check_id
from sandbox.provider_b.responses import access_denied, not_found
from sandbox.state import SandboxState

READ = (
    "Calendars.Read",
    "Calendars.Read.Shared",
    "Calendars.ReadWrite",
    "Calendars.ReadWrite.Shared",
)
READ_BASIC = (*READ, "Calendars.ReadBasic", "Calendars.ReadBasic.All")
WRITE = ("Calendars.ReadWrite", "Calendars.ReadWrite.Shared")


@dataclass(frozen=True, slots=True)
class CalendarAccess:
    """Lookup of the account's calendars, events and occurrences."""

    state: SandboxState

    @property
    def account(self) -> str:
        """The owner's address."""
        return self.state.mails.account(PROVIDER_B).email

    def calendars(self) -> tuple[StoredCalendar, ...]:
        """Return the calendars, the default calendar first."""
        return self.state.calendars.calendars(PROVIDER_B)

    def calendar(self, name: str) -> StoredCalendar:
        """
        Return a calendar by its id; "" is the default calendar.

        Raises:
            GraphError: The id is malformed or unknown.
        """
        if not name:
            return self.state.calendars.primary(PROVIDER_B)
        check_id(name)
        calendar = self.state.calendars.calendar(PROVIDER_B, name)
        if calendar is None:
            raise not_found()
        return calendar

    def writable(self, name: str) -> StoredCalendar:
        """
        Return a calendar that the account may change, as `calendar` does.

        Raises:
            GraphError: As `calendar`, or the account may only read the calendar.
        """
        calendar = self.calendar(name)
        if not calendar.can_edit:
            raise access_denied()
        return calendar

    def find(self, name: str, calendar: str = "") -> Occurrence:
        """
        Return an event, a series or an occurrence by its plain or immutable id.

        Raises:
            GraphError: The id is malformed, or names no visible event of *calendar*.
        """
        check_id(name)
        occurrence = self._named(name)
        inside = not calendar or (
            occurrence is not None and occurrence.event.calendar == self.calendar(calendar).seq
        )
        if occurrence is None or not inside or not self.is_seen(occurrence):
            raise not_found()
        return occurrence

    def masters(self, calendar: StoredCalendar) -> Iterator[Occurrence]:
        """Yield the single events and the series as wholes, in the order of creation."""
        for event in self.state.calendars.events(calendar):
            if self.is_seen(as_single_occurrence(event)):
                yield as_single_occurrence(event)

    def between(self, calendar: StoredCalendar, window: Window) -> Iterator[Occurrence]:
        """Yield the events and occurrences that overlap *window*, unordered."""
        for event in self.state.calendars.events(calendar):
            if event.is_deleted:
                continue
            for occurrence in self.state.calendars.occurrences(event, window):
                if self.is_seen(occurrence):
                    yield occurrence

    def is_seen(self, occurrence: Occurrence) -> bool:
        """Whether an event is visible; a cancelled one is visible to its attendees only."""
        if occurrence.event.is_deleted:
            return False
        return not occurrence.cancelled or not is_mine(occurrence.content, self.account)

    def record(
        self, call: UserCall, occurrence: Occurrence, *, zone: str | None = None
    ) -> dict[str, Any]:
        """Write an event by the preferences of the call; *zone* overrides theirs."""
        record = event_views.event_record(
            occurrence,
            account=self.account,
            zone=zone or call.zone,
            immutable=call.immutable,
            body_type=call.body_type,
        )
        if not can_read_bodies(call):
            return {
                name: value
                for name, value in record.items()
                if name not in event_views.BODY_MEMBERS
            }
        return record

    def _named(self, name: str) -> Occurrence | None:
        store = self.state.calendars
        events = store.find(PROVIDER_B, name)
        if events:
            return as_single_occurrence(events[0])
        named = split_instance(PROVIDER_B, name, "UTC")
        series = store.find(PROVIDER_B, named[0]) if named is not None else ()
        return store.occurrence(series[0], named[1]) if named is not None and series else None


def can_read_bodies(call: UserCall) -> bool:
    """Whether the token has more than the basic calendar permission."""
    grant = call.request.grant
    names = {scope.rsplit("/", 1)[-1] for scope in (grant.scopes if grant else ())}
    return bool(names.intersection(READ))


def check_zone(call: UserCall) -> None:
    """
    Check the preferred time zone of the call.

    Raises:
        GraphError: The time zone is unknown.
    """
    if call.zone is not None:
        time_zones.iana_name(call.zone)
