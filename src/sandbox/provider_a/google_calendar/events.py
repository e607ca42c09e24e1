"""
Reading events on provider A: lists, single events, the occurrences of a series.

A page holds as many candidates as were asked for, and then loses those that do not match: it may be
short, or empty, though there are more. Source: reference/wire.md 1B.1, 1B.2.
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

Position = tuple[str, str]  # what the order goes by, then the id


@dataclass(frozen=True, slots=True, kw_only=True)
class _EventQuery:
    """
    What a list is asked for.

    Attributes:
        expands: Whether series are shown as their occurrences.
        shows_deleted: Whether cancelled events are shown.
        since_change: Only what changed after this change (a sync token); None for no token.
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
        found = self._access.calendar(calendar)
        asked = _read_query(request)
        candidates = self._candidates(found, asked)
        return self._page(
            request, found, candidates, lambda one: _matches(one, asked), order=asked.order
        )

    def get(self, request: Request, calendar: str, event: str) -> Any:
        """``events.get``: deleted events too, as cancelled."""
        require_scope(request, READ_EVENTS)
        found = self._access.calendar(calendar)
        return self.shown(request, found, self._access.occurrence(found, event))

    def instances(self, request: Request, calendar: str, event: str) -> Any:
        """``events.instances``."""
        require_scope(request, READ_EVENTS)
        found = self._access.calendar(calendar)
        series = self._access.event(found, event)
        if series is None or series.is_deleted:
            raise NotFound
        window = _window(request)
        all_of_it = list(self._store.occurrences(series, window))
        original = request.first("originalStart")
        if original:
            all_of_it = [one for one in all_of_it if _starts_at(one, original)]
        shows = _flag(request, "showDeleted")
        return self._page(
            request, found, all_of_it, lambda one: shows or not one.cancelled, order="startTime"
        )

    def shown(self, request: Request, calendar: StoredCalendar, one: Occurrence) -> Any:
        """Show one event as the request's parameters ask for it."""
        return event_views.resource(
            self._access,
            calendar,
            one,
            display=times.query_zone(request, calendar.zone),
            most_attendees=_number(request, "maxAttendees"),
        )

    def _candidates(self, calendar: StoredCalendar, asked: _EventQuery) -> Iterator[Occurrence]:
        for event in self._store.events(calendar):
            if asked.since_change is not None and event.change <= asked.since_change:
                continue
            if asked.updated_ms is not None and event.updated_ms < asked.updated_ms:
                continue
            if asked.expands:
                yield from self._expanded(event, asked)
            else:
                yield from self._whole(event, asked)

    def _expanded(self, event: StoredEvent, asked: _EventQuery) -> Iterator[Occurrence]:
        if event.is_deleted and event.recurrence is not None:
            return
        for occurrence in self._store.occurrences(event, asked.window):
            if _ends_after(occurrence, asked.window.since):
                yield occurrence

    def _whole(self, event: StoredEvent, asked: _EventQuery) -> Iterator[Occurrence]:
        """Yield an event or series as it is kept, and what differs from the series."""
        if event.recurrence is None:
            yield from self._expanded(event, asked)
            return
        if next(iter(self._store.occurrences(event, asked.window)), None) is not None:
            yield as_single_occurrence(event)
        if event.is_deleted:
            return
        for override in event.overrides:
            one = self._store.occurrence(event, override.original)
            if one is not None and asked.window.overlaps(one.content):
                yield one

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
        placed = sorted(
            ((_position(candidate, order), candidate) for candidate in candidates),
            key=lambda at: at[0],
        )
        token = request.first("pageToken")
        if token:
            start = _read_token(token)
            placed = [at for at in placed if at[0] > start]
        scanned = placed[:size]
        body = self._about(request, calendar)
        if len(placed) > size:
            body["nextPageToken"] = _page_token(scanned[-1][0])
        elif order != "startTime":
            body["nextSyncToken"] = _sync_token(self._store.last_change())
        display = times.query_zone(request, calendar.zone)
        most = _number(request, "maxAttendees")
        body["items"] = [
            event_views.resource(self._access, calendar, one, display=display, most_attendees=most)
            for _, one in scanned
            if matches(one)
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


# What is asked for


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
        # Both ways of asking for news tell what is gone.
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


# What matches


def _matches(one: Occurrence, asked: _EventQuery) -> bool:
    # Without expanding, an instance that is off is shown, because its series does not say so.
    is_hidden = one.cancelled and (asked.expands or not one.is_bare)
    if is_hidden and not asked.shows_deleted:
        return False
    if asked.uid and one.event.uid != asked.uid:
        return False
    return not asked.words or (not one.is_bare and _contains_words(one, asked.words))


def _contains_words(one: Occurrence, words: tuple[str, ...]) -> bool:
    content = one.content
    people = (*content.attendees, *((content.organiser,) if content.organiser else ()))
    told = [content.title or "", content.description, content.location]
    told += [text for guest in people for text in (guest.name, guest.email)]
    text = " ".join(re.findall(r"[\w@.+-]+", "\n".join(told).casefold()))
    return all(_has_word(word, text) for word in words)


def _has_word(word: str, text: str) -> bool:
    """Whether *text* has a word that begins with *word* (which may be several, in order)."""
    said = " ".join(re.findall(r"[\w@.+-]+", word))
    return bool(said) and re.search(rf"(?<![\w]){re.escape(said)}", text) is not None


def _ends_after(one: Occurrence, since: datetime | None) -> bool:
    """Whether it ends after *since*: even what has no length, when it is there."""
    return since is None or one.content.end.instant > since


def _starts_at(one: Occurrence, text: str) -> bool:
    if one.original is None:
        return False
    if len(text) == 10:
        named = parse_stamp(text.replace("-", ""), "UTC")
        return named == one.original
    return times.read_instant(text) == one.original.at


# Pages


def _position(one: Occurrence, order: str) -> Position:
    name = one.event.id
    if one.original is not None:
        name = instance_id(PROVIDER_A, name, one.original)
    if order == "startTime":
        return one.content.start.instant.astimezone(UTC).isoformat(), name
    if order == "updated":
        return f"{one.event.updated_ms:016d}", name
    return f"{one.event.seq:012d}", name


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
