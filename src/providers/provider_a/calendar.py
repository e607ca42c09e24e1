"""The calendars of one account of provider A. Source: wire report, 1B; decisions 6."""

import asyncio
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta

from providers import freebusy
from providers.calendar_memory import CalendarMemory
from providers.failures import Broken, Missing, ProviderFailure
from providers.http import Upstream
from providers.ports_calendar import MOST_EVENTS, EventList, Span
from providers.provider_a import calendar_fields, calendar_mapping
from providers.provider_a.calendar_shapes import Busy, Entries, Event, Events, FreeBusy
from providers.records_calendar import Calendar
from providers.records_calendar import Event as EventRecord

ROOT = ("calendar", "v3")
PAGE = 2500  # events, the most that upstream gives at once; wire report 1B.1
MOST_CALENDARS = 50  # of one question; wire report 1B.4
LONGEST = timedelta(days=60)  # of one question; longer ones are refused (wire report 1B.4)


class Calendars:
    """The calendars behind one connection; see `providers.ports_calendar.CalendarPort`."""

    def __init__(self, upstream: Upstream, memory: CalendarMemory) -> None:
        """*memory* is kept by the caller, one per connection, and outlives this object."""
        self._upstream = upstream
        self._memory = memory

    async def calendars(self) -> Sequence[Calendar]:
        """Return every readable calendar; see `CalendarPort.calendars`."""
        return await self._memory.calendars(self._read_calendars)

    async def events(
        self, calendar: str, span: Span, *, include_cancelled: bool, wanted: AbstractSet[str]
    ) -> EventList:
        """Return what may overlap a span; see `CalendarPort.events`."""
        params = (
            ("singleEvents", "true"),
            ("orderBy", "startTime"),
            ("timeMin", _rfc3339(span.start)),
            ("timeMax", _rfc3339(span.end)),
            ("maxResults", str(PAGE)),
            ("showDeleted", "true" if include_cancelled else "false"),
            *calendar_fields.events(frozenset(wanted)),
        )
        found: list[EventRecord] = []
        async with self._memory.trusting(calendar):
            page = await self._page(calendar, params, None)
            seen: set[str] = set()
            while True:
                found += _records(page.items, wanted)
                token = page.next_page_token
                if not token:
                    return EventList(found)
                if len(found) >= MOST_EVENTS:
                    return EventList(found, complete=False)
                if token in seen:
                    raise Broken
                seen.add(token)
                page = await self._page(calendar, params, token)

    async def event(self, calendar: str, event: str, *, wanted: AbstractSet[str]) -> EventRecord:
        """Read one event; see `CalendarPort.event`."""
        answer = await self._upstream.call(
            "GET",
            *ROOT,
            "calendars",
            calendar,
            "events",
            event,
            params=calendar_fields.event(frozenset(wanted)),
        )
        return calendar_mapping.event(answer.decode(Event), wanted)

    async def busy(
        self, calendars: Sequence[str], span: Span
    ) -> Mapping[str, Sequence[Span] | ProviderFailure]:
        """Return when calendars are taken; see `CalendarPort.busy`."""
        answers = await asyncio.gather(
            *(
                self._free_busy(calendars[at : at + MOST_CALENDARS], piece)
                for at in range(0, len(calendars), MOST_CALENDARS)
                for piece in freebusy.pieces(span, LONGEST)
            )
        )
        found: dict[str, list[Span] | ProviderFailure] = {one: [] for one in calendars}
        for answer in answers:
            for calendar, taken in answer.items():
                so_far = found.get(calendar)
                if isinstance(taken, ProviderFailure):
                    found[calendar] = taken
                elif isinstance(so_far, list):
                    so_far += taken
        return found

    async def probe(self) -> None:
        """Make one harmless read."""
        params = (("fields", "items(id)"), ("maxResults", "1"))
        await self._upstream.call("GET", *ROOT, "users", "me", "calendarList", params=params)

    # -- behind

    async def _read_calendars(self) -> Sequence[Calendar]:
        found: list[Calendar] = []
        tokens: set[str] = set()
        token: str | None = None
        while True:
            params = (*calendar_fields.CALENDARS, *((("pageToken", token),) if token else ()))
            answer = await self._upstream.call(
                "GET", *ROOT, "users", "me", "calendarList", params=params
            )
            entries = answer.decode(Entries)
            found += [calendar_mapping.calendar(one) for one in entries.items]
            token = entries.next_page_token
            if not token:
                return found
            if token in tokens:
                raise Broken
            tokens.add(token)

    async def _page(
        self, calendar: str, params: Sequence[tuple[str, str]], token: str | None
    ) -> Events:
        answer = await self._upstream.call(
            "GET",
            *ROOT,
            "calendars",
            calendar,
            "events",
            params=(*params, *((("pageToken", token),) if token else ())),
        )
        return answer.decode(Events)

    async def _free_busy(
        self, calendars: Sequence[str], span: Span
    ) -> Mapping[str, list[Span] | ProviderFailure]:
        """Ask about some calendars and a span that is short enough."""
        answer = await self._upstream.call(
            "POST",
            *ROOT,
            "freeBusy",
            json={
                "timeMin": _rfc3339(span.start),
                "timeMax": _rfc3339(span.end),
                "timeZone": "UTC",
                "items": [{"id": one} for one in calendars],
            },
            retry=True,  # it changes nothing
        )
        told = answer.decode(FreeBusy).calendars
        return {one: _taken(told.get(one)) for one in calendars}


def _records(items: Sequence[Event], wanted: AbstractSet[str]) -> list[EventRecord]:
    """Make records, but not of what has no time: nobody could say whether it is in the range."""
    found = []
    for one in items:
        try:
            found.append(calendar_mapping.event(one, wanted))
        except Missing:
            continue
    return found


def _taken(told: Busy | None) -> list[Span] | ProviderFailure:
    if told is None:
        return Broken()
    if told.errors:
        return Missing() if told.errors[0].reason == "notFound" else Broken()
    moment = calendar_mapping.moment
    return [Span(moment(one.start), moment(one.end)) for one in told.busy]


def _rfc3339(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
