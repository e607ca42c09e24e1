"""Times are read in every documented form and written in one."""

import pytest

from gateway.store import timestamps


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param("2026-11-20T10:00:00Z", "2026-11-20T10:00:00Z", id="UTC"),
        pytest.param("2026-11-20T10:00:00-06:00", "2026-11-20T16:00:00Z", id="west"),
        pytest.param("2026-11-20T10:00:00+05:30", "2026-11-20T04:30:00Z", id="east"),
        pytest.param("2026-11-20T10:00:00 05:30", "2026-11-20T04:30:00Z", id="a lost plus"),
        pytest.param("2026-11-20", "2026-11-20T00:00:00Z", id="a date alone"),
        pytest.param("2026-11-20T10:00:00", "2026-11-20T10:00:00Z", id="naive is UTC"),
        pytest.param("2026-11-20T10:00:00.1239Z", "2026-11-20T10:00:00.123Z", id="a fraction"),
        pytest.param("2026-11-20T10:00:00.07Z", "2026-11-20T10:00:00.070Z", id="hundredths"),
        pytest.param("0001-01-01", "0001-01-01T00:00:00Z", id="a year of four digits"),
        pytest.param("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z", id="the last second"),
    ],
)
def test_input_times(written, expected):
    assert timestamps.to_text(timestamps.parse(written)) == expected


@pytest.mark.parametrize(
    "written",
    [
        "",
        "soon",
        "2026-02-30",
        "2026-11-20T25:00:00Z",
        "1795173386",
        "2026-11-20T10:00:00+25:00",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
    ],
)
def test_anything_else_is_refused(written):
    with pytest.raises(ValueError):
        timestamps.parse(written)


def test_a_moment_survives_the_way_there_and_back():
    assert timestamps.to_ms(timestamps.from_ms(1_795_173_386_123)) == 1_795_173_386_123
