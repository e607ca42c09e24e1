"""
Many calendars as one: read all, look again, put in order, and name everything for callers.

No upstream knows `offset` or all of the filters, so whole ranges are read and sifted here. A
calendar that could not be read is left out and named, never taken for an empty one.
Source: decisions 6.2 to 6.5 and 16; wire report 1B.
"""

from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import sha1
from operator import itemgetter
from typing import TypeVar
from uuid import UUID

from msgspec import structs

from providers.calendar import event_matching, freebusy
from providers.calendar.catalogue import CALENDARS, CalendarCatalogue, CalendarSource
from providers.failures import Missing, ProviderFailure, TooMuch
from providers.fanout import (
    CONNECTION_TIMEOUT_SECONDS,
    ConnectionWarning,
    combined_failure,
    gather_results,
    with_timeout,
)
from providers.ports.calendar import (
    CalendarKey,
    CalendarPort,
    EventKey,
    EventList,
    EventNotVisible,
    EventQuery,
    NoSuchCalendar,
    PublicIdStore,
    Span,
)
from providers.ports.connection import ConnectionInfo
from providers.records.calendar import Event, FreeBusyCalendar, NamedCalendar

# Whole days are days of the calendar's zone upstream and UTC days here, so a range is asked for
# with as much more on either side as zones differ from UTC.
TIME_ZONE_MARGIN = timedelta(days=1)

# Fixed for ever: with another one every event would change its id (decisions 6.2).
_EVENTS = UUID("6f1c1c0e-52d5-5c8e-9a2b-7b1f0a6a4d11")
_VARIANTS = {digit: "89ab"[int(digit, 16) % 4] for digit in "0123456789abcdef"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarList:
    """By id. *warnings*: the accounts whose calendars are missing."""

    calendars: tuple[NamedCalendar, ...]
    warnings: tuple[ConnectionWarning, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """
    What `MergedCalendars.events` found.

    Attributes:
        events: In the order asked for, with the ids that callers know.
        total: How many match in all.
        warnings: The accounts and calendars whose events are missing.
    """

    events: tuple[Event, ...]
    total: int
    warnings: tuple[ConnectionWarning, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeBusyList:
    """By calendar id. *warnings*: what could not be read, and so is not here."""

    calendars: tuple[FreeBusyCalendar, ...]
    warnings: tuple[ConnectionWarning, ...]


class MergedCalendars:
    """The calendars a caller may use, as one."""

    def __init__(
        self,
        connections: Sequence[tuple[ConnectionInfo, CalendarPort]],
        ids: PublicIdStore,
        *,
        timeout_seconds: float = CONNECTION_TIMEOUT_SECONDS,
    ) -> None:
        """Take the usable connections and their ports. *timeout_seconds*: seconds each may take."""
        self._shelf = CalendarCatalogue(connections, ids, timeout_seconds=timeout_seconds)
        self._ids = ids
        self._timeout_seconds = timeout_seconds

    async def calendars(self, *, allowed: AbstractSet[int] | None = None) -> CalendarList:
        """
        List the calendars of every account.

        Args:
            allowed: Those that exist for the caller; None for all.

        Raises:
            Throttled, TimedOut, AllFailed: No account answered; see `fanout.combined_failure`.
        """
        targets, warnings = await self._shelf.find(allowed=allowed)
        return CalendarList(calendars=tuple(one.named for one in targets), warnings=tuple(warnings))

    async def events(self, query: EventQuery, *, wanted: AbstractSet[str]) -> EventPage:
        """
        Read the calendars' events in a range, and return those that pass.

        Args:
            query: What to look for.
            wanted: Attributes of `Event`; the times come in any case.

        Raises:
            NoSuchCalendar: The one asked for does not exist for the caller.
            Throttled, TimedOut, AllFailed: No calendar could be read.
        """
        only = None if query.calendar_id is None else (query.calendar_id,)
        if query.span.empty:
            await self._shelf.require(only or (), query.allowed)
            return EventPage(events=(), total=0, warnings=())
        targets, warnings = await self._shelf.find(only=only, allowed=query.allowed)
        fields = frozenset(wanted | event_matching.needed_attributes(query))
        span = _widened(query.span)
        answers = await self._ask(
            targets,
            lambda one: one.port.events(
                one.calendar.id, span, include_cancelled=query.include_cancelled, wanted=fields
            ),
        )
        lists, failed = _parted(targets, answers, warnings, named=only is not None)
        cut_off = [target.warning(TooMuch()) for target, found in lists if not found.complete]
        found = _passing(lists, query)
        shown = found[query.offset : query.offset + query.limit]
        await self._ids.store_events(
            {one: EventKey(of.calendar_id, of.place, event.id) for one, event, of in shown}
        )
        return EventPage(
            events=tuple([structs.replace(event, id=one) for one, event, _ in shown]),
            total=len(found),
            warnings=(*failed, *cut_off),
        )

    async def event(
        self, event_id: str, *, allowed: AbstractSet[int] | None, wanted: AbstractSet[str]
    ) -> Event:
        """
        Read one event by the id that callers know; its times come in any case.

        Raises:
            Missing: The id is not known, or upstream has the event no longer.
            NotTheirs: Its calendar does not exist for the caller; a `Missing` too.
        """
        at = await self._ids.event(event_id)
        if at is None:
            raise Missing
        if allowed is not None and at.calendar_id not in allowed:
            raise EventNotVisible(at.calendar_id)
        port = self._shelf.port(at.place.connection)
        if port is None:
            raise Missing
        read = port.event(at.place.calendar, at.event, wanted=wanted)
        return structs.replace(await with_timeout(read, self._timeout_seconds), id=event_id)

    async def free_busy(
        self,
        span: Span,
        *,
        calendar_ids: Sequence[int] | None = None,
        allowed: AbstractSet[int] | None = None,
        own_responses: bool = True,
    ) -> FreeBusyList:
        """
        Say of each calendar when it is taken and when not.

        Args:
            span: Nothing outside is told of. When it is empty, nobody is asked.
            calendar_ids: The calendars to ask; None for all.
            allowed: Those that exist for the caller; None for all.
            own_responses: As `CalendarPort.merge_busy`.

        Raises:
            NoSuchCalendar: The first one asked for that does not exist for the caller.
            Throttled, TimedOut, AllFailed: No calendar could be read.
        """
        targets, warnings = await self._shelf.find(only=calendar_ids, allowed=allowed)
        if span.empty:
            shown = tuple(_free_busy(one, (), span) for one in targets)
            return FreeBusyList(calendars=shown, warnings=tuple(warnings))
        asked = _widened(span)
        taken = await self._ask(
            targets, lambda one: one.port.busy(one.calendar.id, asked, own_responses=own_responses)
        )
        lists, failed = _parted(targets, taken, warnings, named=calendar_ids is not None)
        return FreeBusyList(
            calendars=tuple(_free_busy(target, spans, span) for target, spans in lists),
            warnings=tuple(failed),
        )

    # -- asking

    async def _ask(
        self, targets: Sequence[CalendarSource], read: Callable[[CalendarSource], Awaitable[T]]
    ) -> list[T | ProviderFailure]:
        return await gather_results(
            [with_timeout(read(one), self._timeout_seconds) for one in targets]
        )


def _parted(
    targets: Sequence[CalendarSource],
    answers: Sequence[T | ProviderFailure],
    warnings: Sequence[ConnectionWarning],
    *,
    named: bool,
) -> tuple[list[tuple[CalendarSource, T]], list[ConnectionWarning]]:
    """
    Part what was read from what failed; *warnings* are added to the latter.

    Args:
        targets: What was to be read.
        answers: One for each.
        warnings: What failed before.
        named: Whether the caller named the calendars: then none may be gone.

    Raises:
        NoSuchCalendar: One that was named is gone.
        Throttled, TimedOut, AllFailed: There were calendars to read, and none could be.
    """
    read: list[tuple[CalendarSource, T]] = []
    failed = list(warnings)
    for target, answer in zip(targets, answers, strict=True):
        if named and isinstance(answer, Missing):
            raise NoSuchCalendar(target.calendar_id)
        if isinstance(answer, ProviderFailure):
            failed.append(target.warning(answer))
        else:
            read.append((target, answer))
    if targets and not read:
        raise combined_failure(failed, of=CALENDARS)
    return read, failed


def _passing(
    lists: Sequence[tuple[CalendarSource, EventList]], query: EventQuery
) -> list[tuple[str, Event, CalendarSource]]:
    """Find what passes: in order, with the id that callers know and the calendar."""
    found: dict[str, tuple[str, Event, CalendarSource]] = {}
    for target, listed in lists:
        public = _names(target.place)
        for event in event_matching.matching_events(listed.events, query):
            name = public(event.id)
            found[name] = name, event, target
    ordered = sorted(found.values(), key=itemgetter(0))
    ordered.sort(key=_day if query.by_day else _start, reverse=query.newest_first)
    return ordered  # what is equal stays in order


def _start(found: tuple[str, Event, CalendarSource]) -> datetime:
    return found[1].start_utc or _EPOCH


def _day(found: tuple[str, Event, CalendarSource]) -> date:
    return _start(found).date()


def event_id(place: CalendarKey, native: str) -> str:
    """Return the id of an event that callers know: the same for ever (decisions 6.2)."""
    return _names(place)(native)


def _names(place: CalendarKey) -> Callable[[str], str]:
    """Return what names the events of a calendar, as `uuid5` does at a quarter of its cost."""
    beginning = _EVENTS.bytes + f"{place.connection}|{place.calendar}|".encode()

    def name(native: str) -> str:
        text = sha1(beginning + native.encode(), usedforsecurity=False).hexdigest()
        variant = _VARIANTS[text[16]]
        return f"{text[:8]}-{text[8:12]}-5{text[13:16]}-{variant}{text[17:20]}-{text[20:32]}"

    return name


def _widened(span: Span) -> Span:
    """Widen by the margin, and to whole seconds: what upstream makes of fractions is not told."""
    earliest, latest = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    start = span.start - TIME_ZONE_MARGIN if span.start - earliest > TIME_ZONE_MARGIN else earliest
    end = span.end + TIME_ZONE_MARGIN if latest - span.end > TIME_ZONE_MARGIN else latest
    return Span(start.replace(microsecond=0), end.replace(microsecond=0))


def _free_busy(target: CalendarSource, taken: Sequence[Span], span: Span) -> FreeBusyCalendar:
    spans = freebusy.merge_busy(taken, span)
    left = () if span.empty else freebusy.free_spans(spans, span)
    return FreeBusyCalendar(
        calendar_id=target.calendar_id,
        calendar_name=target.calendar.name,
        busy=freebusy.to_periods(spans),
        free=freebusy.to_periods(left),
    )
