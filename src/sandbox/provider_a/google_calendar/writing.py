"""Endpoints that create, change and delete events."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sandbox.calendar.records import (
    Attendee,
    EventContent,
    EventTime,
    NewEvent,
    Occurrence,
    StoredCalendar,
)
from sandbox.calendar.store import as_single_occurrence
from sandbox.http import Request
from sandbox.provider_a.errors import GoogleError
from sandbox.provider_a.google_calendar import event_bodies
from sandbox.provider_a.google_calendar.calendar_access import (
    WRITE_EVENTS,
    CalendarAccess,
    require_scope,
)
from sandbox.provider_a.google_calendar.calendars import read_body
from sandbox.provider_a.google_calendar.event_views import etag
from sandbox.provider_a.google_calendar.events import EventReadEndpoints

_ID = re.compile(r"[a-v0-9]{5,1024}", re.ASCII)


class EventWriteEndpoints:
    """The endpoints; each returns JSON content, None for 204."""

    def __init__(self, access: CalendarAccess, events: EventReadEndpoints) -> None:
        self._access = access
        self._store = access.state.calendars
        self._events = events

    def insert(self, request: Request, calendar: str) -> Any:
        """``events.insert``."""
        require_scope(request, WRITE_EVENTS)
        stored = self._access.writable(calendar)
        return self._add(request, stored, read_body(request))

    def import_(self, request: Request, calendar: str) -> Any:
        """``events.import``: a private copy of an existing event, identified by its iCalUID."""
        require_scope(request, WRITE_EVENTS)
        stored = self._access.writable(calendar)
        body = read_body(request)
        if not isinstance(body.get("iCalUID"), str):
            raise GoogleError(400, "Missing iCalUID.", "required")
        old = next(
            (event for event in self._store.events(stored) if event.uid == body["iCalUID"]), None
        )
        if old is None:
            return self._add(request, stored, body)
        return self._change(request, stored, as_single_occurrence(old), body, whole=True)

    def patch(self, request: Request, calendar: str, event: str) -> Any:
        """``events.patch``: members that the body lacks stay."""
        return self._write(request, calendar, event, whole=False)

    def update(self, request: Request, calendar: str, event: str) -> Any:
        """``events.update``: members that the body lacks are cleared."""
        return self._write(request, calendar, event, whole=True)

    def delete(self, request: Request, calendar: str, event: str) -> None:
        """``events.delete``."""
        require_scope(request, WRITE_EVENTS)
        stored = self._access.writable(calendar)
        occurrence = self._access.occurrence(stored, event)
        _check_etag(request, occurrence)
        if occurrence.event.is_deleted or occurrence.is_bare:
            raise GoogleError(410, "Resource has been deleted", "deleted")
        if occurrence.original is None:
            self._store.delete(occurrence.event)
        else:
            self._store.set_override(occurrence.event, occurrence.original, None, cancelled=True)

    def _write(self, request: Request, calendar: str, event: str, *, whole: bool) -> Any:
        require_scope(request, WRITE_EVENTS)
        stored = self._access.writable(calendar)
        occurrence = self._access.occurrence(stored, event)
        _check_etag(request, occurrence)
        return self._change(request, stored, occurrence, read_body(request), whole=whole)

    def _add(self, request: Request, calendar: StoredCalendar, body: Mapping[str, Any]) -> Any:
        name = body.get("id") or ""
        if name and not (isinstance(name, str) and _ID.fullmatch(name)):
            raise GoogleError(400, "Invalid resource id value.", "invalid")
        if name and self._access.event(calendar, name) is not None:
            raise GoogleError(409, "The requested identifier already exists.", "duplicate")
        content = self._content(calendar, body, None)
        new = NewEvent(
            id=name,
            uid=str(body.get("iCalUID") or ""),
            content=content,
            recurrence=event_bodies.read_recurrence(body, content.start),
        )
        try:
            (added,) = self._store.add_events(calendar, (new,))
        except ValueError:
            raise GoogleError(400, "Invalid recurrence rule.", "invalid") from None
        return self._events.shown(request, calendar, as_single_occurrence(added))

    def _change(
        self,
        request: Request,
        calendar: StoredCalendar,
        occurrence: Occurrence,
        body: Mapping[str, Any],
        *,
        whole: bool,
    ) -> Any:
        old = occurrence.content
        if not self._is_mine(old):
            body = self._own_part(old, body)
        elif whole:
            old = _cleared(old)
        content = self._content(calendar, body, old)
        if occurrence.original is not None:
            return self._events.shown(
                request, calendar, self._differ(occurrence, occurrence.original, content)
            )
        recurrence = occurrence.event.recurrence
        if "recurrence" in body or whole:
            recurrence = event_bodies.read_recurrence(body, content.start)
        moved = content.start != occurrence.content.start or content.end != occurrence.content.end
        try:
            event = self._store.put(
                replace(
                    occurrence.event,
                    content=content,
                    recurrence=recurrence,
                    is_deleted=occurrence.event.is_deleted
                    and body.get("status") in {None, "cancelled"},
                    sequence=occurrence.event.sequence + moved,
                )
            )
        except ValueError:
            raise GoogleError(400, "Invalid recurrence rule.", "invalid") from None
        return self._events.shown(request, calendar, as_single_occurrence(event))

    def _differ(
        self, occurrence: Occurrence, original: EventTime, content: EventContent
    ) -> Occurrence:
        cancelled = content.status == "cancelled"
        override = None if cancelled else content
        try:
            event = self._store.set_override(
                occurrence.event, original, override, cancelled=cancelled
            )
        except ValueError:
            raise GoogleError(400, "Bad Request", "badRequest") from None
        return self._store.occurrence(event, original) or occurrence

    def _content(
        self, calendar: StoredCalendar, body: Mapping[str, Any], old: EventContent | None
    ) -> EventContent:
        return event_bodies.read_content(
            body, old, zone=calendar.zone, account=self._access.account
        )

    def _is_mine(self, content: EventContent) -> bool:
        organiser = content.organiser
        return organiser is None or organiser.email.lower() == self._access.account.email.lower()

    def _own_part(self, old: EventContent, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """
        Return the part of *body* that an attendee may change: the own response and the reminder.

        Raises:
            GoogleError: 403, the body changes a member that only the organizer may change.
        """
        if event_bodies.ORGANIZER_ONLY & body.keys():
            message = "Shared properties can only be changed by the organizer of the event."
            raise GoogleError(403, message, "forbiddenForNonOrganizer")
        own = {name: value for name, value in body.items() if name != "attendees"}
        if "attendees" not in body:
            return own
        me = self._access.account.email.lower()
        answers = {
            str(attendee.get("email", "")).lower(): attendee.get("responseStatus")
            for attendee in body["attendees"]
            if isinstance(attendee, dict)
        }
        return {
            **own,
            "attendees": [_attendee_body(attendee, me, answers) for attendee in old.attendees],
        }


def _attendee_body(guest: Attendee, me: str, answers: Mapping[str, Any]) -> dict[str, Any]:
    response = answers.get(me) if guest.email.lower() == me else None
    return {
        "email": guest.email,
        "displayName": guest.name,
        "optional": guest.is_optional,
        "resource": guest.is_resource,
        "responseStatus": response or guest.response,
    }


def _cleared(content: EventContent) -> EventContent:
    return EventContent(start=content.start, end=content.end, organiser=content.organiser)


def _check_etag(request: Request, occurrence: Occurrence) -> None:
    wanted = request.headers.get("if-match", "*")
    if wanted not in {"*", etag(occurrence.event.change)}:
        raise GoogleError(412, "Precondition Failed", "conditionNotMet")
