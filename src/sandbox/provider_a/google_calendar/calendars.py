"""Endpoints of the calendar list, of calendars and of colours."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sandbox.calendar.records import StoredCalendar
from sandbox.http import Request
from sandbox.mail.ids import PROVIDER_A
from sandbox.provider_a.errors import GoogleError
from sandbox.provider_a.google_calendar import times
from sandbox.provider_a.google_calendar.calendar_access import (
    READ_CALENDARS,
    READ_EVENTS,
    READ_LIST,
    ROLES,
    WRITE_CALENDARS,
    CalendarAccess,
    require_scope,
    role,
)
from sandbox.provider_a.google_calendar.event_views import etag

_DEFAULT_SIZE, _MAX_SIZE = 100, 250
_COLOURS = (
    "#ac725e", "#d06b64", "#f83a22", "#fa573c", "#ff7537", "#ffad46", "#42d692", "#16a765",
    "#7bd148", "#b3dc6c", "#fbe983", "#fad165", "#92e1c0", "#9fe1e7", "#9fc6e7", "#4986e7",
    "#9a9cff", "#b99aff", "#c2c2c2", "#cabdbf", "#cca6ac", "#f691b2", "#cd74e6", "#a47ae2",
)  # fmt: skip
_EVENT_COLOURS = (
    "#a4bdfc", "#7ae7bf", "#dbadff", "#ff887c", "#fbd75b", "#ffb878", "#46d6db", "#e1e1e1",
    "#5484ed", "#51b749", "#dc2127",
)  # fmt: skip
_FOREGROUND = "#1d1d1d"


class CalendarEndpoints:
    """The endpoints; each returns JSON content, None for 204."""

    def __init__(self, access: CalendarAccess) -> None:
        self._access = access
        self._store = access.state.calendars

    def list(self, request: Request) -> Any:
        """``calendarList.list``."""
        require_scope(request, READ_LIST)
        min_role = request.first("minAccessRole", "freeBusyReader")
        if min_role not in ROLES:
            raise GoogleError(400, f"Invalid value '{min_role}'.", "invalidParameter")
        matching_calendars = [
            calendar
            for calendar in self._access.calendars()
            if ROLES[role(calendar)] >= ROLES[min_role]
        ]
        size = _size(request)
        start = _start(request)
        body: dict[str, Any] = {"kind": "calendar#calendarList", "etag": self._etag()}
        if start + size < len(matching_calendars):
            body["nextPageToken"] = f"p{start + size}"
        else:
            body["nextSyncToken"] = f"s{self._store.last_change()}"
        body["items"] = [
            self._entry(calendar) for calendar in matching_calendars[start : start + size]
        ]
        return body

    def entry(self, request: Request, calendar: str) -> Any:
        """``calendarList.get``."""
        require_scope(request, READ_LIST)
        return self._entry(self._access.calendar(calendar))

    def get(self, request: Request, calendar: str) -> Any:
        """``calendars.get``."""
        require_scope(request, READ_CALENDARS)
        return self._resource(self._access.calendar(calendar))

    def insert(self, request: Request) -> Any:
        """``calendars.insert``."""
        require_scope(request, WRITE_CALENDARS)
        body = read_body(request)
        name = body.get("summary")
        if not isinstance(name, str) or not name:
            raise GoogleError(400, "Missing title.", "required")
        zone = times.check_zone(body.get("timeZone") or "UTC")
        calendar = self._store.add_calendar(
            PROVIDER_A, name, zone=zone, description=str(body.get("description") or "")
        )
        return self._resource(calendar)

    def change(self, request: Request, calendar: str) -> Any:
        """``calendars.patch`` and ``calendars.update``."""
        require_scope(request, WRITE_CALENDARS)
        stored = self._access.writable(calendar)
        body = read_body(request)
        changed = replace(
            stored,
            name=str(body.get("summary") or stored.name),
            description=str(body.get("description", stored.description) or ""),
            zone=times.check_zone(body.get("timeZone") or stored.zone),
        )
        return self._resource(self._store.put_calendar(changed))

    def delete(self, request: Request, calendar: str) -> None:
        """``calendars.delete``: secondary calendars only."""
        require_scope(request, WRITE_CALENDARS)
        stored = self._access.writable(calendar)
        if stored.is_primary:
            message = "You cannot delete the primary calendar."
            raise GoogleError(400, message, "cannotDeletePrimaryCalendar")
        self._store.put_calendar(replace(stored, is_deleted=True))

    def colours(self, request: Request) -> Any:
        """``colors.get``."""
        require_scope(request, (*READ_LIST, *READ_EVENTS))
        return {
            "kind": "calendar#colors",
            "updated": "2012-02-14T00:00:00.000Z",
            "calendar": _palette(_COLOURS),
            "event": _palette(_EVENT_COLOURS),
        }

    def _etag(self) -> str:
        return etag(self._store.last_change())

    def _entry(self, calendar: StoredCalendar) -> dict[str, Any]:
        entry = self._common(calendar, "calendar#calendarListEntry")
        entry |= {
            "colorId": _nearest_colour_id(calendar.colour),
            "backgroundColor": calendar.colour,
            "foregroundColor": "#000000",
            "selected": True,
            "accessRole": role(calendar),
            "defaultReminders": [],
        }
        if calendar.is_primary:
            entry["defaultReminders"] = [{"method": "popup", "minutes": 10}]
            entry["primary"] = True
        return entry

    def _resource(self, calendar: StoredCalendar) -> dict[str, Any]:
        return self._common(calendar, "calendar#calendar")

    def _common(self, calendar: StoredCalendar, kind: str) -> dict[str, Any]:
        record: dict[str, Any] = {
            "kind": kind,
            "etag": etag(calendar.change),
            "id": self._access.name_of(calendar),
            "summary": calendar.name,
        }
        if calendar.description:
            record["description"] = calendar.description
        record["timeZone"] = calendar.zone
        solutions = {"allowedConferenceSolutionTypes": ["hangoutsMeet"]}
        return {**record, "conferenceProperties": solutions}


def read_body(request: Request) -> dict[str, Any]:
    """
    Return the JSON object of a request body.

    Raises:
        GoogleError: 400, the body is no JSON object.
    """
    try:
        body = request.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise GoogleError(400, "Parse Error", "parseError")
    return body


def _palette(colours: Sequence[str]) -> dict[str, Any]:
    return {
        str(number): {"background": colour, "foreground": _FOREGROUND}
        for number, colour in enumerate(colours, 1)
    }


def _nearest_colour_id(colour: str) -> str:
    """Return the id of the palette colour that is nearest to *colour*."""

    def parts(text: str) -> tuple[int, ...]:
        return tuple(int(text[at : at + 2], 16) for at in (1, 3, 5))

    wanted_parts = parts(colour)
    distances = [
        sum((mine - other) ** 2 for mine, other in zip(parts(known), wanted_parts, strict=True))
        for known in _COLOURS
    ]
    return str(distances.index(min(distances)) + 1)


def _size(request: Request) -> int:
    text = request.first("maxResults") or str(_DEFAULT_SIZE)
    if not text.isdecimal() or int(text) < 1:
        raise GoogleError(400, f"Invalid value '{text}'.", "invalidParameter")
    return min(int(text), _MAX_SIZE)


def _start(request: Request) -> int:
    token = request.first("pageToken")
    if not token:
        return 0
    if not token.startswith("p") or not token[1:].isdecimal():
        raise GoogleError(400, "Invalid page token value.", "invalid")
    return int(token[1:])
