"""
The demo world's meetings as the calendar store keeps them.

The same day gives the same events: nothing here looks at a clock or at chance.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from sandbox.calendar.records import Content, Guest, NewEvent, Override, Recurrence, When, moment
from sandbox.calendar.store import CalendarStore
from sandbox.storage.database import Database
from sandbox.world.calendar.calendars import calendars, meetings
from sandbox.world.calendar.edge_cases import oddities
from sandbox.world.calendar.meetings import Change, Invitee, Meeting, Moment
from sandbox.world.mail.deliveries import Desk, desks

_SEEDED = "world:calendar"  # meta key: the day the world was made for
_PLANNED = timedelta(days=21)  # how long before its first time a meeting was entered


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarFacts:
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


def seed(store: Database, kept: CalendarStore, now: datetime | None = None) -> CalendarFacts:
    """Write both accounts' calendars once; later calls leave the store alone."""
    day = (now or datetime.now(UTC)).astimezone(UTC).date()
    made_for = store.meta(_SEEDED)
    if made_for is None:
        with store.transaction():
            for desk in desks(day):
                _fill(kept, desk)
            store.set_meta(_SEEDED, day.isoformat())
    return CalendarFacts(
        day=day if made_for is None else date.fromisoformat(made_for),
        created=made_for is None,
        calendars={
            desk.mailbox: tuple(calendar.id for calendar in kept.calendars(desk.mailbox))
            for desk in desks(day)
        },
    )


def events(desk: Desk) -> Iterator[tuple[str, NewEvent]]:
    """Yield (key of the calendar, event) for everything in *desk*'s calendars."""
    for meeting in meetings(desk):
        yield meeting.calendar, _event(meeting, desk)
    for calendar, event in oddities(desk):
        yield calendar, replace(event, created_ms=_entered(event.content, desk))


def _fill(kept: CalendarStore, desk: Desk) -> None:
    planned = tuple(events(desk))
    for plan in calendars(desk):
        made = kept.add_calendar(
            desk.mailbox,
            plan.name,
            zone=plan.zone,
            is_primary=plan.is_primary,
            can_edit=plan.can_edit,
            colour=plan.colour,
        )
        kept.add_events(made, (event for key, event in planned if key == plan.key))


def _event(meeting: Meeting, desk: Desk) -> NewEvent:
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
        created_ms=_entered(content, desk),
    )


def _entered(content: Content, desk: Desk) -> int:
    """Return when an event was written down: some weeks before, never later than today."""
    today = datetime.combine(desk.today, time(6), UTC)
    return int(min(content.start.instant - _PLANNED, today).timestamp() * 1000)


def _content(meeting: Meeting) -> Content:
    return Content(
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


def _override(content: Content, original: When, change: Change) -> Override:
    if change.cancelled:
        return Override(original=original, cancelled=True)
    changed = content.at(original)
    if change.title is not None:
        changed = replace(changed, title=change.title)
    if change.start is not None:
        changed = changed.at(_when(change.start, original.zone))
    if change.end is not None:
        changed = replace(changed, end=_when(change.end, original.zone))
    return Override(original=original, content=changed)


def _guest(invitee: Invitee) -> Guest:
    return Guest(
        email=invitee.email,
        name=invitee.name,
        response=invitee.response,
        is_optional=invitee.is_optional,
        is_resource=invitee.is_resource,
    )


def _when(planned: Moment, zone: str) -> When:
    if isinstance(planned, datetime):
        return moment(planned, zone)
    return When(zone, day=planned)
