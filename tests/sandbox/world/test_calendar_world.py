"""The demo world's calendars hold what docs/spec/sandbox.md#calendars promises."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from sandbox.app import Sandbox
from sandbox.calendar.records import Window
from sandbox.state import open_state
from sandbox.world.accounts import demo_accounts
from sandbox.world.calendar import events
from sandbox.world.calendar.calendars import planned_meetings
from sandbox.world.calendar.meetings import instant, occurrences

DAYS = ("2026-11-20", "2026-03-20", "2028-01-01")
REACH = timedelta(days=60)


def seeded(day):
    state = open_state(None)
    now = datetime.fromisoformat(f"{day}T15:00:00+00:00")
    facts = events.seed(state.database, state.calendars, now)
    return state, facts


def occurrences_around(state, mailbox, day):
    middle = datetime.fromisoformat(f"{day}T00:00:00+00:00")
    window = Window(since=middle - REACH, until=middle + REACH)
    return [
        occurrence
        for calendar in state.calendars.calendars(mailbox)
        for event in state.calendars.events(calendar)
        for occurrence in state.calendars.occurrences(event, window)
    ]


@pytest.fixture(scope="module", params=DAYS)
def world(request):
    state, _ = seeded(request.param)
    return {
        box: occurrences_around(state, box, request.param) for box in ("provider-a", "provider-b")
    }


@pytest.mark.parametrize("box", ["provider-a", "provider-b"])
@pytest.mark.parametrize("day", DAYS)
def test_every_planned_occurrence_is_in_the_store(box, day):
    state, _ = seeded(day)
    account = next(
        item for item in demo_accounts(datetime.fromisoformat(day).date()) if item.mailbox == box
    )
    middle = datetime.fromisoformat(f"{day}T00:00:00+00:00")

    planned = {
        (meeting.uid, instant(occurrence.start), occurrence.title, occurrence.cancelled)
        for meeting in planned_meetings(account)
        for occurrence in occurrences(meeting, middle - REACH, middle + REACH)
        if not meeting.is_all_day  # days begin at midnight of their zone, in the plan at UTC
    }
    stored = {
        (
            occurrence.event.uid,
            occurrence.content.start.instant,
            occurrence.content.title,
            occurrence.cancelled,
        )
        for occurrence in occurrences_around(state, box, day)
    }
    assert planned <= stored


def some(matches):
    """Return the predicate: the content of some occurrence matches."""
    return lambda occurrences: any(matches(occurrence.content) for occurrence in occurrences)


PROMISED = {
    "51 to 999 events": lambda occurrences: 51 <= len(occurrences) <= 999,
    "two calendars at least": lambda occurrences: (
        len({occurrence.event.calendar for occurrence in occurrences}) >= 2
    ),
    "no title": some(lambda content: content.title is None),
    "no length": some(lambda content: content.start == content.end),
    "forty attendees": some(lambda content: len(content.attendees) == 40),
    "a room": some(lambda content: any(guest.is_resource for guest in content.attendees)),
    "private": some(lambda content: content.is_private),
    "all day, several": some(
        lambda content: (
            content.is_all_day
            and content.end.instant - content.start.instant > timedelta(days=1, hours=2)
        )
    ),
    "zones": lambda occurrences: (
        {"Europe/Stockholm", "America/New_York", "Asia/Tokyo", "UTC"}
        <= {
            time.zone
            for occurrence in occurrences
            for time in (occurrence.content.start, occurrence.content.end)
        }
    ),
    "a video link": some(lambda content: content.video_link),
    "labelled": some(lambda content: content.categories),
    "cancelled": lambda occurrences: any(occurrence.cancelled for occurrence in occurrences),
    "tentative": some(lambda content: content.status == "tentative"),
    "overlapping": lambda occurrences: any(
        occurrence is not other
        and occurrence.content.start.instant < other.content.end.instant
        and other.content.start.instant < occurrence.content.end.instant
        for occurrence in occurrences
        for other in occurrences
    ),
}


@pytest.mark.parametrize("box", ["provider-a", "provider-b"])
@pytest.mark.parametrize("holds", PROMISED.values(), ids=PROMISED)
def test_each_account_holds_what_the_specification_promises(world, box, holds):
    assert holds(world[box])


def test_a_series_keeps_the_local_time_of_new_york():
    state, _ = seeded("2026-03-20")
    starts = {
        occurrence.content.start.stamp[4:]: f"{occurrence.content.start.local:%H:%M}"
        for occurrence in occurrences_around(state, "provider-a", "2026-03-20")
        if occurrence.content.title == "Hudson boats: call"
    }

    assert {"0304T150000Z", "0311T140000Z", "0401T140000Z"} <= starts.keys()
    assert set(starts.values()) == {"10:00"}


def test_a_second_seeding_writes_nothing():
    state, first = seeded("2026-11-20")
    change = state.calendars.last_change()

    again = events.seed(state.database, state.calendars, datetime(2027, 1, 1, tzinfo=UTC))

    assert (first.created, again.created) == (True, False)
    assert (again.day, again.calendars) == (first.day, first.calendars)
    assert state.calendars.last_change() == change


def test_the_same_day_makes_the_same_events():
    (first, _), (second, _) = seeded("2026-11-20"), seeded("2026-11-20")

    for box in ("provider-a", "provider-b"):
        for mine, theirs in zip(
            first.calendars.calendars(box), second.calendars.calendars(box), strict=True
        ):
            assert first.calendars.events(mine) == second.calendars.events(theirs)


async def test_both_apis_return_the_events_of_the_day():
    state, _ = seeded("2026-11-20")
    app = Sandbox(state, public_base="http://sandbox.test")
    day = ("2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z")
    queries = {
        "provider-a/calendar/v3/calendars/primary/events": {
            "timeMin": day[0],
            "timeMax": day[1],
            "singleEvents": "true",
        },
        "provider-b/v1.0/me/calendarView": {"startDateTime": day[0], "endDateTime": day[1]},
    }
    tokens = (
        state.tokens.issue("providerA", "me", ("calendar.readonly",)),
        state.tokens.issue("providerB", "me", ("Calendars.Read",)),
    )
    shown = []
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app), base_url="http://sandbox.test"
    ) as client:
        for (path, query), token in zip(queries.items(), tokens, strict=True):
            headers = {"authorization": f"Bearer {token}"}
            body = (await client.get(path, params=query, headers=headers)).json()
            shown.append({item.get("summary", item.get("subject")) for item in (
                body.get("items") or body["value"])})  # fmt: skip

    assert {"Stability test of the launch", "Surprise for Jonas"} <= shown[0]
    assert {"Besson: door colour", "Upload to the jury server"} <= shown[1]
