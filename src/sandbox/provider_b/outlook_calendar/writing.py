"""Endpoints that create, change, delete, cancel and answer events."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from uuid import uuid4

from sandbox.calendar.records import EventContent, NewEvent, Occurrence
from sandbox.calendar.store import as_single_occurrence
from sandbox.http import Response
from sandbox.provider_b.endpoint import UserCall
from sandbox.provider_b.outlook_calendar import event_bodies, event_views, recurrence_patterns
from sandbox.provider_b.outlook_calendar.calendar_access import WRITE, CalendarAccess
from sandbox.provider_b.outlook_calendar.listing import EventReadEndpoints
from sandbox.provider_b.responses import GraphError, access_denied, empty

_ORGANIZER_ONLY = frozenset(
    {"subject", "body", "location", "start", "end", "recurrence", "attendees"}
)


class EventWriteEndpoints:
    """The endpoints."""

    def __init__(self, access: CalendarAccess, listing: EventReadEndpoints) -> None:
        self._access = access
        self._store = access.state.calendars
        self._listing = listing

    def create(self, call: UserCall, calendar: str = "") -> Response:
        """``POST …/events``: 201."""
        stored = self._access.opened(call, *WRITE).writable(calendar)
        body = call.json()
        content = event_bodies.read_content(
            body, None, account=self._access.owner, seed=str(uuid4())
        )
        recurrence = recurrence_patterns.from_pattern(body.get("recurrence"), content.start)
        with _validated():
            new = NewEvent(content=content, recurrence=recurrence)
            (added,) = self._store.add_events(stored, (new,))
        return self._listing.answer_with(call, as_single_occurrence(added), status=201)

    def patch(self, call: UserCall, event: str, calendar: str = "") -> Response:
        """``PATCH …/events/{id}``: a changed occurrence becomes an exception of its series."""
        occurrence = self._writable(call, event, calendar)
        body = call.json()
        mine = event_views.is_mine(occurrence.content, self._access.account)
        if not mine and _ORGANIZER_ONLY & body.keys():
            raise access_denied()
        content = event_bodies.read_content(
            body, occurrence.content, account=self._access.owner, seed=str(uuid4())
        )
        if occurrence.original is not None:
            with _validated():
                series = self._store.set_override(
                    occurrence.event, occurrence.original, content, cancelled=False
                )
            return self._listing.answer_with(
                call, self._store.occurrence(series, occurrence.original) or occurrence
            )
        recurrence = occurrence.event.recurrence
        if "recurrence" in body:
            recurrence = recurrence_patterns.from_pattern(body["recurrence"], content.start)
        with _validated():
            changed = self._store.put(
                replace(occurrence.event, content=content, recurrence=recurrence)
            )
        return self._listing.answer_with(call, as_single_occurrence(changed))

    def delete(self, call: UserCall, event: str, calendar: str = "") -> Response:
        """``DELETE …/events/{id}``: 204."""
        self._remove(self._writable(call, event, calendar))
        return empty(204)

    def cancel(self, call: UserCall, event: str, calendar: str = "") -> Response:
        """``POST …/cancel``: 202; only for the organizer, whose event is removed."""
        occurrence = self._writable(call, event, calendar)
        if not event_views.is_mine(occurrence.content, self._access.account):
            raise GraphError(
                400,
                "ErrorAccessDenied",
                "Your request can't be completed. You need to be an organizer to cancel a meeting.",
            )
        self._remove(occurrence)
        return empty(202)

    def accept(self, call: UserCall, event: str, calendar: str = "") -> Response:
        """``POST …/accept``: 202."""
        return self._respond(call, event, calendar, "accepted")

    def decline(self, call: UserCall, event: str, calendar: str = "") -> Response:
        """``POST …/decline``: 202; the event is removed from the calendar."""
        answer = self._respond(call, event, calendar, "declined")
        self._remove(self._access.seen_by(call).find(event, calendar))
        return answer

    def tentatively(self, call: UserCall, event: str, calendar: str = "") -> Response:
        """``POST …/tentativelyAccept``: 202."""
        return self._respond(call, event, calendar, "tentative")

    def _respond(self, call: UserCall, event: str, calendar: str, response: str) -> Response:
        occurrence = self._writable(call, event, calendar)
        account = self._access.account
        if event_views.is_mine(occurrence.content, account):
            raise GraphError(
                400,
                "ErrorInvalidRequest",
                "Your request can't be completed. You can't respond to this meeting because "
                "you're the meeting organizer.",
            )
        content = _with_response(occurrence.content, account, response)
        if occurrence.original is not None:
            self._store.set_override(
                occurrence.event, occurrence.original, content, cancelled=False
            )
        else:
            self._store.put(replace(occurrence.event, content=content))
        return empty(202)

    def _writable(self, call: UserCall, event: str, calendar: str) -> Occurrence:
        access = self._access.opened(call, *WRITE)
        occurrence = access.find(event, calendar)
        if not access.can_edit(self._store.calendar_of(occurrence.event)):
            raise access_denied()
        wanted = call.request.headers.get("if-match", "*")
        if wanted not in ("*", event_views.etag(occurrence.event)):
            raise GraphError(
                412,
                "ErrorIrresolvableConflict",
                "The send or update operation could not be performed because the change key "
                "passed in the request does not match the current change key for the item.",
            )
        return occurrence

    def _remove(self, occurrence: Occurrence) -> None:
        if occurrence.original is None:
            self._store.delete(occurrence.event)
            return
        recurrence = occurrence.event.recurrence
        if recurrence is not None:
            dropped = (*recurrence.dropped, occurrence.original)
            others = tuple(
                other
                for other in occurrence.event.overrides
                if other.original != occurrence.original
            )
            self._store.put(
                replace(
                    occurrence.event,
                    recurrence=replace(recurrence, dropped=dropped),
                    overrides=others,
                )
            )


@contextmanager
def _validated() -> Iterator[None]:
    """Convert the store's ValueError to the error of an invalid member."""
    try:
        yield
    except ValueError:
        raise event_bodies.invalid_member("start") from None


def _with_response(content: EventContent, account: str, response: str) -> EventContent:
    return replace(
        content,
        my_response=response,
        attendees=tuple(
            replace(guest, response=response)
            if guest.email.casefold() == account.casefold()
            else guest
            for guest in content.attendees
        ),
    )
