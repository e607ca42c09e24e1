"""The calendar's root fields through POST /graphql."""

import calendar_world
import pytest
import pytest_asyncio
from calendar_world import at, day, text

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALL = "{ calendarEvents { events { id title } } }"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def standing(world_template, tmp_path_factory):
    async with calendar_world.open_shared(
        world_template, tmp_path_factory.mktemp("agendas")
    ) as agendas:
        yield agendas


@pytest.fixture
def agendas(standing):
    standing.world.forget_calls()
    return standing


def only(body):
    (error,) = body["errors"]
    return error


async def test_one_request_reads_all_of_the_surface(agendas):
    body = await agendas.ask(
        """query All($from: DateTime!, $to: DateTime!) {
             calendars { calendars { calendarName } }
             calendarEvents(from: $from, to: $to, limit: 1) { events { title } meta { hasMore } }
             mine: eventsByContact(name: "bo") { events { title } currentUserCalendarEmail }
             freeBusy(from: $from, to: $to) { calendars { busy { durationMinutes } } }
           }""",
        **{"from": text(day(1)), "to": text(day(2))},
    )

    assert body["data"] == {
        "calendars": {
            "calendars": [{"calendarName": name} for name in ("Me", "Home", "Calendar", "Club")]
        },
        "calendarEvents": {"events": [{"title": "Budget 2027"}], "meta": {"hasMore": True}},
        "mine": {
            "events": [{"title": "Lease talk"}],
            "currentUserCalendarEmail": "me@provider-a.example",
        },
        "freeBusy": {
            "calendars": [
                {"busy": [{"durationMinutes": 90}]},
                {"busy": []},
                {"busy": [{"durationMinutes": 60}]},
                {"busy": [{"durationMinutes": 60}]},
            ]
        },
    }


async def test_both_doors_tell_the_same(agendas):
    rest = (await agendas.get("/events")).json()["events"]

    graph = await agendas.ask(
        """{ calendarEvents { events {
             id title description location startUtc endUtc allDay status organizer
             attendees { email name response } joinUrl labels isRecurringEvent
           } } }"""
    )

    assert graph["data"]["calendarEvents"]["events"] == rest


async def test_hidden_fields_are_listed_by_name(agendas):
    token = await agendas.token(visibleCalendarFields=["title", "times", "status"])

    body = await agendas.ask(ALL, token)

    assert body["extensions"]["access"] == {
        "hiddenFields": {
            "Event": [
                "description",
                "location",
                "organizer",
                "organizerPerson",
                "attendees",
                "joinUrl",
                "labels",
                "isRecurringEvent",
                "series",
                "connectionId",
            ]
        },
        "accessInfo": "Hidden event fields: description, location, organizer, attendees, "
        "join_url, labels, recurrence. "
        "Visible event fields may still show hidden ones: "
        "location (in title), join_url (in title).",
    }


@pytest.mark.parametrize(
    ("document", "code", "status"),
    [
        ("{ calendarEvents(limit: 0) { meta { count } } }", "INVALID_PARAMETER", 400),
        ("{ calendarEvents(offset: -1) { meta { count } } }", "INVALID_PARAMETER", 400),
        ("{ calendarEvents(calendarId: 99) { meta { count } } }", "CALENDAR_NOT_FOUND", 404),
        (
            '{ calendarEvents(from: "2026-01-02", to: "2026-01-01") { meta { count } } }',
            "INVALID_RANGE",
            400,
        ),
        ('{ calendarEvent(eventId: "x") { event { id } } }', "INVALID_ID", 400),
        (
            '{ calendarEvent(eventId: "00000000-0000-5000-8000-000000000000") { event { id } } }',
            "EVENT_NOT_FOUND",
            404,
        ),
        ("{ eventsByContact { meta { count } } }", "MISSING_PARAMETER", 400),
    ],
)
async def test_refusals_carry_their_code_and_status(agendas, document, code, status):
    body = await agendas.ask(document)

    error = only(body)
    assert (error["extensions"]["code"], error["extensions"]["httpStatus"]) == (code, status)
    assert list(body["data"].values()) == [None]


async def test_free_and_busy_needs_its_range(agendas):
    body = await agendas.ask("{ freeBusy { calendars { calendarId } } }")

    assert {error["extensions"]["code"] for error in body["errors"]} == {
        "GRAPHQL_VALIDATION_FAILED"
    }
    assert agendas.calls() == []


@pytest.mark.parametrize("level", ["free_busy_only"])
async def test_a_refused_field_leaves_its_siblings(agendas, level):
    token = await agendas.token(calendarAccessLevel=level)

    body = await agendas.ask(
        "{ calendarEvents { meta { count } } calendars { calendars { calendarName } } }", token
    )

    assert only(body)["extensions"]["code"] == "ACCESS_DENIED"
    assert body["data"]["calendarEvents"] is None
    assert len(body["data"]["calendars"]["calendars"]) == 4


async def test_null_arguments_mean_their_defaults(agendas):
    body = await agendas.ask(
        """{ calendarEvents(
               q: null attendees: null calendarId: null from: null to: null limit: null
               offset: null includeCancelled: null
             ) { meta { count offset from to } } }"""
    )

    assert body["data"]["calendarEvents"]["meta"] == {
        "count": 4,
        "offset": 0,
        "from": text(day()),
        "to": text(day(7)),
    }


async def test_aliases_and_fragments_see_no_more(agendas):
    token = await agendas.token(visibleCalendarFields=["title"])

    body = await agendas.ask(
        """{ calendarEvents { events { ...Seen shown: title } } }
           fragment Seen on Event { at: startUtc who: attendees { email } where: location }""",
        token,
    )

    for event in body["data"]["calendarEvents"]["events"]:
        assert event["shown"]
        assert (event["at"], event["who"], event["where"]) == (None, None, None)


async def test_a_moment_of_the_range_may_have_any_offset(agendas):
    body = await agendas.ask(
        "query R($from: DateTime) { calendarEvents(from: $from) { meta { from } } }",
        **{"from": at(1, "06:00").strftime("%Y-%m-%dT%H:%M:%S") + "-06:00"},
    )

    assert body["data"]["calendarEvents"]["meta"]["from"] == text(at(1, "12:00"))
