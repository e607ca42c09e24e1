"""One event as provider A's calendar shows it."""

import hashlib
from base64 import urlsafe_b64encode
from typing import Any

from sandbox.calendar.ids import instance_id
from sandbox.calendar.records import Attendee, EventContent, EventTime, Occurrence, StoredCalendar
from sandbox.mail.ids import PROVIDER_A
from sandbox.provider_a.google_calendar import times
from sandbox.provider_a.google_calendar.calendar_access import CalendarAccess

EVENT_PAGE_URL = "https://calendar.example/event?eid="
_DEFAULT_REMINDER = 10  # minutes; the calendars' own
_EVENT_COLOURS = 11


def resource(
    access: CalendarAccess,
    calendar: StoredCalendar,
    one: Occurrence,
    *,
    display: str,
    most_attendees: int | None = None,
) -> dict[str, Any]:
    """
    Show an occurrence, a single event or a whole series.

    *display* is the zone whose clock times are told by. A cancelled occurrence has lost everything
    but its name.
    """
    event, content = one.event, one.content
    name = event.id if one.original is None else instance_id(PROVIDER_A, event.id, one.original)
    shown: dict[str, Any] = {
        "kind": "calendar#event",
        "etag": etag(event.change),
        "id": name,
        "status": "cancelled" if one.cancelled else _status(content),
    }
    if one.is_bare:
        return shown | _series(one, display)
    shown |= _details(access, calendar, one, name)
    shown |= _people(access, content, most_attendees)
    shown["start"] = times.event_time(content.start, display)
    shown["end"] = times.event_time(content.end, display)
    if one.original is None and event.recurrence is not None:
        shown["recurrence"] = _recurrence(one)
    shown |= _series(one, display)
    shown |= {"iCalUID": event.uid, "sequence": event.sequence}
    shown |= _video(content)
    shown["reminders"] = _reminders(content)
    shown["eventType"] = "outOfOffice" if _is_away(content) else "default"
    if _is_away(content):
        shown["outOfOfficeProperties"] = {"autoDeclineMode": "declineNone"}
    return shown


def etag(change: int) -> str:
    """Write an ETag."""
    return f'"{change * 2_000_003:016d}"'


def _status(content: EventContent) -> str:
    return content.status if content.status in {"tentative", "cancelled"} else "confirmed"


def _details(
    access: CalendarAccess, calendar: StoredCalendar, one: Occurrence, name: str
) -> dict[str, Any]:
    event, content = one.event, one.content
    seen = f"{name} {access.name_of(calendar)}"
    shown: dict[str, Any] = {
        "htmlLink": EVENT_PAGE_URL + urlsafe_b64encode(seen.encode()).decode().rstrip("="),
        "created": times.milliseconds(event.created_ms)[:-5] + "Z",
        "updated": times.milliseconds(event.updated_ms),
    }
    texts = {
        "summary": content.title,
        "description": content.description,
        "location": content.location,
    }
    shown |= {name: text for name, text in texts.items() if text}
    if content.categories:
        shown["colorId"] = _colour(content.categories[0])
    if content.shows_as in {"free", "workingElsewhere"}:
        shown["transparency"] = "transparent"
    if content.is_private:
        shown["visibility"] = "private"
    return shown


def _people(access: CalendarAccess, content: EventContent, most: int | None) -> dict[str, Any]:
    me = access.account.email.lower()
    organiser = content.organiser or Attendee(email=access.account.email, name=access.account.name)
    shown: dict[str, Any] = {"creator": _person(organiser, me), "organizer": _person(organiser, me)}
    if not content.attendees:
        return shown
    guests = list(content.attendees)
    if most is not None and len(guests) > most:
        # Who is left out when there are too many: everybody but the account's owner.
        guests = [guest for guest in guests if guest.email.lower() == me][:1] or guests[:most]
        shown["attendeesOmitted"] = True
    shown["attendees"] = [_attendee(guest, organiser, me) for guest in guests]
    return shown


def _person(guest: Attendee, me: str) -> dict[str, Any]:
    shown: dict[str, Any] = {"email": guest.email}
    if guest.name:
        shown["displayName"] = guest.name
    if guest.email.lower() == me:
        shown["self"] = True
    return shown


def _attendee(guest: Attendee, organiser: Attendee, me: str) -> dict[str, Any]:
    shown = _person(guest, me)
    if guest.email.lower() == organiser.email.lower():
        shown["organizer"] = True
    if guest.is_optional:
        shown["optional"] = True
    if guest.is_resource:
        shown["resource"] = True
    return {**shown, "responseStatus": guest.response}


def _series(one: Occurrence, display: str) -> dict[str, Any]:
    if one.original is None:
        return {}
    return {
        "recurringEventId": one.event.id,
        "originalStartTime": times.event_time(one.original, display),
    }


def _recurrence(one: Occurrence) -> list[str]:
    recurrence = one.event.recurrence
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
    return {
        "useDefault": False,
        "overrides": [{"method": "popup", "minutes": content.reminder}],
    }


def _is_away(content: EventContent) -> bool:
    return content.shows_as == "oof" and not content.is_all_day


def _colour(category: str) -> str:
    digest = hashlib.sha256(category.encode()).digest()
    return str(digest[0] % _EVENT_COLOURS + 1)
