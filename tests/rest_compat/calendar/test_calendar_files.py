"""Third-party calendar files, imported and read over REST, have the expected instances."""

from datetime import UTC, datetime, time
from importlib.util import find_spec
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rruleset, rrulestr
from icalendar import Calendar, Event

from sandbox.importing.dispatch import import_path
from sandbox.storage.database import open_database

SPEC = find_spec("icalendar")
SHIPPED = Path(SPEC.origin).parent / "tests" if SPEC and SPEC.origin else Path()
pytestmark = [
    pytest.mark.skipif(not SHIPPED.is_dir(), reason="its package ships no test files"),
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning"),
]

ACCOUNTS_ZONE = ZoneInfo("Europe/Stockholm")  # by whose clock times without a zone are meant

# File -> the years to read, and how many instances there are in them.
FILES = {
    "calendars/x_location.ics": (2024, 2027, 784),
    "calendars/issue_466_convert_tzid_with_slash.ics": (2022, 2027, 219),
    "calendars/period_with_timezone.ics": (2023, 2025, 9),
    "events/event_with_recurrence.ics": (1996, 1997, 100),
    "events/event_with_recurrence_exdates_on_different_lines.ics": (2012, 2013, 10),
}


def expected(path, first, last):
    """Expand a file with the libraries' own readers and rules alone."""
    instants = []
    for root in Calendar.from_ical(path.read_bytes(), multiple=True):
        for component in [root] if isinstance(root, Event) else root.walk("VEVENT"):
            instants += [when for when in starts(component) if first <= when.year < last]
    return sorted(when.strftime("%Y-%m-%dT%H:%M:%SZ") for when in instants)


def starts(event):
    """Every start of an event or series before 2031, as UTC; a day starts at 00:00 UTC."""
    begin = event["DTSTART"].dt
    place = (begin.tzinfo or ACCOUNTS_ZONE) if isinstance(begin, datetime) else UTC
    start = local(begin, place, time())
    rules = rruleset()
    rules.rdate(start)
    for rule in every(event, "RRULE"):
        if "UNTIL" in rule:
            rule["UNTIL"] = [local(rule["UNTIL"][0], place, start.time())]
        rules.rrule(rrulestr(rule.to_ical().decode(), dtstart=start))
    for name, add in (("EXDATE", rules.exdate), ("RDATE", rules.rdate)):
        for value in (date.dt for dates in every(event, name) for date in dates.dts):
            add(local(value[0] if isinstance(value, tuple) else value, place, start.time()))
    for when in rules:
        if when.year >= 2031:
            return
        yield when.replace(tzinfo=place).astimezone(UTC)


def local(value, place, clock):
    """A date or a time as the clock of *place* shows it, without a zone."""
    if not isinstance(value, datetime):
        return datetime.combine(value, clock)
    return value.astimezone(place).replace(tzinfo=None) if value.tzinfo else value


def every(component, name):
    value = component.get(name, [])
    return value if isinstance(value, list) else [value]


@pytest.mark.slow
@pytest.mark.parametrize("into", ["provider-a", "provider-b"])
@pytest.mark.parametrize("name", FILES)
async def test_rest_returns_the_instances_of_the_librarys_own_expansion(agendas, name, into):
    path = SHIPPED / name
    first, last, count = FILES[name]
    before = set((await agendas.ids()).values())
    import_path(
        open_database(agendas.world.gateway.services.settings.data_dir), into=into, path=path
    )

    (calendar,) = set((await agendas.ids()).values()) - before
    query = {"calendarId": calendar, "from_": f"{first}-01-01", "to": f"{last}-01-01"}
    body = (await agendas.get("/events", limit=1000, **query)).json()
    again = (await agendas.get("/events", limit=1000, **query)).json()

    assert [event["startUtc"] for event in body["events"]] == expected(path, first, last)
    assert len(body["events"]) == body["meta"]["totalCount"] == count
    assert len({event["id"] for event in body["events"]}) == count
    assert again == body
