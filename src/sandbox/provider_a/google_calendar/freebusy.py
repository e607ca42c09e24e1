"""The endpoint of busy periods, ``freeBusy``."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sandbox.calendar.records import EventTime, Occurrence, StoredCalendar, Window
from sandbox.http import Request
from sandbox.provider_a.errors import GoogleError
from sandbox.provider_a.google_calendar import times
from sandbox.provider_a.google_calendar.calendar_access import (
    READ_BUSY,
    CalendarAccess,
    require_scope,
)
from sandbox.provider_a.google_calendar.calendars import read_body

MAX_CALENDARS = 50
# Observed by users of Google Calendar; not documented.
MAX_RANGE = timedelta(days=90)


class FreeBusyEndpoint:
    """The endpoint."""

    def __init__(self, access: CalendarAccess) -> None:
        self._access = access

    def query(self, request: Request) -> Any:
        """``freebusy.query``: an unknown calendar has ``errors`` and no busy periods."""
        require_scope(request, READ_BUSY)
        body = read_body(request)
        since = _moment(body, "timeMin")
        until = _moment(body, "timeMax")
        if until <= since:
            raise GoogleError(400, "The specified time range is empty.", "timeRangeEmpty")
        if until - since > MAX_RANGE:
            raise GoogleError(400, "The requested time range is too long.", "timeRangeTooLong")
        display = times.check_zone(body.get("timeZone") or "UTC")
        names = _names(body)
        return {
            "kind": "calendar#freeBusy",
            "timeMin": times.milliseconds(int(since.timestamp() * 1000)),
            "timeMax": times.milliseconds(int(until.timestamp() * 1000)),
            "calendars": {
                name: self._calendar(name, Window(since=since, until=until), display)
                for name in names
            },
        }

    def _calendar(self, name: str, window: Window, display: str) -> dict[str, Any]:
        calendar = self._access.find_calendar(name)
        if calendar is None:
            return {"errors": [{"domain": "global", "reason": "notFound"}], "busy": []}
        return {
            "busy": [
                {"start": times.rfc3339(start, display), "end": times.rfc3339(end, display)}
                for start, end in _merge_periods(self._taken(calendar, window), window)
            ]
        }

    def _taken(
        self, calendar: StoredCalendar, window: Window
    ) -> Iterator[tuple[datetime, datetime]]:
        store = self._access.state.calendars
        widened = Window(
            since=window.since and window.since - timedelta(days=1),
            until=window.until and window.until + timedelta(days=1),
        )
        for event in store.events(calendar):
            for occurrence in store.occurrences(event, widened):
                if _is_busy(occurrence):
                    content = occurrence.content
                    yield _instant(content.start, calendar), _instant(content.end, calendar)


def _instant(event_time: EventTime, calendar: StoredCalendar) -> datetime:
    """Return a moment; of a whole day, its first moment in the calendar's time zone."""
    return replace(event_time, zone=calendar.zone).instant


def _is_busy(occurrence: Occurrence) -> bool:
    content = occurrence.content
    free = content.shows_as in {"free", "workingElsewhere"}
    return not (occurrence.cancelled or free or content.my_response == "declined")


def _merge_periods(
    spans: Iterator[tuple[datetime, datetime]], window: Window
) -> list[tuple[datetime, datetime]]:
    """Merge periods that overlap or touch, clipped to the window."""
    merged: list[tuple[datetime, datetime]] = []
    for start, end in sorted(spans):
        first = start if window.since is None else max(start, window.since)
        last = end if window.until is None else min(end, window.until)
        if first >= last:
            continue
        if merged and first <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], last)
        else:
            merged.append((first, last))
    return merged


def _moment(body: dict[str, Any], name: str) -> datetime:
    if body.get(name) is None:
        raise GoogleError(400, f"Missing {name} parameter.", "required")
    return times.read_instant(body[name])


def _names(body: dict[str, Any]) -> list[str]:
    items = body.get("items", [])
    if not isinstance(items, list) or not all(
        isinstance(item, dict) and isinstance(item.get("id"), str) for item in items
    ):
        raise GoogleError(400, "Bad Request", "badRequest")
    most = body.get("calendarExpansionMax", MAX_CALENDARS)
    allowed = min(most, MAX_CALENDARS) if isinstance(most, int) else MAX_CALENDARS
    if len(items) > allowed:
        message = "Too many calendars requested."
        raise GoogleError(400, message, "tooManyCalendarsRequested")
    return list(dict.fromkeys(item["id"] for item in items))
