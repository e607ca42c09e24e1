"""Long, DateTime, JSON."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from graph.scalars import SCALARS, Long, format_datetime, parse_datetime


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        pytest.param("2026-11-20T12:30:15Z", "2026-11-20T12:30:15+00:00", id="UTC"),
        pytest.param("2026-11-20t12:30:15z", "2026-11-20T12:30:15+00:00", id="lower case"),
        pytest.param("2026-11-20T12:30:15-06:00", "2026-11-20T18:30:15+00:00", id="an offset"),
        pytest.param("2026-11-20T12:30:15+0530", "2026-11-20T07:00:15+00:00", id="no colon"),
        pytest.param("2026-11-20T12:30:15 02:00", "2026-11-20T10:30:15+00:00", id="a blank for +"),
        pytest.param("2026-11-20", "2026-11-20T00:00:00+00:00", id="a date"),
        pytest.param("2026-11-20T12:30", "2026-11-20T12:30:00+00:00", id="no seconds, naive"),
        pytest.param("2026-11-20 12:30:15", "2026-11-20T12:30:15+00:00", id="a blank for T"),
        pytest.param("2026-11-20T12:30:15.5Z", "2026-11-20T12:30:15.500000+00:00", id="tenths"),
        pytest.param(
            "2026-11-20T12:30:15.1234567Z", "2026-11-20T12:30:15.123456+00:00", id="seven digits"
        ),
    ],
)
def test_it_reads_a_time(text, moment):
    assert parse_datetime(text).isoformat() == moment


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-13-01",
        "2026-02-30",
        "20261120",
        "2026-W01-1",
        "2026-11-20T25:00:00Z",
        "2026-11-20T12:30:15+99:00",
        "2026-11-20T12:30:15Z; DROP",
        "0001-01-01T00:00:00+01:00",
        "２０２６-11-20",
    ],
)
def test_an_invalid_time_is_refused(text):
    with pytest.raises(ValueError):
        parse_datetime(text)


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 120000, tzinfo=UTC), "2026-01-02T03:04:05.120000Z"),
        (
            datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2))),
            "2026-01-02T01:04:05Z",
        ),
    ],
)
def test_it_writes_a_time_in_utc(moment, text):
    assert format_datetime(moment) == text


@pytest.mark.parametrize("value", [0, 2**63 - 1, -(2**63), 5.0])
def test_a_long_has_64_bits(value):
    assert SCALARS[Long].parse_value(value) == value


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, True, "5", 5.5, None])
def test_an_invalid_long_is_refused(value):
    with pytest.raises(Exception, match="A Long is a whole number of 64 bits"):
        SCALARS[Long].parse_value(value)


@pytest.mark.parametrize("value", ['"2026-13-01"', "5", '"now"', "true"])
async def test_a_wrong_time_in_a_document_is_readable(ask, value):
    status, body = await ask(f"{{ emails(after: {value}) {{ hasMore }} }}")

    assert status == 400
    assert body["errors"][0]["extensions"]["code"] == "GRAPHQL_VALIDATION_FAILED"
    assert "A DateTime is 2026-11-20T12:00:00Z" in body["errors"][0]["message"]
