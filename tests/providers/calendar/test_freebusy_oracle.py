"""
Free and busy against an oracle that looks at every minute by itself.

The events are generated, put into the sandbox's calendars (by the clocks of many zones, in series,
over clock changes), and read over both wires. The oracle knows nothing of intervals: it asks of
each minute whether any event covers it.
"""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
import sandbox_calendars
from hypothesis import given
from hypothesis import strategies as st
from in_memory_calendars import busy_query

from providers.calendar import freebusy
from providers.ports.calendar import Span
from sandbox.calendar.records import EventContent, EventTime, NewEvent, Recurrence, from_local

MINUTE = timedelta(minutes=1)
ZONES = (
    "UTC",
    "Europe/Stockholm",
    "America/New_York",
    "America/St_Johns",
    "Australia/Lord_Howe",
    "Pacific/Auckland",
    "Asia/Kathmandu",
)
# Days around the clock changes of these zones in 2026.
DAYS = [
    date(2026, month, first) + timedelta(days=offset)
    for month, first in ((3, 6), (3, 28), (4, 4), (9, 26), (10, 3), (10, 24), (10, 31))
    for offset in range(3)
]


# -- the pure part


spans = st.builds(
    lambda start, length: Span(_at(start), _at(start + length)),
    st.integers(-100, 300),
    st.integers(0, 120),
)


def _at(minutes):
    return datetime(2026, 3, 29, tzinfo=UTC) + timedelta(minutes=minutes)


@given(st.lists(spans, max_size=12), st.integers(0, 200), st.integers(1, 200))
def test_busy_and_free_agree_with_every_minute(taken, start, length):
    within = Span(_at(start), _at(start + length))

    busy = freebusy.merge_busy(taken, within)
    free = freebusy.free_spans(busy, within)

    covered = {
        minute
        for minute in range(start, start + length)
        if any(span.start <= _at(minute) < span.end for span in taken)
    }
    assert _minutes(busy) == covered
    assert _minutes(free) == set(range(start, start + length)) - covered
    edges = [edge for span in sorted((*busy, *free)) for edge in span]
    assert edges[0] == within.start
    assert edges[-1] == within.end
    assert edges[1:-1:2] == edges[2::2]  # they fill the range without a gap
    assert all(span.start < span.end for span in (*busy, *free))
    assert all(span.end < other.start for span, other in pairwise(busy))


def _minutes(spans):
    return {
        int((span.start - _at(0)) / MINUTE) + number
        for span in spans
        for number in range(int((span.end - span.start) / MINUTE))
    }


@given(st.integers(0, 10_000), st.integers(1, 2_000))
def test_pieces_make_up_the_span_and_none_is_too_long(length, longest):
    span = Span(_at(0), _at(length))

    pieces = list(freebusy.split_span(span, timedelta(minutes=longest)))

    assert all(MINUTE <= piece.end - piece.start <= timedelta(minutes=longest) for piece in pieces)
    assert [piece.start for piece in pieces[1:]] == [piece.end for piece in pieces[:-1]]
    assert not pieces or (pieces[0].start, pieces[-1].end) == span


@pytest.mark.parametrize(
    ("seconds", "minutes"), [(0, 0), (59, 0), (60, 1), (3599, 59), (86_400, 1440)]
)
def test_minutes_are_rounded_down(seconds, minutes):
    end = _at(0) + timedelta(seconds=seconds)

    (period,) = freebusy.to_periods([Span(_at(0), end)])

    assert period.duration_minutes == minutes


# -- over both wires


@dataclass(frozen=True)
class Planned:
    """
    An event by the clock of a zone.

    Attributes:
        repeats: "", "DAILY" or "WEEKLY".
        days: How many whole days; 0 for an event of hours.
    """

    zone: str
    day: date
    clock: time
    minutes: int
    shows_as: str
    repeats: str
    times: int
    days: int

    def content(self):
        if self.days:
            start = EventTime(self.zone, day=self.day)
            end = EventTime(self.zone, day=self.day + timedelta(days=self.days))
        else:
            local = datetime.combine(self.day, self.clock)
            start = from_local(local, self.zone)
            end = from_local(local + timedelta(minutes=self.minutes), self.zone)
        return EventContent(start=start, end=end, title="Planned", shows_as=self.shows_as)

    def recurrence(self):
        if not self.repeats:
            return None
        return Recurrence(rules=(f"FREQ={self.repeats};COUNT={self.times}",))

    def covers(self, instant):
        """Whether it takes *instant*, by looking at each of its times."""
        if self.shows_as in ("free", "workingElsewhere"):
            return False
        return any(self._start(offset) <= instant < self._end(offset) for offset in self._offsets())

    def _offsets(self):
        """Return after how many days it takes place."""
        step = {"": 0, "DAILY": 1, "WEEKLY": 7}[self.repeats]
        return [number * step for number in range(self.times if self.repeats else 1)]

    def has_clock_times(self):
        """Tell whether the clocks of its zone show each of its starts and ends."""
        zone = ZoneInfo(self.zone)
        starts = [
            datetime.combine(self.day + timedelta(days=offset), self.clock, tzinfo=zone)
            for offset in self._offsets()
        ]
        edges = (*starts, *(start + timedelta(minutes=self.minutes) for start in starts))
        return all(edge.astimezone(UTC).astimezone(zone) == edge for edge in edges)

    def _start(self, offset):
        day = self.day + timedelta(days=offset)
        if self.days:
            return datetime.combine(day, time(), tzinfo=UTC)
        return datetime.combine(day, self.clock, tzinfo=ZoneInfo(self.zone)).astimezone(UTC)

    def _end(self, offset):
        day = self.day + timedelta(days=offset)
        if self.days:
            return datetime.combine(day + timedelta(days=self.days), time(), tzinfo=UTC)
        local = datetime.combine(day, self.clock) + timedelta(minutes=self.minutes)
        return local.replace(tzinfo=ZoneInfo(self.zone)).astimezone(UTC)


planned = st.builds(
    Planned,
    zone=st.sampled_from(ZONES),
    day=st.sampled_from(DAYS),
    clock=st.builds(time, st.integers(0, 23), st.sampled_from([0, 1, 15, 30, 59])),
    minutes=st.sampled_from([0, 1, 15, 30, 60, 90, 240, 1440, 2000]),
    shows_as=st.sampled_from(["busy", "busy", "tentative", "oof", "free", "workingElsewhere"]),
    repeats=st.sampled_from(["", "", "DAILY", "WEEKLY"]),
    times=st.integers(1, 5),
    days=st.sampled_from([0, 0, 0, 1, 2]),
).filter(Planned.has_clock_times)  # when others begin and end, each calendar decides for itself


@asynccontextmanager
async def opened(plans):
    """Open the calendars of both providers, with *plans* in each."""

    def fill(store, mailbox, _owner):
        calendar = store.add_calendar(mailbox, "Own", zone="America/Los_Angeles", is_primary=True)
        store.add_events(
            calendar,
            [NewEvent(content=plan.content(), recurrence=plan.recurrence()) for plan in plans],
        )

    async with sandbox_calendars.opened(fill) as (calendars, _):
        yield calendars


@pytest.mark.slow
@given(
    plans=st.lists(planned, max_size=6),
    day=st.sampled_from(DAYS),
    first=st.integers(0, 1439),
    hours=st.sampled_from([1, 24, 72]),
)
def test_calendars_of_every_zone_agree_with_every_minute(plans, day, first, hours):
    start = datetime.combine(day, time(), tzinfo=UTC) + timedelta(minutes=first)
    span = Span(start, start + timedelta(hours=hours))

    async def ask():
        async with opened(plans) as agenda:
            return await agenda.free_busy(busy_query(span))

    answer = asyncio.run(ask())

    assert answer.warnings == ()
    assert len(answer.calendars) == 2
    expected = [
        any(plan.covers(start + number * MINUTE) for plan in plans) for number in range(hours * 60)
    ]
    for calendar in answer.calendars:
        reported = [None] * (hours * 60)
        for is_busy, periods in ((True, calendar.busy), (False, calendar.free)):
            for period in periods:
                begin = int((period.start_utc - start) / MINUTE)
                for number in range(begin, begin + period.duration_minutes):
                    assert reported[number] is None
                    reported[number] = is_busy
        assert reported == expected
