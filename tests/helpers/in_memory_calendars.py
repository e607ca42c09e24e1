"""In-memory calendars and public event ids, for tests without upstreams."""

from dataclasses import dataclass, field

from providers.failures import Missing
from providers.ports.calendar import BusyQuery, BusyTimes, CalendarKey, CalendarView, EventList


class MemoryIds:
    """`PublicIdStore` in memory."""

    def __init__(self):
        self.ids = {}
        self.known = {}

    async def calendar_ids(self, keys):
        for key in keys:
            self.ids.setdefault(key, len(self.ids) + 1)
        return {key: self.ids[key] for key in keys}

    async def calendars(self, calendar_ids):
        keys_by_id = {number: key for key, number in self.ids.items()}
        return {
            calendar_id: keys_by_id[calendar_id]
            for calendar_id in calendar_ids
            if calendar_id in keys_by_id
        }

    async def store_events(self, events):
        self.known |= events

    async def event(self, event_id):
        return self.known.get(event_id)


@dataclass
class Diary:
    """A calendar port over records; it records its calls and raises `failure` if set."""

    listed: list = field(default_factory=list)
    events_of: dict = field(default_factory=dict)
    busy_of: dict = field(default_factory=dict)
    calls: list[tuple] = field(default_factory=list)
    failure: Exception | None = None
    failures: dict = field(default_factory=dict)
    complete: bool = True

    async def calendars(self, *, recent=False):
        self._called("calendars")
        return self.listed

    async def events(self, calendar, selection, *, first=None):
        options = (selection.include_cancelled, selection.projection)
        self._called("events", calendar, selection.span, *options)
        self._fail(calendar)
        return EventList(self.events_of.get(calendar, []), self.complete)

    async def first_pages(self, calendars, selection):
        return {}

    async def event(self, calendar, event, *, projection):
        self._called("event", calendar, event, projection)
        self._fail(calendar)
        for item in self.events_of.get(calendar, []):
            if item.id == event:
                return item
        raise Missing

    async def events_by_id(self, names, *, projection):
        self._called("events_by_id", tuple(names), projection)
        return {
            name: item
            for name in names
            for item in self.events_of.get(name.calendar, [])
            if item.id == name.event
        }

    async def busy_together(self, calendars, span):
        return {}

    async def busy(self, calendar, span, *, own_responses):
        self._called("busy", calendar, span, own_responses)
        self._fail(calendar)
        return BusyTimes(self.busy_of.get(calendar, ()))

    async def probe(self):
        self._called("probe")

    def _called(self, *call):
        self.calls.append(call)
        if self.failure is not None:
            raise self.failure

    def _fail(self, calendar):
        if calendar in self.failures:
            raise self.failures[calendar]


def everywhere(value):
    """Return the same value for each of the connections 1 to 9."""
    return dict.fromkeys(range(1, 10), value)


def views(calendars=None):
    """Return what a caller without settings of accounts sees: these calendars, or all."""
    return everywhere(CalendarView(calendars=calendars))


def busy_query(span, *, calendars=None, **more):
    return everywhere(BusyQuery(span=span, view=CalendarView(calendars=calendars), **more))


def calendar_key(connection, calendar):
    return CalendarKey(connection, calendar)
