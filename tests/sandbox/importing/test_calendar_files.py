"""Calendar files in the sandbox: files that others ship, every feature alone, and odd input."""

from datetime import UTC, datetime, time, timedelta
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from dateutil.rrule import rruleset, rrulestr
from hypothesis import given
from hypothesis import strategies as st
from icalendar import Calendar, Event

from sandbox.calendar.records import Window
from sandbox.calendar.store import CalendarStore
from sandbox.importing import ical_files
from sandbox.importing.dispatch import import_path
from sandbox.importing.report import ALREADY_THERE, CannotImport
from sandbox.storage.database import Database

SPEC = find_spec("icalendar")
SHIPPED = Path(SPEC.origin).parent / "tests" if SPEC and SPEC.origin else Path()
needs_files = pytest.mark.skipif(not SHIPPED.is_dir(), reason="its package ships no test files")
FAR = datetime(2031, 1, 1, tzinfo=UTC)
BERLIN = """BEGIN:VTIMEZONE
TZID:{name}
BEGIN:STANDARD
DTSTART:16010101T030000
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010101T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU
END:DAYLIGHT
END:VTIMEZONE
"""


@pytest.fixture
def store():
    return Database(":memory:")


@pytest.fixture
def load(store, tmp_path):
    """Import a text; return the report and the calendar that it made."""

    def run(text, *, into="provider-a", name="Holidays.ics"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        report = import_path(store, into=into, path=path)
        return report, CalendarStore(store)

    return run


def calendar(*events, head=""):
    return f"BEGIN:VCALENDAR\nVERSION:2.0\n{head}{''.join(events)}END:VCALENDAR\n"


def event(*lines, uid="1@x"):
    return "\n".join(("BEGIN:VEVENT", f"UID:{uid}", *lines, "END:VEVENT", ""))


def imported(calendars, into="provider-a"):
    """Every occurrence in the newest calendar, as (title, start, end, cancelled)."""
    place = calendars.calendars(into)[-1]
    return sorted(
        (
            occurrence.content.title or "",
            occurrence.content.start.stamp,
            occurrence.content.end.stamp,
            occurrence.cancelled,
        )
        for event in calendars.events(place)
        for occurrence in calendars.occurrences(event, Window(until=FAR))
    )


def only(calendars, into="provider-a"):
    """The only event of the newest calendar."""
    (event,) = calendars.events(calendars.calendars(into)[-1])
    return event


# Files that others ship


def expected_starts(path):
    """Expand a file without our code: the libraries' own readers and rules alone."""
    starts = []
    for root in Calendar.from_ical(path.read_bytes(), multiple=True):
        for component in [root] if isinstance(root, Event) else root.walk("VEVENT"):
            starts += starts_of(component)
    return sorted(starts)


def starts_of(component):
    first = component["DTSTART"].dt
    is_day = not isinstance(first, datetime)
    place = None if is_day else first.tzinfo
    start = local(first, place, time())
    rules = rruleset()
    rules.rdate(start)
    for rule in every(component, "RRULE"):
        if "UNTIL" in rule:
            rule["UNTIL"] = [local(rule["UNTIL"][0], place, start.time())]
        rules.rrule(rrulestr(rule.to_ical().decode(), dtstart=start))
    for name, add in (("EXDATE", rules.exdate), ("RDATE", rules.rdate)):
        for value in (date.dt for dates in every(component, name) for date in dates.dts):
            add(local(value[0] if isinstance(value, tuple) else value, place, start.time()))
    times = takewhile(lambda when: when.year < 2031, rules)
    if is_day:
        return [f"{when:%Y%m%d}" for when in times]
    return [f"{when.replace(tzinfo=place).astimezone(UTC):%Y%m%dT%H%M%SZ}" for when in times]


def local(value, place, clock):
    """A date or a time as the clock of *place* shows it."""
    if not isinstance(value, datetime):
        return datetime.combine(value, clock)
    return value.astimezone(place).replace(tzinfo=None) if value.tzinfo else value


def every(component, name):
    value = component.get(name, [])
    return value if isinstance(value, list) else [value]


FILES = {
    "events/event_with_recurrence_exdates_on_different_lines.ics": 10,
    "events/issue_112_missing_tzinfo_on_exdate.ics": 11,
    "events/event_with_recurrence.ics": 97,
    "calendars/period_with_timezone.ics": 9,
    "calendars/issue_466_convert_tzid_with_slash.ics": 428,
    "calendars/x_location.ics": 3698,
    "events/issue_70_rrule_causes_attribute_error.ics": 18,
    "events/issue_156_RDATE_with_PERIOD_list.ics": 3,
    "calendars/issue_1081_event_with_rrule.ics": 10,
    "calendars/america_new_york.ics": None,
    "calendars/issue_526_calendar_with_events.ics": None,
}


@needs_files
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("name", FILES)
def test_a_shipped_file_has_the_instances_of_another_expansion(name, load):
    path = SHIPPED / name
    report, calendars = load(path.read_bytes(), name=path.name)
    starts = [start for _, start, _, _ in imported(calendars)]

    assert sorted(starts) == expected_starts(path)
    assert report.imported > 0
    if FILES[name] is not None:
        assert len(starts) == FILES[name]


@pytest.mark.slow
@needs_files
def test_every_shipped_file_is_read_or_refused_in_words(store):
    imported_events, reports = 0, []
    for path in sorted(SHIPPED.rglob("*.ics")):
        try:
            report = import_path(store, into="provider-b", path=path)
        except CannotImport as refusal:
            reports.append((path.name, str(refusal)))
            continue
        imported_events += report.imported
        reports += report.skipped
        for event in CalendarStore(store).events(CalendarStore(store).calendars("provider-b")[-1]):
            list(CalendarStore(store).occurrences(event, Window(until=FAR)))

    assert imported_events > 60
    assert all(name and reason for name, reason in reports)


# Every feature alone


ROWS = {
    "a moment at UTC": (
        ("DTSTART:20260105T090000Z", "DTEND:20260105T100000Z"),
        [("20260105T090000Z", "20260105T100000Z")],
    ),
    "a moment by a zone's clock": (
        ("DTSTART;TZID=America/New_York:20260105T090000", "DURATION:PT90M"),
        [("20260105T140000Z", "20260105T153000Z")],
    ),
    "a floating time, by the clock of the calendar": (
        ("DTSTART:20260105T090000", "DURATION:PT1H"),
        [("20260105T070000Z", "20260105T080000Z")],
    ),
    "a day": (("DTSTART;VALUE=DATE:20260105",), [("20260105", "20260106")]),
    "several days": (
        ("DTSTART;VALUE=DATE:20260105", "DTEND;VALUE=DATE:20260108"),
        [("20260105", "20260108")],
    ),
    "days by their duration": (
        ("DTSTART;VALUE=DATE:20260105", "DURATION:P1W"),
        [("20260105", "20260112")],
    ),
    "a moment without an end": (
        ("DTSTART:20260105T090000Z",),
        [("20260105T090000Z", "20260105T090000Z")],
    ),
    "a day and a night by the clock": (
        ("DTSTART;TZID=Europe/Stockholm:20260328T090000", "DURATION:P1D"),
        [("20260328T080000Z", "20260329T070000Z")],
    ),
    "twenty-four hours": (
        ("DTSTART;TZID=Europe/Stockholm:20260328T090000", "DURATION:PT24H"),
        [("20260328T080000Z", "20260329T080000Z")],
    ),
    "a rule, with dates added and dropped": (
        (
            "DTSTART;TZID=Europe/Stockholm:20260323T090000",
            "DURATION:PT1H",
            "RRULE:FREQ=WEEKLY;COUNT=3",
            "EXDATE;TZID=Europe/Stockholm:20260330T090000",
            "RDATE;TZID=Europe/Stockholm:20260401T100000",
        ),
        [
            ("20260323T080000Z", "20260323T090000Z"),
            ("20260401T080000Z", "20260401T090000Z"),
            ("20260406T070000Z", "20260406T080000Z"),
        ],
    ),
    "periods": (
        (
            "DTSTART:20260105T090000Z",
            "DURATION:PT1H",
            "RDATE;VALUE=PERIOD:20260106T090000Z/PT2H,20260107T090000Z/20260107T093000Z",
        ),
        [
            ("20260105T090000Z", "20260105T100000Z"),
            ("20260106T090000Z", "20260106T110000Z"),
            ("20260107T090000Z", "20260107T093000Z"),
        ],
    ),
    "a rule that takes out": (
        (
            "DTSTART;VALUE=DATE:20260105",
            "RRULE:FREQ=DAILY;COUNT=4",
            "EXRULE:FREQ=DAILY;INTERVAL=2;COUNT=2",
        ),
        [("20260106", "20260107"), ("20260108", "20260109")],
    ),
}


@pytest.mark.parametrize(("lines", "expected"), ROWS.values(), ids=ROWS)
def test_times_are_read_in_their_zones(lines, expected, load):
    head = "X-WR-TIMEZONE:Europe/Helsinki\n"

    report, calendars = load(calendar(event("SUMMARY:Keel", *lines), head=head))

    assert [(start, end) for _, start, end, _ in imported(calendars)] == expected
    assert report.skipped == ()


@pytest.mark.parametrize(
    ("tzid", "definition"),
    [
        ("W. Europe Standard Time", ""),
        ("/mozilla.org/20050126_1/Europe/Amsterdam", ""),
        ("Somewhere", BERLIN),
        ("GMT +0100 (Standard) / GMT +0200 (Daylight)", BERLIN),
    ],
    ids=["another system's name", "a vendor's prefix", "its own definition", "a quoted name"],
)
@pytest.mark.parametrize("day", ["20060327", "20260330"])
def test_zones_are_matched_by_name_or_definition(tzid, definition, day, load):
    lines = (f'DTSTART;TZID="{tzid}":{day}T090000', "RRULE:FREQ=YEARLY;COUNT=1")
    text = calendar(definition.format(name=tzid), event(*lines))

    report, calendars = load(text)

    assert [start for _, start, _, _ in imported(calendars)] == [f"{day}T070000Z"]
    assert only(calendars).content.start.zone.startswith("Europe/")
    assert report.skipped == ()


ODD_CLOCK = """BEGIN:VTIMEZONE
TZID:Odd
BEGIN:STANDARD
DTSTART:19700101T000000
TZOFFSETFROM:+0117
TZOFFSETTO:+0017
RRULE:FREQ=YEARLY;BYMONTH=9;BYDAY=1SU
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:19700101T000000
TZOFFSETFROM:+0017
TZOFFSETTO:+0117
RRULE:FREQ=YEARLY;BYMONTH=2;BYDAY=1SU
END:DAYLIGHT
END:VTIMEZONE
"""


@pytest.mark.slow
def test_zone_without_iana_match_is_expanded(load):
    series = event(
        "DTSTART;TZID=Odd:20260130T090000",
        "DURATION:PT1H",
        "RRULE:FREQ=DAILY;UNTIL=20260204T074300Z",
        "EXDATE;TZID=Odd:20260202T090000",
        "SUMMARY:Keel",
    )
    late = event(
        "RECURRENCE-ID:20260203T074300Z", "DTSTART;TZID=Odd:20260203T120000", "SUMMARY:Late"
    )

    report, calendars = load(calendar(ODD_CLOCK, series, late))

    assert imported(calendars) == [
        ("Keel", "20260130T084300Z", "20260130T094300Z", False),
        ("Keel", "20260131T084300Z", "20260131T094300Z", False),
        ("Keel", "20260201T074300Z", "20260201T084300Z", False),
        ("Keel", "20260204T074300Z", "20260204T084300Z", False),
        ("Late", "20260203T104300Z", "20260203T104300Z", False),
    ]
    assert report.skipped == ()


def test_changed_occurrences_are_merged_into_their_series(load):
    text = calendar(
        event(
            "DTSTART;TZID=Europe/Stockholm:20260105T090000",
            "DURATION:PT1H",
            "RRULE:FREQ=DAILY;COUNT=4",
            "SUMMARY:Keel",
        ),
        event("RECURRENCE-ID:20260106T080000Z", "DTSTART:20260106T120000Z", "SUMMARY:Keel, late"),
        event(
            "RECURRENCE-ID;VALUE=DATE:20260107",
            "DTSTART;TZID=Europe/Stockholm:20260107T090000",
            "DURATION:PT1H",
            "SUMMARY:Keel",
            "STATUS:CANCELLED",
        ),
    )

    report, calendars = load(text)

    assert imported(calendars) == [
        ("Keel", "20260105T080000Z", "20260105T090000Z", False),
        ("Keel", "20260107T080000Z", "20260107T090000Z", True),
        ("Keel", "20260108T080000Z", "20260108T090000Z", False),
        ("Keel, late", "20260106T120000Z", "20260106T120000Z", False),
    ]
    assert report.imported == 1


def test_occurrence_without_its_series_is_a_separate_event(load):
    lone = event("RECURRENCE-ID:20260106T080000Z", "DTSTART:20260106T120000Z", "SUMMARY:Late")

    _, calendars = load(calendar(lone))

    assert imported(calendars) == [("Late", "20260106T120000Z", "20260106T120000Z", False)]


def test_event_properties_are_imported(load):
    text = calendar(
        event(
            "DTSTART:20260105T090000Z",
            "DURATION:PT1H",
            "SUMMARY:Keel\\, and mast",
            "DESCRIPTION:First line\\nsecond",
            " line",
            "LOCATION:Shed 3",
            "ORGANIZER;CN=Jonas Ekström:mailto:jonas@x.test",
            'ATTENDEE;CN="Ann, B.";PARTSTAT=ACCEPTED:MAILTO:ann@x.test',
            "ATTENDEE;PARTSTAT=TENTATIVE;ROLE=OPT-PARTICIPANT:mailto:me@provider-a.example",
            "ATTENDEE;CUTYPE=ROOM;PARTSTAT=DECLINED:mailto:loft@x.test",
            "ATTENDEE:urn:uuid:1",
            "CATEGORIES:Boats,Wood\\, hard",
            "CLASS:PRIVATE",
            "TRANSP:TRANSPARENT",
            "STATUS:TENTATIVE",
            "PRIORITY:1",
            "X-GOOGLE-CONFERENCE:https://meet.x.test/abc",
            "BEGIN:VALARM",
            "ACTION:DISPLAY",
            "TRIGGER:-PT20M",
            "END:VALARM",
        ),
        head="X-WR-CALNAME:Yard\\, ours\n",
    )

    _, calendars = load(text)
    content = only(calendars).content

    assert calendars.calendars("provider-a")[-1].name == "Yard, ours"
    assert (content.title, content.description) == ("Keel, and mast", "First line\nsecondline")
    assert (content.organiser.name, content.organiser.email) == ("Jonas Ekström", "jonas@x.test")
    assert [(attendee.email, attendee.response) for attendee in content.attendees] == [
        ("ann@x.test", "accepted"),
        ("me@provider-a.example", "tentative"),
        ("loft@x.test", "declined"),
    ]
    assert [(attendee.is_optional, attendee.is_resource) for attendee in content.attendees] == [
        (False, False),
        (True, False),
        (False, True),
    ]
    assert content.categories == ("Boats", "Wood, hard")
    assert (content.is_private, content.shows_as, content.status) == (True, "free", "tentative")
    assert (content.my_response, content.reminder, content.importance) == ("tentative", 20, "high")
    assert content.video_link == "https://meet.x.test/abc"


def test_cancel_method_cancels_the_event(load):
    lines = ("DTSTART:20260105T090000Z", "SUMMARY:Keel")

    _, calendars = load(calendar(event(*lines), head="METHOD:CANCEL\n"))

    assert [cancelled for *_, cancelled in imported(calendars)] == [True]


def test_second_import_adds_only_new_events(load):
    first, second = (event("DTSTART:20260105T090000Z", uid=name) for name in ("1@x", "2@x"))
    load(calendar(first))

    report, calendars = load(calendar(first, second))

    assert report.imported == 1
    assert report.skipped == (("1@x", ALREADY_THERE),)
    assert [entry.name for entry in calendars.calendars("provider-a")] == ["Calendar", "Holidays"]


def test_newest_version_of_an_event_is_imported(load):
    old = event("DTSTART:20260105T090000Z", "SUMMARY:Old", "SEQUENCE:1")
    new = event("DTSTART:20260105T090000Z", "SUMMARY:New", "SEQUENCE:2")

    report, calendars = load(calendar(new, old))

    assert only(calendars).content.title == "New"
    assert report.skipped == (("Old", "a newer version of the same event is taken"),)


REFUSED = {
    "a task": ("BEGIN:VTODO\nSUMMARY:Varnish\nEND:VTODO\n", "Varnish", "a VTODO is no event"),
    "no start": (event("SUMMARY:Keel"), "Keel", "it has no start"),
    "no date": (event("DTSTART:soon", "SUMMARY:Keel"), "Keel", "not a date: soon"),
    "no day of the calendar": (
        event("DTSTART:20260230T090000Z", "SUMMARY:Keel"),
        "Keel",
        "not a date: 20260230",
    ),
    "out of time": (
        event("DTSTART:00010101T000000Z", "SUMMARY:Keel"),
        "Keel",
        "a time that is out of range",
    ),
}


@pytest.mark.parametrize(("text", "name", "reason"), REFUSED.values(), ids=REFUSED)
def test_unusable_event_is_reported_and_the_rest_imported(text, name, reason, load):
    good = event("DTSTART:20260105T090000Z", "SUMMARY:Mast", uid="2@x")

    report, calendars = load(calendar(text, good))

    assert report.skipped == ((name, reason),)
    assert only(calendars).content.title == "Mast"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("RRULE:FREQ=NEVER", "a rule that cannot be followed: FREQ=NEVER"),
        ("EXDATE:soon", "a date that cannot be read: soon"),
        ("RDATE;VALUE=PERIOD:20260105T090000Z/P", "a date that cannot be read: 20260105T090000Z/P"),
        ("no line at all", "a line that cannot be read: no line at all"),
        ("EXRULE:FREQ=X", "a rule that cannot be followed: FREQ=X"),
    ],
)
def test_broken_line_is_reported_and_the_event_imported(line, reason, load):
    report, calendars = load(calendar(event("DTSTART:20260105T090000Z", "SUMMARY:Keel", line)))

    assert report.skipped == (("Keel", reason),)
    assert only(calendars).content.title == "Keel"


@pytest.mark.parametrize("data", [b"", b"hello", b"\x00\xff\xfe", b"<html></html>"])
def test_file_without_calendar_is_refused(data, load):
    with pytest.raises(CannotImport):
        load(data)


def test_options_are_refused(store, tmp_path):
    path = tmp_path / "a.ics"
    path.write_text(calendar())

    with pytest.raises(CannotImport, match="label"):
        import_path(store, into="provider-a", path=path, label="x")


def test_old_character_sets_and_line_ends_are_read(load):
    text = calendar(event("DTSTART:20260105T090000Z", "SUMMARY:Möte i Göteborg"))

    _, calendars = load(text.replace("\n", "\r\n").encode("windows-1252"))

    assert only(calendars).content.title == "Möte i Göteborg"


def test_unclosed_component_ends_with_its_parent(load):
    text = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20260105T090000Z\nSUMMARY:Keel\nEND:VCALENDAR\n"

    _, calendars = load(text)

    assert only(calendars).content.title == "Keel"


WORDS = (
    "BEGIN:VCALENDAR\n", "END:VCALENDAR\n", "BEGIN:VEVENT\n", "END:VEVENT\n", "BEGIN:VTIMEZONE\n",
    "END:VTIMEZONE\n", "DTSTART:20260105T090000Z\n", "DTSTART;VALUE=DATE:20260105\n", "UID:1\n",
    "DTEND:20260105T100000Z\n", "RRULE:FREQ=DAILY\n", "RECURRENCE-ID:20260106T090000Z\n",
    "DTSTART;TZID=x:20260105T090000\n", "TZID:x\n", "EXDATE:", "DURATION:PT1H\n", ";", ":", " ",
    "RDATE:", "TZOFFSETFROM:+0100\n", "BEGIN:STANDARD\n", "END:STANDARD\n",
)  # fmt: skip


@given(st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=6)), max_size=25))
def test_any_text_is_a_calendar_or_refused(pieces):
    try:
        calendar_file = ical_files.read(
            "".join(pieces).encode("utf-8", "replace"), zone="UTC", account="a"
        )
    except ValueError:
        return
    store = CalendarStore(Database(":memory:"))
    events = store.add_events(store.primary("provider-a"), calendar_file.events)
    for stored_event in events:
        list(store.occurrences(stored_event, Window(until=datetime(2026, 3, 1, tzinfo=UTC))))


def test_a_zone_without_any_meaning_is_the_calendar_s_own(load):
    lines = ("DTSTART;TZID=Nowhere:20260105T090000", "DURATION:PT1H", "SUMMARY:Keel")

    _, calendars = load(calendar(event(*lines), head="X-WR-TIMEZONE:Asia/Tokyo\n"))
    content = only(calendars).content

    assert content.start.instant == datetime(2026, 1, 5, 9, tzinfo=ZoneInfo("Asia/Tokyo"))
    assert content.end.instant - content.start.instant == timedelta(hours=1)
