"""Reads an event from a request to Google Calendar."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from sandbox.calendar.records import (
    Attendee,
    EventContent,
    EventTime,
    Recurrence,
    from_instant,
    from_local,
)
from sandbox.mail.store import Account
from sandbox.provider_a.errors import GoogleError
from sandbox.provider_a.google_calendar import times

ORGANIZER_ONLY = frozenset({"summary", "description", "location", "start", "end", "recurrence"})
_RESPONSES = frozenset({"needsAction", "accepted", "declined", "tentative"})
_STATUSES = frozenset({"confirmed", "tentative", "cancelled"})
_VISIBILITIES = frozenset({"default", "public", "private", "confidential"})
_LINE = re.compile(r"^(RRULE|RDATE|EXDATE)((?:;[A-Z-]+=[^;:]+)*):(.+)$", re.IGNORECASE)
_VIDEO_URL = "https://meet.provider-a.example/"

Body = Mapping[str, Any]


def read_content(
    body: Body, old: EventContent | None, *, zone: str, account: Account
) -> EventContent:
    """
    Read an event's content; members that *body* lacks are those of *old* (None for a new event).

    Raises:
        GoogleError: 400, a member is missing or invalid.
    """
    base = _read_times(body, old, zone)
    changes = _read_members(body)
    if "attendees" in body:
        changes["attendees"] = tuple(_read_attendees(body["attendees"]))
        me = account.email.lower()
        mine = [
            attendee.response for attendee in changes["attendees"] if attendee.email.lower() == me
        ]
        changes["my_response"] = mine[0] if mine else base.my_response
    if base.organiser is None:
        changes["organiser"] = Attendee(email=account.email, name=account.name, response="accepted")
    if body.get("eventType") == "outOfOffice":
        changes["shows_as"] = "oof"
    return replace(base, **changes)


def read_recurrence(body: Body, start: EventTime) -> Recurrence | None:
    """
    Read ``recurrence``; None when it is empty or absent.

    Raises:
        GoogleError: 400.
    """
    lines = body.get("recurrence")
    if not lines:
        return None
    written = body.get("start")
    zoned = isinstance(written, dict) and (written.get("timeZone") or written.get("date"))
    if isinstance(written, dict) and not zoned:
        raise GoogleError(400, "Missing time zone definition for start time.", "required")
    values_by_word: dict[str, list[Any]] = {"RRULE": [], "RDATE": [], "EXDATE": []}
    for line in lines if isinstance(lines, list) else [None]:
        match = _LINE.match(line) if isinstance(line, str) else None
        if match is None:
            raise GoogleError(400, "Invalid recurrence rule.", "invalid")
        word, value = match[1].upper(), match[3]
        values_by_word[word] += [value] if word == "RRULE" else _read_dates(match[2], value, start)
    return Recurrence(
        rules=tuple(values_by_word["RRULE"]),
        added=tuple(values_by_word["RDATE"]),
        dropped=tuple(values_by_word["EXDATE"]),
    )


def _read_times(body: Body, old: EventContent | None, zone: str) -> EventContent:
    if old is not None and "start" not in body and "end" not in body:
        return old
    start = old.start if old is not None else None
    end = old.end if old is not None else None
    if start is None or "start" in body:
        start = times.read_event_time(body.get("start"), "start", zone)
    if end is None or "end" in body:
        end = times.read_event_time(body.get("end"), "end", zone)
    if start.is_day != end.is_day:
        raise GoogleError(400, "Start and end times must either both be date or both be dateTime.",
                      "invalid")  # fmt: skip
    if end.instant < start.instant or (start.is_day and end.instant == start.instant):
        raise GoogleError(400, "The specified time range is empty.", "timeRangeEmpty")
    base = EventContent(start=start, end=end) if old is None else old
    return replace(base, start=start, end=end)


def _read_members(body: Body) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for name, member in (
        ("summary", "title"),
        ("description", "description"),
        ("location", "location"),
    ):
        if name in body:
            value = body[name]
            if value is not None and not isinstance(value, str):
                raise GoogleError(400, f"Invalid value for: {name}", "invalid")
            changes[member] = value or (None if member == "title" else "")
    if "status" in body:
        changes["status"] = _one_of(body["status"], _STATUSES)
    if "visibility" in body:
        changes["is_private"] = _one_of(body["visibility"], _VISIBILITIES) in {
            "private",
            "confidential",
        }
    if "transparency" in body:
        opaque = _one_of(body["transparency"], frozenset({"opaque", "transparent"})) == "opaque"
        changes["shows_as"] = "busy" if opaque else "free"
    if "reminders" in body:
        changes["reminder"] = _read_reminder(body["reminders"])
    link = _read_video_link(body.get("conferenceData"))
    return {**changes, "video_link": link} if link else changes


def _one_of(value: Any, known: frozenset[str]) -> str:
    if not isinstance(value, str) or value not in known:
        raise GoogleError(400, f"Invalid value: {value}", "invalid")
    return value


def _read_attendees(written: Any) -> Iterator[Attendee]:
    for attendee in written if isinstance(written, list) else [written]:
        email = attendee.get("email") if isinstance(attendee, dict) else None
        if not isinstance(email, str) or "@" not in email:
            raise GoogleError(400, "Invalid attendee email.", "invalid")
        yield Attendee(
            email=email,
            name=str(attendee.get("displayName") or ""),
            response=_one_of(attendee.get("responseStatus", "needsAction"), _RESPONSES),
            is_optional=attendee.get("optional") is True,
            is_resource=attendee.get("resource") is True,
        )


def _read_reminder(written: Any) -> int | None:
    if not isinstance(written, dict) or written.get("useDefault") is True:
        return 10
    minutes = [
        override["minutes"]
        for override in written.get("overrides") or []
        if isinstance(override, dict) and isinstance(override.get("minutes"), int)
    ]
    return min(minutes, default=None)


def _read_video_link(written: Any) -> str | None:
    if not isinstance(written, dict):
        return None
    wanted = written.get("createRequest")
    if isinstance(wanted, dict) and isinstance(wanted.get("requestId"), str):
        return f"{_VIDEO_URL}{wanted['requestId']}"
    for entry in written.get("entryPoints") or []:
        if isinstance(entry, dict) and entry.get("entryPointType") == "video":
            return str(entry.get("uri"))
    return None


def _read_dates(parameters: str, value: str, start: EventTime) -> Iterator[EventTime]:
    """Yield the dates of an RDATE or EXDATE line."""
    named = re.search(r";TZID=([^;:]+)", parameters, re.IGNORECASE)
    zone = times.check_zone(named[1]) if named else start.zone
    for text in value.split(","):
        try:
            if len(text) == 8:
                yield EventTime(start.zone, day=date.fromisoformat(text))
            elif text.endswith(("Z", "z")):
                yield from_instant(datetime.fromisoformat(text.upper()), start.zone)
            else:
                yield from_local(datetime.fromisoformat(text), zone)
        except ValueError:
            raise GoogleError(400, "Invalid recurrence rule.", "invalid") from None
