"""
Calendar objects as people have them, each read by CalDAV through REST and GraphQL.

`ical_cases/cases.json` names the source of each case, and why its value is right.
"""

import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from scripted_caldav import scripted_caldav

pytestmark = pytest.mark.asyncio(loop_scope="session")
FOLDER = Path(__file__).parent / "ical_cases"
CASES = json.loads((FOLDER / "cases.json").read_text("utf-8"))
READ_BY_CALDAV = [name for name, case in CASES.items() if not case.get("import_only")]
EVENTS = """
query ($id: Long!, $calendars: String!, $from: DateTime!, $to: DateTime!) {
  calendarEvents(calendarId: $id, from: $from, to: $to, limit: 1000) {
    events { id title description location startUtc endUtc allDay status organizer
      attendees { email name response } joinUrl labels isRecurringEvent }
    authWarnings
  }
  freeBusy(from: $from, to: $to, calendars: $calendars) {
    calendars { busy { startUtc endUtc } }
    authWarnings
  }
}"""


def calendar_object(*lines):
    texts = ["BEGIN:VCALENDAR", "VERSION:2.0", "BEGIN:VEVENT", *lines, "END:VEVENT"]
    return "\r\n".join([*texts, "END:VCALENDAR", ""])


EVENT = calendar_object("UID:e", "SUMMARY:E", "DTSTART:20260302T150000Z", "DURATION:PT1H")
START = "DTSTART:20260302T090000Z"
UNREADABLE = "has events that cannot be read"
REASONS = {
    "no zone": "has times in an unknown time zone, read by its own",
    "no address": "has people whose addresses cannot be read, left out",
}
DOUBTED = {
    "no calendar": "BEGIN:VEVENT",
    "no start": calendar_object("UID:x", "SUMMARY:X", "DTSTART:soon"),
    "no end": calendar_object("UID:x", "SUMMARY:X", START, "DTEND:later"),
    "another calendar's rule": calendar_object(
        "UID:x", "SUMMARY:X", START, "RRULE:RSCALE=CHINESE;FREQ=YEARLY"
    ),
    "no date": calendar_object(
        "UID:x", "SUMMARY:X", START, "RRULE:FREQ=DAILY;COUNT=2", "EXDATE:20260303T090000Z,never"
    ),
    "no zone": calendar_object("UID:x", "SUMMARY:X", "DTSTART;TZID=Nowhere:20260302T100000"),
    "no address": calendar_object(
        "UID:x", "SUMMARY:X", START, "ATTENDEE;CN=Ann:urn:uuid:1", "ATTENDEE:mailto:b@x.example"
    ),
}
KNOWN = {
    "no calendar": ["E"], "no start": ["E"], "no end": ["X", "E"], "no zone": ["X", "E"],
    "another calendar's rule": ["X", "E"], "no date": ["X", "E"], "no address": ["X", "E"],
}  # fmt: skip


@dataclass
class Connected:
    """A client of the gateway, which reads the calendars of a scripted server."""

    client: httpx.AsyncClient
    ids: dict

    async def read(self, name, start, end):
        """Return the answers of REST and GraphQL, which are equal: events, busy times, warnings."""
        calendar, times = self.ids[name], {"from": start, "to": end}
        listed = await self._get("events", calendarId=calendar, limit=1000, **times)
        times["to"] = min(end, f"{int(start[:4]) + 1}{start[4:]}")  # the longest range of both
        busy = await self._get("freebusy", calendars=calendar, **times)
        variables = {"id": calendar, "calendars": str(calendar), **times}
        answer = await self.client.post("/graphql", json={"query": EVENTS, "variables": variables})
        graph = answer.json()["data"]
        events = [event for event in listed["events"] if event["startUtc"] < times["to"]]
        assert graph["calendarEvents"] == {
            "events": events, "authWarnings": listed.get("authWarnings"),
        }  # fmt: skip
        periods = [
            {name: period[name] for name in ("startUtc", "endUtc")}
            for period in busy["calendars"][0]["busy"]
        ]
        assert graph["freeBusy"] == {
            "calendars": [{"busy": periods}], "authWarnings": busy.get("authWarnings"),
        }  # fmt: skip
        for event in listed["events"]:
            assert (await self._get(f"events/{event['id']}"))["event"] == event
        return listed, [(period["startUtc"], period["endUtc"]) for period in periods]

    async def _get(self, path, **query):
        response = await self.client.get(f"/api/access/calendar/{path}", params=query)
        assert response.status_code == 200, response.text
        return response.json()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def planted(module_world):
    with ExitStack() as stack:
        calendars = stack.enter_context(scripted_caldav())
        for name, text in DOUBTED.items():
            calendars.put(name, text, EVENT, zone="Europe/Berlin")
        for name, case in CASES.items():
            texts = [(FOLDER / file).read_bytes().decode() for file in case["files"]]
            calendars.put(name, *texts, zone=case["zone"])
        body = {
            "resourceId": 1, "operatorId": module_world.operator_id, "kind": "calendar",
            "provider": "CALDAV", "accountEmail": "owner@example.com", "baseUrl": calendars.url,
            "credentials": {"username": "owner", "password": "secret"},
        }  # fmt: skip
        created = await module_world.admin.post("/api/connections", json=body)
        assert created.status_code == 201, created.text
        token = await module_world.token({"calendarAccessEnabled": True})
        async with module_world.client(token) as client:
            listed = (await client.get("/api/access/calendar/calendars")).json()["calendars"]
        yield token, {entry["calendarName"]: entry["calendarId"] for entry in listed}


@pytest_asyncio.fixture(loop_scope="session")
async def connected(shared_world, planted):
    token, ids = planted
    async with shared_world.client(token) as client:
        yield Connected(client, ids)


def merged(events):
    """Return the times of events as busy periods."""
    periods = []
    for start, end, *_ in sorted(events):
        if start == end:
            continue
        if periods and start <= periods[-1][1]:
            periods[-1] = periods[-1][0], max(end, periods[-1][1])
        else:
            periods.append((start, end))
    return periods


@pytest.mark.parametrize("name", READ_BY_CALDAV)
async def test_a_case_is_read_right(connected, name):
    case = CASES[name]
    start, end = (f"{case[edge]}T00:00:00Z" for edge in ("from", "to"))

    listed, busy = await connected.read(name, start, end)

    events = listed["events"]
    assert "authWarnings" not in listed
    if "events" in case:
        read = [(event["startUtc"], event["endUtc"], event["title"]) for event in events]
        expected = [tuple(event) for event in case["events"]]
        assert [event[: len(expected[0])] for event in read] == expected
        last = min(end, f"{int(start[:4]) + 1}{start[4:]}")
        cut = [(max(begin, start), min(finish, last)) for begin, finish, *_ in expected]
        assert busy == merged(period for period in cut if period[0] < last)
    if "busy" in case:
        assert busy == [tuple(period) for period in case["busy"]]
    for member in ("description", "location"):
        if member in case:
            assert events[0][member] == case[member]
    if "people" in case:
        people = [[guest["email"], guest["response"]] for guest in events[0]["attendees"]]
        assert [events[0]["organizer"], people] == case["people"]


@pytest.mark.parametrize("name", DOUBTED)
async def test_an_object_that_cannot_be_read_hides_no_other(connected, name):
    listed, busy = await connected.read(name, "2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z")

    reason = REASONS.get(name, UNREADABLE)
    sentence = f'Calendar server (owner@example.com), calendar "{name}": {reason}.'
    assert listed["authWarnings"] == [sentence]
    assert [event["title"] for event in listed["events"]] == KNOWN[name]
    assert ("2026-03-02T15:00:00Z", "2026-03-02T16:00:00Z") in busy
    if name == "no zone":
        assert listed["events"][0]["startUtc"] == "2026-03-02T09:00:00Z"  # by Europe/Berlin


@pytest.mark.parametrize(
    ("fields", "is_told"),
    [(["title", "attendees"], True), (["title", "organizer"], False), (["title"], False)],
)
async def test_people_that_cannot_be_read_are_told_where_people_are_shown(
    shared_world, planted, fields, is_told
):
    _, ids = planted
    settings = {"calendarAccessEnabled": True, "visibleCalendarFields": fields}
    query = {"calendarId": ids["no address"], "from": "2026-03-02", "to": "2026-03-03"}
    async with shared_world.client(await shared_world.token(settings)) as client:
        listed = await client.get("/api/access/calendar/events", params=query)

    assert {event["title"] for event in listed.json()["events"]} == {"X", "E"}
    assert ("authWarnings" in listed.json()) is is_told
