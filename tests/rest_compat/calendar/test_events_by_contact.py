"""`GET /events/by-contact`: matching, order, and exactly five members."""

import calendar_world
import pytest
import pytest_asyncio
from calendar_world import ANA, BO, CARLA, DAN, at, day, meeting, text

from policy.vocabulary import CalendarField
from sandbox.calendar.records import Attendee

pytestmark = pytest.mark.asyncio(loop_scope="module")

ROOM = Attendee(email="amber@rooms.example", name="Amber room", is_resource=True)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_calendars(world_template, tmp_path_factory):
    async with calendar_world.open_shared(
        world_template, tmp_path_factory.mktemp("agendas")
    ) as agendas:
        for days, title, guests in (
            (-179, "Long ago", (BO,)),
            (-182, "Too long ago", (BO,)),
            (179, "Far ahead", (BO,)),
            (182, "Too far ahead", (BO,)),
            (10, "Both", (ANA, CARLA)),
            (11, "Nameless", (Attendee(email="x@home.example"),)),
        ):
            content = meeting(
                at(days, "12:00"), at(days, "13:00"), title, organiser=DAN, attendees=guests
            )
            agendas.plant("home", title, content)
        off = meeting(
            at(9, "12:00"), at(9, "13:00"), "Off", organiser=CARLA, attendees=(ANA,),
            status="cancelled",
        )  # fmt: skip
        agendas.plant("office", "Off", off)
        for hour, calendar in (("12:00", "home"), ("14:00", "office")):
            content = meeting(
                at(12, hour), at(12, "15:00"), f"Room at {hour}", organiser=DAN, attendees=(ROOM,)
            )
            agendas.plant(calendar, f"Room {calendar}", content)
        yield agendas


@pytest.fixture
def agendas(shared_calendars):
    shared_calendars.world.forget_calls()
    return shared_calendars


def titles(response):
    assert response.status_code == 200, response.text
    return [event["title"] for event in response.json()["events"]]


async def test_events_by_contact_have_the_documented_body(agendas):
    response = await agendas.get("/events/by-contact", email="ana@", limit=2)

    both, lease = response.json()["events"]
    assert response.json() == {
        "events": [
            {
                "id": both["id"],
                "title": "Both",
                "startUtc": text(at(10, "12:00")),
                "endUtc": text(at(10, "13:00")),
                "attendees": [
                    {"email": "ana@home.example", "name": "Ana Müller", "response": "accepted"},
                    {"email": "carla@work.example", "name": "Carla Ana", "response": "tentative"},
                ],
            },
            {
                "id": lease["id"],
                "title": "Lease talk",
                "startUtc": text(at(1, "09:00")),
                "endUtc": text(at(1, "10:30")),
                "attendees": [
                    {"email": "ana@home.example", "name": "Ana Müller", "response": "accepted"},
                    {"email": "bo@work.example", "name": "Bo", "response": "declined"},
                ],
            },
        ],
        "currentUserCalendarEmail": "me@provider-a.example",
    }


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param({"email": "ANA@HOME"}, ["Both", "Lease talk"], id="part of an address"),
        pytest.param(
            {"email": "@home.example"}, ["Nameless", "Both", "Lease talk"], id="a whole domain"
        ),
        pytest.param({"email": "provider-b"}, ["Training", "Training", "Training"], id="organiser"),
        pytest.param({"email": " carla "}, ["Both", "Budget 2027"], id="trimmed"),
        pytest.param({"name": "müller"}, ["Both", "Lease talk"], id="part of a name"),
        pytest.param({"name": "MU\u0308LLER"}, ["Both", "Lease talk"], id="composed otherwise"),
        pytest.param({"name": "ana"}, ["Both", "Lease talk", "Budget 2027"], id="several people"),
        pytest.param({"name": "dan"}, [], id="the organiser's name is not looked at"),
        pytest.param({"email": "ana@", "name": "carla"}, [], id="both: one attendee has both"),
        pytest.param({"email": "carla", "name": "ana"}, ["Both", "Budget 2027"], id="both fit"),
        pytest.param(
            {"email": "bo@", "name": ""},
            ["Far ahead", "Lease talk", "Long ago"],
            id="180 days either way",
        ),
        pytest.param({"email": "nobody"}, [], id="nobody"),
    ],
)
async def test_events_are_matched_by_contact(agendas, query, expected):
    assert titles(await agendas.get("/events/by-contact", **query)) == expected


@pytest.mark.parametrize("query", [{}, {"email": ""}, {"email": " ", "name": "\t"}])
async def test_a_call_without_address_and_name_is_400(agendas, query):
    response = await agendas.get("/events/by-contact", **query)

    assert response.status_code == 400
    assert response.json() == {
        "error": "MISSING_PARAMETER",
        "message": "At least one of email or name is required.",
        "requestId": response.headers["x-request-id"],
    }
    assert agendas.calls() == []


@pytest.mark.parametrize("name", ["email", "name"])
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("a", "must have at least 2 characters."),
        (" a ", "must have at least 2 characters."),
        ("x" * 501, "may have at most 500 characters."),
    ],
)
async def test_too_short_or_too_long_is_400(agendas, name, value, problem):
    response = await agendas.get("/events/by-contact", **{name: value})

    assert response.status_code == 400
    assert response.json()["error"] == "INVALID_PARAMETER"
    assert response.json()["message"] == f"{name} {problem}"
    assert agendas.calls() == []


async def test_pages_make_up_the_whole(agendas):
    whole = titles(await agendas.get("/events/by-contact", name="ana"))

    pages = [
        titles(await agendas.get("/events/by-contact", name="ana", limit=1, offset=skip))
        for skip in range(4)
    ]

    assert pages == [*([event] for event in whole), []]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"timeframePastDays": 0, "timeframeFutureDays": 5}, ["Lease talk"]),
        ({"timeframeFutureDays": 0}, ["Long ago"]),
        ({"timeframePastDays": 0}, ["Far ahead", "Lease talk"]),
        (
            {"timeframePastDays": 200, "timeframeFutureDays": 200},
            ["Too far ahead", "Far ahead", "Lease talk", "Long ago", "Too long ago"],
        ),
    ],
)
async def test_the_tokens_window_is_the_range(agendas, settings, expected):
    token = await agendas.token(**settings)

    assert titles(await agendas.get("/events/by-contact", token, email="bo@")) == expected


@pytest.mark.parametrize("query", [{"email": "amber@"}, {"name": "amber"}], ids=str)
async def test_a_meeting_room_is_found_only_where_locations_are_visible(agendas, query):
    words = [word.value for word in CalendarField if word is not CalendarField.LOCATION]
    token = await agendas.token(visibleCalendarFields=words)

    visible = await agendas.get("/events/by-contact", **query)
    hidden = await agendas.get("/events/by-contact", token, **query)

    assert titles(visible) == ["Room at 14:00", "Room at 12:00"]
    for event in visible.json()["events"]:
        assert [person["email"] for person in event["attendees"]] == [ROOM.email]
    assert titles(hidden) == []


async def test_a_matching_event_can_be_read_by_its_id(agendas):
    listed = (await agendas.get("/events/by-contact", email="ana@")).json()["events"][0]

    response = await agendas.get(f"/events/{listed['id']}")

    assert {name: response.json()["event"][name] for name in listed} == listed


async def test_only_shown_and_filtered_attributes_are_requested_upstream(agendas):
    await agendas.get("/events/by-contact", email="ana")

    fields = [
        value
        for call in agendas.calls()
        for name in ("fields", "$select")
        for value in call["query"].get(name, ())
    ]
    assert not any(name in " ".join(fields) for name in ("description", "body", "location"))


async def test_a_day_is_the_whole_of_the_window(agendas):
    token = await agendas.token(timeframePastDays=0, timeframeFutureDays=0)

    meta = await agendas.ask(
        '{ eventsByContact(email: "bo") { meta { from to totalCount } } }', token
    )

    assert meta["data"]["eventsByContact"]["meta"] == {
        "from": text(day()),
        "to": text(day(1)),
        "totalCount": 0,
    }
