"""Times of Google Calendar: RFC 3339 with an offset, or a date."""

import re
from datetime import UTC, date, datetime
from typing import Any

from sandbox.calendar.records import EventTime, from_instant, from_local, load_zone
from sandbox.http import Request
from sandbox.provider_a.errors import GoogleError

_INSTANT = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_LOCAL = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?", re.ASCII)


def event_time(when: EventTime, display: str, *, with_zone: bool = True) -> dict[str, Any]:
    """Write a time in the zone *display*, with the time zone that the event was planned in."""
    if when.day is not None:
        return {"date": when.day.isoformat()}
    written: dict[str, Any] = {"dateTime": rfc3339(when.instant, display)}
    if with_zone:
        written["timeZone"] = when.zone
    return written


def rfc3339(instant: datetime, display: str = "UTC") -> str:
    """Write an instant in a zone; UTC has the suffix ``Z``."""
    text = instant.astimezone(load_zone(display)).isoformat(timespec="seconds")
    return text.replace("+00:00", "Z") if display in {"UTC", "Etc/UTC"} else text


def milliseconds(at: int) -> str:
    """Write milliseconds since the epoch as RFC 3339, as in ``updated``."""
    text = datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def query_instant(request: Request, name: str) -> datetime | None:
    """
    Read an instant from a query parameter; None when it is absent.

    Raises:
        GoogleError: 400, it is invalid or has no offset.
    """
    text = request.first(name)
    return read_instant(text) if text else None


def read_instant(text: object) -> datetime:
    """
    Read RFC 3339 with an offset as UTC.

    Raises:
        GoogleError: 400, it is invalid.
    """
    if not isinstance(text, str) or not _INSTANT.fullmatch(text):
        raise GoogleError(400, "Bad Request", "badRequest")
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise GoogleError(400, "Bad Request", "badRequest") from None


def query_zone(request: Request, otherwise: str) -> str:
    """
    Read the ``timeZone`` parameter.

    Raises:
        GoogleError: 400, there is no such zone.
    """
    return check_zone(request.first("timeZone") or otherwise)


def check_zone(name: object) -> str:
    """
    Return the name of a known time zone unchanged.

    Raises:
        GoogleError: 400, there is no such zone.
    """
    try:
        text = str(name)
        load_zone(text)
    except ValueError:
        raise GoogleError(400, "Invalid time zone definition.", "invalid") from None
    return text


def read_event_time(written: object, which: str, otherwise: str) -> EventTime:
    """
    Read ``start`` or ``end`` of an event; *otherwise* is the calendar's time zone.

    Raises:
        GoogleError: 400, it is missing or invalid.
    """
    if not isinstance(written, dict):
        raise GoogleError(400, f"Missing {which} time.", "required")
    zone = check_zone(written["timeZone"]) if written.get("timeZone") else ""
    if written.get("date") is not None:
        return _day(written["date"], zone or otherwise)
    text = written.get("dateTime")
    if text is None:
        raise GoogleError(400, f"Missing {which} time.", "required")
    if isinstance(text, str) and _LOCAL.fullmatch(text):
        if not zone:
            raise GoogleError(400, f"Missing time zone definition for {which} time.", "required")
        return _local_time(text, zone)
    return from_instant(read_instant(text).replace(microsecond=0), zone or otherwise)


def _day(text: object, zone: str) -> EventTime:
    try:
        return EventTime(zone, day=date.fromisoformat(str(text)))
    except ValueError:
        raise GoogleError(400, "Invalid value for: Invalid format", "invalid") from None


def _local_time(text: str, zone: str) -> EventTime:
    try:
        return from_local(datetime.fromisoformat(text.upper()).replace(microsecond=0), zone)
    except (ValueError, OverflowError):
        raise GoogleError(400, "Bad Request", "badRequest") from None
