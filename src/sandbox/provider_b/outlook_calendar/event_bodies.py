"""Reads an event from a request to Outlook."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

from sandbox.calendar.records import Attendee, EventContent, EventTime, from_instant, from_local
from sandbox.mail.store import Account
from sandbox.provider_b.outlook_calendar.time_zones import iana_name
from sandbox.provider_b.responses import GraphError

_SHOWS = frozenset({"free", "tentative", "busy", "oof", "workingElsewhere"})
_SENSITIVE = frozenset({"normal", "personal", "private", "confidential"})
_IMPORTANT = frozenset({"low", "normal", "high"})
_RESPONSES: Mapping[str, str] = MappingProxyType(
    {"accepted": "accepted", "declined": "declined", "tentativelyAccepted": "tentative"}
)
_VIDEO_URL = "https://meet.provider-b.example/"

Body = Mapping[str, Any]


def read_content(
    body: Body, old: EventContent | None, *, account: Account, seed: str
) -> EventContent:
    """
    Read an event's content; members that *body* lacks are those of *old* (None for a new event).

    *seed* is the last part of the URL of a new online meeting.

    Raises:
        GraphError: 400, a member is missing or invalid.
    """
    base = _read_times(body, old)
    changes: dict[str, Any] = {}
    if "subject" in body:
        changes["title"] = _read_text(body, "subject") or None
    if "body" in body:
        written = body["body"]
        if not isinstance(written, dict) or not isinstance(written.get("content", ""), str):
            raise invalid_member("body")
        changes["description"] = written.get("content", "")
        changes["is_html"] = str(written.get("contentType", "text")).lower() == "html"
    if "location" in body:
        place = body["location"]
        changes["location"] = str(place.get("displayName") or "") if isinstance(place, dict) else ""
    if "showAs" in body:
        changes["shows_as"] = _read_text(body, "showAs")
        if changes["shows_as"] not in _SHOWS:
            raise invalid_member("showAs")
    if "sensitivity" in body:
        changes["is_private"] = _read_word(body, "sensitivity", _SENSITIVE) in {
            "private",
            "confidential",
        }
    if "importance" in body:
        changes["importance"] = _read_word(body, "importance", _IMPORTANT)
    if "categories" in body:
        names = body["categories"] or []
        if not isinstance(names, list):
            raise invalid_member("categories")
        changes["categories"] = tuple(str(name) for name in names)
    if "attendees" in body:
        changes["attendees"] = tuple(_read_attendees(body["attendees"]))
    if "isOnlineMeeting" in body:
        online = body["isOnlineMeeting"] is True
        changes["video_link"] = (base.video_link or f"{_VIDEO_URL}{seed}") if online else None
    changes |= _read_reminder(body, base)
    if base.organiser is None:
        changes["organiser"] = Attendee(email=account.email, name=account.name, response="accepted")
    return replace(base, **changes)


def invalid_member(name: str) -> GraphError:
    """Return the error for an invalid member."""
    return GraphError(
        400,
        "ErrorPropertyValidationFailure",
        f"At least one property failed validation. Property: {name}",
    )


def _read_times(body: Body, old: EventContent | None) -> EventContent:
    if old is None and ("start" not in body or "end" not in body):
        raise invalid_member("start" if "start" not in body else "end")
    all_day = body.get("isAllDay", old is not None and old.is_all_day) is True
    if old is not None and not {"start", "end", "isAllDay"} & body.keys():
        return old
    start = (
        _read_time(body, "start", all_day)
        if "start" in body
        else _converted_time(old, "start", all_day)
    )
    end = (
        _read_time(body, "end", all_day) if "end" in body else _converted_time(old, "end", all_day)
    )
    if end.instant < start.instant or (all_day and end.instant == start.instant):
        raise GraphError(
            400, "ErrorCalendarEndDateIsEarlierThanStartDate",
            "The end date can't be before the start date.",
        )  # fmt: skip
    return EventContent(start=start, end=end) if old is None else replace(old, start=start, end=end)


def _converted_time(old: EventContent | None, name: str, all_day: bool) -> EventTime:  # noqa: FBT001 - of this file
    stored: EventTime | None = getattr(old, name, None)
    if stored is None:
        raise invalid_member(name)
    if all_day == stored.is_day:
        return stored
    return from_local(stored.local, stored.zone, is_day=all_day)


def _read_time(body: Body, name: str, all_day: bool) -> EventTime:  # noqa: FBT001 - of this file
    written = body[name]
    text = written.get("dateTime") if isinstance(written, dict) else None
    if not isinstance(text, str):
        raise invalid_member(name)
    place = iana_name(str(written.get("timeZone") or "UTC"))
    try:
        read = datetime.fromisoformat(text[:26] if text[26:].isdigit() else text)
        if read.tzinfo is not None:
            return from_instant(read.replace(microsecond=0), place)
    except (ValueError, OverflowError):
        raise invalid_member(name) from None
    local = read.replace(microsecond=0)
    if all_day and local.time() != local.min.time():
        raise GraphError(
            400,
            "ErrorInvalidRequest",
            "The Event.Start and Event.End properties of an all-day event must be midnight.",
        )
    return from_local(local, place, is_day=all_day)


def _read_attendees(written: Any) -> Iterator[Attendee]:
    for attendee in written if isinstance(written, list) else [written]:
        mail = attendee.get("emailAddress") if isinstance(attendee, dict) else None
        address = mail.get("address") if isinstance(mail, dict) else None
        if not isinstance(mail, dict) or not isinstance(address, str) or not address:
            raise invalid_member("attendees")
        kind = str(attendee.get("type") or "required").lower()
        status = attendee.get("status")
        response = status.get("response") if isinstance(status, dict) else None
        yield Attendee(
            email=address,
            name=str(mail.get("name") or ""),
            response=_RESPONSES.get(str(response), "needsAction"),
            is_optional=kind == "optional",
            is_resource=kind == "resource",
        )


def _read_reminder(body: Body, base: EventContent) -> dict[str, Any]:
    if "isReminderOn" not in body and "reminderMinutesBeforeStart" not in body:
        return {}
    minutes = body.get("reminderMinutesBeforeStart", base.reminder or 15)
    is_on = body.get("isReminderOn", base.reminder is not None or True) is True
    if not isinstance(minutes, int):
        raise invalid_member("reminderMinutesBeforeStart")
    return {"reminder": minutes if is_on else None}


def _read_word(body: Body, name: str, known: Collection[str]) -> str:
    """Read an enumeration member in any case; "normal" is the default."""
    word = _read_text(body, name).lower() or "normal"
    if word not in known:
        raise invalid_member(name)
    return word


def _read_text(body: Body, name: str) -> str:
    value = body[name]
    if value is not None and not isinstance(value, str):
        raise invalid_member(name)
    return value or ""
