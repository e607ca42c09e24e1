"""The demo world's calendars as records of the calendar store."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from sandbox.calendar.records import (
    EventContent,
    EventTime,
    NewEvent,
    Override,
    Recurrence,
    from_instant,
)
from sandbox.calendar.store import CalendarStore
from sandbox.storage.database import Database
from sandbox.world.accounts import DemoAccount, demo_accounts
from sandbox.world.calendar.calendars import calendar_plans, planned_meetings
from sandbox.world.calendar.edge_cases import edge_case_events
from sandbox.world.calendar.meetings import Meeting, MeetingTime, OccurrenceChange
from sandbox.world.calendar.odd_events import odd_events

_SEEDED = "world:calendar"  # meta key: the day the world was made for
_CREATED_BEFORE = timedelta(days=21)  # a meeting is created so long before its first start


@dataclass(frozen=True, slots=True, kw_only=True)
class SeededCalendars:
    """
    Result of seeding the calendars.

    Attributes:
        day: The day that the world is made for (UTC).
        created: Whether this call wrote the calendars, rather than an earlier one.
        calendars: Account ("provider-a", "provider-b") to the ids of its calendars.
    """

    day: date
    created: bool
    calendars: dict[str, tuple[str, ...]]


def seed(database: Database, store: CalendarStore, now: datetime | None = None) -> SeededCalendars:
    """Write both accounts' calendars, unless an earlier call did."""
    day = (now or datetime.now(UTC)).astimezone(UTC).date()
    seeded_day = database.meta(_SEEDED)
    if seeded_day is None:
        with database.transaction():
            for account in demo_accounts(day):
                _fill(store, account)
            database.set_meta(_SEEDED, day.isoformat())
    return SeededCalendars(
        day=day if seeded_day is None else date.fromisoformat(seeded_day),
        created=seeded_day is None,
        calendars={
            account.mailbox: tuple(calendar.id for calendar in store.calendars(account.mailbox))
            for account in demo_accounts(day)
        },
    )


def planned_events(account: DemoAccount) -> Iterator[tuple[str, NewEvent]]:
    """Yield (calendar key, event) for every event in *account*'s calendars."""
    for meeting in planned_meetings(account):
        yield meeting.calendar, _event(meeting, account)
    for calendar, event in (*edge_case_events(account), *odd_events(account)):
        yield calendar, replace(event, created_ms=_created_ms(event.content, account))


def _fill(store: CalendarStore, account: DemoAccount) -> None:
    planned = tuple(planned_events(account))
    for plan in calendar_plans(account):
        calendar = store.add_calendar(
            account.mailbox,
            plan.name,
            zone=plan.zone,
            is_primary=plan.is_primary,
            can_edit=plan.can_edit,
            colour=plan.colour,
        )
        store.add_events(calendar, (event for key, event in planned if key == plan.key))


def _event(meeting: Meeting, account: DemoAccount) -> NewEvent:
    content = _content(meeting)
    return NewEvent(
        uid=meeting.uid,
        content=content,
        recurrence=None
        if meeting.rule is None
        else Recurrence(
            rules=(meeting.rule,),
            dropped=tuple(_event_time(start, meeting.zone) for start in meeting.dropped),
        ),
        overrides=tuple(
            _override(content, _event_time(original, meeting.zone), change)
            for original, change in meeting.changes.items()
        ),
        created_ms=_created_ms(content, account),
    )


def _created_ms(content: EventContent, account: DemoAccount) -> int:
    """Return the creation time of an event: some weeks before it, but not after today."""
    today = datetime.combine(account.today, time(6), UTC)
    return int(min(content.start.instant - _CREATED_BEFORE, today).timestamp() * 1000)


def _content(meeting: Meeting) -> EventContent:
    return EventContent(
        start=_event_time(meeting.start, meeting.zone),
        end=_event_time(meeting.end, meeting.zone),
        title=meeting.title,
        description=meeting.description,
        location=meeting.location,
        organiser=meeting.organiser,
        attendees=meeting.attendees,
        status=meeting.status,
        shows_as=meeting.shows_as,
        video_link=meeting.video_link,
        categories=meeting.categories,
        is_private=meeting.is_private,
        my_response=meeting.my_response,
        reminder=meeting.reminder,
    )


def _override(content: EventContent, original: EventTime, change: OccurrenceChange) -> Override:
    if change.cancelled:
        return Override(original=original, cancelled=True)
    changed = content.starting_at(original)
    if change.title is not None:
        changed = replace(changed, title=change.title)
    if change.start is not None:
        changed = changed.starting_at(_event_time(change.start, original.zone))
    if change.end is not None:
        changed = replace(changed, end=_event_time(change.end, original.zone))
    return Override(original=original, content=changed)


def _event_time(planned: MeetingTime, zone: str) -> EventTime:
    if isinstance(planned, datetime):
        return from_instant(planned, zone)
    return EventTime(zone, day=planned)
