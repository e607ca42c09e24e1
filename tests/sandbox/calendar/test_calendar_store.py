"""The calendar store: windows, overrides, and writes of another process."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sandbox.calendar.records import (
    EventContent,
    EventTime,
    NewEvent,
    Override,
    Recurrence,
    Window,
    from_local,
)
from sandbox.calendar.store import HORIZON, CalendarStore
from sandbox.storage.database import Database

NOW = datetime(2026, 1, 5, tzinfo=UTC)
ZONE = "Europe/Stockholm"


def at(text, zone=ZONE):
    return from_local(datetime.fromisoformat(text), zone)


def utc(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def meeting(start, end, **more):
    return EventContent(start=at(start), end=at(end), title="Keel", **more)


@pytest.fixture
def store():
    return CalendarStore(Database(":memory:"), clock=NOW.timestamp)


@pytest.fixture
def calendar(store):
    return store.add_calendar("provider-a", "Yard", zone=ZONE)


@pytest.fixture
def standup(store, calendar):
    """Every day at nine; the 6th is off, the 7th is at noon, the 8th is dropped."""
    content = meeting("2026-01-05T09:00", "2026-01-05T09:15")
    new = NewEvent(
        content=content,
        recurrence=Recurrence(rules=("FREQ=DAILY;COUNT=6",), dropped=(at("2026-01-08T09:00"),)),
        overrides=(
            Override(original=at("2026-01-06T09:00"), cancelled=True),
            Override(
                original=at("2026-01-07T09:00"), content=content.starting_at(at("2026-01-07T12:00"))
            ),
        ),
    )
    return store.add_events(calendar, (new,))[0]


def shown(store, event, window=None):
    occurrences = store.occurrences(event, window) if window else store.occurrences(event)
    return sorted((item.content.start.stamp[4:11], item.cancelled) for item in occurrences)


def test_a_series_applies_overrides_and_omits_dropped_starts(store, standup):
    assert shown(store, standup) == [
        ("0105T08", False),
        ("0106T08", True),
        ("0107T11", False),
        ("0109T08", False),
        ("0110T08", False),
    ]


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ("2026-01-05T08:15", "2026-01-06T08:00", []),
        ("2026-01-05T08:14", "2026-01-06T08:01", ["0105T08", "0106T08"]),
        ("2026-01-07T08:00", "2026-01-07T09:00", []),
        ("2026-01-07T11:00", "2026-01-07T12:00", ["0107T11"]),
    ],
    ids=["between two", "the ends of two", "where one was", "where one was moved to"],
)
def test_a_window_contains_overlapping_occurrences(store, standup, since, until, expected):
    window = Window(since=utc(since), until=utc(until))

    assert [when for when, _ in shown(store, standup, window)] == expected


def test_an_event_without_length_counts_by_its_start(store, calendar):
    content = meeting("2026-01-05T09:00", "2026-01-05T09:00")
    (event,) = store.add_events(calendar, (NewEvent(content=content),))
    eight = utc("2026-01-05T08:00")

    assert shown(store, event, Window(since=eight, until=eight + timedelta(hours=1)))
    assert not shown(store, event, Window(since=eight - timedelta(hours=1), until=eight))


def test_a_day_begins_at_midnight_in_its_zone(store, calendar):
    day = EventTime(ZONE, day=at("2026-01-05T00:00").local.date())
    content = EventContent(start=day, end=day.later(timedelta(days=1)))
    (event,) = store.add_events(calendar, (NewEvent(content=content),))

    assert shown(store, event, Window(until=utc("2026-01-04T23:01")))
    assert not shown(store, event, Window(since=utc("2026-01-05T23:00")))


def test_a_window_inside_a_long_occurrence_contains_it(store, calendar):
    content = meeting("2026-01-05T09:00", "2026-03-05T09:00")
    new = NewEvent(content=content, recurrence=Recurrence(rules=("FREQ=YEARLY",)))
    (event,) = store.add_events(calendar, (new,))
    window = Window(since=utc("2027-02-01T00:00"), until=utc("2027-02-02T00:00"))

    assert [when for when, _ in shown(store, event, window)] == ["0105T08"]


def test_an_endless_series_ends_at_the_horizon(store, calendar):
    content = meeting("2026-01-05T09:00", "2026-01-05T10:00")
    new = NewEvent(content=content, recurrence=Recurrence(rules=("FREQ=DAILY",)))
    (event,) = store.add_events(calendar, (new,))

    assert len(shown(store, event)) == HORIZON.days


def test_a_meeting_over_two_zones_keeps_its_length(store, calendar):
    content = EventContent(
        start=at("2026-03-01T10:00"), end=at("2026-03-01T13:00", "America/New_York")
    )
    new = NewEvent(content=content, recurrence=Recurrence(rules=("FREQ=WEEKLY;COUNT=6",)))
    (event,) = store.add_events(calendar, (new,))
    contents = [occurrence.content for occurrence in store.occurrences(event)]

    lengths = {content.end.instant - content.start.instant for content in contents}
    assert lengths == {timedelta(hours=9)}


def test_an_occurrence_is_found_by_its_original_start(store, standup):
    moved = store.occurrence(standup, at("2026-01-07T09:00"))
    plain = store.occurrence(standup, at("2026-01-09T09:00"))

    assert (moved.content.start.stamp, moved.is_exception) == ("20260107T110000Z", True)
    assert (plain.content.start.stamp, plain.is_exception) == ("20260109T080000Z", False)


@pytest.mark.parametrize(
    "start", ["2026-01-08T09:00", "2026-01-09T10:00", "2026-01-11T09:00", "2026-01-04T09:00"]
)
def test_a_start_outside_the_series_has_no_occurrence(store, standup, start):
    assert store.occurrence(standup, at(start)) is None


def test_another_store_on_the_same_file_notices_writes(tmp_path):
    first, second = (CalendarStore(Database(tmp_path / "s.db")) for _ in range(2))
    calendar = first.add_calendar("provider-b", "Sites", zone=ZONE)
    (event,) = first.add_events(
        calendar, (NewEvent(content=meeting("2026-01-05T09:00", "2026-01-05T10:00")),)
    )
    seen = second.find("provider-b", event.id)
    first.put(replace(event, content=replace(event.content, title="Mast")))

    assert seen == (event,)
    assert second.find("provider-b", event.immutable_id)[0].content.title == "Mast"
    assert [calendar.name for calendar in second.calendars("provider-b")] == ["Calendar", "Sites"]


def test_events_survive_a_reopening_unchanged(tmp_path, standup):
    first = CalendarStore(Database(tmp_path / "s.db"))
    calendar = first.add_calendar("provider-a", "Yard", zone=ZONE)
    new = NewEvent(
        content=standup.content, recurrence=standup.recurrence, overrides=standup.overrides
    )
    (event,) = first.add_events(calendar, (new,))

    assert CalendarStore(Database(tmp_path / "s.db")).find("provider-a", event.id) == (event,)


def test_an_account_starts_with_a_primary_calendar(store):
    (calendar,) = store.calendars("provider-a")

    assert (calendar.is_primary, calendar.zone) == (True, "UTC")
    assert store.add_calendar("provider-a", "Own", zone=ZONE, is_primary=True).seq == calendar.seq
    assert [calendar.name for calendar in store.calendars("provider-a")] == ["Own"]


@pytest.mark.parametrize(
    "content",
    [
        meeting("0999-01-01T00:00", "0999-01-01T01:00"),
        meeting("9998-01-01T00:00", "9998-01-01T01:00"),
    ],
    ids=["too early", "too late"],
)
def test_times_outside_the_supported_years_are_refused(store, calendar, content):
    with pytest.raises(ValueError):
        store.add_events(calendar, (NewEvent(content=content),))

    assert store.events(calendar) == ()
