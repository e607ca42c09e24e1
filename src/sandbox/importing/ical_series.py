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


def assemble_series(found: Sequence[FileEvent]) -> tuple[list[NewEvent], list[FileEvent]]:
    """
    Put series and what differs from them together.

    Returns:
        What comes in, and what does not because there is a newer version.
    """
    masters: dict[str, FileEvent] = {}
    outdated = []
    for one in found:
        if one.original is not None:
            continue
        known = masters.setdefault(one.uid, one)
        if known is not one:
            is_newer = one.sequence > known.sequence
            masters[one.uid] = one if is_newer else known
            outdated.append(known if is_newer else one)
    lone = []
    changed: dict[str, list[FileEvent]] = {}
    for one in found:
        if one.original is None:
            continue
        master = masters.get(one.uid)
        if master is None or master.recurrence is None:
            lone.append(_alone(one))
        else:
            changed.setdefault(one.uid, []).append(one)
    wholes = [_whole(master, changed.get(uid, ())) for uid, master in masters.items()]
    return [*lone, *wholes], outdated


def _alone(one: FileEvent) -> NewEvent:
    """Return an occurrence whose series is not in the file, as an event of its own."""
    original = one.original or one.content.start
    new = NewEvent(
        uid=f"{one.uid}_{original.stamp}", content=one.content, created_ms=one.created_ms
    )
    return new if one.clock is None else _settled(new, one.clock)


def _whole(master: FileEvent, changed: Sequence[FileEvent]) -> NewEvent:
    overrides = {override.original: override for override in master.overrides}
    for one in changed:
        original = _occurrence_of(master, one.original or one.content.start)
        overrides[original] = Override(
            original=original, content=one.content, cancelled=one.content.status == "cancelled"
        )
    new = NewEvent(
        uid=master.uid,
        content=master.content,
        recurrence=master.recurrence,
        overrides=tuple(overrides.values()),
        created_ms=master.created_ms,
    )
    return new if master.clock is None else _settled(new, master.clock)


def _occurrence_of(master: FileEvent, original: EventTime) -> EventTime:
    """Return the start of the series that is meant, which some name by its day alone."""
    if not original.is_day or master.content.start.is_day or master.recurrence is None:
        return original
    day = original.instant - timedelta(days=1)
    series = SeriesStarts(master.content.start, master.recurrence)
    near = series.between(day, day + timedelta(days=3))
    return next((one for one in near if one.local.date() == original.day), original)


# A clock that is like no other


def _settled(new: NewEvent, clock: tzinfo) -> NewEvent:
    """
    Turn times that *clock* tells, written as UTC, into moments.

    Rules cannot follow such a clock, so they become the dates that they give.
    """
    start = new.content.start
    recurrence = new.recurrence
    if recurrence is not None:
        until = max(start.instant, datetime.now(UTC)) + _LISTED
        starts = SeriesStarts(start, recurrence).between(None, until)
        kept = {_real(one, clock) for one in starts}
        first = _real(start, clock)
        recurrence = Recurrence(
            added=tuple(sorted(kept - {first}, key=lambda one: one.instant)),
            dropped=() if first in kept else (first,),
        )
    return replace(
        new,
        content=_real_content(new.content, clock),
        recurrence=recurrence,
        overrides=tuple(_real_overrides(new.overrides, clock)),
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
