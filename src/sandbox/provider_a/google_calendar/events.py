"""
Endpoints that list and read events, and the instances of a series.

A page takes its size in candidates before they are filtered, so it may be short or empty although
more events follow. See docs/spec/upstream/google-calendar.md#list-events.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from sandbox.calendar.ids import instance_id, parse_stamp
from sandbox.calendar.records import Occurrence, StoredCalendar, StoredEvent, Window
from sandbox.calendar.store import as_single_occurrence
from sandbox.http import Request
from sandbox.mail.ids import PROVIDER_A
from sandbox.provider_a.errors import GoogleError
from sandbox.provider_a.google_calendar import event_views, times
from sandbox.provider_a.google_calendar.calendar_access import (
    READ_EVENTS,
    CalendarAccess,
    NotFound,
    require_scope,
    role,
)

DEFAULT_SIZE, MAX_SIZE = 250, 2500
_WORD = re.compile(r'"([^"]*)"|(\S+)')
_NOT_WITH_SYNC_TOKEN = ("timeMin", "timeMax", "q", "orderBy", "updatedMin", "iCalUID")

Position = tuple[str, str]  # sort key, then the id


@dataclass(frozen=True, slots=True, kw_only=True)
class _EventQuery:
    """
    Parameters of a list of events.

    Attributes:
        expands: Whether series are expanded to their occurrences.
        shows_deleted: Whether cancelled events are included.
        since_change: Change number of the sync token; only later changes match. None if absent.
    """

    window: Window
    expands: bool
    shows_deleted: bool
    order: str
    updated_ms: int | None
    words: tuple[str, ...]
    uid: str
    since_change: int | None


class EventReadEndpoints:
    """The endpoints; each returns JSON content."""

    def __init__(self, access: CalendarAccess) -> None:
        self._access = access
        self._store = access.state.calendars

    def list(self, request: Request, calendar: str) -> Any:
        """``events.list``."""
        require_scope(request, READ_EVENTS)
        stored = self._access.calendar(calendar)
        query = _read_query(request)
        candidates = self._candidates(stored, query)
        return self._page(
            request,
            stored,
            candidates,
            lambda occurrence: _matches(occurrence, query),
            order=query.order,
        )

    def get(self, request: Request, calendar: str, event: str) -> Any:
        """``events.get``: deleted events are returned as cancelled."""
        require_scope(request, READ_EVENTS)
        stored = self._access.calendar(calendar)
        return self.shown(request, stored, self._access.occurrence(stored, event))

    def instances(self, request: Request, calendar: str, event: str) -> Any:
        """``events.instances``."""
        require_scope(request, READ_EVENTS)
        stored = self._access.calendar(calendar)
        series = self._access.event(stored, event)
        if series is None or series.is_deleted:
            raise NotFound
        window = _window(request)
        occurrences = list(self._store.occurrences(series, window))
        original = request.first("originalStart")
        if original:
            occurrences = [
                occurrence for occurrence in occurrences if _starts_at(occurrence, original)
            ]
        shows = _flag(request, "showDeleted")
        return self._page(
            request,
            stored,
            occurrences,
            lambda occurrence: shows or not occurrence.cancelled,
            order="startTime",
        )

    def shown(self, request: Request, calendar: StoredCalendar, occurrence: Occurrence) -> Any:
        """Write one event by the parameters of the request."""
        return event_views.resource(
            self._access,
            calendar,
            occurrence,
            display=times.query_zone(request, calendar.zone),
            most_attendees=_number(request, "maxAttendees"),
        )

    def _candidates(self, calendar: StoredCalendar, query: _EventQuery) -> Iterator[Occurrence]:
        for event in self._store.events(calendar):
            if query.since_change is not None and event.change <= query.since_change:
                continue
            if query.updated_ms is not None and event.updated_ms < query.updated_ms:
                continue
            if query.expands:
                yield from self._expanded(event, query)
            else:
                yield from self._whole(event, query)

    def _expanded(self, event: StoredEvent, query: _EventQuery) -> Iterator[Occurrence]:
        if event.is_deleted and event.recurrence is not None:
            return
        for occurrence in self._store.occurrences(event, query.window):
            if _ends_after(occurrence, query.window.since):
                yield occurrence

    def _whole(self, event: StoredEvent, query: _EventQuery) -> Iterator[Occurrence]:
        """Yield an event or series as a whole, and the exceptions of the series."""
        if event.recurrence is None:
            yield from self._expanded(event, query)
            return
        if next(iter(self._store.occurrences(event, query.window)), None) is not None:
            yield as_single_occurrence(event)
        if event.is_deleted:
            return
        for override in event.overrides:
            occurrence = self._store.occurrence(event, override.original)
            if occurrence is not None and query.window.overlaps(occurrence.content):
                yield occurrence

    def _page(
        self,
        request: Request,
        calendar: StoredCalendar,
        candidates: Iterable[Occurrence],
        matches: Callable[[Occurrence], bool],
        *,
        order: str,
    ) -> dict[str, Any]:
        size = min(_number(request, "maxResults") or DEFAULT_SIZE, MAX_SIZE)
        positioned = sorted(
            ((_position(candidate, order), candidate) for candidate in candidates),
            key=lambda entry: entry[0],
        )
        token = request.first("pageToken")
        if token:
            start = _read_token(token)
            positioned = [entry for entry in positioned if entry[0] > start]
        scanned = positioned[:size]
        body = self._about(request, calendar)
        if len(positioned) > size:
            body["nextPageToken"] = _page_token(scanned[-1][0])
        elif order != "startTime":
            body["nextSyncToken"] = _sync_token(self._store.last_change())
        display = times.query_zone(request, calendar.zone)
        most = _number(request, "maxAttendees")
        body["items"] = [
            event_views.resource(
                self._access, calendar, occurrence, display=display, most_attendees=most
            )
            for _, occurrence in scanned
            if matches(occurrence)
        ]
        return body

    def _about(self, request: Request, calendar: StoredCalendar) -> dict[str, Any]:
        changed = max((event.updated_ms for event in self._store.events(calendar)), default=0)
        about: dict[str, Any] = {
            "kind": "calendar#events",
            "etag": event_views.etag(self._store.last_change()),
            "summary": self._access.name_of(calendar) if calendar.is_primary else calendar.name,
            "description": calendar.description,
            "updated": times.milliseconds(changed),
            "timeZone": times.query_zone(request, calendar.zone),
            "accessRole": role(calendar),
            "defaultReminders": [],
        }
        if calendar.is_primary:
            about["defaultReminders"] = [{"method": "popup", "minutes": 10}]
        return about


# Query parameters


def _read_query(request: Request) -> _EventQuery:
    order = request.first("orderBy")
    expands = _flag(request, "singleEvents")
    if order not in {"", "startTime", "updated"} or (order == "startTime" and not expands):
        message = "The requested ordering is not available for the particular query."
        raise GoogleError(400, message, "invalid")
    since_change = _read_sync_token(request)
    updated = times.query_instant(request, "updatedMin")
    return _EventQuery(
        window=_window(request),
        expands=expands,
        # Incremental lists always include deletions.
        shows_deleted=_flag(request, "showDeleted")
        or since_change is not None
        or updated is not None,
        order=order,
        updated_ms=None if updated is None else int(updated.timestamp() * 1000),
        words=tuple(_words(request.first("q"))),
        uid=request.first("iCalUID"),
        since_change=since_change,
    )


def _window(request: Request) -> Window:
    since = times.query_instant(request, "timeMin")
    until = times.query_instant(request, "timeMax")
    if since is not None and until is not None and until <= since:
        raise GoogleError(400, "The specified time range is empty.", "timeRangeEmpty")
    return Window(since=since, until=until)


def _read_sync_token(request: Request) -> int | None:
    token = request.first("syncToken")
    if not token:
        return None
    for name in _NOT_WITH_SYNC_TOKEN:
        if request.first(name):
            message = f"Sync token cannot be used with '{name}'."
            raise GoogleError(400, message, "badRequest")
    read = _decode(token)
    if not isinstance(read, dict) or not isinstance(read.get("since"), int):
        message = "Sync token is no longer valid, a full sync is required."
        raise GoogleError(410, message, "fullSyncRequired")
    return int(read["since"])


def _words(text: str) -> Iterator[str]:
    for quoted, word in _WORD.findall(text):
        if quoted or word:
            yield (quoted or word).casefold()


def _number(request: Request, name: str) -> int | None:
    text = request.first(name)
    if not text:
        return None
    if not re.fullmatch(r"-?\d{1,9}", text, re.ASCII):
        raise GoogleError(400, f"Invalid value '{text}' for '{name}'.", "invalidParameter")
    if int(text) < 1:
        message = f"Invalid value '{text}'. Values must be within the range: [1, 2147483647]"
        raise GoogleError(400, message, "invalidParameter")
    return int(text)


def _flag(request: Request, name: str) -> bool:
    text = request.first(name, "false").lower()
    if text not in {"true", "false", ""}:
        raise GoogleError(400, f"Invalid boolean value: '{text}'.", "invalidParameter")
    return text == "true"


# Matching


def _matches(occurrence: Occurrence, query: _EventQuery) -> bool:
    # Without expansion, a cancelled instance is included, because its series does not list it.
    is_hidden = occurrence.cancelled and (query.expands or not occurrence.is_bare)
    if is_hidden and not query.shows_deleted:
        return False
    if query.uid and occurrence.event.uid != query.uid:
        return False
    return not query.words or (not occurrence.is_bare and _contains_words(occurrence, query.words))


def _contains_words(occurrence: Occurrence, words: tuple[str, ...]) -> bool:
    content = occurrence.content
    people = (*content.attendees, *((content.organiser,) if content.organiser else ()))
    texts = [content.title or "", content.description, content.location]
    texts += [text for guest in people for text in (guest.name, guest.email)]
    text = " ".join(re.findall(r"[\w@.+-]+", "\n".join(texts).casefold()))
    return all(_has_word(word, text) for word in words)


def _has_word(word: str, text: str) -> bool:
    """Whether *text* has a word that begins with *word*, or with the words of a phrase in order."""
    normalized = " ".join(re.findall(r"[\w@.+-]+", word))
    return bool(normalized) and re.search(rf"(?<![\w]){re.escape(normalized)}", text) is not None


def _ends_after(occurrence: Occurrence, since: datetime | None) -> bool:
    """Whether an occurrence ends after *since*, also when it has no duration."""
    return since is None or occurrence.content.end.instant > since


def _starts_at(occurrence: Occurrence, text: str) -> bool:
    if occurrence.original is None:
        return False
    if len(text) == 10:
        stamp = parse_stamp(text.replace("-", ""), "UTC")
        return stamp == occurrence.original
    return times.read_instant(text) == occurrence.original.at


# Pages


def _position(occurrence: Occurrence, order: str) -> Position:
    name = occurrence.event.id
    if occurrence.original is not None:
        name = instance_id(PROVIDER_A, name, occurrence.original)
    if order == "startTime":
        return occurrence.content.start.instant.astimezone(UTC).isoformat(), name
    if order == "updated":
        return f"{occurrence.event.updated_ms:016d}", name
    return f"{occurrence.event.seq:012d}", name


def _page_token(position: Position) -> str:
    return _encode({"after": position})


def _sync_token(change: int) -> str:
    return _encode({"since": change})


def _read_token(token: str) -> Position:
    read = _decode(token)
    after = read.get("after") if isinstance(read, dict) else None
    if not isinstance(after, list) or len(after) != 2:
        raise GoogleError(400, "Invalid page token value.", "invalid")
    return str(after[0]), str(after[1])


def _encode(value: dict[str, Any]) -> str:
    return urlsafe_b64encode(orjson.dumps(value)).decode().rstrip("=")


def _decode(token: str) -> Any:
    try:
        return orjson.loads(urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except ValueError:
        return None
