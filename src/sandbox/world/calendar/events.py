"""
The demo world's meetings as the calendar store keeps them.

The same day gives the same events: nothing here looks at a clock or at chance.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from sandbox.calendar.records import (
    Attendee,
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
from sandbox.world.calendar.meetings import Invitee, Meeting, MeetingTime, OccurrenceChange

_SEEDED = "world:calendar"  # meta key: the day the world was made for
_PLANNED = timedelta(days=21)  # how long before its first time a meeting was entered


@dataclass(frozen=True, slots=True, kw_only=True)
class SeededCalendars:
    """
    What the calendar world holds.

    Attributes:
        day: The day it was made for (UTC).
        created: Whether this call wrote it, rather than an earlier one.
        calendars: Account ("provider-a", "provider-b") to the ids of its calendars.
    """

    day: date
    created: bool
    calendars: dict[str, tuple[str, ...]]


def seed(store: Database, kept: CalendarStore, now: datetime | None = None) -> SeededCalendars:
    """Write both accounts' calendars once; later calls leave the store alone."""
    day = (now or datetime.now(UTC)).astimezone(UTC).date()
    made_for = store.meta(_SEEDED)
    if made_for is None:
        with store.transaction():
            for account in demo_accounts(day):
                _fill(kept, account)
            store.set_meta(_SEEDED, day.isoformat())
    return SeededCalendars(
        day=day if made_for is None else date.fromisoformat(made_for),
        created=made_for is None,
        calendars={
            account.mailbox: tuple(calendar.id for calendar in kept.calendars(account.mailbox))
            for account in demo_accounts(day)
        },
    )


def planned_events(account: DemoAccount) -> Iterator[tuple[str, NewEvent]]:
    """Yield (key of the calendar, event) for everything in *account*'s calendars."""
    for meeting in planned_meetings(account):
        yield meeting.calendar, _event(meeting, account)
    for calendar, event in edge_case_events(account):
        yield calendar, replace(event, created_ms=_entered(event.content, account))


def _fill(kept: CalendarStore, account: DemoAccount) -> None:
    planned = tuple(planned_events(account))
    for plan in calendar_plans(account):
        made = kept.add_calendar(
            account.mailbox,
            plan.name,
            zone=plan.zone,
            is_primary=plan.is_primary,
            can_edit=plan.can_edit,
            colour=plan.colour,
        )
        kept.add_events(made, (event for key, event in planned if key == plan.key))


def _event(meeting: Meeting, account: DemoAccount) -> NewEvent:
    content = _content(meeting)
    return NewEvent(
        uid=meeting.uid,
        content=content,
        recurrence=None
        if meeting.rule is None
        else Recurrence(
            rules=(meeting.rule,),
            dropped=tuple(_when(one, meeting.zone) for one in meeting.dropped),
        ),
        overrides=tuple(
            _override(content, _when(original, meeting.zone), change)
            for original, change in meeting.changes.items()
        ),
        created_ms=_entered(content, account),
    )


def _entered(content: EventContent, account: DemoAccount) -> int:
    """Return when an event was written down: some weeks before, never later than today."""
    today = datetime.combine(account.today, time(6), UTC)
    return int(min(content.start.instant - _PLANNED, today).timestamp() * 1000)


def _content(meeting: Meeting) -> EventContent:
    return EventContent(
        start=_when(meeting.start, meeting.zone),
        end=_when(meeting.end, meeting.zone),
        title=meeting.title,
        description=meeting.description,
        location=meeting.location,
        organiser=_guest(meeting.organiser),
        attendees=tuple(_guest(attendee) for attendee in meeting.attendees),
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
        changed = changed.starting_at(_when(change.start, original.zone))
    if change.end is not None:
        changed = replace(changed, end=_when(change.end, original.zone))
    return Override(original=original, content=changed)


def _guest(invitee: Invitee) -> Attendee:
    return Attendee(
        email=invitee.email,
        name=invitee.name,
        response=invitee.response,
        is_optional=invitee.is_optional,
        is_resource=invitee.is_resource,
    )


def _when(planned: MeetingTime, zone: str) -> EventTime:
    if isinstance(planned, datetime):
        return from_instant(planned, zone)
    return EventTime(zone, day=planned)
