"""Time zones by the names that programs write: docs/spec/upstream/caldav.md#time-zones."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from providers.connectors.caldav import zone_names
from providers.connectors.caldav.zone_names import named_zone

NAMES = {
    "W. Europe Standard Time": "Europe/Berlin",
    "w. europe standard time": "Europe/Berlin",
    "W. Europe Daylight Time": "Europe/Berlin",
    "Eastern Standard Time 1": "America/New_York",
    "Eastern Standard Time-2": "America/New_York",
    "Central Standard Time (Mexico)": "America/Mexico_City",
    "Mid-Atlantic Standard Time": "Atlantic/South_Georgia",
    "(UTC-05:00) Eastern Time (US & Canada)": "America/New_York",
    "(GMT-05:00) Eastern Time (US &amp; Canada)": "America/New_York",
    "Eastern Time (US & Canada)": "America/New_York",
    "(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna": "Europe/Berlin",
    "(GMT+01.00) Amsterdam / Berlin / Bern / Rome / Stockholm / Vienna": "Europe/Berlin",
    "(UTC) Dublin, Edinburgh, Lisbon, London": "Europe/London",
    "(UTC+05:30) Chennai, Kolkata, Mumbai, New Delhi": "Asia/Kolkata",
    "(UTC+02:00) Helsinki, Kyiv, Riga, Sofia, Tallinn, Vilnius": "Europe/Kiev",
    "europe/berlin": "Europe/Berlin",
    "EUROPE/BERLIN": "Europe/Berlin",
    "America/New York": "America/New_York",
    "America-New_York": "America/New_York",
    "Europe%2FBerlin": "Europe/Berlin",
    "'Europe/Berlin'": "Europe/Berlin",
    "/freeassociation.sourceforge.net/Europe/Berlin": "Europe/Berlin",
    "/citadel.org/20190914_1/America/Argentina/Buenos_Aires": "America/Argentina/Buenos_Aires",
    "/Europe/Berlin": "Europe/Berlin",
    "US/Pacific-New": "America/Los_Angeles",
    "Asia/Calcutta": "Asia/Kolkata",
}
OFFSETS = {
    "tzone://Microsoft/Utc": 0, "utc": 0, "Z": 0, "UTC+02:00": 120, "UTC+2": 120, "GMT-0530": -330,
    "GMT +1": 60, "+0200": 120, "-03:00": -180, "(UTC+05:45)": 345, "Etc/GMT-2": 120,
    "UTC-08": -480, "UTC+12": 720, "(UTC-11:00) Coordinated Universal Time-11": -660,
}  # fmt: skip
UNKNOWN = ["", "Nowhere", "Customized Time Zone", "tzone://Microsoft/Custom", "UTC+99", "x" * 500,
           "../../etc/passwd", "Standard Time", "GMT+1:99"]  # fmt: skip


@pytest.mark.parametrize(("name", "iana_name"), NAMES.items())
def test_a_zone_is_known_by_its_names(name, iana_name):
    zone, expected = named_zone(name), ZoneInfo(iana_name)

    moments = [datetime(2026, month, 15, 12, tzinfo=UTC) for month in range(1, 13)]
    assert [moment.astimezone(zone).utcoffset() for moment in moments] == [
        moment.astimezone(expected).utcoffset() for moment in moments
    ]


@pytest.mark.parametrize(("name", "minutes"), OFFSETS.items())
def test_an_offset_is_a_zone(name, minutes):
    offset = datetime(2026, 7, 1, tzinfo=named_zone(name)).utcoffset()

    assert offset.total_seconds() == 60 * minutes


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_no_zone_is_unknown(name):
    assert named_zone(name) is None


def test_every_display_name_is_that_of_a_zone_of_windows():
    displayed = list(zone_names._displayed())

    assert {windows_name for windows_name, _ in displayed} <= WINDOWS_TO_OLSON.keys()
    for windows_name, shown in displayed:
        expected = ZoneInfo(WINDOWS_TO_OLSON[windows_name])
        assert {named_zone(windows_name), named_zone(f"(UTC+00:00) {shown}")} == {expected}
