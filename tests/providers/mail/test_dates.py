"""Date headers as programs write them: docs/spec/email.md#dates."""

import pytest

from providers.mail import dates

NOON = "2026-08-06T10:27:13+00:00"
ROWS = {
    "Thu, 06 Aug 2026 12:27:13 +0200": NOON,
    "Thu, 06 Aug 2026 12:27:13 +02:00": NOON,
    "Thu, 06 Aug 2026 12:27:13 GMT+0200": NOON,
    "Thu, 06 Aug 2026 12:27:13 UTC+2": NOON,
    "Thu, 06 Aug 2026 12:27:13 CEST": NOON,
    "Thu, 06 Aug 2026 12:27:13 +0200 CEST": NOON,
    "Thu, 06 Aug 2026 12:27:13 +0200 (GMT+02:00)": NOON,
    "(c) Thu (x(y)), 06 (day) Aug 2026 12:27:13 (zone) +0200": NOON,
    "Thu,06 Aug 2026 12:27:13+0200": NOON,
    "Thu, 06 Aug 26 12:27:13 +0200": NOON,
    "Thu, 06 Aug 126 12:27:13 +0200": NOON,
    "Thursday, 06-Aug-26 10:27:13 GMT": NOON,
    'Thu, 06 Aug 2026 10:27:13 "GMT"': NOON,
    "Do, 06 Aug 2026 12.27.13 +0200": NOON,
    "2026-08-06T12:27:13+02:00": NOON,
    "2026-08-06 10:27:13Z": NOON,
    "20260806T102713.25Z": NOON,
    "Thu Aug 06 2026 12:27:13 GMT+0200 (Central European Summer Time)": NOON,
    "Thu Aug  6 10:27:13 2026": NOON,
    "Thu Aug 6 12:27:13 +0200 2026": NOON,
    "Thu Aug 6 12:27:13 CEST 2026": NOON,
    "Thu Aug 6 05:27:13 -0500 2026": NOON,
    "Thu, 6 Aug 2026 10:27:13 AM +0000": NOON,
    "August 6, 2026 10:27:13 a.m.": NOON,
    "Thu, 6 Aug 2026 01:27:13 PM +0200": "2026-08-06T11:27:13+00:00",
    "Thu, 6 Aug 2026 12:27:13 AM +0200": "2026-08-05T22:27:13+00:00",
    "Thu, 06 Aug 2026 12:27:13 EST": "2026-08-06T17:27:13+00:00",
    "Thu, 06 Aug 2026 12:27:13 +1300": "2026-08-05T23:27:13+00:00",
    "Thu, 06 Aug 2026 12:27:13 -0000": "2026-08-06T12:27:13+00:00",
    "Thu, 06 Aug 2026 12:27:13 A": "2026-08-06T12:27:13+00:00",
    "Wed, 30 Jun 2026 23:59:60 +0000": "2026-07-01T00:00:00+00:00",
    "Wed, 30 Jun 2026 23:59:61 +0000": None,
    "Thu, 06 Aug 2026 12:27:13 XYZT": None,
    "Thu, 06 Aug 2026 12:27:13 +9900": None,
    "Thu, 06 Aug 2026 12:27:13 0200": None,
    "Thu, 06 Aug 2026 25:27:13 +0200": None,
    "Thu, 31 Feb 2026 12:27:13 +0200": None,
    "8/6/2026 12:27:13 PM": None,
    "2026-08-06": None,
    "Fri, 31 Dec 9999 23:59:59 -0500": None,
    "": None,
}


@pytest.mark.parametrize(("header", "moment"), ROWS.items())
def test_a_date_is_read_or_is_no_date(header, moment):
    parsed = dates.parse(header)

    assert (parsed and parsed.isoformat()) == moment
