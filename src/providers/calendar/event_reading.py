"""
The extent to which a page of events reads each calendar: docs/spec/calendar.md#reading-of-a-page.

Upstreams list events by their start. Their order differs from ours for whole-day events alone,
which are days of the calendar's time zone there and UTC days here.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta

from providers.calendar import event_matching
from providers.ports.calendar import EventQuery, EventReading
from providers.records.base import EPOCH
from providers.records.calendar import Event

# An unread event starts no earlier than this before the last one that was read: either of them can
# be a whole-day event, whose start differs by up to 14 hours.
ORDER_MARGIN = timedelta(hours=28)

MIN_PAGE_SIZE = 250  # events; most calendars are read in one call
_SLACK = 100  # events that may lie within the margin


def reading_for(query: EventQuery) -> EventReading:
    """
    Return the reading of one calendar that decides the page of a query.

    It reads the matches up to the end of the page and one more. Without a filter a page of about
    this size is requested; with one, matches may be rare, so the largest pages are.
    """
    needed = query.offset + query.limit + 1
    page_size = None if event_matching.restricts(query) else max(MIN_PAGE_SIZE, needed + _SLACK)

    def enough(events: Sequence[Event]) -> bool:
        if len(events) < needed:
            return False
        matching = event_matching.matching_events(events, query)
        return len({event.id for event in decided_events(events, matching, query)}) >= needed

    return EventReading(page_size=page_size, newest_first=query.newest_first, enough=enough)


def decided_events(
    events: Sequence[Event], matching: Sequence[Event], query: EventQuery
) -> list[Event]:
    """
    Return the matching events that come before every event that was not read.

    Args:
        events: In the order of the reading. Empty is the answer when they are not in the order of
            their starts: upstream did not honour it.
        matching: Those that match.
        query: The query.
    """
    border = _border(events, query)
    if border is None:
        return []
    return [event for event in matching if _is_before(event.start_utc or EPOCH, border, query)]


def _is_before(start: datetime, border: datetime, query: EventQuery) -> bool:
    if query.by_day:
        day, last = start.date(), border.date()
        return day > last if query.newest_first else day < last
    return start > border if query.newest_first else start < border


def _border(events: Sequence[Event], query: EventQuery) -> datetime | None:
    """
    Return the time that no unread event precedes in the order; None when there is no order.

    With hidden times it follows from days alone.
    """
    starts = [event.start_utc for event in events if event.start_utc is not None]
    if not starts or not _is_ordered(starts, newest_first=query.newest_first):
        return None
    furthest = min(starts) if query.newest_first else max(starts)
    if query.by_day:
        furthest = datetime.combine(furthest, time(23 if query.newest_first else 0), UTC)
    return furthest + ORDER_MARGIN if query.newest_first else furthest - ORDER_MARGIN


def _is_ordered(starts: Sequence[datetime], *, newest_first: bool) -> bool:
    """Return whether no start lies before an earlier one by more than the margin."""
    furthest = starts[0]
    for start in starts:
        if newest_first:
            if start > furthest + ORDER_MARGIN:
                return False
            furthest = min(furthest, start)
        else:
            if start < furthest - ORDER_MARGIN:
                return False
            furthest = max(furthest, start)
    return True
