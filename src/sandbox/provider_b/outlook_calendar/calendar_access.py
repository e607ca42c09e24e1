"""Permissions of calendars, and lookup of the account's calendars and events."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

from sandbox.calendar.ids import split_instance
from sandbox.calendar.records import Occurrence, StoredCalendar, Window
from sandbox.calendar.store import as_single_occurrence
from sandbox.mail.store import Account
from sandbox.provider_b.endpoint import UserCall
from sandbox.provider_b.outlook_calendar import calendar_roles, event_views, time_zones
from sandbox.provider_b.outlook_calendar.calendar_roles import CalendarRole
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


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarAccess:
    """
    Lookup of the calendars, events and occurrences of one mailbox.

    Attributes:
        is_shared: Whether the mailbox is not that of the person who signs in.
        person: Address of a person who sees the mailbox of somebody else; "": its owner sees it.
    """

    state: SandboxState
    mailbox: str
    is_shared: bool
    person: str = ""

    def opened(self, call: UserCall, *scopes: str) -> Self:
        """
        Return the calendars as the signed-in person sees them.

        Raises:
            GraphError: 403, the token has none of *scopes*.
        """
        if not call.has_scope(*scopes):
            raise access_denied()
        return self.seen_by(call)

    def seen_by(self, call: UserCall) -> Self:
        """Return the calendars as the signed-in person sees them; an application sees all."""
        grant = call.request.grant
        if not self.is_shared or grant is None or grant.app_only:
            return self
        return replace(self, person=grant.account)

    @property
    def owner(self) -> Account:
        """The owner of the mailbox."""
        return self.state.mails.account(self.mailbox)

    @property
    def account(self) -> str:
        """The owner's address."""
        return self.owner.email

    @property
    def is_whole(self) -> bool:
        """Whether the whole mailbox is open, and not single calendars of it."""
        database = self.state.database
        return not self.person or calendar_roles.opens_all(database, self.mailbox, self.person)

    def role(self, calendar: StoredCalendar) -> CalendarRole:
        """Return the role in a calendar; its owner has the widest."""
        if not self.person:
            return CalendarRole.DELEGATE_OF_PRIVATE
        return calendar_roles.role_in(self.state.database, calendar, self.person)

    def sees_private(self, calendar: StoredCalendar) -> bool:
        """Whether the details of private events are visible."""
        return self.role(calendar) is CalendarRole.DELEGATE_OF_PRIVATE

    def can_edit(self, calendar: StoredCalendar) -> bool:
        """Whether the calendar may be changed."""
        return calendar.can_edit and self.role(calendar) in calendar_roles.EDITS

    def calendars(self) -> tuple[StoredCalendar, ...]:
        """Return the calendars, the default calendar first."""
        return self.state.calendars.calendars(self.mailbox)

    def primary(self) -> StoredCalendar:
        """Return the default calendar."""
        return self.state.calendars.primary(self.mailbox)

    def calendar(self, name: str) -> StoredCalendar:
        """
        Return a calendar by its id; "" is the default calendar.

        Raises:
            GraphError: The id is malformed or unknown, or the calendar is not shared with the
                person: 403 of the default calendar, 404 of another.
        """
        if not name:
            calendar: StoredCalendar | None = self.primary()
        else:
            check_id(name)
            calendar = self.state.calendars.calendar(self.mailbox, name)
        if calendar is None:
            raise not_found()
        if self.role(calendar) not in calendar_roles.READS:
            raise not_found() if name else access_denied()
        return calendar

    def writable(self, name: str) -> StoredCalendar:
        """
        Return a calendar that may be changed, as `calendar` does.

        Raises:
            GraphError: As `calendar`, or the calendar may only be read.
        """
        calendar = self.calendar(name)
        if not self.can_edit(calendar):
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
        holder = self.state.calendars.calendar_of(occurrence.event)
        if self.role(holder) not in calendar_roles.READS or self._is_hidden(occurrence):
            raise not_found()
        return occurrence

    def masters(self, calendar: StoredCalendar) -> Iterator[Occurrence]:
        """
        Yield the single events and the series as wholes, in the order of creation.

        Raises:
            GraphError: 404, one of them is private, and the person may not see private events.
        """
        for event in self.state.calendars.events(calendar):
            occurrence = as_single_occurrence(event)
            if self.is_seen(occurrence):
                if self._is_hidden(occurrence):
                    raise not_found()
                yield occurrence

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
        if self._is_hidden(occurrence):
            occurrence = event_views.without_details(occurrence)
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

    def _is_hidden(self, occurrence: Occurrence) -> bool:
        """Whether an event is private, and its details not for the person."""
        if not self.person or not occurrence.content.is_private:
            return False
        return not self.sees_private(self.state.calendars.calendar_of(occurrence.event))

    def _named(self, name: str) -> Occurrence | None:
        store = self.state.calendars
        events = store.find(self.mailbox, name)
        if events:
            return as_single_occurrence(events[0])
        named = split_instance(self.mailbox, name, "UTC")
        series = store.find(self.mailbox, named[0]) if named is not None else ()
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
