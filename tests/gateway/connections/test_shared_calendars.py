"""Shared calendars are read with the role of the person, and a lost role is named."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sandbox.calendar.records import Attendee, EventContent, NewEvent, from_instant
from sandbox.mail.ids import PROVIDER_B, SHARED_B
from sandbox.provider_b.mailbox_rights import grant
from sandbox.provider_b.outlook_calendar.calendar_roles import CalendarRole, share

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]

ACCESS = "/api/access/calendar"
PERSON, TEAM = "me@provider-b.example", "team@provider-b.example"
OWN, SHARED = ["Calendars.Read", "User.Read"], ["Calendars.Read.Shared"]
NOT_SHARED = f"Provider B ({TEAM}): is not shared with the person whose connection it uses."
ONE_EVENT = """
query ($id: String!) { calendarEvent(eventId: $id) { event { title description } } }
"""
TOMORROW = datetime.now(UTC).replace(hour=9, minute=0, second=0, microsecond=0) + timedelta(days=1)
WEEK = {
    "from": f"{TOMORROW - timedelta(days=3):%Y-%m-%dT%H:%M:%SZ}",
    "to": f"{TOMORROW + timedelta(days=3):%Y-%m-%dT%H:%M:%SZ}",
}


@pytest.fixture(scope="module")
def gateway(sandboxed):
    return sandboxed


class Calendars:
    """The calendars of the person and of the team, with an event in each."""

    def __init__(self, sandbox):
        self.database, self.store = sandbox.state.database, sandbox.state.calendars
        self.default = self.store.primary(SHARED_B)
        self.rooms = self.store.add_calendar(SHARED_B, "Rooms", zone="UTC")
        self.add(self.store.primary(PROVIDER_B), "own", hour=0)
        self.add(self.default, "Plan", hour=1)
        self.add(self.default, "Doctor", hour=2, is_private=True)
        self.add(self.rooms, "Room", hour=3)

    def add(self, calendar, title, *, hour, **more):
        start = TOMORROW + timedelta(hours=hour)
        content = EventContent(
            start=from_instant(start),
            end=from_instant(start + timedelta(minutes=30)),
            title=title,
            description="Words.",
            organiser=Attendee(email="ann@north.example"),
            **more,
        )
        self.store.add_events(calendar, (NewEvent(content=content),))

    def give(self, role):
        share(self.database, self.default, PERSON, role)

    def open_mailbox(self, *rights):
        grant(self.database, SHARED_B, PERSON, rights)

    def clear(self):
        """Remove the calendars: the next have other ids, which the gateway does not know."""
        for mailbox in (PROVIDER_B, SHARED_B):
            for calendar in self.store.calendars(mailbox):
                self.store.put_calendar(replace(calendar, is_deleted=True))
        self.open_mailbox()


@pytest.fixture
def calendars(sandbox):
    made = Calendars(sandbox)
    yield made
    made.clear()


@pytest.fixture
def opened(  # noqa: PLR0917 - fixtures
    admin, client, connect, sandbox, gateway, calendars, operator, resource
):
    """Connect a person's calendars and the team's; return what calls them with a token."""

    async def made(scopes=(*OWN, *SHARED), **settings):
        secret = sandbox.state.tokens.issue("providerB", PERSON, scopes)
        owner = await connect(
            "PROVIDER_B",
            PERSON,
            kind="calendar",
            credentials={"accessToken": secret},
            grantedScopes=list(scopes),
        )
        shared = await admin.post(f"/api/connections/{owner}/shared", json={"accountEmail": TEAM})
        assert shared.status_code == 201, shared.text
        for connection in (owner, shared.json()["id"]):  # ids begin anew after each test
            gateway.services.accounts.forget(connection)
        new = {"name": "t", "operatorId": operator, "resourceIds": [resource]}
        settings = {"calendarAccessEnabled": True, **settings}
        token = await admin.post("/api/access-tokens", json={**new, "settings": settings})
        header = {"Authorization": f"Bearer {token.json()['token']}"}
        sandbox.upstreams["providerB"].calls.clear()

        async def get(path, **params):
            return await client.get(f"{ACCESS}{path}", headers=header, params=params)

        async def read(event):
            body = {"query": ONE_EVENT, "variables": {"id": event["id"]}}
            answer = (await client.post("/graphql", headers=header, json=body)).json()
            found = answer["data"]["calendarEvent"]
            return found and found["event"]

        get.event = read
        return get, owner, shared.json()["id"]

    return made


def by_title(answer):
    assert answer.status_code == 200, answer.text
    return {event["title"]: event for event in answer.json()["events"]}


async def names(get):
    listed = (await get("/calendars")).json()["calendars"]
    return [(each["accountEmail"], each["calendarName"]) for each in listed]


async def test_full_access_lists_all_calendars_of_the_mailbox(opened, calendars):
    calendars.open_mailbox("full-access")
    get, _, _ = await opened()

    expected = [(PERSON, "Calendar"), (TEAM, "Calendar"), (TEAM, "Rooms")]
    assert sorted(await names(get)) == expected
    assert by_title(await get("/events")).keys() == {"own", "Plan", "Doctor", "Room"}


@pytest.mark.parametrize(
    "role", [CalendarRole.READ, CalendarRole.WRITE, CalendarRole.DELEGATE], ids=str
)
async def test_a_role_opens_the_default_calendar_without_private_details(opened, calendars, role):
    calendars.give(role)
    get, _, _ = await opened()

    assert sorted(await names(get)) == [(PERSON, "Calendar"), (TEAM, "Calendar")]
    listed = by_title(await get("/events"))
    assert listed.keys() == {"own", "Plan", "Private Appointment"}
    private, plan = listed["Private Appointment"], listed["Plan"]
    assert (private["description"], private["attendees"]) == (None, [])
    assert await get.event(private) is None
    assert await get.event(plan) == {"title": "Plan", "description": "Words."}
    busy = (await get("/freebusy", **WEEK)).json()["calendars"]
    assert [len(each["busy"]) for each in busy] == [1, 2]  # private events take time


async def test_a_delegate_of_private_events_sees_them(opened, calendars):
    calendars.give(CalendarRole.DELEGATE_OF_PRIVATE)
    get, _, _ = await opened()
    listed = by_title(await get("/events"))

    assert listed.keys() == {"own", "Plan", "Doctor"}
    assert await get.event(listed["Doctor"]) == {"title": "Doctor", "description": "Words."}


@pytest.mark.parametrize(
    "role", [CalendarRole.NONE, CalendarRole.FREE_BUSY_READ, CalendarRole.LIMITED_READ], ids=str
)
@pytest.mark.parametrize("path", ["/calendars", "/events", "/freebusy"])
async def test_a_lost_role_is_named_and_the_own_calendars_stay(
    opened, calendars, admin, path, role
):
    calendars.give(CalendarRole.READ)
    get, owner, team = await opened()
    assert by_title(await get("/events")).keys() == {"own", "Plan", "Private Appointment"}
    calendars.give(role)

    answer = await get(path, **(WEEK if path == "/freebusy" else {}))
    assert (answer.status_code, answer.json()["authWarnings"]) == (200, [NOT_SHARED])
    tested = (await admin.post(f"/api/connections/{team}/test", json={})).json()
    assert (tested["ok"], tested["status"]) == (False, "error")
    assert tested["detail"] == (
        "The connection is not shared with the person whose connection it uses."
    )
    own = (await admin.post(f"/api/connections/{owner}/test", json={})).json()
    assert (own["ok"], own["status"]) == (True, "active")


async def test_a_missing_scope_is_named(opened, calendars):
    calendars.open_mailbox("full-access")
    get, _, _ = await opened(scopes=OWN)
    listed = await get("/events")

    assert by_title(listed).keys() == {"own"}
    (warning,) = listed.json()["authWarnings"]
    assert warning.startswith(
        f"Provider B ({TEAM}): needs to be reconnected: its consent does not include "
        "Calendars.Read.Shared."
    )


async def test_a_token_may_reach_the_shared_calendars_alone(opened, calendars, sandbox):
    calendars.give(CalendarRole.READ)
    get, _, _ = await opened(allowedConnectionIds=[2], visibleCalendarFields=["title"])
    listed = by_title(await get("/events"))

    assert listed.keys() == {"Plan", "Private Appointment"}
    assert [event["description"] for event in listed.values()] == [None, None]
    calls = sandbox.upstreams["providerB"].calls
    assert not [call["path"] for call in calls if call["path"].startswith("/v1.0/me")]


@pytest.mark.parametrize("right", ["role", "full-access"])
async def test_the_checks_are_of_the_shared_calendars(opened, calendars, admin, sandbox, right):
    calendars.give(CalendarRole.READ)
    calendars.open_mailbox(*(["full-access"] if right == "full-access" else []))
    _, _, team = await opened()
    checked = (await admin.post(f"/api/connections/{team}/check", json={})).json()

    assert checked["ok"] is True, checked
    calls = sandbox.upstreams["providerB"].calls
    assert calls
    assert not [call["path"] for call in calls if call["path"].startswith("/v1.0/me")]
