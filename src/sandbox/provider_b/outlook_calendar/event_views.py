"""Writes events as resources of Outlook, and the record type of events."""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from sandbox.calendar.ids import instance_id
from sandbox.calendar.records import Attendee, EventContent, Occurrence, StoredEvent
from sandbox.mail.ids import PROVIDER_B
from sandbox.provider_b.odata.schema import Kind, Shape
from sandbox.provider_b.outlook_calendar import recurrence_patterns
from sandbox.provider_b.outlook_calendar.time_zones import date_time_time_zone, windows_name
from sandbox.provider_b.outlook_mail import bodies
from sandbox.provider_b.outlook_mail.messages import utc

Json = dict[str, Any]

NEVER = "0001-01-01T00:00:00Z"
_TIME = Shape(
    name="microsoft.graph.dateTimeTimeZone",
    members={"dateTime": Kind.STRING, "timeZone": Kind.STRING},
)
_ADDRESS = Shape(
    name="microsoft.graph.emailAddress", members={"name": Kind.STRING, "address": Kind.STRING}
)
_RECIPIENT = Shape(name="microsoft.graph.recipient", members={"emailAddress": _ADDRESS})
_RESPONSE = Shape(
    name="microsoft.graph.responseStatus", members={"response": Kind.STRING, "time": Kind.INSTANT}
)
_LOCATION = Shape(
    name="microsoft.graph.location",
    members=dict.fromkeys(
        ("displayName", "locationType", "locationUri", "uniqueId", "uniqueIdType"), Kind.STRING
    ),
)
_OPEN = Shape(name="microsoft.graph.complex", members={}, open=True)
SHAPE = Shape(
    name="microsoft.graph.event",
    members=MappingProxyType(
        {
            "id": Kind.STRING,
            "createdDateTime": Kind.INSTANT,
            "lastModifiedDateTime": Kind.INSTANT,
            "changeKey": Kind.STRING,
            "categories": Kind.STRING,
            "transactionId": Kind.STRING,
            "originalStartTimeZone": Kind.STRING,
            "originalEndTimeZone": Kind.STRING,
            "iCalUId": Kind.STRING,
            "reminderMinutesBeforeStart": Kind.NUMBER,
            "isReminderOn": Kind.BOOLEAN,
            "hasAttachments": Kind.BOOLEAN,
            "subject": Kind.STRING,
            "bodyPreview": Kind.STRING,
            "importance": Kind.STRING,
            "sensitivity": Kind.STRING,
            "originalStart": Kind.INSTANT,
            "isAllDay": Kind.BOOLEAN,
            "isCancelled": Kind.BOOLEAN,
            "isOrganizer": Kind.BOOLEAN,
            "isDraft": Kind.BOOLEAN,
            "responseRequested": Kind.BOOLEAN,
            "seriesMasterId": Kind.STRING,
            "showAs": Kind.STRING,
            "type": Kind.STRING,
            "webLink": Kind.STRING,
            "onlineMeetingUrl": Kind.STRING,
            "isOnlineMeeting": Kind.BOOLEAN,
            "onlineMeetingProvider": Kind.STRING,
            "allowNewTimeProposals": Kind.BOOLEAN,
            "hideAttendees": Kind.BOOLEAN,
            "recurrence": _OPEN,
            "responseStatus": _RESPONSE,
            "body": Shape(
                name="microsoft.graph.itemBody",
                members={"contentType": Kind.STRING, "content": Kind.STRING},
            ),
            "start": _TIME,
            "end": _TIME,
            "location": _LOCATION,
            "locations": _LOCATION,
            "attendees": _RECIPIENT,
            "organizer": _RECIPIENT,
            "onlineMeeting": _OPEN,
        }
    ),
    collections=frozenset(("categories", "locations", "attendees")),
    exact=frozenset(("id", "seriesMasterId", "changeKey")),
)
BODY_MEMBERS = frozenset(("body", "bodyPreview"))

_RESPONSES: Mapping[str, str] = MappingProxyType(
    {"accepted": "accepted", "declined": "declined", "tentative": "tentativelyAccepted"}
)


def event_record(
    occurrence: Occurrence, *, account: str, zone: str | None, immutable: bool, body_type: str
) -> Json:
    """
    Write an event as a resource.

    Args:
        occurrence: The event; a series as a whole has no *original*.
        account: The owner's address.
        zone: Time zone of the written times, as the client named it; None for UTC.
        immutable: Whether to write immutable ids.
        body_type: "html" or "text".
    """
    event, content = occurrence.event, occurrence.content
    series = event.immutable_id if immutable else event.id
    mine = is_mine(content, account)
    return {
        "@odata.etag": etag(event),
        "id": series
        if occurrence.original is None
        else instance_id(PROVIDER_B, series, occurrence.original),
        "createdDateTime": utc(event.created_ms).replace("Z", ".0000000Z"),
        "lastModifiedDateTime": utc(event.updated_ms).replace("Z", ".0000000Z"),
        "changeKey": change_key(event),
        "categories": list(content.categories),
        "transactionId": None,
        "originalStartTimeZone": windows_name(content.start.zone),
        "originalEndTimeZone": windows_name(content.end.zone),
        "iCalUId": _uid(occurrence),
        "reminderMinutesBeforeStart": 15 if content.reminder is None else content.reminder,
        "isReminderOn": content.reminder is not None,
        "hasAttachments": False,
        "subject": content.title or "",
        "bodyPreview": bodies.preview(_text(content)),
        "importance": content.importance,
        "sensitivity": "private" if content.is_private else "normal",
        "originalStart": None if occurrence.original is None else _utc(occurrence),
        "isAllDay": content.is_all_day,
        "isCancelled": occurrence.cancelled,
        "isOrganizer": mine,
        "responseRequested": True,
        "seriesMasterId": None if occurrence.original is None else series,
        "showAs": _show_as(occurrence),
        "type": _kind(occurrence),
        "webLink": f"https://outlook.example/owa/?itemid={event.id}&exvsurl=1&path=/calendar/item",
        "onlineMeetingUrl": None,
        "isOnlineMeeting": content.video_link is not None,
        "onlineMeetingProvider": "unknown" if content.video_link is None else "teamsForBusiness",
        "allowNewTimeProposals": True,
        "isDraft": False,
        "hideAttendees": False,
        "recurrence": _recurrence(occurrence),
        "responseStatus": {"response": _my_response(content, mine=mine), "time": NEVER},
        **_content_members(content, account, zone, body_type),
    }


def without_details(occurrence: Occurrence) -> Occurrence:
    """Return a private event as people see it who may only see when the owner is busy."""
    content = EventContent(
        start=occurrence.content.start,
        end=occurrence.content.end,
        title="Private Appointment",
        status=occurrence.content.status,
        shows_as=occurrence.content.shows_as,
        is_private=True,
    )
    return replace(occurrence, content=content)


def is_mine(content: EventContent, account: str) -> bool:
    """Whether the account is the organizer of the event."""
    organiser = content.organiser
    return organiser is None or organiser.email.casefold() == account.casefold()


def change_key(event: StoredEvent) -> str:
    """Return the change key of an event, which differs after every change."""
    return f"DwAAABYAAAC{b64encode(event.change.to_bytes(9, 'big')).decode()}"


def etag(event: StoredEvent) -> str:
    """Return the ETag of an event."""
    return f'W/"{change_key(event)}"'


def _content_members(content: EventContent, account: str, zone: str | None, body_type: str) -> Json:
    return {
        "body": {"contentType": body_type, "content": _body(content, body_type)},
        "start": date_time_time_zone(content.start, zone),
        "end": date_time_time_zone(content.end, zone),
        "location": _location(content.location),
        "locations": [_location(content.location)] if content.location else [],
        "attendees": [_attendee(guest, content) for guest in content.attendees],
        "organizer": _recipient(content.organiser or Attendee(email=account)),
        "onlineMeeting": None if content.video_link is None else {"joinUrl": content.video_link},
    }


def _recurrence(occurrence: Occurrence) -> Json | None:
    recurrence = occurrence.event.recurrence
    if occurrence.original is not None or recurrence is None:
        return None
    return recurrence_patterns.to_pattern(recurrence, occurrence.content.start)


def _kind(occurrence: Occurrence) -> str:
    if occurrence.original is None:
        return "singleInstance" if occurrence.event.recurrence is None else "seriesMaster"
    return "exception" if occurrence.is_exception else "occurrence"


def _uid(occurrence: Occurrence) -> str:
    """Return the iCalUId, which differs for every occurrence of a series."""
    return (
        occurrence.event.uid
        if occurrence.original is None
        else f"{occurrence.event.uid}_{occurrence.original.stamp}"
    )


def _utc(occurrence: Occurrence) -> str:
    original = occurrence.original or occurrence.content.start
    return f"{original.instant.replace(tzinfo=None).isoformat()}Z"


def _show_as(occurrence: Occurrence) -> str:
    if occurrence.cancelled:
        return "free"
    tentative = occurrence.content.status == "tentative" and occurrence.content.shows_as == "busy"
    return "tentative" if tentative else occurrence.content.shows_as


def _my_response(content: EventContent, *, mine: bool) -> str:
    return "organizer" if mine else _RESPONSES.get(content.my_response, "notResponded")


def _text(content: EventContent) -> str:
    return bodies.to_text(content.description) if content.is_html else content.description


def _body(content: EventContent, body_type: str) -> str:
    if body_type == "text":
        return _text(content)
    if content.is_html:
        return content.description
    return bodies.to_html(content.description) if content.description else ""


def _location(name: str) -> Json:
    if not name:
        return {
            "displayName": "",
            "locationType": "default",
            "uniqueIdType": "unknown",
            "address": {},
            "coordinates": {},
        }
    return {
        "displayName": name,
        "locationType": "default",
        "uniqueId": name,
        "uniqueIdType": "private",
    }


def _attendee(guest: Attendee, content: EventContent) -> Json:
    organiser = content.organiser
    kind = "optional" if guest.is_optional else "required"
    response = _RESPONSES.get(guest.response, "none")
    if organiser is not None and guest.email.casefold() == organiser.email.casefold():
        response = "organizer"
    return {
        "type": "resource" if guest.is_resource else kind,
        "status": {"response": response, "time": NEVER},
        **_recipient(guest),
    }


def _recipient(guest: Attendee) -> Json:
    return {"emailAddress": {"name": guest.name or guest.email, "address": guest.email}}
