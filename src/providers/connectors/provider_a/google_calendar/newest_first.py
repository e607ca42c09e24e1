"""
Events of Google Calendar, latest start first, although Google lists them by ascending start alone.

A range that fits one page is read at once. A longer one is read in windows from its end backward,
until there are enough events: docs/spec/calendar.md#reading-of-a-page.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from providers.ports.calendar import MAX_EVENTS, READ_ALL, EventList, EventReading, Span
from providers.records.base import EPOCH
from providers.records.calendar import Event

SPARSE = 1000  # events; after a window with fewer, the next one is twice as long
_DAY = timedelta(days=1)

# A window of nine tenths of the time that the first page covered usually fits one page.
_SHARE = 0.9

ONE_PAGE = EventReading(enough=bool)


async def read(
    first: EventList,
    read_span: Callable[[Span, EventReading], Awaitable[EventList]],
    span: Span,
    reading: EventReading,
) -> EventList:
    """
    Read the events that may overlap a span, until *reading* has enough.

    Args:
        first: The whole range as `ONE_PAGE` reads it.
        read_span: Reads a span by ascending start, until the reading that it takes has enough.
        span: The whole range.
        reading: Its page size is not used.
    """
    if first.read_to_end:
        return first
    covered = max(map(_start, first.events)) - 2 * _DAY  # whole-day events are out of order
    length = max((covered - span.start) * _SHARE, _DAY)
    events: list[Event] = []
    doubts = first.doubts
    window = Span(span.end, span.end)
    while window.start > covered:
        window = Span(max(window.start - length, span.start), window.start)
        part = await read_span(window, READ_ALL)
        # What starts before the window comes again with the window in which it starts.
        doubts = doubts or part.doubts
        starting = [event for event in part.events if _start(event) >= window.start - _DAY]
        events += sorted(starting, key=_start, reverse=True)
        if reading.enough(events):
            return EventList(events, read_to_end=False, doubts=doubts)
        if not part.complete or len(events) + len(first.events) >= MAX_EVENTS:
            return EventList(events, complete=False, doubts=doubts)
        if len(part.events) < SPARSE:
            length *= 2
    listed = [*events, *sorted(first.events, key=_start, reverse=True)]
    return EventList(listed, doubts=doubts)


def _start(event: Event) -> datetime:
    return event.start_utc or EPOCH
