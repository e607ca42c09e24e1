"""
The calendars of both sandbox accounts, and the occurrences of their events.

All records are also held in memory, so that reads need no query. Each write updates the memory, and
writes of another process are noticed before the next read. Deleted records are marked and never
removed, because both APIs can list them.
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

# Series without an end are expanded this far past now, unless the caller gives a limit.
HORIZON = timedelta(days=730)
# Events outside these years are refused: no zone or length then exceeds the range of datetime.
YEARS = range(1600, 9000)
_CHANGE = "calendar-change"


class CalendarStore:
    """The calendars of both accounts in a database; one object per `Database`."""

    def __init__(self, db: Database, *, clock: Callable[[], float] = time.time) -> None:
        """*clock* returns seconds since the epoch."""
        self._db = db
        self._clock = clock
        self._tables = CalendarTables(db)
        self._calendars: dict[int, StoredCalendar] = {}
        self._events: dict[int, StoredEvent] = {}
        self._ids: dict[tuple[str, str], list[int]] = {}
        self._series: dict[int, tuple[int, SeriesStarts]] = {}
        self._last_change = 0
        self._foreign_writes = -1
        self._refresh()

    def calendars(self, mailbox: str) -> tuple[StoredCalendar, ...]:
        """Return the calendars of an account, the primary one first, then oldest first."""
        self._refresh()
        visible = [
            calendar for calendar in self._calendars.values() if _is_visible(calendar, mailbox)
        ]
        if not any(calendar.is_primary for calendar in visible):
            visible.append(self.add_calendar(mailbox, "Calendar", zone="UTC", is_primary=True))
        return tuple(sorted(visible, key=lambda calendar: (not calendar.is_primary, calendar.seq)))

    def primary(self, mailbox: str) -> StoredCalendar:
        """Return the account's primary calendar, adding it when there is none."""
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
        """Return the calendar of an event."""
        return self._calendars[event.calendar]

    def last_change(self) -> int:
        """Return the number of the latest change."""
        self._refresh()
        return self._last_change

    def occurrences(self, event: StoredEvent, window: Window = UNBOUNDED) -> Iterator[Occurrence]:
        """
        Yield the occurrences of an event in *window*, cancelled ones too, in no order.

        A moved occurrence counts at its new time. A window without an end ends `HORIZON` from now.
        """
        if event.recurrence is None:
            if window.overlaps(event.content):
                yield as_single_occurrence(event)
            return
        changed = {override.original for override in event.overrides}
        for override in event.overrides:
            occurrence = _overridden(event, override)
            if window.overlaps(occurrence.content):
                yield occurrence
        until = window.until or self._now() + HORIZON
        # A clock change lengthens an occurrence by less than three hours.
        length = event.content.end.instant - event.content.start.instant + timedelta(hours=3)
        for start in self._starts(event).between(_before(window.since, length), until):
            content = event.content.starting_at(start)
            if start not in changed and window.overlaps(content):
                yield Occurrence(event=event, original=start, content=content,
                                 cancelled=_is_cancelled(event))  # fmt: skip

    def occurrence(self, event: StoredEvent, original: EventTime) -> Occurrence | None:
        """Return the occurrence that the series starts at *original*; None if there is none."""
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
        """Add a calendar; a second primary one replaces the first, whose events stay."""
        old = next((calendar for calendar in self._calendars.values()
                    if _is_visible(calendar, mailbox)
                    and calendar.is_primary and is_primary), None)  # fmt: skip
        with self._db.transaction():
            seq = self._db.next("calendar") if old is None else old.seq
            calendar = StoredCalendar(
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
            return self.put_calendar(calendar)

    def put_calendar(self, calendar: StoredCalendar) -> StoredCalendar:
        """Store a calendar's new state."""
        with self._db.transaction():
            stored = replace(calendar, change=self._db.next(_CHANGE))
            self._tables.put_calendar(stored)
        self._index_calendar(stored)
        return stored

    def add_events(
        self, calendar: StoredCalendar, events: Iterable[NewEvent]
    ) -> tuple[StoredEvent, ...]:
        """
        Add events in one transaction.

        Raises:
            ValueError: A recurrence rule is invalid, or a time is outside `YEARS`.
        """
        self._refresh()
        with self._db.transaction():
            added = tuple(self._insert(calendar, event) for event in events)
        for event in added:
            self._index_event(event)
        return added

    def put(self, event: StoredEvent) -> StoredEvent:
        """
        Store an event's new state.

        Raises:
            ValueError: A recurrence rule is invalid, or a time is outside `YEARS`.
        """
        _validate(event.recurrence, event.content, event.overrides)
        with self._db.transaction():
            now_ms = int(self._clock() * 1000)
            stored = replace(event, updated_ms=now_ms, change=self._db.next(_CHANGE))
            self._tables.put_event(stored)
        self._index_event(stored)
        return stored

    def delete(self, event: StoredEvent) -> StoredEvent:
        """Mark an event or series as deleted."""
        return self.put(replace(event, is_deleted=True))

    def set_override(
        self,
        event: StoredEvent,
        original: EventTime,
        content: EventContent | None,
        *,
        cancelled: bool,
    ) -> StoredEvent:
        """Set the override of one occurrence of a series, replacing an earlier one."""
        others = tuple(override for override in event.overrides if override.original != original)
        override = Override(original=original, content=content, cancelled=cancelled)
        return self.put(replace(event, overrides=(*others, override)))

    def _insert(self, calendar: StoredCalendar, new: NewEvent) -> StoredEvent:
        _validate(new.recurrence, new.content, new.overrides)
        mailbox = calendar.mailbox
        seq = self._db.next("calendar-event")
        now_ms = int(self._clock() * 1000)
        change = self._db.next(_CHANGE)
        event_id = new.id or calendar_ids.event_id(mailbox, seq)
        stored = StoredEvent(
            seq=seq,
            mailbox=mailbox,
            calendar=calendar.seq,
            id=event_id,
            immutable_id=event_id
            if mailbox == PROVIDER_A
            else calendar_ids.immutable_id(mailbox, seq),
            uid=new.uid or f"{event_id[-26:].strip('=_')}@sandbox.example",
            content=new.content,
            recurrence=new.recurrence,
            overrides=new.overrides,
            created_ms=now_ms if new.created_ms is None else new.created_ms,
            updated_ms=now_ms if new.created_ms is None else new.created_ms,
            change=change,
            created_change=change,
        )
        self._tables.put_event(stored)
        return stored

    def _starts(self, event: StoredEvent) -> SeriesStarts:
        cached = self._series.get(event.seq)
        if cached is None or cached[0] != event.change:
            series = SeriesStarts(event.content.start, event.recurrence or Recurrence())
            cached = self._series[event.seq] = (event.change, series)
        return cached[1]

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    def _index_calendar(self, calendar: StoredCalendar) -> None:
        self._calendars[calendar.seq] = calendar
        self._last_change = max(self._last_change, calendar.change)

    def _index_event(self, event: StoredEvent) -> None:
        if event.seq not in self._events:
            for name in {event.id, event.immutable_id}:
                self._ids.setdefault((event.mailbox, name), []).append(event.seq)
        self._events[event.seq] = event
        self._last_change = max(self._last_change, event.change)

    def _refresh(self) -> None:
        """Apply the changes that another connection has written since the last call."""
        foreign_writes = self._db.foreign_writes()
        if foreign_writes == self._foreign_writes:
            return
        self._foreign_writes = foreign_writes
        last_change = self._last_change
        for calendar in self._tables.calendars_since(last_change):
            self._index_calendar(calendar)
        for event in self._tables.events_since(last_change):
            self._index_event(event)


def as_single_occurrence(event: StoredEvent) -> Occurrence:
    """Return a single event, or a whole series, as one occurrence."""
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


def _is_visible(calendar: StoredCalendar, mailbox: str) -> bool:
    return calendar.mailbox == mailbox and not calendar.is_deleted


def _validate(
    recurrence: Recurrence | None, content: EventContent, overrides: Iterable[Override]
) -> None:
    contents = [
        content,
        *(override.content for override in overrides if override.content is not None),
    ]
    times = [when for part in contents for when in (part.start, part.end)]
    if recurrence is not None:
        times += [*recurrence.added, *recurrence.dropped]
    if any(when.local.year not in YEARS for when in times):
        raise ValueError("a time that is out of range")
    for rule in recurrence.rules if recurrence is not None else ():
        check_rule(rule, content.start)


def _before(instant: datetime | None, length: timedelta) -> datetime | None:
    try:
        return None if instant is None else instant - length
    except OverflowError:
        return None
