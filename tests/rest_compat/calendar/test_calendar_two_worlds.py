"""
Calendars of both providers that differ in what is hidden alone cannot be told apart.

Answers are compared to the byte, page by page to the end, and so are the calls upstream.
"""

from dataclasses import replace

import calendar_world
import pytest
import pytest_asyncio
from calendar_world import ANA, BO, CARLA, DAN, at, meeting, text, whole_days
from world import ME_A, ME_B

from policy.vocabulary import CalendarField
from sandbox.calendar.records import Attendee

# tests/graph/events/test_events_two_worlds.py is the fast one
pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]

EVENT = """id title description location startUtc endUtc allDay status organizer
    attendees { email name response } joinUrl labels isRecurringEvent connectionId"""
DOCUMENT = f"""{{
    all: calendarEvents {{ events {{ {EVENT} }} meta {{ totalCount hasMore }} }}
    found: calendarEvents(q: "amber", limit: 1) {{ events {{ id }} meta {{ totalCount hasMore }} }}
    by: calendarEvents(attendees: "dan@else.example") {{ meta {{ totalCount }} }}
    with: eventsByContact(email: "amber") {{ meta {{ totalCount }} }}
}}"""
GUESTS = (replace(DAN, name="Amber"), replace(BO, email="amber@work.example"))
ROOM = Attendee(email="amber@rooms.example", name="Amber room", is_resource=True)
ALL_DAY = whole_days(1, 2, "")
# A mask word -> what is different of every second event.
OTHER = {
    CalendarField.TITLE: {"title": "Amber"},
    CalendarField.DESCRIPTION: {"description": "An amber light."},
    CalendarField.LOCATION: {"location": "Amber room", "attendees": (ANA, CARLA, ROOM)},
    CalendarField.TIMES: {"start": ALL_DAY.start, "end": ALL_DAY.end},
    CalendarField.STATUS: {"status": "tentative", "shows_as": "tentative"},
    CalendarField.ORGANIZER: {"organiser": DAN},
    CalendarField.ATTENDEES: {"attendees": GUESTS, "my_response": "declined"},
    CalendarField.JOIN_URL: {"video_link": "https://meet.example/amber"},
    CalendarField.LABELS: {"categories": ("Amber",)},
}
DAY = {"from_": text(at(0, "00:00")), "to": text(at(3, "00:00"))}
QUESTIONS = [
    ("/events", {}),
    ("/events", {"limit": 1}),
    ("/events", {"q": "amber", "limit": 1}),
    ("/events", {"q": "talk", "limit": 2}),
    ("/events", {"attendees": "dan@else.example,amber@work.example", "limit": 1}),
    ("/events", {"attendees": "amber@rooms.example", "limit": 1}),
    ("/events", {"attendees": f"{ME_A},{ME_B}", "limit": 3}),
    ("/events", {"from_": text(at(1, "10:15")), "to": text(at(1, "10:20")), "limit": 1}),
    ("/events", {"includeCancelled": "true"}),
    ("/events/by-contact", {"email": "amber", "limit": 1}),
    ("/events/by-contact", {"name": "amber"}),
    ("/events/by-contact", {"email": "example", "limit": 5}),
    ("/freebusy", DAY),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_calendars(world_template, tmp_path_factory):
    async with calendar_world.empty(world_template, tmp_path_factory.mktemp("two")) as agendas:
        yield agendas


@pytest.fixture
def agendas(shared_calendars):
    """Three talks in each of four calendars, one after the other."""
    for calendar in shared_calendars.calendars:
        for number in range(3):
            content = meeting(
                at(1, f"{8 + number:02}:00"),
                at(1, f"{8 + number:02}:50"),
                f"Talk {number}",
                description="About it.",
                location="Here",
                organiser=ANA,
                attendees=(ANA, CARLA),
            )
            shared_calendars.plant(calendar, f"{calendar}{number}", content)
    yield shared_calendars
    shared_calendars.clear()


async def answers(agendas, token):
    """Return status and body of every read, with all pages, and the upstream calls."""
    agendas.world.forget_calls()
    responses = []
    for path, query in QUESTIONS:
        offset, more = 0, True
        while more:
            page = {"offset": offset} if path != "/freebusy" else {}
            answer = await agendas.get(path, token, **query, **page)
            body = answer.json()
            more = body.get("meta", {}).get("hasMore", False)
            offset += query.get("limit", 50)
            body.pop("requestId", None)
            responses.append((path, query, answer.status_code, body))
    for event in responses[0][-1]["events"]:
        single = await agendas.get(f"/events/{event['id']}", token)
        responses.append((f"/events/{event['id']}", {}, single.status_code, single.json()))
    answered = await agendas.ask(DOCUMENT, token)
    for error in answered.get("errors", ()):
        error["extensions"].pop("requestId", None)
    calls = [(call["method"], call["path"], call["query"]) for call in agendas.calls()]
    return [*responses, answered, sorted(calls, key=str)]


def change(agendas, other):
    for event in [*agendas.events.values()][::2]:
        changed = replace(event, content=replace(event.content, **other))
        agendas.world.sandbox.state.calendars.put(changed)


@pytest.mark.parametrize("word", OTHER, ids=str)
async def test_a_hidden_value_changes_neither_answers_nor_calls(agendas, word):
    shown = [item.value for item in CalendarField if item is not word]
    token = await agendas.token(visibleCalendarFields=shown)
    await agendas.get("/events", token)  # later calls find the list of the calendars
    before = await answers(agendas, token)
    whole = (await agendas.get("/events")).json()

    change(agendas, OTHER[word])

    assert len(before[0][-1]["events"]) == 12
    assert before == await answers(agendas, token)
    assert whole != (await agendas.get("/events")).json()


async def test_each_event_names_the_connection_of_its_calendar(agendas):
    document = "{ calendarEvents { events { id title connectionId } } }"
    listed = await agendas.ask(document, await agendas.token())
    events = listed["data"]["calendarEvents"]["events"]
    single = (
        "{ "
        + " ".join(
            f'e{at}: calendarEvent(eventId: "{event["id"]}") {{ event {{ connectionId }} }}'
            for at, event in enumerate(events)
        )
        + " }"
    )
    read = await agendas.ask(single, await agendas.token())

    assert {event["connectionId"] for event in events} == set(agendas.connections.values())
    assert [each["event"]["connectionId"] for each in read["data"].values()] == [
        event["connectionId"] for event in events
    ]


# Members that a word hides: docs/spec/masks.md#calendar-fields.
MEMBERS = {word: (word.value,) for word in CalendarField} | {
    CalendarField.JOIN_URL: ("joinUrl",),
    CalendarField.TIMES: ("startUtc", "endUtc", "allDay"),
    CalendarField.RECURRENCE: ("isRecurringEvent",),
    CalendarField.CONNECTION_ID: ("connectionId",),
}


def without(answer, members):
    """Return an answer with *members* null, and without the sentence about the token."""
    if isinstance(answer, dict):
        kept = {name: value for name, value in answer.items() if name != "accessInfo"}
        return {
            name: None if name in members else without(value, members)
            for name, value in kept.items()
        }
    return [without(item, members) for item in answer] if isinstance(answer, list) else answer


@pytest.mark.parametrize("word", MEMBERS, ids=str)
async def test_a_basic_mask_nulls_its_members_and_nothing_else(agendas, word):
    change(agendas, {"attendees": (ANA, *GUESTS, ROOM), "my_response": "declined"})
    shown = [item.value for item in CalendarField if item is not word]
    token = await agendas.token(visibleCalendarFields=shown, maskMode="basic")

    *responses, answered, _ = await answers(agendas, await agendas.token())
    *masked, masked_answer, _ = await answers(agendas, token)

    assert len(responses[0][-1]["events"]) == 12
    for (path, *_, body), (*_, masked_body) in zip(responses, masked, strict=True):
        members = () if path == "/freebusy" else MEMBERS[word]  # periods are no events
        assert without(masked_body, ()) == without(body, members)
    assert masked_answer["data"] == without(answered["data"], MEMBERS[word])
