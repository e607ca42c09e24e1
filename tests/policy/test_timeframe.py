"""The calendar window: the examples of docs/spec/calendar.md#default-range as rows."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policy.grants import Grant, validate
from policy.refusals import InvalidInput
from policy.timeframe import TimeRange, allowed_range, requested_range
from policy.vocabulary import Code

NOW = datetime(2026, 11, 20, 13, 45, tzinfo=UTC)


def day(number: int) -> datetime:
    """Midnight UTC of today plus *number* days."""
    return datetime(2026, 11, 20, tzinfo=UTC) + timedelta(days=number)


def grant(past=None, future=None):
    return Grant.read(validate({"timeframePastDays": past, "timeframeFutureDays": future}))


ROWS = {
    # words: (past, future, from, to) -> (start, end)
    "no restriction, nothing given": ((None, None, None, None), (day(0), day(7))),
    "30/30, nothing given: today plus or minus 3 days": ((30, 30, None, None), (day(-3), day(4))),
    "0/30, nothing given: from today": ((0, 30, None, None), (day(0), day(7))),
    "30/0, nothing given: the last 7 days": ((30, 0, None, None), (day(-6), day(1))),
    "1/1, nothing given: less than a week": ((1, 1, None, None), (day(-1), day(2))),
    "0/0, nothing given: today": ((0, 0, None, None), (day(0), day(1))),
    "past only, nothing given": ((2, None, None, None), (day(-2), day(5))),
    "future only, nothing given": ((None, 1, None, None), (day(-3 - 2), day(2))),
    "only from": ((None, None, day(10), None), (day(10), day(17))),
    "only to, ahead": ((None, None, None, day(3)), (day(0), day(3))),
    "only to, behind": ((None, None, None, day(-3)), (day(-10), day(-3))),
    "only to, this midnight": ((None, None, None, day(0)), (day(-7), day(0))),
    "both": ((None, None, day(1), day(2)), (day(1), day(2))),
    "both, clamped on both sides": ((1, 1, day(-9), day(9)), (day(-1), day(2))),
    "only from, clamped": ((5, 5, day(3), None), (day(3), day(6))),
}


@pytest.mark.parametrize("row", ROWS)
def test_the_range_meant(row):
    (past, future, start, end), expected = ROWS[row]

    span = requested_range(start, end, grant=grant(past, future), now=NOW)

    assert (span.start, span.end) == expected


def test_a_range_outside_the_window_is_empty_and_no_error():
    assert requested_range(day(10), day(12), grant=grant(1, 1), now=NOW).empty


@pytest.mark.parametrize("end", [day(1), day(0)])
def test_an_end_that_is_not_after_the_start_is_refused(end):
    with pytest.raises(InvalidInput) as refused:
        requested_range(day(1), end, grant=grant(), now=NOW)

    assert refused.value.code is Code.INVALID_RANGE


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        ("9999-12-31", None, "Without 'to', 'from' must be before 9999-12-30."),
        (None, "0001-01-01", "Without 'from', 'to' must be after 0001-01-02."),
        ("9999-12-31", "9999-12-30", "'to' must be after 'from'."),
    ],
)
def test_a_range_beyond_the_calendar_names_its_cause(start, end, message):
    bounds = (value and datetime.fromisoformat(value).replace(tzinfo=UTC) for value in (start, end))

    with pytest.raises(InvalidInput) as refused:
        requested_range(*bounds, grant=grant(), now=NOW)

    assert (refused.value.code, str(refused.value)) == (Code.INVALID_RANGE, message)


def test_whole_days_hide_the_time_of_day():
    time_range = TimeRange(day(0) + timedelta(hours=9), day(1) + timedelta(minutes=1))

    assert time_range.whole_days() == TimeRange(day(0), day(2))
    assert TimeRange(day(0), day(1)).whole_days() == TimeRange(day(0), day(1))


moments = st.datetimes(
    min_value=datetime(1900, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone itself
    max_value=datetime(2200, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
days = st.none() | st.integers(0, 36_500)


@given(days, days, st.none() | moments, st.none() | moments, moments)
def test_no_call_reaches_outside_the_window(past, future, start, end, now):
    window = grant(past, future)
    try:
        span = requested_range(start, end, grant=window, now=now)
    except InvalidInput:
        return

    bounds = allowed_range(window, now)

    assert span.empty or (bounds.start <= span.start and span.end <= bounds.end)
