"""
The calendars of both sandbox accounts, and what recurrence makes of them.

Everything is kept in memory beside the file and brought up to date after each write, also after
writes of another process, so that reading costs no query. Nothing is ever removed: what was deleted
is marked, because both wires can be asked for it.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sandbox.calendar import ids as calendar_ids
from sandbox.calendar.records import (
    UNBOUNDED,
    EventContent,
    EventTime,
    NewEvent,
    Occurrence,
    Override,
    Recurrence,
    StoredCalendar,
    StoredEvent,
    Window,
)
from sandbox.calendar.recurrence import SeriesStarts, check_rule
from sandbox.calendar.tables import CalendarTables
from sandbox.mail.ids import PROVIDER_A
from sandbox.storage.database import Database

# Series without an end are followed so far past now when nobody says how far.
HORIZON = timedelta(days=730)
# What lies outside of these years is refused, so that no zone and no length leads out of time.
YEARS = range(1600, 9000)
_CHANGE = "calendar-change"


class CalendarStore:
    """The calendars of both accounts, kept in *db*. One object per `Database`."""

    def __init__(self, db: Database, *, clock: Callable[[], float] = time.time) -> None:
        """*clock* tells seconds since the epoch."""
        self._db = db
        self._clock = clock
        self._tables = CalendarTables(db)
        self._calendars: dict[int, StoredCalendar] = {}
        self._events: dict[int, StoredEvent] = {}
        self._ids: dict[tuple[str, str], list[int]] = {}
        self._series: dict[int, tuple[int, SeriesStarts]] = {}
        self._seen = 0
        self._stamp = -1
        self._refresh()

    # Reading

    def calendars(self, mailbox: str) -> tuple[StoredCalendar, ...]:
        """Return the calendars of an account, the primary one first, then oldest first."""
        self._refresh()
        found = [calendar for calendar in self._calendars.values() if _shown(calendar, mailbox)]
        if not any(one.is_primary for one in found):
            found.append(self.add_calendar(mailbox, "Calendar", zone="UTC", is_primary=True))
        return tuple(sorted(found, key=lambda one: (not one.is_primary, one.seq)))

    def primary(self, mailbox: str) -> StoredCalendar:
        """Return the account's own calendar, making it when there is none."""
        return self.calendars(mailbox)[0]

    def calendar(self, mailbox: str, calendar_id: str) -> StoredCalendar | None:
        """Return the calendar with this id (compared exactly)."""
        return next(
            (calendar for calendar in self.calendars(mailbox) if calendar.id == calendar_id), None
        )

    def events(self, calendar: StoredCalendar) -> tuple[StoredEvent, ...]:
        """Return every event and series of a calendar, deleted ones too, oldest first."""
        self._refresh()
        return tuple(event for event in self._events.values() if event.calendar == calendar.seq)

    def find(self, mailbox: str, event_id: str) -> tuple[StoredEvent, ...]:
        """
        Return the events with this id or immutable id, deleted ones too.

        On provider A two calendars may hold an event of the same id.
        """
        self._refresh()
        return tuple(self._events[seq] for seq in self._ids.get((mailbox, event_id), ()))

    def calendar_of(self, event: StoredEvent) -> StoredCalendar:
        """Return where an event is kept."""
        return self._calendars[event.calendar]

    def last_change(self) -> int:
        """Return the number of the latest change."""
        self._refresh()
        return self._seen

    # Recurrence

    def occurrences(self, event: StoredEvent, window: Window = UNBOUNDED) -> Iterator[Occurrence]:
        """
        Yield what of an event overlaps *window*, cancelled occurrences too, in no order.

        An occurrence that was moved counts where it was moved to. A window without an end ends
        `HORIZON` from now.
        """
        if event.recurrence is None:
            if window.overlaps(event.content):
                yield as_single_occurrence(event)
            return
        changed = {override.original for override in event.overrides}
        for override in event.overrides:
            found = _overridden(event, override)
            if window.overlaps(found.content):
                yield found
        until = window.until or self._now() + HORIZON
        long = event.content.end.instant - event.content.start.instant + timedelta(hours=3)
        for start in self._starts(event).between(_before(window.since, long), until):
            content = event.content.starting_at(start)
            if start not in changed and window.overlaps(content):
                yield Occurrence(event=event, original=start, content=content,
                                 cancelled=_is_cancelled(event))  # fmt: skip

    def occurrence(self, event: StoredEvent, original: EventTime) -> Occurrence | None:
        """Return the occurrence of a series that starts by its rules at *original*, or did."""
        override = event.override(original)
        if override is not None:
            return _overridden(event, override)
        if event.recurrence is None or original not in self._starts(event):
            return None
        start = EventTime(event.content.start.zone, at=original.at, day=original.day)
        return Occurrence(
            event=event,
            original=start,
            content=event.content.starting_at(start),
            cancelled=_is_cancelled(event),
        )

    # Writing

    def add_calendar(
        self,
        mailbox: str,
        name: str,
        *,
        zone: str,
        is_primary: bool = False,
        can_edit: bool = True,
        colour: str = "#3f51b5",
        description: str = "",
    ) -> StoredCalendar:
        """Add a calendar; a second primary one takes the place of the first, events kept."""
        old = next((calendar for calendar in self._calendars.values() if _shown(calendar, mailbox)
                    and calendar.is_primary and is_primary), None)  # fmt: skip
        with self._db.transaction():
            seq = self._db.next("calendar") if old is None else old.seq
            made = StoredCalendar(
                seq=seq,
                mailbox=mailbox,
                id=calendar_ids.calendar_id(mailbox, seq),
                name=name,
                zone=zone,
                description=description,
                is_primary=is_primary,
                can_edit=can_edit,
                colour=colour,
            )
            return self.put_calendar(made)

    def put_calendar(self, calendar: StoredCalendar) -> StoredCalendar:
        """Keep a calendar as it is now."""
        with self._db.transaction():
            kept = replace(calendar, change=self._db.next(_CHANGE))
            self._tables.put_calendar(kept)
        self._keep_calendar(kept)
        return kept

    def add_events(
        self, calendar: StoredCalendar, events: Iterable[NewEvent]
    ) -> tuple[StoredEvent, ...]:
        """
        Add events in one transaction.

        Raises:
            ValueError: A recurrence rule cannot be followed, or a time is out of `YEARS`.
        """
        self._refresh()
        with self._db.transaction():
            added = tuple(self._insert(calendar, one) for one in events)
        for event in added:
            self._keep_event(event)
        return added

    def put(self, event: StoredEvent) -> StoredEvent:
        """
        Keep an event as it is now.

        Raises:
            ValueError: A recurrence rule cannot be followed, or a time is out of `YEARS`.
        """
        _check(event.recurrence, event.content, event.overrides)
        with self._db.transaction():
            now = int(self._clock() * 1000)
            kept = replace(event, updated_ms=now, change=self._db.next(_CHANGE))
            self._tables.put_event(kept)
        self._keep_event(kept)
        return kept

    def delete(self, event: StoredEvent) -> StoredEvent:
        """Mark an event or series as gone."""
        return self.put(replace(event, is_deleted=True))

    def set_override(
        self,
        event: StoredEvent,
        original: EventTime,
        content: EventContent | None,
        *,
        cancelled: bool,
    ) -> StoredEvent:
        """Make one occurrence of a series differ, in place of what it was before."""
        others = tuple(override for override in event.overrides if override.original != original)
        made = Override(original=original, content=content, cancelled=cancelled)
        return self.put(replace(event, overrides=(*others, made)))

    # Behind

    def _insert(self, calendar: StoredCalendar, new: NewEvent) -> StoredEvent:
        _check(new.recurrence, new.content, new.overrides)
        mailbox = calendar.mailbox
        seq = self._db.next("calendar-event")
        now = int(self._clock() * 1000)
        name = new.id or calendar_ids.event_id(mailbox, seq)
        stored = StoredEvent(
            seq=seq,
            mailbox=mailbox,
            calendar=calendar.seq,
            id=name,
            immutable_id=name if mailbox == PROVIDER_A else calendar_ids.immutable_id(mailbox, seq),
            uid=new.uid or f"{name[-26:].strip('=_')}@sandbox.example",
            content=new.content,
            recurrence=new.recurrence,
            overrides=new.overrides,
            created_ms=now if new.created_ms is None else new.created_ms,
            updated_ms=now if new.created_ms is None else new.created_ms,
            change=self._db.next(_CHANGE),
        )
        self._tables.put_event(stored)
        return stored

    def _starts(self, event: StoredEvent) -> SeriesStarts:
        kept = self._series.get(event.seq)
        if kept is None or kept[0] != event.change:
            series = SeriesStarts(event.content.start, event.recurrence or Recurrence())
            kept = self._series[event.seq] = (event.change, series)
        return kept[1]

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    def _keep_calendar(self, calendar: StoredCalendar) -> None:
        self._calendars[calendar.seq] = calendar
        self._seen = max(self._seen, calendar.change)

    def _keep_event(self, event: StoredEvent) -> None:
        if event.seq not in self._events:
            for name in {event.id, event.immutable_id}:
                self._ids.setdefault((event.mailbox, name), []).append(event.seq)
        self._events[event.seq] = event
        self._seen = max(self._seen, event.change)

    def _refresh(self) -> None:
        """Take over what another connection wrote since the last look."""
        stamp = self._db.foreign_writes()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        seen = self._seen
        for calendar in self._tables.calendars_since(seen):
            self._keep_calendar(calendar)
        for event in self._tables.events_since(seen):
            self._keep_event(event)


def as_single_occurrence(event: StoredEvent) -> Occurrence:
    """Return a single event, or a series as a whole, as if it took place once."""
    cancelled = _is_cancelled(event)
    return Occurrence(event=event, original=None, content=event.content, cancelled=cancelled)


def _overridden(event: StoredEvent, override: Override) -> Occurrence:
    content = override.content or event.content.starting_at(override.original)
    return Occurrence(
        event=event,
        original=override.original,
        content=content,
        cancelled=override.cancelled or content.status == "cancelled" or _is_cancelled(event),
        is_exception=True,
        is_bare=override.cancelled,
    )


def _is_cancelled(event: StoredEvent) -> bool:
    return event.is_deleted or event.content.status == "cancelled"


def _shown(calendar: StoredCalendar, mailbox: str) -> bool:
    return calendar.mailbox == mailbox and not calendar.is_deleted


def _check(
    recurrence: Recurrence | None, content: EventContent, overrides: Iterable[Override]
) -> None:
    contents = [
        content,
        *(override.content for override in overrides if override.content is not None),
    ]
    times = [when for one in contents for when in (one.start, one.end)]
    if recurrence is not None:
        times += [*recurrence.added, *recurrence.dropped]
    if any(when.local.year not in YEARS for when in times):
        raise ValueError("a time that is out of range")
    for rule in recurrence.rules if recurrence is not None else ():
        check_rule(rule, content.start)


def _before(instant: datetime | None, long: timedelta) -> datetime | None:
    try:
        return None if instant is None else instant - long
    except OverflowError:
        return None
