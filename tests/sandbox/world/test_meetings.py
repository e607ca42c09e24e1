"""The planned meetings hold what docs/spec/sandbox.md#calendars promises, on any day."""

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


def account_of(box, day):
    return next(account for account in demo_accounts(day) if account.mailbox == box)


def occurrences_around(box, day, reach=60):
    """Return every occurrence within *reach* days of *day*."""
    middle = datetime.combine(day, time(), UTC)
    since, until = middle - timedelta(days=reach), middle + timedelta(days=reach)
    return [
        occurrence
        for meeting in planned_meetings(account_of(box, day))
        for occurrence in occurrences(meeting, since, until)
    ]


@pytest.fixture(params=[(box, day) for box in MAILBOXES for day in DAYS], ids=str)
def plan(request):
    return occurrences_around(*request.param)


def test_there_are_51_to_999_events_in_several_calendars(plan):
    counted = Counter(occurrence.meeting.calendar for occurrence in plan)

    assert 51 <= len(plan) <= 999
    assert len(counted) == 3
    assert min(counted.values()) > 5


PROMISED = {
    "all-day": lambda occurrence: occurrence.meeting.is_all_day,
    "several days": lambda occurrence: occurrence.end - occurrence.start > timedelta(days=1),
    "recurring": lambda occurrence: occurrence.meeting.rule is not None,
    "tentative": lambda occurrence: occurrence.meeting.shows_as == "tentative",
    "free": lambda occurrence: occurrence.meeting.shows_as == "free",
    "out of office": lambda occurrence: occurrence.meeting.shows_as == "oof",
    "cancelled occurrence": lambda occurrence: occurrence.cancelled and occurrence.meeting.rule,
    "cancelled meeting": lambda occurrence: occurrence.meeting.status == "cancelled",
    "moved occurrence": lambda occurrence: occurrence.start != occurrence.original,
    "renamed occurrence": lambda occurrence: occurrence.title != occurrence.meeting.title,
    "over midnight": lambda occurrence: (
        not occurrence.meeting.is_all_day and occurrence.start.date() != occurrence.end.date()
    ),
    "video link": lambda occurrence: occurrence.meeting.video_link,
    "labelled": lambda occurrence: occurrence.meeting.categories,
    "private": lambda occurrence: occurrence.meeting.is_private,
    "with a room": lambda occurrence: any(
        attendee.is_resource for attendee in occurrence.meeting.attendees
    ),
    "declined by the owner": lambda occurrence: occurrence.meeting.my_response == "declined",
    "not yet answered": lambda occurrence: occurrence.meeting.my_response == "needsAction",
    "an organiser who is no attendee": lambda occurrence: (
        occurrence.meeting.attendees
        and occurrence.meeting.organiser.email
        not in {attendee.email for attendee in occurrence.meeting.attendees}
    ),
    "another zone": lambda occurrence: occurrence.meeting.zone != "Europe/Stockholm",
}


@pytest.mark.slow
@pytest.mark.parametrize("word", PROMISED)
def test_each_account_holds_what_the_specification_promises(plan, word):
    assert any(PROMISED[word](occurrence) for occurrence in plan)


def test_some_meetings_overlap(plan):
    timed = sorted(
        (instant(occurrence.start), instant(occurrence.end))
        for occurrence in plan
        if not occurrence.meeting.is_all_day and not occurrence.cancelled
    )

    assert any(second[0] < first[1] for first, second in pairwise(timed))


@pytest.mark.parametrize("member", ["title", "description", "location"])
@pytest.mark.parametrize("box", MAILBOXES)
def test_some_words_occur_in_one_field_only(box, member):
    places = {"title": set(), "description": set(), "location": set()}
    for occurrence in occurrences_around(box, DAYS[0]):
        for name, words in places.items():
            words |= set(getattr(occurrence.meeting, name).casefold().split())
    elsewhere = set().union(*(words for name, words in places.items() if name != member))

    assert {word for word in places[member] - elsewhere if word.isalpha()}


@pytest.mark.parametrize("day", DAYS, ids=str)
@pytest.mark.parametrize("box", MAILBOXES)
def test_every_change_belongs_to_an_occurrence(box, day):
    far = datetime.combine(day, time(), UTC) + timedelta(days=90)
    for meeting in planned_meetings(account_of(box, day)):
        whole = {
            occurrence.original
            for occurrence in occurrences(
                Meeting(**{**attributes(meeting), "dropped": ()}),
                datetime(2020, 1, 1, tzinfo=UTC),
                far,
            )
        }

        assert set(meeting.changes) <= whole
        assert set(meeting.dropped) <= whole


def attributes(meeting):
    return {name: getattr(meeting, name) for name in meeting.__slots__}


@pytest.mark.parametrize("box", MAILBOXES)
def test_uids_are_unique_and_the_same_in_every_run(box):
    first, second = (planned_meetings(account_of(box, DAYS[0])) for _ in range(2))

    assert first == second
    assert len({meeting.uid for meeting in first}) == len(first)


def test_one_meeting_is_in_both_accounts():
    yard, studio = (
        {meeting.uid for meeting in planned_meetings(account)} for account in demo_accounts(DAYS[0])
    )

    assert len(yard & studio) == 1


@pytest.mark.parametrize("box", MAILBOXES)
def test_the_first_calendar_is_primary_and_meetings_name_existing_calendars(box):
    plans = calendar_plans(account_of(box, DAYS[0]))

    assert [plan.is_primary for plan in plans] == [True, False, False]
    assert {m.calendar for m in planned_meetings(account_of(box, DAYS[0]))} == {
        message.key for message in plans
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
    starts = [instant(occurrence.start) for occurrence in occurrences(series, since, until)]

    assert starts == [
        datetime(2026, 10, 23, 7, tzinfo=UTC),
        datetime(2026, 10, 25, 8, tzinfo=UTC),
        datetime(2026, 11, 2, 8, tzinfo=UTC),
    ]
    assert list(occurrences(series, until, until + timedelta(days=9))) == []
