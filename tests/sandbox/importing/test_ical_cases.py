"""
The importer reads the calendar objects that CalDAV serves as the connector does, by other code.

`tests/rest_compat/calendar/ical_cases/cases.json` names the source of each case.
"""

import json
from datetime import UTC, datetime

import pytest
from paths import REPOSITORY

from sandbox.calendar.records import Window
from sandbox.calendar.store import CalendarStore
from sandbox.importing import ical_files
from sandbox.storage.database import Database

FOLDER = REPOSITORY / "tests" / "rest_compat" / "calendar" / "ical_cases"
CASES = json.loads((FOLDER / "cases.json").read_text("utf-8"))
LISTED = [name for name, case in CASES.items() if "events" in case]
OUTDATED = "a newer version of the same event is taken"


def occurrences(data, zone, until):
    store = CalendarStore(Database(":memory:"))
    calendar = store.add_calendar("provider-a", "Cases", zone=zone)
    read = ical_files.read(data, zone=zone, account="owner@example.com")
    store.add_events(calendar, list(read.events))
    unusable = {event.reason.partition(":")[0] for event in read.unusable}
    unknown = f"an unknown time zone; its times are taken in {zone}"
    assert unusable <= {OUTDATED, unknown, "an attendee without an address"}
    for event in store.events(calendar):
        for occurrence in store.occurrences(event, Window(until=until)):
            yield occurrence.content


def moment(time):
    return time.local.replace(tzinfo=UTC) if time.is_day else time.instant


@pytest.mark.parametrize("name", LISTED)
def test_a_case_is_imported_right(name):
    case = CASES[name]
    edges = (datetime.fromisoformat(case[edge]) for edge in ("from", "to"))
    since, until = (edge.replace(tzinfo=UTC) for edge in edges)
    (file,) = case["files"]
    zone = case["zone"] or "UTC"
    contents = [
        (*times, content)
        for content in occurrences((FOLDER / file).read_bytes(), zone, until)
        if (times := (moment(content.start), moment(content.end)))[0] < until
        and max(times[1], times[0].replace(microsecond=1)) > since
    ]
    contents.sort(key=lambda event: event[:2])

    form = "%Y-%m-%dT%H:%M:%SZ"
    read = [(f"{a:{form}}", f"{b:{form}}", content.title) for a, b, content in contents]
    expected = [tuple(event) for event in case["events"]]
    assert [event[: len(expected[0])] for event in read] == expected
    for member in ("description", "location"):
        if member in case:
            assert getattr(contents[0][2], member) == case[member]
    if "people" in case:
        content = contents[0][2]
        people = [[guest.email, guest.response] for guest in content.attendees]
        organizer = content.organiser.email if content.organiser else None
        assert [organizer, people] == case["people"]


@pytest.mark.parametrize(
    ("written", "hour"),
    [
        ("UTC+02:00", 7), ("GMT-5", 14), ("EUROPE/BERLIN", 8), ("america/new york", 14),
        ("(UTC+01:00) Amsterdam, Berlin, Bern, Rome, Stockholm, Vienna", 8),
        ("(GMT-08:00) Pacific Time (US & Canada)", 17), ("tzone://Microsoft/Utc", 9),
        ("w. europe standard time", 8), ("Romance Standard Time-1", 8), ("US/Pacific-New", 17),
        ("/mozilla.org/20050126_1/Europe/Berlin", 8), ("Nowhere", 4),
    ],
)  # fmt: skip
def test_a_zone_is_known_by_its_names(written, hour):
    event = f'BEGIN:VEVENT\nUID:u\nDTSTART;TZID="{written}":20260105T090000\nEND:VEVENT'
    text = f"BEGIN:VCALENDAR\n{event}\nEND:VCALENDAR\n"
    (content,) = occurrences(text.encode(), "Asia/Yekaterinburg", datetime(2027, 1, 1, tzinfo=UTC))

    assert moment(content.start) == datetime(2026, 1, 5, hour, tzinfo=UTC)


def test_what_is_left_out_or_guessed_is_named():
    lines = (
        "UID:u", "SUMMARY:Keel", "DTSTART;TZID=Nowhere:20260105T090000", "RRULE:FREQ=DAILY;COUNT=2",
        "ATTENDEE;CN=Nobody:mailto:", 'ATTENDEE;CN="unclosed:mailto:ann@x.example',
    )  # fmt: skip
    event = "\n".join(("BEGIN:VEVENT", *lines, "END:VEVENT"))

    read = ical_files.read(
        f"BEGIN:VCALENDAR\n{event}\nEND:VCALENDAR\n".encode(), zone="UTC", account="me@x.example"
    )

    assert [(event.name, event.reason) for event in read.unusable] == [
        ("Keel", 'a line that cannot be read: ATTENDEE;CN="unclosed:mailto:ann@x.example'),
        ("Keel", "an attendee without an address: mailto:"),
        ("Nowhere", "an unknown time zone; its times are taken in UTC"),
    ]


def test_a_change_of_this_and_all_later_times_moves_them():
    series = "DTSTART:20260105T090000Z\nDTEND:20260105T100000Z\nRRULE:FREQ=DAILY;COUNT=4"
    change = (
        "RECURRENCE-ID;RANGE=THISANDFUTURE:20260106T090000Z\n"
        "DTSTART:20260106T120000Z\nDTEND:20260106T123000Z\nSUMMARY:Later"
    )
    single = (
        "RECURRENCE-ID:20260107T090000Z\nDTSTART:20260107T150000Z\nDTEND:20260107T160000Z\n"
        "SUMMARY:Once"
    )
    events = "\n".join(
        f"BEGIN:VEVENT\nUID:u\n{lines}\nEND:VEVENT" for lines in (series, single, change)
    )
    text = f"BEGIN:VCALENDAR\n{events}\nEND:VCALENDAR\n"

    contents = occurrences(text.encode(), "UTC", datetime(2027, 1, 1, tzinfo=UTC))

    assert sorted(
        (f"{c.start.local:%d %H:%M}", f"{c.end.local:%H:%M}", c.title) for c in contents
    ) == [
        ("05 09:00", "10:00", None),
        ("06 12:00", "12:30", "Later"),
        ("07 15:00", "16:00", "Once"),
        ("08 12:00", "12:30", "Later"),
    ]
