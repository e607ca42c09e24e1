"""
Busy times of several calendars by one query.

The query answers with merged periods, in which whole-day events are days of the calendar's time
zone. Ours are UTC days. So a calendar with a busy period that may hold such an event is left out:
docs/spec/upstream/google-calendar.md#free-and-busy-times.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from providers.calendar.freebusy import merge_busy, split_span
from providers.connectors.provider_a.google_calendar.response_types import (
    BusyCalendar,
    BusyPeriod,
    FreeBusyResponse,
)
from providers.failures import Broken
from providers.http.client import Upstream
from providers.ports.calendar import Span
from providers.records.calendar import Calendar
from providers.timestamps import format_utc

MAX_CALENDARS = 50  # of one query
# The documents name no longest range; users of the API observe about three months.
MAX_RANGE = timedelta(days=60)

_UTC_ZONES = frozenset({"UTC", "Etc/UTC", "GMT", "Etc/GMT"})
_DAY = timedelta(days=1)
_SHIFT = timedelta(hours=2)  # a clock change may move or remove midnight

Busy = Mapping[str, Sequence[Span]]


async def busy(upstream: Upstream, calendars: Sequence[Calendar], span: Span) -> Busy:
    """
    Return the busy spans of calendars, by id; merged, clipped to the range, sorted.

    Calendars are left out whose periods may hold a whole-day event or that the query cannot read;
    all of them when reading their events takes fewer calls.
    """
    askable = [calendar for calendar in calendars if _zone(calendar) is not None]
    parts = list(split_span(span, MAX_RANGE))
    groups = [
        askable[first : first + MAX_CALENDARS] for first in range(0, len(askable), MAX_CALENDARS)
    ]
    if len(parts) * len(groups) > len(askable):
        return {}
    periods: dict[str, list[Span]] = {calendar.id: [] for calendar in askable}
    for group in groups:
        for part in parts:
            answers = await _query(upstream, group, part)
            for calendar in group:
                answer = answers.get(calendar.id)
                if answer is None or answer.errors:
                    periods.pop(calendar.id, None)
                elif calendar.id in periods:
                    periods[calendar.id] += map(_span, answer.busy)
    merged = {name: merge_busy(spans, span) for name, spans in periods.items()}
    return {
        calendar.id: merged[calendar.id]
        for calendar in askable
        if calendar.id in merged
        and not any(_may_hold_a_day(period, calendar, span) for period in merged[calendar.id])
    }


async def _query(
    upstream: Upstream, calendars: Sequence[Calendar], span: Span
) -> Mapping[str, BusyCalendar]:
    response = await upstream.call(
        "POST",
        "calendar",
        "v3",
        "freeBusy",
        params=(("fields", "calendars"),),
        json={
            "timeMin": format_utc(span.start),
            "timeMax": format_utc(span.end),
            "timeZone": "UTC",
            "items": [{"id": calendar.id} for calendar in calendars],
        },
        retry=True,
        changes=False,
    )
    return response.decode(FreeBusyResponse).calendars


def _span(period: BusyPeriod) -> Span:
    try:
        return Span(
            datetime.fromisoformat(period.start).astimezone(UTC),
            datetime.fromisoformat(period.end).astimezone(UTC),
        )
    except (ValueError, OverflowError):
        raise Broken from None


def _zone(calendar: Calendar) -> ZoneInfo | None:
    """Return the time zone of a calendar; None when it is unknown."""
    try:
        return ZoneInfo(calendar.time_zone) if calendar.time_zone else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _may_hold_a_day(period: Span, calendar: Calendar, within: Span) -> bool:
    """
    Return whether a busy period may hold a whole-day event of another day than the UTC day.

    It does when it covers a day of the calendar's zone. A period that the range cuts counts as two
    days longer there.
    """
    zone = _zone(calendar)
    if zone is None or calendar.time_zone in _UTC_ZONES:
        return zone is None
    start = period.start - (2 * _DAY if period.start <= within.start else _SHIFT)
    end = period.end + (2 * _DAY if period.end >= within.end else _SHIFT)
    local = start.astimezone(zone)
    midnight = datetime.combine(local.date(), time(), zone)
    if midnight < local:
        midnight = datetime.combine(local.date() + _DAY, time(), zone)
    following = datetime.combine(midnight.date() + _DAY, time(), zone)
    return following.astimezone(UTC) <= end
