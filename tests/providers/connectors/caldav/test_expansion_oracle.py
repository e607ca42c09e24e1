"""
Generated calendars, expanded by the connector and by the library recurring-ical-events.

Both read the same text; the starts, ends and titles of all occurrences in a range are compared.
The library and dateutil, on which it stands, read two kinds of rules otherwise than RFC 5545,
3.3.10, and are given what these rules mean instead:

- `WEEKLY` with `BYSETPOS`: positions of the first week are counted from DTSTART
  (dateutil/dateutil#1398);
- `YEARLY` with `BYWEEKNO` alone: each day of the week instead of the weekday of DTSTART.

Three more are not generated, because the library differs: an end behind a clock change (it keeps
the length by the clock, RFC 5545, 3.8.5.3, the exact one), an occurrence that is excluded and
overridden by the same revision (it hides it), and an override of a time that no rule gives.
"""

import os
import re
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
import recurring_ical_events
from generated_calendars import WEEKDAYS, generated_calendar
from icalendar import Calendar

from providers.connectors.caldav.bounded_rules import Work
from providers.connectors.caldav.calendar_objects import parse_object
from providers.connectors.caldav.occurrences import occurrences
from providers.ports.calendar import Span

SEED = os.environ.get("CALENDAR_SEED", "0")
PARTS = 10
DAY = timedelta(days=1)


@pytest.mark.tries(2, 200)
@pytest.mark.parametrize("part", range(PARTS))
def test_an_independent_expansion_is_the_same(tries, part):
    for number in range(part, tries * PARTS, PARTS):
        generated = generated_calendar(Random(f"{SEED}-{number}"))

        assert by_connector(generated) == by_library(generated), (number, generated)


def by_connector(generated):
    parsed, work = parse_object("u.ics", generated.text, UTC), Work()
    listed = occurrences(parsed, Span(generated.start, generated.end), work)
    assert parsed.is_whole
    assert parsed.zones_are_known
    assert not work.was_cut
    return sorted((event.span.start, event.span.end, event.content.title) for event in listed)


def by_library(generated):
    calendar = Calendar.from_ical(as_the_library_means_it(generated))
    events = recurring_ical_events.of(calendar).between(generated.start - DAY, generated.end + DAY)
    times = ((moment(event.start), moment(event.end), str(event["SUMMARY"])) for event in events)
    span = Span(generated.start, generated.end)
    return sorted(event for event in times if span.meets(*event[:2]))


def moment(value):
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)


def as_the_library_means_it(generated):
    """Write the two kinds of rules that the library reads otherwise by parts that it knows."""
    rule = generated.rule
    if "BYWEEKNO" in rule and "BYDAY" not in rule:
        rule += f";BYDAY={WEEKDAYS[generated.first.weekday()]}"
    elif "WEEKLY" in rule and "BYSETPOS" in rule:
        before, days, position = re.split(";BYDAY=|;BYSETPOS=", rule)
        in_order = sorted(days.split(","), key=WEEKDAYS.index)
        rule = f"{before};BYDAY={in_order[int(position) - (int(position) > 0)]}"
    return generated.text.replace(f"RRULE:{generated.rule}", f"RRULE:{rule}")
