"""The demo world's calendars as the wires show them: what decisions 16 promises."""

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


def around(state, mailbox, day):
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
    return {box: around(state, box, request.param) for box in ("provider-a", "provider-b")}


@pytest.mark.parametrize("box", ["provider-a", "provider-b"])
@pytest.mark.parametrize("day", DAYS)
def test_what_was_planned_takes_place(box, day):
    state, _ = seeded(day)
    desk = next(
        one for one in demo_accounts(datetime.fromisoformat(day).date()) if one.mailbox == box
    )
    middle = datetime.fromisoformat(f"{day}T00:00:00+00:00")

    planned = {
        (meeting.uid, instant(occurrence.start), occurrence.title, occurrence.cancelled)
        for meeting in planned_meetings(desk)
        for occurrence in occurrences(meeting, middle - REACH, middle + REACH)
        if not meeting.is_all_day  # days begin at midnight of their zone, in the plan at UTC
    }
    kept = {
        (one.event.uid, one.content.start.instant, one.content.title, one.cancelled)
        for one in around(state, box, day)
    }
    assert planned <= kept


PROMISED = {
    "51 to 999 events": lambda found: 51 <= len(found) <= 999,
    "two calendars at least": lambda found: len({one.event.calendar for one in found}) >= 2,
    "no title": lambda found: any(one.content.title is None for one in found),
    "no length": lambda found: any(one.content.start == one.content.end for one in found),
    "forty guests": lambda found: any(len(one.content.attendees) == 40 for one in found),
    "a room": lambda found: any(
        attendee.is_resource for all_ in found for attendee in all_.content.attendees
    ),
    "private": lambda found: any(one.content.is_private for one in found),
    "all day, several": lambda found: any(
        one.content.is_all_day
        and one.content.end.instant - one.content.start.instant > timedelta(days=1, hours=2)
        for one in found
    ),
    "zones": lambda found: (
        {"Europe/Stockholm", "America/New_York", "Asia/Tokyo", "UTC"}
        <= {when.zone for one in found for when in (one.content.start, one.content.end)}
    ),
    "a video link": lambda found: any(one.content.video_link for one in found),
    "labelled": lambda found: any(one.content.categories for one in found),
    "cancelled": lambda found: any(one.cancelled for one in found),
    "tentative": lambda found: any(one.content.status == "tentative" for one in found),
    "overlapping": lambda found: any(
        one is not other
        and one.content.start.instant < other.content.end.instant
        and other.content.start.instant < one.content.end.instant
        for one in found
        for other in found
    ),
}


@pytest.mark.parametrize("box", ["provider-a", "provider-b"])
@pytest.mark.parametrize("holds", PROMISED.values(), ids=PROMISED)
def test_every_account_has_what_was_promised(world, box, holds):
    assert holds(world[box])


def test_a_series_follows_the_clocks_of_new_york_while_ours_do_not_change():
    state, _ = seeded("2026-03-20")
    starts = {
        one.content.start.stamp[4:]: f"{one.content.start.local:%H:%M}"
        for one in around(state, "provider-a", "2026-03-20")
        if one.content.title == "Hudson boats: call"
    }

    assert {"0304T150000Z", "0311T140000Z", "0401T140000Z"} <= starts.keys()
    assert set(starts.values()) == {"10:00"}


def test_a_second_start_writes_nothing():
    state, first = seeded("2026-11-20")
    change = state.calendars.last_change()

    again = events.seed(state.database, state.calendars, datetime(2027, 1, 1, tzinfo=UTC))

    assert (first.created, again.created) == (True, False)
    assert (again.day, again.calendars) == (first.day, first.calendars)
    assert state.calendars.last_change() == change


def test_the_same_day_makes_the_same_events():
    (one, _), (other, _) = seeded("2026-11-20"), seeded("2026-11-20")

    for box in ("provider-a", "provider-b"):
        for mine, theirs in zip(
            one.calendars.calendars(box), other.calendars.calendars(box), strict=True
        ):
            assert one.calendars.events(mine) == other.calendars.events(theirs)


async def test_both_wires_show_the_events_of_the_day():
    state, _ = seeded("2026-11-20")
    app = Sandbox(state, public_base="http://sandbox.test")
    day = ("2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z")
    asked = {
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
        for (path, query), token in zip(asked.items(), tokens, strict=True):
            headers = {"authorization": f"Bearer {token}"}
            answer = (await client.get(path, params=query, headers=headers)).json()
            shown.append({item.get("summary", item.get("subject")) for item in (
                answer.get("items") or answer["value"])})  # fmt: skip

    assert {"Stability test of the launch", "Surprise for Jonas"} <= shown[0]
    assert {"Besson: door colour", "Upload to the jury server"} <= shown[1]
