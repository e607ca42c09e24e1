"""
Relatives of the reported calendar objects: the other forms in which the same kinds are written.

docs/spec/upstream/caldav.md
"""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from providers.connectors.caldav.bounded_rules import Work
from providers.connectors.caldav.calendar_objects import parse_object
from providers.connectors.caldav.occurrences import occurrences
from providers.ports.calendar import Span

MARCH = Span(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC))
BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK_RULES = """BEGIN:STANDARD
DTSTART:20071104T020000
TZOFFSETFROM:-0400
TZOFFSETTO:-0500
RRULE:FREQ=YEARLY;BYDAY=1SU;BYMONTH=11
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:20070311T020000
TZOFFSETFROM:-0500
TZOFFSETTO:-0400
RRULE:{rule}
END:DAYLIGHT"""


def parsed(*events, definition="", floating=UTC):
    components = "".join(
        f"BEGIN:VEVENT\nUID:u\n{event.strip()}\nEND:VEVENT\n" for event in map(unindented, events)
    )
    zone = f"BEGIN:VTIMEZONE\n{definition.strip()}\nEND:VTIMEZONE\n" if definition else ""
    return parse_object("u", f"BEGIN:VCALENDAR\n{zone}{components}END:VCALENDAR\n", floating)


def unindented(text):
    return "\n".join(line.strip(" ") for line in text.strip().split("\n"))


def listed(parsed_object, span=MARCH):
    """The times and titles of the events in a span, without the year and the month."""
    events = occurrences(parsed_object, span, Work())
    return sorted(
        f"{event.span.start:%d %H:%M}-{event.span.end:%d %H:%M} {event.content.title}".strip()
        for event in events
    )


# Definitions of zones

SECOND_SUNDAY = {
    "the second Sunday": "FREQ=YEARLY;BYDAY=2SU;BYMONTH=3",
    "days of the month": "FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=8,9,10,11,12,13,14;BYDAY=SU",
    "monthly": "FREQ=MONTHLY;INTERVAL=12;BYDAY=2SU",
    "by set position": "FREQ=YEARLY;BYMONTH=3;BYDAY=SU;BYSETPOS=2",
    "until long after": "FREQ=YEARLY;BYDAY=2SU;BYMONTH=3;UNTIL=20601231T000000Z",
    "counted": "FREQ=YEARLY;BYDAY=2SU;BYMONTH=3;COUNT=60",
}


@pytest.mark.parametrize("rule", SECOND_SUNDAY.values(), ids=SECOND_SUNDAY)
@pytest.mark.parametrize("name", ["Mine", "EST", "Europe/Berlin"])
def test_the_definition_in_the_object_decides(name, rule):
    definition = f"TZID:{name}\n{NEW_YORK_RULES.format(rule=rule)}"
    series = parsed(
        f"DTSTART;TZID={name}:20260306T090000\nRRULE:FREQ=WEEKLY;COUNT=2", definition=definition
    )

    assert listed(series) == ["06 14:00-06 14:00", "13 13:00-13 13:00"]
    assert series.zones_are_known


FIXED = "BEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:{0}\nTZOFFSETTO:{0}\nEND:STANDARD"
ENDED = """BEGIN:DAYLIGHT
DTSTART:20250330T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
END:DAYLIGHT
BEGIN:STANDARD
DTSTART:20251026T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
END:STANDARD"""
DEFINITIONS = {
    # name, definition, time at 12:00 on 31 March 2026 (summer in Europe), known
    "an offset alone": ("Mine", FIXED.format("+0300"), "09:00", True),
    "another offset than the name": ("Europe/Berlin", FIXED.format("+0300"), "09:00", True),
    "the winter of the name alone": ("Europe/Berlin", FIXED.format("+0100"), "10:00", True),
    "the last year alone": ("Europe/Berlin", ENDED, "10:00", True),
    "the last year alone, of no name": ("Mine", ENDED, "11:00", True),
    "its place": ("Mine", f"X-LIC-LOCATION:Europe/Berlin\n{ENDED}", "10:00", True),
    "dates": ("Mine", ENDED.replace("DTSTART:20250330T020000",
        "DTSTART:20250330T020000\nRDATE:20260329T020000"), "10:00", True),
    "seconds": ("Mine", FIXED.format("+053028"), "06:29", True),
    "nothing": ("Europe/Berlin", "", "10:00", True),
    "no offset": ("Europe/Berlin", FIXED.format("soon"), "10:00", True),
    "no offset and no name": ("Mine", FIXED.format("soon"), "12:00", False),
    "a rule without end or sense": ("Mine", f"{FIXED.format('+0100')}\n".replace(
        "END:STANDARD", "RRULE:FREQ=SECONDLY\nEND:STANDARD"), "12:00", False),
}  # fmt: skip


@pytest.mark.parametrize("row", DEFINITIONS.values(), ids=DEFINITIONS)
def test_definitions_that_say_little(row):
    name, definition, time, known = row
    event = parsed(f"DTSTART;TZID={name}:20260331T120000", definition=f"TZID:{name}\n{definition}")

    assert listed(event) == [f"31 {time}-31 {time}"]
    assert event.zones_are_known is known


def test_a_definition_holds_in_the_far_future():
    definition = f"TZID:Mine\n{NEW_YORK_RULES.format(rule=SECOND_SUNDAY['the second Sunday'])}"
    event = parsed("DTSTART;TZID=Mine:21500701T090000", definition=definition)

    july = Span(datetime(2150, 7, 1, tzinfo=UTC), datetime(2150, 8, 1, tzinfo=UTC))
    assert listed(event, july) == ["01 13:00-01 13:00"]


# Other forms of times than that of DTSTART

WHOLE_DAYS = "DTSTART;VALUE=DATE:20260302\nRRULE:FREQ=WEEKLY;COUNT=3\nSUMMARY:s\n"
TIMED = "DTSTART;TZID=Europe/Berlin:20260302T090000\nRRULE:FREQ=WEEKLY;COUNT=3\nSUMMARY:s\n"
SECOND_DAY = [
    ";TZID=Europe/Berlin:20260309T000000", ";TZID=W. Europe Standard Time:20260309T000000",
    ":20260309T000000", ":20260308T230000Z", ":20260309T000000Z", ";VALUE=DATE:20260309",
    ";VALUE=DATE:20260309T000000", ":20260309T050000Z",
]  # fmt: skip
SECOND_TIME = [
    ";TZID=Europe/Berlin:20260309T090000", ":20260309T080000Z", ":20260309T090000",
    ";TZID=America/New_York:20260309T040000", ";VALUE=DATE:20260309", ";TZID=Nope:20260309T090000",
]  # fmt: skip


@pytest.mark.parametrize("written", SECOND_DAY)
@pytest.mark.parametrize("floating", [UTC, BERLIN], ids=["UTC", "Berlin"])
def test_a_day_of_a_series_is_written_in_other_forms(written, floating):
    excluded = parsed(f"{WHOLE_DAYS}EXDATE{written}", floating=floating)
    moved = parsed(
        WHOLE_DAYS,
        f"RECURRENCE-ID{written}\nDTSTART;VALUE=DATE:20260311\nSUMMARY:moved",
        floating=floating,
    )

    days = ["02 00:00-03 00:00 s", "16 00:00-17 00:00 s"]
    assert listed(excluded) == days
    assert listed(moved) == sorted([*days, "11 00:00-12 00:00 moved"])


@pytest.mark.parametrize("written", SECOND_TIME)
def test_a_time_of_a_series_is_written_in_other_forms(written):
    excluded = parsed(f"{TIMED}EXDATE{written}")
    moved = parsed(TIMED, f"RECURRENCE-ID{written}\nDTSTART:20260311T100000Z\nSUMMARY:moved")

    times = ["02 08:00-02 08:00 s", "16 08:00-16 08:00 s"]
    assert listed(excluded) == times
    assert listed(moved) == sorted([*times, "11 10:00-11 10:00 moved"])


@pytest.mark.parametrize(
    ("zone", "hour"), [("tzone://Microsoft/Utc", 9), ("(UTC+01:00) Brussels, Madrid", 8)]
)
@pytest.mark.parametrize("quote", ["", '"'])
def test_a_zone_with_colons_need_not_be_quoted(zone, hour, quote):
    event = parsed(f"DTSTART;TZID={quote}{zone}{quote}:20260302T090000")

    assert listed(event) == [f"02 0{hour}:00-02 0{hour}:00"]


UNTILS = {
    "the day, of days": ("DTSTART;VALUE=DATE:20260302", "20260304", 3),
    "a time, of days": ("DTSTART;VALUE=DATE:20260302", "20260304T000000Z", 3),
    "midnight in Berlin, of days": ("DTSTART;VALUE=DATE:20260302", "20260303T230000Z", 3),
    "the end of a day, of days": ("DTSTART;VALUE=DATE:20260302", "20260304T235959Z", 3),
    "a day, of times": ("DTSTART;TZID=Europe/Berlin:20260302T230000", "20260304", 3),
    "UTC, of times": ("DTSTART;TZID=Europe/Berlin:20260302T090000", "20260304T080000Z", 3),
    "a second less": ("DTSTART;TZID=Europe/Berlin:20260302T090000", "20260304T075959Z", 2),
    "floating, of times": ("DTSTART;TZID=Europe/Berlin:20260302T090000", "20260304T090000", 3),
    "UTC, of floating times": ("DTSTART:20260302T090000", "20260304T080000Z", 3),
}


@pytest.mark.parametrize(("start", "until", "count"), UNTILS.values(), ids=UNTILS)
def test_until_is_written_in_other_forms(start, until, count):
    series = parsed(f"{start}\nRRULE:FREQ=DAILY;UNTIL={until}", floating=BERLIN)

    assert len(listed(series)) == count


LENGTHS = {
    "an end of the same clock": ("20260302T090000", "DTEND:20260302T100000", "02 09:00"),
    "an end in UTC": ("20260302T090000", "DTEND:20260302T090000Z", "02 09:00"),
    "an end without a day": ("20260302T090000", "DTEND:00:10", "02 08:00"),
    "an end on a day": ("20260302T090000", "DTEND;VALUE=DATE:20260303", "02 23:00"),
    "24 o'clock": ("20260302T090000", "DTEND;TZID=Europe/Berlin:20260302T240000", "02 23:00"),
    "no seconds": ("20260302T0900", "DTEND;TZID=Europe/Berlin:20260302T1000", "02 09:00"),
    "weeks and days": ("20260302T090000", "DURATION:P1W2D", "11 08:00"),
    "a sign": ("20260302T090000", "DURATION:+PT15M", "02 08:15"),
}


@pytest.mark.parametrize(("start", "end", "expected"), LENGTHS.values(), ids=LENGTHS)
def test_ends_are_written_in_other_forms(start, end, expected):
    event = parsed(f"DTSTART;TZID=Europe/Berlin:{start}\n{end}")

    assert listed(event) == [f"02 08:00-{expected}"]
    assert event.is_whole is (end != "DTEND:00:10")


# Rules

RULES = {
    # of a series that begins on Wednesday, 4 March 2026
    "a set of a week": ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1", "06 13 20 27"),
    "a set of every other week": ("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR;BYSETPOS=2", "06 20"),
    "a set of a week from Sunday": ("FREQ=WEEKLY;WKST=SU;BYDAY=SU,WE;BYSETPOS=1", "08 15 22 29"),
    "a counted set of a week": ("FREQ=WEEKLY;BYDAY=MO,WE;BYSETPOS=1;COUNT=2", "09 16"),
    "a set of a week without days": ("FREQ=WEEKLY;BYSETPOS=1;COUNT=2", "04 11"),
    "a week of the year": ("FREQ=YEARLY;BYWEEKNO=10,12", "04 18"),
    "days of a week of the year": ("FREQ=YEARLY;BYWEEKNO=11;BYDAY=MO,SU", "09 15"),
    "empty parts": ("FREQ=DAILY;BYDAY=;COUNT=2;BYMONTH=;", "04 05"),
    "empty members": ("FREQ=WEEKLY;BYDAY=,WE,,FR,;COUNT=2", "04 06"),
    "another calendar's name for ours": ("RSCALE=gregorian;FREQ=DAILY;COUNT=2;SKIP=OMIT", "04 05"),
    "small letters and blanks": ("freq=daily; count=2", "04 05"),
    "no count": ("FREQ=DAILY;COUNT=0", "04"),
    "another calendar": ("RSCALE=HEBREW;FREQ=DAILY;COUNT=2", "04"),
    "moved days": ("RSCALE=GREGORIAN;SKIP=BACKWARD;FREQ=DAILY;COUNT=2", "04"),
}
UNREADABLE_RULES = {"no count", "another calendar", "moved days"}


@pytest.mark.parametrize("name", RULES)
def test_rules_are_read(name):
    rule, days = RULES[name]
    series = parsed(f"DTSTART:20260304T090000Z\nRRULE:{rule}")

    expected = sorted({"04", *days.split()})  # the first start belongs to the series
    assert [event[:2] for event in listed(series)] == expected
    assert series.is_whole is (name not in UNREADABLE_RULES)


def test_a_set_of_a_week_is_the_same_in_every_range():
    series = parsed("DTSTART:20260107T090000Z\nRRULE:FREQ=WEEKLY;BYDAY=MO,WE,FR;BYSETPOS=2")

    for day in range(1, 29):
        span = Span(datetime(2026, 3, day, tzinfo=UTC), datetime(2026, 3, day + 3, tzinfo=UTC))
        is_wednesday = [datetime(2026, 3, day + more).weekday() == 2 for more in range(3)]  # noqa: DTZ001
        assert len(listed(series, span)) == sum(is_wednesday)


def test_a_daily_rule_is_never_cut():
    series = parsed("DTSTART:18000101T090000Z\nRRULE:FREQ=DAILY;COUNT=1000000")
    work = Work()

    assert len(occurrences(series, MARCH, work)) == 31
    assert not work.was_cut


# Revisions

REVISIONS = {
    "the higher sequence": ("SEQUENCE:2\nSUMMARY:a", "SEQUENCE:1\nSUMMARY:b", "a"),
    "ten is more than nine": ("SEQUENCE:10\nSUMMARY:a", "SEQUENCE:9\nSUMMARY:b", "a"),
    "none is less": ("SEQUENCE:1\nSUMMARY:a", "SUMMARY:b", "a"),
    "the later stamp": (
        "DTSTAMP:20260102T000000Z\nSUMMARY:a", "DTSTAMP:20260101T000000Z\nSUMMARY:b", "a",
    ),
    "the sequence before the stamp": (
        "SEQUENCE:1\nDTSTAMP:20260101T000000Z\nSUMMARY:a", "DTSTAMP:20260102T000000Z\nSUMMARY:b",
        "a",
    ),
    "the last of equal ones": ("SUMMARY:a", "SUMMARY:b", "b"),
    "no number": ("SEQUENCE:one\nSUMMARY:a", "SEQUENCE:1\nSUMMARY:b", "b"),
}  # fmt: skip


@pytest.mark.parametrize(("first", "second", "title"), REVISIONS.values(), ids=REVISIONS)
def test_the_newest_revision_counts(first, second, title):
    start = "DTSTART:20260302T090000Z\n"
    original = f"RECURRENCE-ID:20260302T090000Z\n{start}"
    masters = parsed(start + first, start + second)
    overrides = parsed(f"{start}RRULE:FREQ=DAILY;COUNT=1", original + first, original + second)

    assert listed(masters) == listed(overrides) == [f"02 09:00-02 09:00 {title}"]
    assert masters.is_whole


def test_an_excluded_override_of_the_same_revision_stays():
    series = parsed(
        "DTSTART:20260302T090000Z\nRRULE:FREQ=DAILY;COUNT=2\nEXDATE:20260303T090000Z",
        "RECURRENCE-ID:20260303T090000Z\nDTSTART:20260305T090000Z\nSUMMARY:moved",
    )

    assert listed(series) == ["02 09:00-02 09:00", "05 09:00-05 09:00 moved"]


def test_later_occurrences_follow_a_change():
    series = parsed(
        "DTSTART;TZID=Europe/Berlin:20260302T090000\nRRULE:FREQ=WEEKLY;COUNT=4\nSUMMARY:a",
        """RECURRENCE-ID;RANGE=THISANDFUTURE:20260316T080000Z
        DTSTART;TZID=Europe/Berlin:20260317T100000\nDURATION:PT1H\nSUMMARY:b""",
        "RECURRENCE-ID:20260323T080000Z\nDTSTART:20260325T080000Z\nSUMMARY:c",
    )

    assert listed(series) == [
        "02 08:00-02 08:00 a", "09 08:00-09 08:00 a", "17 09:00-17 10:00 b", "25 08:00-25 08:00 c",
    ]  # fmt: skip


PERIODS = {
    "a length": ("RDATE;VALUE=PERIOD:20260305T090000Z/PT3H", "05 09:00-05 12:00"),
    "an end": ("RDATE;VALUE=PERIOD:20260305T090000Z/20260305T093000Z", "05 09:00-05 09:30"),
    "an end in the zone": (
        "RDATE;VALUE=PERIOD;TZID=Europe/Berlin:20260305T100000/20260305T113000",
        "05 09:00-05 10:30",
    ),
    "no negative length": (
        "RDATE;VALUE=PERIOD:20260305T090000Z/20260305T080000Z", "05 09:00-05 09:00",
    ),
    "no period": ("RDATE:20260305T090000Z", "05 09:00-05 10:00"),
    "a day": ("RDATE;VALUE=DATE:20260305", "05 09:00-05 10:00"),
}  # fmt: skip


@pytest.mark.parametrize(("date", "expected"), PERIODS.values(), ids=PERIODS)
def test_periods_have_their_own_length(date, expected):
    series = parsed(f"DTSTART:20260302T090000Z\nDURATION:PT1H\n{date}")

    assert listed(series) == ["02 09:00-02 10:00", expected]
