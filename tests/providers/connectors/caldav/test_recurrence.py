"""
Series of calendar objects against the sandbox's recurrence, which shares no code with them.

The rules, dates and zones are generated; each series is written as iCalendar and read again.
"""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ical_texts import calendar_file
from python_calls import PythonCalls

from providers.connectors.caldav.bounded_rules import Work
from providers.connectors.caldav.calendar_objects import parse_object
from providers.connectors.caldav.occurrences import occurrence, occurrences
from providers.ports.calendar import Span
from sandbox.calendar.records import (
    EventContent,
    EventTime,
    Override,
    Recurrence,
    StoredEvent,
    from_local,
)
from sandbox.calendar.recurrence import SeriesStarts

ZONES = ("UTC", "Europe/Stockholm", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu")
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
YEAR = Span(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
HOUR = timedelta(hours=1)


def numbers(low, high, size=3):
    values = st.integers(low, high).filter(bool)
    return st.lists(values, min_size=1, max_size=size, unique=True).map(
        lambda chosen: ",".join(map(str, chosen))
    )


weekdays = st.lists(st.sampled_from(WEEKDAYS), min_size=1, max_size=3, unique=True).map(",".join)
nth_weekdays = st.builds(
    lambda number, day: f"{number}{day}", st.integers(-4, 4).filter(bool), st.sampled_from(WEEKDAYS)
)
PARTS = {
    "DAILY": {"BYDAY": weekdays, "BYMONTH": numbers(1, 12), "BYHOUR": numbers(1, 23)},
    "WEEKLY": {"BYDAY": weekdays, "WKST": st.sampled_from(WEEKDAYS), "BYMONTH": numbers(1, 12)},
    "MONTHLY": {
        "BYDAY": st.one_of(weekdays, nth_weekdays),
        "BYMONTHDAY": numbers(-31, 31),
        "BYMONTH": numbers(1, 12),
        "BYSETPOS": numbers(-2, 2, size=1),
    },
    "YEARLY": {
        "BYDAY": nth_weekdays,
        "BYMONTH": numbers(1, 12),
        "BYMONTHDAY": numbers(-31, 31),
        "BYYEARDAY": numbers(-366, 366),
        "BYWEEKNO": numbers(-53, 53),
    },
    "HOURLY": {},
    "MINUTELY": {},
}


@st.composite
def rules(draw):
    frequency = draw(st.sampled_from(tuple(PARTS)))
    chosen = {name: draw(part) for name, part in PARTS[frequency].items() if draw(st.booleans())}
    if "BYSETPOS" in chosen and "BYDAY" not in chosen:
        del chosen["BYSETPOS"]
    interval = draw(st.sampled_from([1, 1, 2, 3, 7, 12] if PARTS[frequency] else [60, 90, 500]))
    chosen |= {"INTERVAL": str(interval)} if interval > 1 else {}
    match draw(st.sampled_from(["endless", "count", "until", "until day"])):
        case "count":
            chosen["COUNT"] = str(draw(st.integers(1, 40)))
        case "until":
            chosen["UNTIL"] = f"2026{draw(st.integers(1, 12)):02}15T070000Z"
        case "until day":
            chosen["UNTIL"] = f"2026{draw(st.integers(1, 12)):02}20"
    return ";".join([f"FREQ={frequency}", *(f"{name}={value}" for name, value in chosen.items())])


firsts = st.builds(
    lambda day, clock, zone, *, whole: (
        EventTime(zone, day=day) if whole else from_local(datetime.combine(day, clock), zone)
    ),
    st.dates(date(2019, 1, 1), date(2026, 12, 1)),
    st.builds(time, st.integers(0, 23), st.sampled_from([0, 30])),
    st.sampled_from(ZONES),
    whole=st.booleans(),
)


def written(first, recurrence, overrides=()):
    length = timedelta(days=1) if first.is_day else HOUR
    content = EventContent(start=first, end=first.later(length), title="Series")
    event = StoredEvent(
        seq=1, mailbox="", calendar=1, id="", immutable_id="", uid="u", content=content,
        recurrence=recurrence, overrides=overrides,
    )  # fmt: skip
    return calendar_file(event)


def parsed(text):
    calendar_object = parse_object("u.ics", text, UTC)
    assert calendar_object.is_whole
    return calendar_object


def starts_in(text, span):
    """Return the starts in a span; whole days are UTC days."""
    listed = sorted(event.span.start for event in occurrences(parsed(text), span, Work()))
    return [start for start in listed if start >= span.start]


def expected_starts(series, span, *, whole):
    margin = timedelta(days=2)
    near = series.between(span.start - margin, span.end + margin)
    moments = [
        datetime.combine(start.day, time(), UTC) if whole else start.instant for start in near
    ]
    return sorted(moment for moment in moments if span.start <= moment < span.end)


@pytest.mark.slow
@given(first=firsts, rule=rules(), month=st.integers(1, 12))
def test_rules_agree_with_the_other_expansion(first, rule, month):
    if first.is_day:
        rule = ";".join(part for part in rule.split(";") if not part.startswith("BYHOUR"))
    if first.is_day or first.local.year < 2026:  # the other one ends after 1000 days
        rule = rule.replace("HOURLY", "DAILY").replace("MINUTELY", "WEEKLY")
    recurrence = Recurrence(rules=(rule,))
    start = datetime(2026, month, 1, tzinfo=UTC)
    span = Span(start, start + timedelta(days=45))

    found_starts = starts_in(written(first, recurrence), span)

    expected = expected_starts(SeriesStarts(first, recurrence), span, whole=first.is_day)
    assert found_starts == expected


@pytest.mark.slow
@given(
    first=firsts.filter(lambda first: not first.is_day),
    added=st.lists(st.integers(0, 300), max_size=4),
    dropped=st.lists(st.integers(0, 50), max_size=4),
    moved=st.dictionaries(st.integers(51, 80), st.integers(-100, 100), max_size=3),
)
def test_dates_are_added_excluded_and_moved(first, added, dropped, moved):
    base = from_local(datetime(2026, 3, 1, first.local.hour, 15), first.zone)  # noqa: DTZ001
    daily = Recurrence(
        rules=("FREQ=DAILY;COUNT=90",),
        added=tuple(base.later(number * HOUR) for number in added),
        dropped=tuple(base.later(timedelta(days=number)) for number in dropped),
    )
    overrides = tuple(
        Override(
            original=base.later(timedelta(days=number)),
            content=EventContent(
                start=base.later(timedelta(days=number, hours=hours)),
                end=base.later(timedelta(days=number, hours=hours + 1)),
                title="Moved",
            ),
        )
        for number, hours in moved.items()
    )
    series = parsed(written(base, daily, overrides))

    listed = occurrences(series, YEAR, Work())

    originals = {override.original for override in overrides}
    expected = [
        *(start for start in SeriesStarts(base, daily).between(None, YEAR.end)
          if start not in originals),
        *(override.content.start for override in overrides),
    ]  # fmt: skip
    assert sorted(event.span.start for event in listed) == sorted(
        start.instant for start in expected
    )
    assert len({event.id for event in listed}) == len(listed)
    assert {event.span.end - event.span.start for event in listed} <= {HOUR}
    for event in listed:
        assert occurrence(series, event.id) == event


LENGTHS = {
    "DTEND;TZID=Europe/Stockholm:20260328T031500": (HOUR, HOUR),  # the same exact length
    "DURATION:PT1H": (HOUR, HOUR),
    "DURATION:P1D": (24 * HOUR, 23 * HOUR),  # to 02:15 by the clock, and skipped once
}


@pytest.mark.parametrize(("end", "lengths"), LENGTHS.items(), ids=LENGTHS.keys())
def test_an_occurrence_keeps_its_length_when_the_clock_changes(end, lengths):
    """At 02:15 of the 29th the clock shows 03:15 already."""
    text = "\r\n".join(
        [
            *("BEGIN:VCALENDAR", "BEGIN:VEVENT", "UID:u", "SUMMARY:Nightly", end),
            *("DTSTART;TZID=Europe/Stockholm:20260328T021500", "RRULE:FREQ=DAILY;COUNT=2"),
            *("END:VEVENT", "END:VCALENDAR"),
        ]
    )
    series = parsed(text)

    listed = sorted(occurrences(series, YEAR, Work()), key=lambda event: event.span.start)

    starts = [datetime(2026, 3, day, 1, 15, tzinfo=UTC) for day in (28, 29)]
    assert [event.span for event in listed] == [
        Span(start, start + length) for start, length in zip(starts, lengths, strict=True)
    ]
    assert [occurrence(series, event.id) for event in listed] == listed


HOSTILE = {
    "days that no month has": "FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30",
    "a day that no year has": "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
    "months that the interval never meets": "FREQ=MONTHLY;INTERVAL=12;BYMONTH=5",
    "every day, and no day": "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
    "weekdays that the interval never meets": "FREQ=DAILY;INTERVAL=7;BYDAY=TH",
    "an interval beyond all years": "FREQ=YEARLY;INTERVAL=99999999999",
    "seconds": "FREQ=SECONDLY",
    "counted seconds": "FREQ=SECONDLY;COUNT=999999999",
}


@pytest.mark.parametrize("rule", HOSTILE.values(), ids=HOSTILE.keys())
def test_rules_that_never_match_or_never_end_come_to_an_end(rule):
    first = from_local(datetime(2026, 1, 5, 9), "Europe/Stockholm")  # noqa: DTZ001
    listed = occurrences(parsed(written(first, Recurrence(rules=(rule,)))), YEAR, Work())

    assert 1 <= len(listed) <= 5001


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;COUNT=1000000;BYDAY=MO",
        "FREQ=DAILY;COUNT=5;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;COUNT=5;BYDAY=MO;BYSETPOS=2",
    ],
)
def test_a_counted_rule_from_long_ago_costs_no_more_than_others(rule):
    first = from_local(datetime(1000, 1, 5, 9), "UTC")  # noqa: DTZ001
    series = parsed(written(first, Recurrence(rules=(rule,))))
    with PythonCalls() as calls:
        listed = occurrences(series, YEAR, Work())

    assert calls.count < 100_000
    assert listed == []


UNREADABLE = {
    "an unknown frequency": "FREQ=NEVER",
    "no frequency": "COUNT=3",
    "an unknown part": "FREQ=DAILY;RSCALE=CHINESE",
    "no interval": "FREQ=DAILY;INTERVAL=0",
    "every second of a day": "FREQ=DAILY;BYHOUR=1,2,3,4,5;BYMINUTE=1,2,3,4,5",
    "parts of a high frequency": "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30",
    "a weekday that there is not": "FREQ=WEEKLY;BYDAY=XX",
}


@pytest.mark.parametrize("rule", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_rule_that_cannot_be_expanded_leaves_the_first_start(rule):
    first = from_local(datetime(2026, 1, 5, 9), "UTC")  # noqa: DTZ001
    calendar_object = parse_object("u.ics", written(first, Recurrence(rules=(rule,))), UTC)

    assert [event.span.start for event in occurrences(calendar_object, YEAR, Work())] == [
        first.instant
    ]
    assert not calendar_object.is_whole


def test_this_and_future_moves_the_later_occurrences():
    text = "\r\n".join(
        [
            *("BEGIN:VCALENDAR", "BEGIN:VEVENT", "UID:u", "SUMMARY:Before"),
            *("DTSTART;TZID=Europe/Stockholm:20260323T090000", "DURATION:PT1H"),
            *("RRULE:FREQ=DAILY;COUNT=4", "END:VEVENT", "BEGIN:VEVENT", "UID:u", "SUMMARY:After"),
            "RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Stockholm:20260325T090000",
            *("DTSTART;TZID=Europe/Stockholm:20260325T110000", "DURATION:PT30M"),
            *("END:VEVENT", "END:VCALENDAR"),
        ]
    )

    listed = sorted(occurrences(parsed(text), YEAR, Work()), key=lambda event: event.span.start)

    zone = ZoneInfo("Europe/Stockholm")
    assert [
        (f"{event.span.start.astimezone(zone):%d %H:%M}", event.content.title) for event in listed
    ] == [
        ("23 09:00", "Before"),
        ("24 09:00", "Before"),
        ("25 11:00", "After"),
        ("26 11:00", "After"),
    ]
