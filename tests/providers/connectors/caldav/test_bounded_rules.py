"""
The work of expanding series is bounded, and what is cut is told.

docs/spec/upstream/caldav.md#recurrence
"""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from python_calls import PythonCalls

from providers.connectors.caldav.account_memory import AccountMemory, ObjectRange, StoredObject
from providers.connectors.caldav.bounded_rules import Work
from providers.connectors.caldav.calendar_objects import parse_object
from providers.connectors.caldav.calendars import CaldavCalendars
from providers.connectors.caldav.occurrences import occurrences
from providers.failures import TooMuch
from providers.ports.calendar import EventSelection, Span

YEAR = Span(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
ALL_OF_YEAR = EventSelection(span=YEAR, include_cancelled=False, projection=frozenset())


def event_file(*lines):
    every = ("BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//tests//EN", "BEGIN:VEVENT", *lines)
    return "\r\n".join([*every, "END:VEVENT", "END:VCALENDAR", ""])


CUT = {
    "a count from long ago": ("10000105T090000", "FREQ=DAILY;COUNT=1000000;BYDAY=MO"),
    "more starts than are counted": ("20000105T090000", "FREQ=DAILY;COUNT=90000;BYHOUR=1,2,3,4"),
    "a leap day, and many starts": ("19040229T000000", "FREQ=DAILY;COUNT=60000;BYDAY=MO"),
    "positions that cost much": (
        "19300105T090000",
        f"FREQ=YEARLY;COUNT=9000;BYSETPOS={','.join(map(str, range(1, 100)))}",
    ),
    "every minute": ("20260101T000000", "FREQ=MINUTELY"),
    "every hour": ("20200101T000000", f"FREQ=DAILY;BYHOUR={','.join(map(str, range(24)))}"),
    "a week that no month has": ("20260105T090000", "FREQ=MONTHLY;BYDAY=53MO"),
}


@pytest.mark.parametrize(("start", "rule"), CUT.values(), ids=CUT.keys())
async def test_a_rule_that_is_cut_is_told(start, rule):
    text = event_file("UID:u", f"DTSTART:{start}", f"RRULE:{rule}")
    work = Work()
    occurrences(parse_object("u.ics", text, UTC), YEAR, work)
    calendars = calendars_with(text)
    listed = await calendars.events("c/", ALL_OF_YEAR)

    assert work.was_cut
    assert not listed.complete
    busy = await calendars.busy("c/", YEAR, own_responses=False)
    assert [type(doubt) for doubt in busy.doubts] == [TooMuch]


@pytest.mark.slow
async def test_all_events_of_a_calendar_share_a_sum_of_work():
    rule = "RRULE:FREQ=DAILY;COUNT=20000;BYDAY=MO;BYMONTH=2;BYMONTHDAY=30"
    hostile = event_file("UID:u", "DTSTART:19600105T090000", rule)
    plain = event_file("UID:p", "DTSTART:20260105T090000")
    counts = []
    for number in (60, 600):
        calendars = calendars_with(*[hostile] * number, plain)
        with PythonCalls() as calls:
            listed = await calendars.events("c/", ALL_OF_YEAR)
        counts.append(calls.count)
        assert [event.id for event in listed.events] == [
            str(number)
        ]  # a single event costs nothing
        assert not listed.complete

    assert counts[1] < 1.2 * counts[0]


def test_the_rules_of_an_event_are_bounded_together():
    rules = ["RRULE:FREQ=DAILY;COUNT=20000;BYMONTH=2;BYMONTHDAY=30"] * 300
    text = event_file("UID:u", "DTSTART:19700105T090000", *rules)
    series = parse_object("u.ics", text, UTC)
    work = Work()
    occurrences(series, YEAR, work)

    assert not series.is_whole  # it has more rules than are read
    assert work.was_cut
    assert work.left >= 0


class ReadObjects:
    """Stands in for `ObjectReader`: the objects of one calendar."""

    def __init__(self, texts):
        self.objects = {
            str(number): StoredObject(
                etag="", size=len(text), parsed=parse_object(str(number), text, UTC)
            )
            for number, text in enumerate(texts)
        }

    async def in_range(self, _calendar, _span):
        return ObjectRange(version="", objects=self.objects)


def calendars_with(*texts):
    info = SimpleNamespace(base_url="https://calendar.example.org", id=1, account_email="a@b.c")
    calendars = CaldavCalendars(info, None, AccountMemory(), None)
    calendars._objects = ReadObjects(texts)
    return calendars
