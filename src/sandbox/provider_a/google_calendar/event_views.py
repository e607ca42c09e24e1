"""Writes events as resources of Google Calendar."""

import hashlib
from base64 import urlsafe_b64encode
from typing import Any

from sandbox.calendar.ids import instance_id
from sandbox.calendar.records import Attendee, EventContent, EventTime, Occurrence, StoredCalendar
from sandbox.mail.ids import PROVIDER_A
from sandbox.provider_a.google_calendar import times
from sandbox.provider_a.google_calendar.calendar_access import CalendarAccess

EVENT_PAGE_URL = "https://calendar.example/event?eid="
_DEFAULT_REMINDER = 10  # minutes; the default of the calendars
_EVENT_COLOURS = 11


def resource(
    access: CalendarAccess,
    calendar: StoredCalendar,
    occurrence: Occurrence,
    *,
    display: str,
    most_attendees: int | None = None,
) -> dict[str, Any]:
    """
    Write an occurrence, a single event or a whole series.

    *display* is the time zone of the written times. A cancelled occurrence of a series has only
    its ids and its original start.
    """
    event, content = occurrence.event, occurrence.content
    name = (
        event.id
        if occurrence.original is None
        else instance_id(PROVIDER_A, event.id, occurrence.original)
    )
    record: dict[str, Any] = {
        "kind": "calendar#event",
        "etag": etag(event.change),
        "id": name,
        "status": "cancelled" if occurrence.cancelled else _status(content),
    }
    if occurrence.is_bare:
        return record | _series(occurrence, display)
    record |= _details(access, calendar, occurrence, name)
    record |= _people(access, content, most_attendees)
    record["start"] = times.event_time(content.start, display)
    record["end"] = times.event_time(content.end, display)
    if occurrence.original is None and event.recurrence is not None:
        record["recurrence"] = _recurrence(occurrence)
    record |= _series(occurrence, display)
    record |= {"iCalUID": event.uid, "sequence": event.sequence}
    record |= _video(content)
    record["reminders"] = _reminders(content)
    record["eventType"] = "outOfOffice" if _is_away(content) else "default"
    if _is_away(content):
        record["outOfOfficeProperties"] = {"autoDeclineMode": "declineNone"}
    return record


def etag(change: int) -> str:
    """Return the ETag of a change number."""
    return f'"{change * 2_000_003:016d}"'


def _status(content: EventContent) -> str:
    return content.status if content.status in {"tentative", "cancelled"} else "confirmed"


def _details(
    access: CalendarAccess, calendar: StoredCalendar, occurrence: Occurrence, name: str
) -> dict[str, Any]:
    event, content = occurrence.event, occurrence.content
    page_id = f"{name} {access.name_of(calendar)}"
    record: dict[str, Any] = {
        "htmlLink": EVENT_PAGE_URL + urlsafe_b64encode(page_id.encode()).decode().rstrip("="),
        "created": times.milliseconds(event.created_ms)[:-5] + "Z",
        "updated": times.milliseconds(event.updated_ms),
    }
    texts = {
        "summary": content.title,
        "description": content.description,
        "location": content.location,
    }
    record |= {name: text for name, text in texts.items() if text}
    if content.categories:
        record["colorId"] = _colour(content.categories[0])
    if content.shows_as in {"free", "workingElsewhere"}:
        record["transparency"] = "transparent"
    if content.is_private:
        record["visibility"] = "private"
    return record


def _people(access: CalendarAccess, content: EventContent, most: int | None) -> dict[str, Any]:
    me = access.account.email.lower()
    organiser = content.organiser or Attendee(email=access.account.email, name=access.account.name)
    record: dict[str, Any] = {
        "creator": _person(organiser, me),
        "organizer": _person(organiser, me),
    }
    if not content.attendees:
        return record
    guests = list(content.attendees)
    if most is not None and len(guests) > most:
        # Google Calendar keeps the account's owner alone when there are too many attendees.
        guests = [guest for guest in guests if guest.email.lower() == me][:1] or guests[:most]
        record["attendeesOmitted"] = True
    record["attendees"] = [_attendee(guest, organiser, me) for guest in guests]
    return record


def _person(guest: Attendee, me: str) -> dict[str, Any]:
    record: dict[str, Any] = {"email": guest.email}
    if guest.name:
        record["displayName"] = guest.name
    if guest.email.lower() == me:
        record["self"] = True
    return record


def _attendee(guest: Attendee, organiser: Attendee, me: str) -> dict[str, Any]:
    record = _person(guest, me)
    if guest.email.lower() == organiser.email.lower():
        record["organizer"] = True
    if guest.is_optional:
        record["optional"] = True
    if guest.is_resource:
        record["resource"] = True
    return {**record, "responseStatus": guest.response}


def _series(occurrence: Occurrence, display: str) -> dict[str, Any]:
    if occurrence.original is None:
        return {}
    return {
        "recurringEventId": occurrence.event.id,
        "originalStartTime": times.event_time(occurrence.original, display),
    }


def _recurrence(occurrence: Occurrence) -> list[str]:
    recurrence = occurrence.event.recurrence
    if recurrence is None:
        return []
    lines = [f"RRULE:{rule}" for rule in recurrence.rules]
    lines += [_dates("EXDATE", when) for when in recurrence.dropped]
    return lines + [_dates("RDATE", when) for when in recurrence.added]


def _dates(word: str, when: EventTime) -> str:
    if when.is_day:
        return f"{word};VALUE=DATE:{when.stamp}"
    if when.zone == "UTC":
        return f"{word}:{when.stamp}"
    return f"{word};TZID={when.zone}:{when.local:%Y%m%dT%H%M%S}"


def _video(content: EventContent) -> dict[str, Any]:
    if content.video_link is None:
        return {}
    name = content.video_link.rpartition("/")[2]
    entry = {"entryPointType": "video", "uri": content.video_link, "label": name}
    return {
        "hangoutLink": content.video_link,
        "conferenceData": {
            "entryPoints": [entry],
            "conferenceSolution": {"key": {"type": "hangoutsMeet"}, "name": "Video meeting"},
            "conferenceId": name,
        },
    }


def _reminders(content: EventContent) -> dict[str, Any]:
    if content.reminder == _DEFAULT_REMINDER:
        return {"useDefault": True}
    if content.reminder is None:
        return {"useDefault": False}
    return {"useDefault": False, "overrides": [{"method": "popup", "minutes": content.reminder}]}


def _is_away(content: EventContent) -> bool:
    return content.shows_as == "oof" and not content.is_all_day


def _colour(category: str) -> str:
    digest = hashlib.sha256(category.encode()).digest()
    return str(digest[0] % _EVENT_COLOURS + 1)
