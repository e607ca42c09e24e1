"""
Endpoints that list events and occurrences in a window, and read a single event.

See docs/spec/upstream/outlook-calendar.md#calendar-view. Error messages are those that users of
Graph report.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from sandbox.calendar.records import Occurrence, Window
from sandbox.http import Response
from sandbox.provider_b.endpoint import UserCall
from sandbox.provider_b.odata import query_options
from sandbox.provider_b.odata.query_options import Options
from sandbox.provider_b.odata.schema import QueryError
from sandbox.provider_b.outlook_calendar.calendar_access import (
    READ_BASIC,
    CalendarAccess,
    check_zone,
)
from sandbox.provider_b.outlook_calendar.event_views import SHAPE
from sandbox.provider_b.responses import GraphError, not_found, ok

DEFAULT_TOP, MAX_TOP = 10, 1000
MAX_RANGE = timedelta(days=1825)
# Graph writes these members, but ignores them in `$select` of a calendar view.
_NOT_SELECTABLE = frozenset(("createdDateTime", "lastModifiedDateTime"))
_TIME_LITERAL = re.compile(
    r"(dateTime\s+(?:eq|ne|gt|ge|lt|le)\s+)'(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d(?::\d\d)?)(\.\d{1,7})?Z?)?'"
)


class EventReadEndpoints:
    """The endpoints that read events."""

    def __init__(self, access: CalendarAccess) -> None:
        self._access = access

    def events(self, call: UserCall, calendar: str = "") -> Response:
        """``GET …/events``: single events and series, nothing expanded."""
        access = self._access.opened(call, *READ_BASIC)
        occurrences = access.masters(access.calendar(calendar))
        return self._page(call, access, occurrences, path="events")

    def view(self, call: UserCall, calendar: str = "") -> Response:
        """``GET …/calendarView``: the events of the window, with series expanded."""
        access = self._access.opened(call, *READ_BASIC)
        window = _window(call)
        occurrences = list(access.between(access.calendar(calendar), window))
        # Without `$orderby` Graph starts with the latest event.
        occurrences.sort(key=lambda occurrence: occurrence.content.start.instant, reverse=True)
        return self._page(
            call, access, occurrences, path="calendarView", unselectable=_NOT_SELECTABLE
        )

    def instances(self, call: UserCall, event: str, calendar: str = "") -> Response:
        """``GET …/events/{id}/instances``."""
        access = self._access.opened(call, *READ_BASIC)
        window = _window(call)
        series = access.find(event, calendar)
        if series.original is not None or series.event.recurrence is None:
            raise not_found()
        occurrences = [
            candidate
            for candidate in access.state.calendars.occurrences(series.event, window)
            if access.is_seen(candidate)
        ]
        occurrences.sort(key=lambda occurrence: occurrence.content.start.instant)
        return self._page(call, access, occurrences, path=f"events('{event}')/instances")

    def get(self, call: UserCall, event: str, calendar: str = "") -> Response:
        """``GET …/events/{id}``: an event, a series or an occurrence."""
        access = self._access.opened(call, *READ_BASIC)
        return self.answer_with(call, access.find(event, calendar))

    def answer_with(self, call: UserCall, occurrence: Occurrence, *, status: int = 200) -> Response:
        """Return one event by the query options of the call."""
        check_zone(call)
        options = query_options.parse(call.request.query, SHAPE, expandable={})
        record = self._access.seen_by(call).record(call, occurrence)
        selected = query_options.select_members(record, options.select)
        headers = {"etag": record["@odata.etag"]}
        if status == 201:
            path = f"/v1.0/users('{call.user.id}')/events('{record['id']}')"
            headers["location"] = f"{call.request.public}{path}"
        return ok(
            {"@odata.context": call.odata_context("events/$entity"), **selected}, status, headers
        )

    def _page(
        self,
        call: UserCall,
        access: CalendarAccess,
        events: Iterable[Occurrence],
        *,
        path: str,
        unselectable: frozenset[str] = frozenset(),
    ) -> Response:
        check_zone(call)
        options = _options(call)
        occurrences = _chosen(call, access, events, options)
        top = options.top or min(call.page_size or DEFAULT_TOP, MAX_TOP)
        start = options.skip or 0
        body: dict[str, Any] = {"@odata.context": call.odata_context(path)}
        if options.count:
            body["@odata.count"] = len(occurrences)
        select = tuple(name for name in options.select if name not in unselectable)
        if options.select and not select:
            select = ("id",)
        body["value"] = [
            query_options.select_members(access.record(call, occurrence), select)
            for occurrence in occurrences[start : start + top]
        ]
        if start + top < len(occurrences):
            link = query_options.next_link(call.url, call.request.query, skip=start + top)
            body["@odata.nextLink"] = link
        return ok(body)


def _chosen(
    call: UserCall, access: CalendarAccess, events: Iterable[Occurrence], options: Options
) -> list[Occurrence]:
    """Filter and sort events by their records in UTC, whatever the preferred zone."""
    if options.filter is None and not options.orderby:
        return list(events)
    records = [_EventRecord(access.record(call, event, zone="UTC"), event) for event in events]
    return [row.one for row in query_options.filter_and_sort(records, options)]


class _EventRecord:
    """An event with its record, for filters and orders."""

    __slots__ = ("one", "record")

    def __init__(self, record: dict[str, Any], occurrence: Occurrence) -> None:
        self.record = record
        self.one = occurrence

    def get(self, name: str) -> Any:
        return self.record.get(name)


def _options(call: UserCall) -> Options:
    query = [
        (name, _TIME_LITERAL.sub(_seven_digits, value) if name.lower() == "$filter" else value)
        for name, value in call.request.query
    ]
    options = query_options.parse(query, SHAPE, expandable={}, max_top=MAX_TOP)
    if options.search is not None:
        raise QueryError(
            "The query parameter '$search' is not supported.", code="ErrorInvalidUrlQuery"
        )
    return options


def _seven_digits(match: re.Match[str]) -> str:
    """Write a time literal with the seven digits of records, so that strings compare as times."""
    clock = match[3] or "00:00:00"
    seconds = clock if len(clock) == 8 else f"{clock}:00"
    fraction = (match[4] or ".").ljust(8, "0")
    return f"{match[1]}'{match[2]}T{seconds}{fraction}'"


def _window(call: UserCall) -> Window:
    parameters = {name.lower(): value for name, value in call.request.query}
    since, until = parameters.get("startdatetime"), parameters.get("enddatetime")
    if not since or not until:
        raise GraphError(
            400,
            "ErrorInvalidParameter",
            "This request requires a time window specified by the query string parameters "
            "StartDateTime and EndDateTime.",
        )
    window = Window(since=_instant("StartDateTime", since), until=_instant("EndDateTime", until))
    start, end = window.since, window.until
    if start is None or end is None or end < start:
        raise GraphError(
            400, "ErrorInvalidParameter", "The end date can't be before the start date."
        )
    if end - start > MAX_RANGE:
        raise GraphError(
            400,
            "ErrorInvalidRequest",
            "Your request can't be completed. The range between the start and end dates is "
            f"greater than the allowed range. Maximum number of days: {MAX_RANGE.days}",
        )
    return window


def _instant(name: str, text: str) -> datetime:
    """Parse an instant; UTC is the default offset."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise GraphError(
            400, "ErrorInvalidParameter", f"The value '{text}' of parameter '{name}' is invalid."
        ) from None
