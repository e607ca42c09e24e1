"""Further forms of odd calendars, by REST and by GraphQL: tests/helpers/reported_events.py."""

import pytest
import pytest_asyncio
import world as worlds
from reported_events import REPORTED
from scripted_caldav import scripted_caldav

session_loop = pytest.mark.asyncio(loop_scope="session")
YEAR = {"from": "2026-01-01T00:00:00Z", "to": "2027-01-01T00:00:00Z"}
EVENTS = """
query ($id: Long!, $from: DateTime!, $to: DateTime!) {
  calendarEvents(calendarId: $id, from: $from, to: $to, limit: 1000) {
    events { id title description location startUtc endUtc allDay status organizer
      attendees { email name response } joinUrl labels isRecurringEvent }
    authWarnings
  }
}"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def readings(world_template, tmp_path_factory):
    """The answers of REST and of GraphQL by name."""
    folder, played = tmp_path_factory.mktemp("reported"), {}
    with scripted_caldav() as calendars:
        for name, (text, _) in REPORTED.items():
            calendars.put(name, text, zone="Europe/Berlin")
        async with worlds.opened(*world_template, folder, rate_limits="off") as world:
            body = {
                "resourceId": 1,
                "operatorId": world.operator_id,
                "kind": "calendar",
                "provider": "CALDAV",
                "accountEmail": "owner@example.com",
                "baseUrl": calendars.url,
                "credentials": {"username": "owner", "password": "secret"},
            }
            created = await world.admin.post("/api/connections", json=body)
            assert created.status_code == 201, created.text
            token = await world.token({"calendarAccessEnabled": True})
            async with world.client(token) as client:
                listed = (await client.get("/api/access/calendar/calendars")).json()["calendars"]
                for entry in listed:
                    query = {"calendarId": entry["calendarId"], "limit": 1000, **YEAR}
                    by_rest = await client.get("/api/access/calendar/events", params=query)
                    variables = {"id": entry["calendarId"], **YEAR}
                    document = {"query": EVENTS, "variables": variables}
                    by_graphql = await client.post("/graphql", json=document)
                    played[entry["calendarName"]] = (
                        by_rest.json(),
                        by_graphql.json()["data"]["calendarEvents"],
                    )
        yield played


def start(event):
    """Return the start of an event as the table writes it."""
    _, month, rest = event["startUtc"].split("-")
    return month + rest[:2] + ("" if event["allDay"] else rest[2:5])


@session_loop
@pytest.mark.parametrize("name", REPORTED)
async def test_it_is_read_as_it_was_meant(readings, name):
    by_rest, by_graphql = readings[name]
    wanted = REPORTED[name][1]

    assert by_rest.get("authWarnings") is None
    assert by_graphql == {"events": by_rest["events"], "authWarnings": None}
    if isinstance(wanted, str):
        assert list(map(start, by_rest["events"])) == wanted.split()
    else:
        (event,) = by_rest["events"]
        assert {member: event[member] for member in wanted} == wanted
