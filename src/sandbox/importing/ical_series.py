"""Puts the events of a calendar file together: series with what differs from them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo

from sandbox.calendar.records import (
    EventContent,
    EventTime,
    NewEvent,
    Override,
    Recurrence,
    from_instant,
)
from sandbox.calendar.recurrence import SeriesStarts

# Series in a zone that is like none become lists of dates, so far past their start or today.
_LISTED = timedelta(days=1830)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEvent:
    """
    One event of a file, read.

    Attributes:
        name: What a report calls it.
        sequence: The larger, the newer.
        original: Of an occurrence that differs: the start that names it in its series.
        clock: By what its times are told, when that is like no zone that is known.
    """

    uid: str
    name: str
    sequence: int
    original: EventTime | None
    content: EventContent
    recurrence: Recurrence | None
    overrides: tuple[Override, ...]
    created_ms: int | None
    clock: tzinfo | None = None


def assemble_series(events: Sequence[FileEvent]) -> tuple[list[NewEvent], list[FileEvent]]:
    """
    Put series and what differs from them together.

    Returns:
        What comes in, and what does not because there is a newer version.
    """
    masters: dict[str, FileEvent] = {}
    outdated = []
    for event in events:
        if event.original is not None:
            continue
        newest = masters.setdefault(event.uid, event)
        if newest is not event:
            is_newer = event.sequence > newest.sequence
            masters[event.uid] = event if is_newer else newest
            outdated.append(newest if is_newer else event)
    standalone = []
    changed: dict[str, list[FileEvent]] = {}
    for event in events:
        if event.original is None:
            continue
        master = masters.get(event.uid)
        if master is None or master.recurrence is None:
            standalone.append(_alone(event))
        else:
            changed.setdefault(event.uid, []).append(event)
    wholes = [_whole(master, changed.get(uid, ())) for uid, master in masters.items()]
    return [*standalone, *wholes], outdated


def _alone(event: FileEvent) -> NewEvent:
    """Return an occurrence whose series is not in the file, as an event of its own."""
    original = event.original or event.content.start
    new_event = NewEvent(
        uid=f"{event.uid}_{original.stamp}", content=event.content, created_ms=event.created_ms
    )
    return new_event if event.clock is None else _settled(new_event, event.clock)


def _whole(master: FileEvent, changed: Sequence[FileEvent]) -> NewEvent:
    overrides = {override.original: override for override in master.overrides}
    for event in changed:
        original = _occurrence_of(master, event.original or event.content.start)
        overrides[original] = Override(
            original=original, content=event.content, cancelled=event.content.status == "cancelled"
        )
    new_event = NewEvent(
        uid=master.uid,
        content=master.content,
        recurrence=master.recurrence,
        overrides=tuple(overrides.values()),
        created_ms=master.created_ms,
    )
    return new_event if master.clock is None else _settled(new_event, master.clock)


def _occurrence_of(master: FileEvent, original: EventTime) -> EventTime:
    """Return the start of the series that is meant, which some name by its day alone."""
    if not original.is_day or master.content.start.is_day or master.recurrence is None:
        return original
    day = original.instant - timedelta(days=1)
    series = SeriesStarts(master.content.start, master.recurrence)
    nearby = series.between(day, day + timedelta(days=3))
    return next((start for start in nearby if start.local.date() == original.day), original)


# A clock that is like no other


def _settled(new_event: NewEvent, clock: tzinfo) -> NewEvent:
    """
    Turn times that *clock* tells, written as UTC, into moments.

    Rules cannot follow such a clock, so they become the dates that they give.
    """
    start = new_event.content.start
    recurrence = new_event.recurrence
    if recurrence is not None:
        until = max(start.instant, datetime.now(UTC)) + _LISTED
        starts = SeriesStarts(start, recurrence).between(None, until)
        actual_starts = {_real(start, clock) for start in starts}
        first = _real(start, clock)
        recurrence = Recurrence(
            added=tuple(sorted(actual_starts - {first}, key=lambda start: start.instant)),
            dropped=() if first in actual_starts else (first,),
        )
    return replace(
        new_event,
        content=_real_content(new_event.content, clock),
        recurrence=recurrence,
        overrides=tuple(_real_overrides(new_event.overrides, clock)),
    )


def _real_overrides(overrides: Sequence[Override], clock: tzinfo) -> Iterator[Override]:
    for override in overrides:
        content = None if override.content is None else _real_content(override.content, clock)
        yield replace(override, original=_real(override.original, clock), content=content)


def _real_content(content: EventContent, clock: tzinfo) -> EventContent:
    return replace(content, start=_real(content.start, clock), end=_real(content.end, clock))


def _real(when: EventTime, clock: tzinfo) -> EventTime:
    if when.is_day:
        return when
    return from_instant(when.local.replace(tzinfo=clock))
