"""The odd events of the demo's world are read as they were meant, in both calendars."""

from datetime import date

import calendar_world
import pytest
import pytest_asyncio

from sandbox.world.accounts import demo_accounts
from sandbox.world.calendar.odd_events import odd_events

TODAY = date(2026, 11, 20)
# Title -> first and last moment of each time, in UTC; whole days are dates.
WANTED = {
    "A zone of its own": ["10-01T05:40 10-01T06:40"],
    "Rules of its own": [
        "10-02T13:00 10-02T13:45", "10-03T13:00 10-03T13:45", "10-04T13:00 10-04T13:45",
    ],
    "Names of Windows": ["10-03T07:00 10-03T07:30"],
    "Letter case and an offset": ["10-04T04:15 10-04T05:15"],
    "Floating": ["10-05T08:00 10-05T08:30"],
    "Periods of several lengths": [
        "10-06T07:00 10-06T08:00", "10-07T07:00 10-07T10:00", "10-08T11:00 10-08T11:30",
    ],
    "Before the change": ["10-07T13:00 10-07T14:00", "10-08T13:00 10-08T14:00"],
    "After the change": [
        "10-09T15:00 10-09T15:30", "10-10T15:00 10-10T15:30", "10-11T15:00 10-11T15:30",
    ],
    "The last day of three": [
        "10-02T10:00 10-02T10:30", "10-09T10:00 10-09T10:30", "10-16T10:00 10-16T10:30",
        "10-23T10:00 10-23T10:30",
    ],
    "Exceptions in other forms": [
        "10-11T18:00 10-11T19:00", "10-13T18:00 10-13T19:00", "10-14T18:00 10-14T19:00",
    ],
    "The newer revision": ["10-13T10:00 10-13T11:00"],
    "Two ways to join": ["10-14T10:00 10-14T11:00"],
    "People in odd lines": ["10-15T10:00 10-15T11:00"],
    "Ends before it begins": ["10-16T11:00 10-16T11:00"],
    "No day long": ["10-17 10-18"],
    "By the calendar of all": ["10-18 10-19", "10-20 10-21"],
    "Line folded, with a separator \nand a line": ["10-19T10:00 10-19T11:00"],
    "A date that is given twice": [
        "10-20T06:00 10-20T06:30", "10-21T06:00 10-21T06:30", "10-22T06:00 10-22T06:30",
        "10-23T06:00 10-23T06:30",
    ],
}  # fmt: skip
GRAPHQL = """
{ calendarEvents(from: "2026-09-28T00:00:00Z", to: "2026-11-01T00:00:00Z", limit: 100) {
  events { title startUtc endUtc allDay joinUrl location organizer
           attendees { email name } } } }
"""
session_loop = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def readings(world_template, tmp_path_factory):
    """All events by REST and by GraphQL."""
    folder = tmp_path_factory.mktemp("odd-events")
    async with calendar_world.empty(world_template, folder) as agendas:
        store = agendas.world.sandbox.state.calendars
        for account, calendar in zip(demo_accounts(TODAY), ("home", "club"), strict=True):
            events = (event for _, event in odd_events(account))
            store.add_events(agendas.calendars[calendar], events)
        query = {"from_": "2026-09-28", "to": "2026-11-01", "limit": 100}
        by_rest = (await agendas.get("/events", **query)).json()
        by_graphql = await agendas.ask(GRAPHQL)
        assert "data" in by_graphql, by_graphql
        yield by_rest["events"], by_graphql["data"]["calendarEvents"]["events"]


def span(event):
    length = 5 if event["allDay"] else 11
    return " ".join(event[name][5:][:length] for name in ("startUtc", "endUtc"))


@session_loop
@pytest.mark.parametrize("title", WANTED)
async def test_it_is_read_as_it_was_meant(readings, title):
    twice = sorted(2 * WANTED[title])  # in both accounts

    for events in readings:
        spans = sorted(span(event) for event in events if event["title"] == title)
        assert spans == twice


@session_loop
async def test_nothing_else_is_listed_and_people_links_and_places_are_right(readings):
    for events in readings:
        assert {event["title"] for event in events} == set(WANTED)
        people = [event for event in events if event["title"] == "People in odd lines"]
        joined = [event["joinUrl"] for event in events if event["title"] == "Two ways to join"]
        places = [event["location"] for event in events if event["title"].startswith("Line")]

        assert [event["organizer"] for event in people] == ["ann.berg@odd-letters.example"] * 2
        assert [[guest["email"] for guest in event["attendees"]] for event in people] == [
            ["j+rg@odd-letters.example", "bo.berg@odd-letters.example"]
        ] * 2
        assert joined == ["https://meet.odd.example/join?a=1,2"] * 2
        assert places == ["Quay; 3"] * 2
