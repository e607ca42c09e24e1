"""Edges of a person to the calendar: free and busy times, past events, and the last event."""

import calendar_world
import pytest
import pytest_asyncio
from calendar_world import at, day, text

pytestmark = pytest.mark.asyncio(loop_scope="module")

RANGE = f'from: "{text(day(1))}", to: "{text(day(2))}"'


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def standing(world_template, tmp_path_factory):
    async with calendar_world.open_shared(
        world_template, tmp_path_factory.mktemp("people")
    ) as agendas:
        guests = (calendar_world.ANA, calendar_world.BO)
        for days, title in ((-9, "Old talk"), (-3, "Last talk"), (3, "Next talk")):
            event = calendar_world.meeting(
                at(days, "09:00"), at(days, "10:00"), title, attendees=guests
            )
            agendas.plant("home", title, event)
        yield agendas


@pytest.fixture
def agendas(standing):
    standing.world.forget_calls()
    return standing


def called_upstreams(agendas):
    upstreams = agendas.world.sandbox.upstreams
    return sorted(name for name, upstream in upstreams.items() if upstream.calls)


async def test_the_free_times_of_a_connected_person_are_those_of_the_account(agendas):
    listed = await agendas.ask("{ calendars { calendars { calendarName accountEmail } } }")
    calendars = listed["data"]["calendars"]["calendars"]
    address = calendars[0]["accountEmail"]
    own = [entry["calendarName"] for entry in calendars if entry["accountEmail"] == address]
    agendas.world.forget_calls()

    body = await agendas.ask(
        f"""{{ person(email: "{address.upper()}") {{
             freeBusy({RANGE}) {{ calendars {{ calendarName }} }} }} }}"""
    )

    names = [entry["calendarName"] for entry in body["data"]["person"]["freeBusy"]["calendars"]]
    assert names == own
    assert 0 < len(names) < len(calendars)
    assert called_upstreams(agendas) == ["providerA"]


async def test_who_has_no_connected_calendar_has_no_free_times_and_nobody_is_asked(agendas):
    body = await agendas.ask(
        f'{{ person(email: "ana@home.example") {{ freeBusy({RANGE}) {{ '
        "calendars { busy { startUtc } } } } }"
    )

    assert body["data"] == {"person": {"freeBusy": {"calendars": []}}}
    assert called_upstreams(agendas) == []


async def test_a_calendar_that_the_token_may_not_use_looks_like_none(agendas):
    listed = await agendas.ask("{ calendars { calendars { calendarId accountEmail } } }")
    calendars = listed["data"]["calendars"]["calendars"]
    address = calendars[0]["accountEmail"]
    others = [entry["calendarId"] for entry in calendars if entry["accountEmail"] != address]
    token = await agendas.token(allowedCalendarIds=others)
    agendas.world.forget_calls()

    body = await agendas.ask(
        f'{{ freeBusy({RANGE}, account: "{address}") {{ calendars {{ calendarId }} }} }}', token
    )

    assert body["data"] == {"freeBusy": {"calendars": []}}
    assert called_upstreams(agendas) == []


async def test_calendars_and_account_exclude_each_other(agendas):
    body = await agendas.ask(
        f'{{ freeBusy({RANGE}, account: "a@b.example", calendars: "1") {{ accessInfo }} }}'
    )

    assert body["errors"][0]["extensions"]["code"] == "INVALID_PARAMETER"
    assert called_upstreams(agendas) == []


async def test_past_events_leave_out_what_has_not_started(agendas):
    body = await agendas.ask(
        """{ eventsByContact(email: "bo@work.example", past: true) { events { title } }
             all: eventsByContact(email: "bo@work.example") { meta { totalCount } } }"""
    )

    titles = [event["title"] for event in body["data"]["eventsByContact"]["events"]]
    assert titles == ["Last talk", "Old talk"]
    assert body["data"]["all"]["meta"]["totalCount"] == 4


async def test_the_last_event_with_a_person_has_started(agendas):
    body = await agendas.ask(
        """{ person(email: "bo@work.example") { lastContact { event { title startUtc } } } }"""
    )

    assert body["data"]["person"]["lastContact"]["event"]["title"] == "Last talk"


async def test_an_organiser_leads_to_the_person_and_goes_with_the_mask(agendas):
    document = f"{{ calendarEvents({RANGE}) {{ events {{ title organizerPerson {{ email }} }} }} }}"
    seeing = await agendas.ask(document)
    blind = await agendas.ask(
        document, await agendas.token(visibleCalendarFields=["title", "times"])
    )

    def people(body):
        return {
            event["title"]: event["organizerPerson"]
            for event in body["data"]["calendarEvents"]["events"]
        }

    assert people(seeing)["Lease talk"] == {"email": "ana@home.example"}
    assert set(people(blind).values()) == {None}
    assert "errors" not in blind
