"""The starts of series in local time: hand-written cases, and an oracle for weekly rules."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.calendar.records import EventTime, Recurrence, from_local
from sandbox.calendar.recurrence import MAX_STARTS, SeriesStarts, check_rule

STOCKHOLM = "Europe/Stockholm"
FAR = datetime(2030, 1, 1, tzinfo=UTC)


def at(text, zone=STOCKHOLM):
    return from_local(datetime.fromisoformat(text), zone)


def day(text):
    return EventTime(STOCKHOLM, day=date.fromisoformat(text))


def stamps(first, *rules, added=(), dropped=(), since=None, until=FAR):
    recurrence = Recurrence(rules=rules, added=added, dropped=dropped)
    return [start.stamp for start in SeriesStarts(first, recurrence).between(since, until)]


ROWS = {
    "the clock goes forward and the meeting does not move": (
        at("2026-03-22T09:00"),
        "FREQ=WEEKLY;COUNT=3",
        ["20260322T080000Z", "20260329T070000Z", "20260405T070000Z"],
    ),
    "the clock goes back": (
        at("2026-10-24T09:00"),
        "FREQ=DAILY;COUNT=3",
        ["20261024T070000Z", "20261025T080000Z", "20261026T080000Z"],
    ),
    "a time that the clock skips keeps the offset before": (
        at("2026-03-28T02:30"),
        "FREQ=DAILY;COUNT=3",
        ["20260328T013000Z", "20260329T013000Z", "20260330T003000Z"],
    ),
    "a time that the clock shows twice is the first": (
        at("2026-10-24T02:30"),
        "FREQ=DAILY;COUNT=2",
        ["20261024T003000Z", "20261025T003000Z"],
    ),
    "an end at UTC counts by the moment": (
        at("2026-10-24T09:00"),
        "FREQ=DAILY;UNTIL=20261026T080000Z",
        ["20261024T070000Z", "20261025T080000Z", "20261026T080000Z"],
    ),
    "an end that is a day means all of it": (
        at("2026-10-24T09:00"),
        "FREQ=DAILY;UNTIL=20261025",
        ["20261024T070000Z", "20261025T080000Z"],
    ),
    "days have no clock": (day("2026-03-28"), "FREQ=DAILY;COUNT=2", ["20260328", "20260329"]),
    "the last Friday": (
        day("2026-01-30"),
        "FREQ=MONTHLY;BYDAY=-1FR;COUNT=3",
        ["20260130", "20260227", "20260327"],
    ),
    "the 31st, where there is one": (
        day("2026-01-31"),
        "FREQ=MONTHLY;COUNT=3",
        ["20260131", "20260331", "20260531"],
    ),
    "the 29th of February": (day("2024-02-29"), "FREQ=YEARLY;COUNT=2", ["20240229", "20280229"]),
    "a first time that the rule does not give": (
        day("2026-01-01"),
        "FREQ=WEEKLY;BYDAY=MO;COUNT=2",
        ["20260101", "20260105", "20260112"],
    ),
    "blanks in the rule": (
        day("2026-01-05"),
        " freq=weekly;byday=MO, TU;count=2 ",
        ["20260105", "20260106"],
    ),
    "no more than the count": (day("2026-01-05"), "FREQ=DAILY;COUNT=1", ["20260105"]),
}


@pytest.mark.parametrize(("first", "rule", "expected"), ROWS.values(), ids=ROWS)
def test_a_rule_is_expanded(first, rule, expected):
    assert stamps(first, rule) == expected


def test_dates_are_added_and_dropped_in_order():
    first = at("2026-01-05T09:00")

    starts = stamps(
        first,
        "FREQ=WEEKLY;COUNT=3",
        added=(at("2026-01-07T10:00"), at("2026-01-12T09:00")),
        dropped=(at("2026-01-19T08:00", "UTC"),),
    )

    assert starts == ["20260105T080000Z", "20260107T090000Z", "20260112T080000Z"]


def test_a_dropped_day_removes_every_start_on_it():
    starts = stamps(at("2026-01-05T09:00"), "FREQ=DAILY;COUNT=3", dropped=(day("2026-01-06"),))

    assert starts == ["20260105T080000Z", "20260107T080000Z"]


def test_two_rules_are_merged_without_repeats():
    starts = stamps(day("2026-01-05"), "FREQ=DAILY;COUNT=3", "FREQ=WEEKLY;COUNT=2")

    assert starts == ["20260105", "20260106", "20260107", "20260112"]


@pytest.mark.parametrize("zone", ["UTC", STOCKHOLM, "Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_a_day_belongs_to_a_series_whatever_zone_it_is_named_in(zone):
    series = SeriesStarts(day("2026-01-05"), Recurrence(rules=("FREQ=WEEKLY;COUNT=3",)))
    named = [EventTime(zone, day=date(2026, 1, number)) for number in (11, 12, 13)]

    assert [start in series for start in named] == [False, True, False]


def test_a_window_is_half_open():
    since, until = datetime(2026, 1, 6, 8, tzinfo=UTC), datetime(2026, 1, 8, 8, tzinfo=UTC)

    starts = stamps(at("2026-01-05T09:00"), "FREQ=DAILY", since=since, until=until)

    assert starts == ["20260106T080000Z", "20260107T080000Z"]


def test_windows_may_be_read_in_any_order():
    series = SeriesStarts(at("2026-01-05T09:00"), Recurrence(rules=("FREQ=DAILY",)))
    late = series.between(datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 6, 2, tzinfo=UTC))
    early = series.between(None, datetime(2026, 1, 6, tzinfo=UTC))

    assert [start.stamp for start in (*late, *early)] == ["20260601T070000Z", "20260105T080000Z"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=SECONDLY",
        "FREQ=MINUTELY;COUNT=1000000",
        "FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;BYYEARDAY=366;BYMONTH=3",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
    ],
)
def test_the_expansion_ends_for_rules_that_never_end_or_never_match(rule):
    starts = stamps(at("2026-01-05T09:00"), rule)

    assert 1 <= len(starts) <= MAX_STARTS


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "FREQ=NEVER",
        "COUNT=3",
        "FREQ=DAILY;INTERVAL=0",
        "FREQ=DAILY;BYDAY=XX",
        "FREQ=DAILY;UNTIL=soon",
        "FREQ=DAILY\nDTSTART:20260101T000000Z",
        "FREQ=WEEKLY;RSCALE=CHINESE",
    ],
)
def test_an_invalid_rule_is_refused(rule):
    with pytest.raises(ValueError):
        check_rule(rule, at("2026-01-05T09:00"))


@given(st.text(alphabet="FREQDAILYWKMONTHCUBS=;,0123-+", max_size=40))
def test_any_text_is_accepted_or_refused_with_a_value_error(text):
    try:
        check_rule(f"FREQ=DAILY;{text}", at("2026-01-05T09:00"))
    except ValueError:
        return


WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


@given(
    start=st.datetimes(*(datetime.fromisoformat(f"{year}-01-01") for year in (2025, 2027))).map(
        lambda moment: moment.replace(second=0, microsecond=0)
    ),
    zone=st.sampled_from((STOCKHOLM, "America/New_York", "Asia/Tokyo", "UTC", "Asia/Kathmandu")),
    interval=st.integers(1, 4),
    days=st.sets(st.sampled_from(range(7)), min_size=1),
    count=st.integers(1, 30),
)
def test_weekly_rules_agree_with_a_scan_of_all_days(start, zone, interval, days, count):
    rule = f"FREQ=WEEKLY;INTERVAL={interval};COUNT={count};BYDAY=" + ",".join(
        WEEKDAYS[number] for number in sorted(days)
    )
    monday = start - timedelta(days=start.weekday())
    walked = []
    for number in range(7 * interval * (count + 1)):
        local = monday + timedelta(days=number)
        if local >= start and local.weekday() in days and number // 7 % interval == 0:
            walked.append(local.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC))
    expected = sorted({start.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC), *walked[:count]})

    starts = SeriesStarts(from_local(start, zone), Recurrence(rules=(rule,))).between(None, FAR)

    assert [start.instant for start in starts] == [instant for instant in expected if instant < FAR]
