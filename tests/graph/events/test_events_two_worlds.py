"""Two worlds of events that differ only in masked values give byte-identical responses."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from graph_requests import respond
from in_memory_calendars import Diary, MemoryIds

from policy.vocabulary import CalendarField
from providers.calendar.event_ids import event_id
from providers.calendar.merged_calendars import MergedCalendars
from providers.ports.calendar import BusyTimes, CalendarKey, EventKey, EventList, Span
from providers.ports.connection import ConnectionInfo
from providers.records.calendar import Attendee, Calendar, Event

DAY = datetime(2026, 11, 21, tzinfo=UTC)
ACCOUNT = ConnectionInfo(
    id=3, resource_id=1, kind="calendar", provider="PROVIDER_A", account_email="me@a.example"
)
TALK = Event(
    id="talk",
    title="Talk",
    description="About it",
    location="Here",
    start_utc=DAY + timedelta(hours=9),
    end_utc=DAY + timedelta(hours=10),
    all_day=False,
    status="confirmed",
    organizer="boss@x.example",
    attendees=(Attendee(email="ann@x.example", name="Ann", response="accepted"),),
    join_url="https://meet.example/1",
    labels=("Blue",),
    is_recurring_event=False,
)
LUNCH = msgspec.structs.replace(TALK, id="lunch", title="Lunch")
OPEN = msgspec.structs.replace(ACCOUNT, id=4, provider="PROVIDER_B", account_email="me@b.example")
REVIEW = msgspec.structs.replace(
    TALK, id="review", title="Review", start_utc=DAY + timedelta(hours=9, minutes=30)
)

# A mask word -> the same event with another value behind it.
OTHER = {
    CalendarField.TITLE: {"title": "Quite another"},
    CalendarField.DESCRIPTION: {"description": None},
    CalendarField.LOCATION: {"location": "Elsewhere"},
    CalendarField.TIMES: {
        "start_utc": DAY + timedelta(hours=1),
        "end_utc": DAY + timedelta(hours=23),
        "all_day": True,
    },
    CalendarField.STATUS: {"status": "tentative"},
    CalendarField.ORGANIZER: {"organizer": "else@x.example"},
    CalendarField.ATTENDEES: {"attendees": (Attendee(email="else@x.example"),)},
    CalendarField.JOIN_URL: {"join_url": None},
    CalendarField.LABELS: {"labels": ()},
    CalendarField.RECURRENCE: {"is_recurring_event": True},
}
EVENT = """
    id title description location startUtc endUtc allDay status organizer
    attendees { email name response } joinUrl labels isRecurringEvent
"""
NOON = '"2026-11-21T12:00:00Z"'
DOCUMENTS = [
    f"{{ calendarEvents {{ events {{ {EVENT} }} meta {{ totalCount hasMore from to }} }} }}",
    f"{{ calendarEvents(from: {NOON}) {{ events {{ id }} meta {{ totalCount from to }} }} }}",
    f"{{ calendarEvents(to: {NOON}, limit: 1) {{ events {{ id }} meta {{ hasMore }} }} }}",
    '{ calendarEvents(q: "another") { meta { totalCount } } }',
    '{ calendarEvents(q: "about") { meta { totalCount } } }',
    '{ calendarEvents(q: "elsewhere") { meta { totalCount } } }',
    '{ calendarEvents(attendees: "ann@x.example") { meta { totalCount } } }',
    '{ calendarEvents(attendees: "boss@x.example") { meta { totalCount } } }',
    "{ calendarEvents(includeCancelled: true) { events { id status } } }",
    '{ eventsByContact(email: "x.example") { events { id title startUtc } } }',
    '{ eventsByContact(email: "boss") { events { id } } }',
    '{ eventsByContact(name: "ann") { events { id } } }',
    f'{{ freeBusy(from: "2026-11-21", to: {NOON}) {{ calendars {{ busy {{ startUtc }} }} }} }}',
    "{ calendarEvent(eventId: $EVENT) { event { " + EVENT + " } } }",
    """{ calendarEvents { events { ...A ... on Event { seen: title } } } }
       fragment A on Event { at: startUtc who: attendees { email } by: organizer }""",
]


class Honest(Diary):
    """A connector that omits unwanted attributes and, on request, declined events."""

    async def events(self, calendar, selection, *, first=None):
        listed = await super().events(calendar, selection)
        return EventList([pick(event, selection.projection) for event in listed.events])

    async def event(self, calendar, event, *, projection):
        return pick(await super().event(calendar, event, projection=projection), projection)

    async def busy(self, calendar, span, *, own_responses):
        spans = [
            Span(event.start_utc, event.end_utc)
            for event in self.events_of[calendar]
            if not (own_responses and event.attendees[0].response == "declined")
        ]
        return BusyTimes(spans)


def pick(event, projection):
    attributes = projection | {"id", "start_utc", "end_utc"}
    values = msgspec.structs.asdict(event)
    return Event(**{name: value for name, value in values.items() if name in attributes})


async def answer(graph, world, document, talk, calls=None):
    """Return status and body; to *calls* come the calls of both accounts."""
    diary = Honest(listed=[Calendar(id="c", name="C")], events_of={"c": [talk, LUNCH]})
    second = Honest(listed=[Calendar(id="d", name="D")], events_of={"d": [REVIEW]})
    ids = MemoryIds()
    place = CalendarKey(3, "c")
    known = event_id(place, "talk")
    ids.known[known] = EventKey(1, place, "talk")

    async def admit(_):
        ports = [(ACCOUNT, diary), (OPEN, second)][: len(world.connections)]
        return replace(world.context(), calendars=MergedCalendars(ports, ids))

    body = json.dumps({"query": document.replace("$EVENT", f'"{known}"')}).encode()
    reply = await respond(graph, body, admit=admit, request_id="req-1")
    if calls is not None:
        calls += [*diary.calls, *second.calls]
    return reply.status, reply.body


@pytest.fixture
def calendars(world):
    world.connections = [ACCOUNT]
    world.settings["calendarAccessEnabled"] = True
    return world


@pytest.mark.parametrize("word", OTHER, ids=str)
async def test_a_hidden_value_changes_nothing(graph, calendars, word):
    calendars.settings["visibleCalendarFields"] = [
        field for field in CalendarField if field is not word
    ]
    other = msgspec.structs.replace(TALK, **OTHER[word])

    for document in DOCUMENTS:
        seen = await answer(graph, calendars, document, TALK)

        assert seen == await answer(graph, calendars, document, other), document
        assert seen[0] == 200


@pytest.mark.parametrize("word", OTHER, ids=str)
async def test_a_value_that_one_account_hides_changes_nothing(graph, calendars, word):
    """Neither what is returned, nor what is asked of the account or of the other one."""
    calendars.connections = [ACCOUNT, OPEN]
    shown = [field for field in CalendarField if field is not word]
    calendars.settings["accounts"] = {"3": {"visibleCalendarFields": shown}}
    other = msgspec.structs.replace(TALK, **OTHER[word])

    for document in DOCUMENTS:
        calls, calls_of_other = [], []
        seen = await answer(graph, calendars, document, TALK, calls)

        assert seen == await answer(graph, calendars, document, other, calls_of_other), document
        assert seen[0] == 200
        assert calls == calls_of_other


@pytest.mark.parametrize("word", OTHER, ids=str)
async def test_the_same_value_shows_when_it_is_visible(graph, calendars, word):
    """Or the test above would prove nothing."""
    other = msgspec.structs.replace(TALK, **OTHER[word])
    differing = [
        document
        for document in DOCUMENTS
        if await answer(graph, calendars, document, TALK)
        != await answer(graph, calendars, document, other)
    ]

    assert differing


async def test_hidden_responses_of_the_owner_change_nothing(graph, calendars):
    calendars.settings["visibleCalendarFields"] = [
        field for field in CalendarField if field is not CalendarField.ATTENDEES
    ]
    declined = (Attendee(email="me@a.example", response="declined"),)
    other = msgspec.structs.replace(TALK, attendees=declined)

    for document in DOCUMENTS:
        seen = await answer(graph, calendars, document, TALK)

        assert seen == await answer(graph, calendars, document, other), document


async def test_in_basic_mode_fields_are_null_and_filters_look_at_them(graph, calendars):
    calendars.settings |= {"visibleCalendarFields": ["times"], "maskMode": "basic"}

    _, body = await answer(
        graph, calendars, '{ calendarEvents(q: "about") { events { title startUtc } } }', TALK
    )

    assert json.loads(body)["data"]["calendarEvents"]["events"] == [
        {"title": None, "startUtc": "2026-11-21T09:00:00Z"},
        {"title": None, "startUtc": "2026-11-21T09:00:00Z"},
    ]
