"""The demo world's meeting plan: what decisions 16 promises, on days all over the year."""

from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from sandbox.calendar.records import Attendee
from sandbox.mail.ids import MAILBOXES
from sandbox.world.accounts import demo_accounts
from sandbox.world.calendar.calendars import calendar_plans, planned_meetings
from sandbox.world.calendar.meetings import Meeting, OccurrenceChange, instant, occurrences

DAYS = (date(2026, 11, 20), date(2027, 2, 28), date(2026, 3, 29), date(2028, 1, 1))
STOCKHOLM = ZoneInfo("Europe/Stockholm")
ANN = Attendee(email="ann@x.example", response="accepted")


def desk_of(box, day):
    return next(desk for desk in demo_accounts(day) if desk.mailbox == box)


def around(box, day, reach=60):
    """Every occurrence within *reach* days of *day*."""
    middle = datetime.combine(day, time(), UTC)
    since, until = middle - timedelta(days=reach), middle + timedelta(days=reach)
    return [
        found
        for meeting in planned_meetings(desk_of(box, day))
        for found in occurrences(meeting, since, until)
    ]


@pytest.fixture(params=[(box, day) for box in MAILBOXES for day in DAYS], ids=str)
def plan(request):
    return around(*request.param)


def test_there_are_51_to_999_events_in_several_calendars(plan):
    counted = Counter(found.meeting.calendar for found in plan)

    assert 51 <= len(plan) <= 999
    assert len(counted) == 3
    assert min(counted.values()) > 5


PROMISED = {
    "all-day": lambda found: found.meeting.is_all_day,
    "several days": lambda found: found.end - found.start > timedelta(days=1),
    "recurring": lambda found: found.meeting.rule is not None,
    "tentative": lambda found: found.meeting.shows_as == "tentative",
    "free": lambda found: found.meeting.shows_as == "free",
    "out of office": lambda found: found.meeting.shows_as == "oof",
    "cancelled occurrence": lambda found: found.cancelled and found.meeting.rule,
    "cancelled meeting": lambda found: found.meeting.status == "cancelled",
    "moved occurrence": lambda found: found.start != found.original,
    "renamed occurrence": lambda found: found.title != found.meeting.title,
    "over midnight": lambda found: (
        not found.meeting.is_all_day and found.start.date() != found.end.date()
    ),
    "video link": lambda found: found.meeting.video_link,
    "labelled": lambda found: found.meeting.categories,
    "private": lambda found: found.meeting.is_private,
    "with a room": lambda found: any(attendee.is_resource for attendee in found.meeting.attendees),
    "declined by the owner": lambda found: found.meeting.my_response == "declined",
    "not yet answered": lambda found: found.meeting.my_response == "needsAction",
    "an organiser who is no attendee": lambda found: (
        found.meeting.attendees
        and found.meeting.organiser.email
        not in {attendee.email for attendee in found.meeting.attendees}
    ),
    "another zone": lambda found: found.meeting.zone != "Europe/Stockholm",
}


@pytest.mark.parametrize("word", PROMISED)
def test_each_account_holds(plan, word):
    assert any(PROMISED[word](found) for found in plan)


def test_some_overlap(plan):
    timed = sorted(
        (instant(found.start), instant(found.end))
        for found in plan
        if not found.meeting.is_all_day and not found.cancelled
    )

    assert any(second[0] < first[1] for first, second in pairwise(timed))


@pytest.mark.parametrize("member", ["title", "description", "location"])
@pytest.mark.parametrize("box", MAILBOXES)
def test_some_words_stand_in_one_place_only(box, member):
    places = {"title": set(), "description": set(), "location": set()}
    for found in around(box, DAYS[0]):
        for name, words in places.items():
            words |= set(getattr(found.meeting, name).casefold().split())
    elsewhere = set().union(*(words for name, words in places.items() if name != member))

    assert {word for word in places[member] - elsewhere if word.isalpha()}


@pytest.mark.parametrize("day", DAYS, ids=str)
@pytest.mark.parametrize("box", MAILBOXES)
def test_every_exception_belongs_to_an_occurrence(box, day):
    far = datetime.combine(day, time(), UTC) + timedelta(days=90)
    for meeting in planned_meetings(desk_of(box, day)):
        whole = {
            found.original
            for found in occurrences(
                Meeting(**{**vars_of(meeting), "dropped": ()}),
                datetime(2020, 1, 1, tzinfo=UTC),
                far,
            )
        }

        assert set(meeting.changes) <= whole
        assert set(meeting.dropped) <= whole


def vars_of(meeting):
    return {name: getattr(meeting, name) for name in meeting.__slots__}


@pytest.mark.parametrize("box", MAILBOXES)
def test_uids_are_one_per_meeting_and_stay_from_start_to_start(box):
    first, second = (planned_meetings(desk_of(box, DAYS[0])) for _ in range(2))

    assert first == second
    assert len({meeting.uid for meeting in first}) == len(first)


def test_one_meeting_lies_in_both_accounts():
    yard, studio = ({m.uid for m in planned_meetings(desk)} for desk in demo_accounts(DAYS[0]))

    assert len(yard & studio) == 1


@pytest.mark.parametrize("box", MAILBOXES)
def test_the_first_calendar_is_the_primary_one_and_meetings_name_calendars_that_are_there(box):
    plans = calendar_plans(desk_of(box, DAYS[0]))

    assert [one.is_primary for one in plans] == [True, False, False]
    assert {m.calendar for m in planned_meetings(desk_of(box, DAYS[0]))} == {
        one.key for one in plans
    }


def test_a_series_keeps_its_local_time_over_a_clock_change():
    series = Meeting(
        uid="x",
        calendar="yard",
        title="x",
        organiser=ANN,
        start=datetime(2026, 10, 23, 9, tzinfo=STOCKHOLM),
        end=datetime(2026, 10, 23, 10, tzinfo=STOCKHOLM),
        zone="Europe/Stockholm",
        rule="FREQ=DAILY;COUNT=4",
        dropped=(datetime(2026, 10, 24, 9, tzinfo=STOCKHOLM),),
        changes={
            datetime(2026, 10, 26, 9, tzinfo=STOCKHOLM): OccurrenceChange(
                start=datetime(2026, 11, 2, 9, tzinfo=STOCKHOLM),
                end=datetime(2026, 11, 2, 10, tzinfo=STOCKHOLM),
            )
        },
    )
    since, until = datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 11, 30, tzinfo=UTC)
    found = [instant(occurrence.start) for occurrence in occurrences(series, since, until)]

    assert found == [
        datetime(2026, 10, 23, 7, tzinfo=UTC),
        datetime(2026, 10, 25, 8, tzinfo=UTC),
        datetime(2026, 11, 2, 8, tzinfo=UTC),
    ]
    assert list(occurrences(series, until, until + timedelta(days=9))) == []
