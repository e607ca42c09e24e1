"""Merges the recurring events of a calendar file with their changed occurrences."""

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
from sandbox.importing.ical_times import day_of

# Horizon, after start or today, to which series in unknown time zones are expanded.
_LISTED = timedelta(days=1830)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEvent:
    """
    One event of a file.

    Attributes:
        name: Name in the report.
        sequence: Revision; larger is newer.
        original: Of a changed occurrence: its original start in the series.
        changes_later: Whether it changes the later occurrences too.
        clock: Time zone of its times, when no IANA zone matches.
    """

    uid: str
    name: str
    sequence: int
    original: EventTime | None
    content: EventContent
    recurrence: Recurrence | None
    overrides: tuple[Override, ...]
    created_ms: int | None
    changes_later: bool = False
    clock: tzinfo | None = None


def assemble_series(events: Sequence[FileEvent]) -> tuple[list[NewEvent], list[FileEvent]]:
    """
    Merge series with their changed occurrences.

    Returns:
        The events to import, and the events that have a newer version.
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
            standalone.append(_separate_event(event))
        else:
            changed.setdefault(event.uid, []).append(event)
    wholes = [_merge_series(master, changed.get(uid, ())) for uid, master in masters.items()]
    return [*standalone, *wholes], outdated


def _separate_event(event: FileEvent) -> NewEvent:
    """Return an occurrence without its series as a separate event."""
    original = event.original or event.content.start
    new_event = NewEvent(
        uid=f"{event.uid}_{original.stamp}", content=event.content, created_ms=event.created_ms
    )
    return new_event if event.clock is None else _localise(new_event, event.clock)


def _merge_series(master: FileEvent, changed: Sequence[FileEvent]) -> NewEvent:
    overrides = {override.original: override for override in master.overrides}
    dropped = set() if master.recurrence is None else set(master.recurrence.dropped)
    # The newest revision is last, and a change of one occurrence comes after those of many.
    for event in sorted(changed, key=lambda event: (not event.changes_later, event.sequence)):
        original = _occurrence_of(master, event.original or event.content.start)
        if original in dropped and event.sequence < master.sequence:
            continue
        is_cancelled = event.content.status == "cancelled"
        for start, content in _changed(master, original, event):
            overrides[start] = Override(original=start, content=content, cancelled=is_cancelled)
    new_event = NewEvent(
        uid=master.uid,
        content=master.content,
        recurrence=master.recurrence,
        overrides=tuple(overrides.values()),
        created_ms=master.created_ms,
    )
    return new_event if master.clock is None else _localise(new_event, master.clock)


def _changed(
    master: FileEvent, original: EventTime, event: FileEvent
) -> Iterator[tuple[EventTime, EventContent]]:
    """Yield what *event* changes: the start by the series and the content of each occurrence."""
    yield original, event.content
    if event.changes_later and master.recurrence is not None:
        until = max(original.instant, datetime.now(UTC)) + _LISTED
        moved = event.content.start.local - original.local
        series = SeriesStarts(master.content.start, master.recurrence)
        for start in series.between(original.instant, until):
            if start != original:
                yield start, event.content.starting_at(start.later(moved))


def _occurrence_of(master: FileEvent, original: EventTime) -> EventTime:
    """Return the start of the occurrence at *original*, which may name only its day."""
    if master.content.start.is_day:
        return day_of(original, master.content.start.zone)
    if not original.is_day or master.content.start.is_day or master.recurrence is None:
        return original
    day = original.instant - timedelta(days=1)
    series = SeriesStarts(master.content.start, master.recurrence)
    nearby = series.between(day, day + timedelta(days=3))
    return next((start for start in nearby if start.local.date() == original.day), original)


# Time zones that match no IANA zone


def _localise(new_event: NewEvent, clock: tzinfo) -> NewEvent:
    """
    Convert times in *clock*, stored as if UTC, into instants.

    Rules cannot be expanded in such a time zone, so they are replaced by their dates.
    """
    start = new_event.content.start
    recurrence = new_event.recurrence
    if recurrence is not None:
        until = max(start.instant, datetime.now(UTC)) + _LISTED
        starts = SeriesStarts(start, recurrence).between(None, until)
        actual_starts = {_to_instant(start, clock) for start in starts}
        first = _to_instant(start, clock)
        recurrence = Recurrence(
            added=tuple(sorted(actual_starts - {first}, key=lambda start: start.instant)),
            dropped=() if first in actual_starts else (first,),
        )
    return replace(
        new_event,
        content=_localise_content(new_event.content, clock),
        recurrence=recurrence,
        overrides=tuple(_localise_overrides(new_event.overrides, clock)),
    )


def _localise_overrides(overrides: Sequence[Override], clock: tzinfo) -> Iterator[Override]:
    for override in overrides:
        content = None if override.content is None else _localise_content(override.content, clock)
        yield replace(override, original=_to_instant(override.original, clock), content=content)


def _localise_content(content: EventContent, clock: tzinfo) -> EventContent:
    return replace(
        content, start=_to_instant(content.start, clock), end=_to_instant(content.end, clock)
    )


def _to_instant(when: EventTime, clock: tzinfo) -> EventTime:
    if when.is_day:
        return when
    return from_instant(when.local.replace(tzinfo=clock))
