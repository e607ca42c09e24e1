"""The events of a calendar object that overlap a range: RFC 5545, 3.8.4.4."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from providers.connectors.caldav.bounded_rules import Work
from providers.connectors.caldav.calendar_objects import CalendarObject, EventContent, Override
from providers.connectors.caldav.ical_times import EventTime, Length
from providers.ports.calendar import MAX_EVENTS, Span

SEPARATOR = "#"  # between the name of an object and the original start: no path contains it


@dataclass(frozen=True, slots=True)
class Occurrence:
    """
    A single event, or one occurrence of a series.

    Attributes:
        id: Name of the object, and of an occurrence its original start.
        series: Name of the object; None for a single event.
    """

    id: str
    content: EventContent
    span: Span
    series: str | None


def occurrences(calendar_object: CalendarObject, span: Span, work: Work) -> list[Occurrence]:
    """
    Return the events of an object that overlap a span, cancelled ones included.

    They are not sorted, and are not more than one above `MAX_EVENTS`. *work* is what rules may
    cost; it tells whether events may be missing.

    Raises:
        OverflowError: A time is out of range.
    """
    meeting = (
        occurrence
        for occurrence in _all(calendar_object, span, work)
        if span.meets(*occurrence.span)
    )
    return [occurrence for occurrence, _ in zip(meeting, range(MAX_EVENTS + 1), strict=False)]


def occurrence(calendar_object: CalendarObject, event_id: str) -> Occurrence | None:
    """
    Return one event of an object by its id; None when the object does not have it.

    The id of a series without a start stands for its first occurrence.
    """
    _, _, stamp = event_id.partition(SEPARATOR)
    content, series = calendar_object.content, calendar_object.series
    for override in calendar_object.overrides:
        if stamp and override.original.stamp == stamp:
            return _of_series(calendar_object, override.original, override.content)
    if content is None:
        return None
    if not stamp:
        return Occurrence(
            calendar_object.name,
            content,
            _span(content.start, content.length),
            None if series is None else calendar_object.name,
        )
    moment = _moment(content, stamp)
    if series is None or moment is None:
        return None
    original = series.start_at(moment)
    if original is None:
        return None
    return _following(calendar_object, original, content, _changes(calendar_object))


def _all(calendar_object: CalendarObject, span: Span, work: Work) -> Iterator[Occurrence]:
    content, series = calendar_object.content, calendar_object.series
    overridden = {override.original.utc for override in calendar_object.overrides}
    for override in calendar_object.overrides:
        yield _of_series(calendar_object, override.original, override.content)
    if content is None:
        return
    if series is None:
        yield Occurrence(calendar_object.name, content, _span(content.start, content.length), None)
        return
    changes = _changes(calendar_object)
    for start in series.starts(_span_of_starts(calendar_object, content, span), work):
        if start.utc not in overridden:
            yield _following(calendar_object, start, content, changes)


def _span_of_starts(calendar_object: CalendarObject, content: EventContent, span: Span) -> Span:
    """Return the span in which occurrences start that may overlap *span*."""
    longest, earlier, later = _duration(content.length), timedelta(), timedelta()
    if calendar_object.series is not None:
        longest = max([longest, *map(_duration, calendar_object.series.lengths.values())])
    for override in calendar_object.overrides:
        if override.and_following:
            longest = max(longest, _duration(override.content.length))
            moved = override.content.start.utc - override.original.utc
            earlier, later = max(earlier, moved), max(later, -moved)
    day = timedelta(days=1)  # a clock change makes an occurrence longer
    return Span(_minus(span.start, longest + earlier + day), span.end + later)


def _minus(moment: datetime, length: timedelta) -> datetime:
    earliest = datetime.min.replace(tzinfo=moment.tzinfo)
    return moment - length if moment - earliest > length else earliest


def _duration(length: Length) -> timedelta:
    return length.nominal + length.exact


def _changes(calendar_object: CalendarObject) -> Sequence[Override]:
    """Return the overrides that change the later occurrences too, by their original starts."""
    changes = [override for override in calendar_object.overrides if override.and_following]
    return sorted(changes, key=_original_start)


def _original_start(override: Override) -> datetime:
    return override.original.utc


def _following(
    calendar_object: CalendarObject,
    start: EventTime,
    content: EventContent,
    changes: Sequence[Override],
) -> Occurrence:
    """Return an occurrence without an override of its own; *changes* are those of `_changes`."""
    earlier = bisect_right(changes, start.utc, key=_original_start)
    latest = changes[earlier - 1] if earlier else None
    if latest is None or latest.content.start.is_day != start.is_day:
        return _of_series(calendar_object, start, content, at=start)
    moved = start.at(start.local + (latest.content.start.utc - latest.original.utc))
    return _of_series(calendar_object, start, latest.content, at=moved)


def _of_series(
    calendar_object: CalendarObject,
    original: EventTime,
    content: EventContent,
    *,
    at: EventTime | None = None,
) -> Occurrence:
    name = f"{calendar_object.name}{SEPARATOR}{original.stamp}"
    length = content.length
    if at is not None and calendar_object.series is not None:
        length = calendar_object.series.lengths.get(original.utc, length)
    span = _span(at or content.start, length)
    return Occurrence(name, content, span, calendar_object.name)


def _span(start: EventTime, length: Length) -> Span:
    return Span(start.utc, max(length.end_of(start), start.utc))


def _moment(content: EventContent, stamp: str) -> datetime | None:
    """Return the moment of the start that a stamp names; None when it names none."""
    form = "%Y%m%d" if content.start.is_day else "%Y%m%dT%H%M%S%z"
    try:
        moment = datetime.strptime(stamp, form)  # noqa: DTZ007 - a day is a UTC day
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if content.start.is_day else moment
