"""The endpoint of free and busy times, ``getSchedule``, of the default calendars of users."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from sandbox.calendar.records import Occurrence, Window, from_local
from sandbox.http import Response
from sandbox.provider_b.endpoint import UserCall
from sandbox.provider_b.outlook_calendar import calendar_roles
from sandbox.provider_b.outlook_calendar.calendar_access import (
    READ_BASIC,
    CalendarAccess,
    check_zone,
)
from sandbox.provider_b.outlook_calendar.time_zones import (
    date_time_time_zone,
    iana_name,
    windows_name,
)
from sandbox.provider_b.responses import GraphError, ok

MAX_RANGE = timedelta(days=62)
MAX_SCHEDULES = 20  # docs/spec/upstream/outlook-calendar.md#free-and-busy-times
_DIGITS: Mapping[str, int] = MappingProxyType(
    {"free": 0, "tentative": 1, "busy": 2, "oof": 3, "workingElsewhere": 4}
)
# The digit of the greatest weight wins where events overlap.
_WEIGHT: Mapping[int, int] = MappingProxyType({0: 0, 4: 1, 1: 2, 2: 3, 3: 4})
_LOCAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,7})?)?(Z|[+-]\d\d:\d\d)?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class _ScheduleQuery:
    since: datetime
    until: datetime
    step: timedelta

    @property
    def window(self) -> Window:
        return Window(since=self.since, until=self.until)


class GetScheduleEndpoint:
    """The endpoint."""

    def __init__(self, access: CalendarAccess, others: Iterable[CalendarAccess]) -> None:
        """*others*: the mailboxes of other users."""
        self._access = access
        self._users = (access, *others)

    def answer(self, call: UserCall) -> Response:
        """``POST /calendar/getSchedule``: an unknown address has an error instead of a schedule."""
        self._access.opened(call, *READ_BASIC)
        check_zone(call)
        wanted = {name.lower(): value for name, value in call.json().items()}
        query = _read_query(wanted)
        names = wanted.get("schedules")
        if not isinstance(names, list) or not names or len(names) > MAX_SCHEDULES:
            raise _invalid("schedules")
        context = (
            f"{call.request.public}/v1.0/$metadata#Collection(microsoft.graph.scheduleInformation)"
        )
        value = [self._information(call, str(name), query) for name in names]
        return ok({"@odata.context": context, "value": value})

    def _information(self, call: UserCall, name: str, query: _ScheduleQuery) -> dict[str, Any]:
        user = self._users_access(name)
        if user is None:
            return _failed(
                name, "ErrorMailRecipientNotFound", f"Email address not resolved: {name}"
            )
        access = user.seen_by(call)
        calendar = access.primary()
        role = access.role(calendar)
        if role is calendar_roles.CalendarRole.NONE:
            return _failed(name, "ErrorNoFreeBusyAccess", "No free/busy access.")
        occurrences = sorted(
            access.between(calendar, query.window),
            key=lambda occurrence: occurrence.content.start.instant,
        )
        has_subjects = role in calendar_roles.READS_SUBJECTS
        return {
            "scheduleId": name,
            "availabilityView": _availability_view(occurrences, query),
            "scheduleItems": [
                _item(call, occurrence, has_subject=has_subjects) for occurrence in occurrences
            ],
            "workingHours": {
                "daysOfWeek": ["monday", "tuesday", "wednesday", "thursday", "friday"],
                "startTime": "08:00:00.0000000",
                "endTime": "17:00:00.0000000",
                "timeZone": {"name": windows_name(calendar.zone)},
            },
        }

    def _users_access(self, name: str) -> CalendarAccess | None:
        return next(
            (user for user in self._users if user.account.casefold() == name.casefold()), None
        )


def _failed(name: str, code: str, message: str) -> dict[str, Any]:
    error = {"message": message, "responseCode": code}
    return {"scheduleId": name, "availabilityView": "", "error": error}


def _item(call: UserCall, occurrence: Occurrence, *, has_subject: bool) -> dict[str, Any]:
    content = occurrence.content
    record: dict[str, Any] = {
        "isPrivate": content.is_private,
        "status": _status(occurrence),
        "start": date_time_time_zone(content.start, call.zone),
        "end": date_time_time_zone(content.end, call.zone),
    }
    if has_subject and not content.is_private:
        record |= {"subject": content.title or "", "location": content.location}
    return record


def _status(occurrence: Occurrence) -> str:
    if occurrence.cancelled:
        return "free"
    tentative = occurrence.content.status == "tentative" and occurrence.content.shows_as == "busy"
    return "tentative" if tentative else occurrence.content.shows_as


def _availability_view(occurrences: list[Occurrence], query: _ScheduleQuery) -> str:
    digits = []
    at = query.since
    while at < query.until:
        slot = Window(since=at, until=at + query.step)
        inside = [
            _DIGITS.get(_status(occurrence), 0)
            for occurrence in occurrences
            if slot.overlaps(occurrence.content)
        ]
        digits.append(str(max(inside, key=lambda digit: _WEIGHT[digit], default=0)))
        at += query.step
    return "".join(digits)


def _read_query(wanted: Mapping[str, Any]) -> _ScheduleQuery:
    start, end = _instant(wanted, "startTime"), _instant(wanted, "endTime")
    minutes = wanted.get("availabilityviewinterval", 30)
    if not isinstance(minutes, int) or not 5 <= minutes <= 1440:
        raise _invalid("availabilityViewInterval")
    if end - start < timedelta(minutes=minutes):
        raise GraphError(
            400,
            "ErrorInvalidTimeInterval",
            "The requested time interval is shorter than the interval of the merged view.",
        )
    if end - start > MAX_RANGE:
        raise GraphError(
            400,
            "ErrorTimeIntervalTooBig",
            "The requested time duration specified for FreeBusyViewOptions.TimeWindow is too "
            f"long. The allowed limit = {MAX_RANGE.days} days; the actual limit = "
            f"{(end - start).days} days.",
        )
    return _ScheduleQuery(since=start, until=end, step=timedelta(minutes=minutes))


def _instant(wanted: Mapping[str, Any], name: str) -> datetime:
    written = wanted.get(name.lower())
    text = written.get("dateTime") if isinstance(written, dict) else None
    if not isinstance(written, dict) or not isinstance(text, str) or not _LOCAL.fullmatch(text):
        raise _invalid(name)
    place = iana_name(str(written.get("timeZone") or "UTC"))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _invalid(name) from None
    return moment.astimezone(UTC) if moment.tzinfo else from_local(moment, place).instant


def _invalid(name: str) -> GraphError:
    return GraphError(400, "ErrorInvalidParameter", f"The parameter '{name}' is invalid.")
