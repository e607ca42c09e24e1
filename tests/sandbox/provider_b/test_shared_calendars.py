"""Calendars of somebody else: what each role shows, as Graph documents and users report it."""

from datetime import UTC, datetime

import pytest

from sandbox.calendar.records import Attendee, EventContent, NewEvent, Recurrence, from_instant
from sandbox.mail.ids import SHARED_B
from sandbox.provider_b.mailbox_rights import grant
from sandbox.provider_b.outlook_calendar.calendar_roles import CalendarRole, share

OWNER, ME = "team@provider-b.example", "me@provider-b.example"
ROOT = f"/users/{OWNER}"
JANUARY = {"startDateTime": "2026-01-01T00:00:00Z", "endDateTime": "2026-02-01T00:00:00Z"}
READS = (CalendarRole.READ, CalendarRole.WRITE, CalendarRole.DELEGATE)
BLIND = (CalendarRole.NONE, CalendarRole.FREE_BUSY_READ, CalendarRole.LIMITED_READ)
NEW = {
    "subject": "New",
    "start": {"dateTime": "2026-01-20T09:00:00", "timeZone": "UTC"},
    "end": {"dateTime": "2026-01-20T10:00:00", "timeZone": "UTC"},
}


class Shared:
    """The calendars of a team, of which one has a private event, and the role of a person."""

    def __init__(self, world):
        self.database, store = world.state.database, world.state.calendars
        self.default = store.add_calendar(SHARED_B, "Calendar", zone="UTC", is_primary=True)
        self.other = store.add_calendar(SHARED_B, "Rooms", zone="UTC")
        self.own = store.add_calendar("provider-b", "Calendar", zone="UTC", is_primary=True)
        self.open = self._add(store, self.default, "Plan", day=7)
        self.private = self._add(store, self.default, "Doctor", day=8, is_private=True)
        self.room = self._add(store, self.other, "Room", day=9)

    def _add(self, store, calendar, title, *, day, **more):
        content = EventContent(
            start=from_instant(datetime(2026, 1, day, 9, tzinfo=UTC)),
            end=from_instant(datetime(2026, 1, day, 10, tzinfo=UTC)),
            title=title,
            location="Room 5",
            description="Words.",
            organiser=Attendee(email="ann@x.test"),
            attendees=(Attendee(email="ann@x.test"), Attendee(email=OWNER)),
            categories=("Boats",),
            **more,
        )
        return store.add_events(calendar, (NewEvent(content=content),))[0]

    def give(self, role):
        share(self.database, self.default, ME, role)

    def open_mailbox(self):
        grant(self.database, SHARED_B, ME, ["full-access"])


@pytest.fixture
def shared(world):
    return Shared(world)


@pytest.fixture
def client(client_with):
    return client_with("Calendars.ReadWrite", "Calendars.ReadWrite.Shared")


async def subjects(client, path="/calendar/calendarView"):
    answer = await client.get(f"{ROOT}{path}", params=JANUARY)
    assert answer.status_code == 200, answer.text
    return [event["subject"] for event in answer.json()["value"]]


def refusal(answer):
    return answer.status_code, answer.json()["error"]["code"]


@pytest.mark.parametrize("role", READS)
async def test_a_view_shows_only_times_of_private_events(shared, client, role):
    shared.give(role)
    view = await client.get(f"{ROOT}/calendar/calendarView", params=JANUARY)

    private, plan = view.json()["value"]
    assert (plan["subject"], plan["location"]["displayName"]) == ("Plan", "Room 5")
    shown = [private[name] for name in ("subject", "sensitivity", "showAs", "categories")]
    assert shown == ["Private Appointment", "private", "busy", []]
    assert private["start"]["dateTime"] == "2026-01-08T09:00:00.0000000"
    assert (private["location"]["displayName"], private["attendees"]) == ("", [])
    assert private["body"]["content"] == private["bodyPreview"] == ""
    for words in ("Doctor", "Room 5", "ann@x.test", "Boats", "Words."):
        assert words not in str(private)


async def test_no_filter_finds_what_a_private_event_hides(shared, client):
    shared.give(CalendarRole.READ)
    params = {**JANUARY, "$filter": "subject eq 'Doctor'"}
    answer = await client.get(f"{ROOT}/calendarView", params=params)

    assert answer.json()["value"] == []


@pytest.mark.parametrize("role", READS)
async def test_a_private_event_is_not_read_alone(shared, client, role):
    shared.give(role)
    assert refusal(await client.get(f"{ROOT}/events/{shared.private.id}")) == (
        404,
        "ErrorItemNotFound",
    )
    answer = await client.get(f"{ROOT}/calendar/events")  # of a calendar with private events
    assert refusal(answer) == (404, "ErrorItemNotFound")
    assert (await client.get(f"{ROOT}/events/{shared.open.id}")).json()["subject"] == "Plan"


async def test_full_access_and_delegates_see_private_events(shared, client):
    shared.give(CalendarRole.DELEGATE_OF_PRIVATE)
    assert await subjects(client) == ["Doctor", "Plan"]
    assert await subjects(client, "/calendar/events") == ["Plan", "Doctor"]
    assert (await client.get(f"{ROOT}/calendars")).status_code == 404

    shared.open_mailbox()
    listed = (await client.get(f"{ROOT}/calendars")).json()["value"]
    assert [each["name"] for each in listed] == ["Calendar", "Rooms"]
    assert {each["owner"]["address"] for each in listed} == {OWNER}
    assert await subjects(client, f"/calendars/{shared.other.id}/calendarView") == ["Room"]


@pytest.mark.parametrize("role", BLIND)
async def test_a_calendar_without_a_role_to_read_is_not_there(shared, client, role):
    shared.give(role)
    for path in ("/calendar", "/calendarView", "/calendar/calendarView", "/events"):
        answer = await client.get(f"{ROOT}{path}", params=JANUARY)
        assert (path, refusal(answer)) == (path, (403, "ErrorAccessDenied"))
    default = shared.default.id
    for path in ("/calendars", f"/calendars/{default}", f"/events/{shared.open.id}"):
        assert refusal(await client.get(f"{ROOT}{path}")) == (404, "ErrorItemNotFound")


async def test_another_calendar_of_the_mailbox_is_not_shared_with_it(shared, client):
    shared.give(CalendarRole.DELEGATE_OF_PRIVATE)
    for path in (f"/calendars/{shared.other.id}/calendarView", f"/events/{shared.room.id}"):
        answer = await client.get(f"{ROOT}{path}", params=JANUARY)
        assert refusal(answer) == (404, "ErrorItemNotFound")


@pytest.mark.parametrize(
    ("role", "can_edit", "sees_private"),
    [
        (CalendarRole.READ, False, False),
        (CalendarRole.WRITE, True, False),
        (CalendarRole.DELEGATE_OF_PRIVATE, True, True),
    ],
)
async def test_the_calendar_says_what_its_role_allows(shared, client, role, can_edit, sees_private):
    shared.give(role)
    calendar = (await client.get(f"{ROOT}/calendar")).json()
    made = await client.post(f"{ROOT}/calendar/events", json=NEW)

    members = ("id", "canEdit", "canViewPrivateItems", "canShare", "isDefaultCalendar")
    expected = [shared.default.id, can_edit, sees_private, False, True]
    assert [calendar[name] for name in members] == expected
    assert made.status_code == (201 if can_edit else 403)
    if can_edit:
        assert made.json()["organizer"]["emailAddress"]["address"] == OWNER


async def test_scopes_without_shared_open_the_own_calendars_alone(shared, client_with):
    shared.give(CalendarRole.WRITE)
    client = client_with("Calendars.ReadWrite")
    assert refusal(await client.get(f"{ROOT}/calendar")) == (403, "ErrorAccessDenied")
    assert (await client.get("/me/calendar")).status_code == 200

    reader = client_with("Calendars.Read.Shared")
    assert (await reader.get(f"{ROOT}/calendar")).status_code == 200
    answer = await reader.post(f"{ROOT}/calendar/events", json=NEW)
    assert refusal(answer) == (403, "ErrorAccessDenied")


async def test_ids_are_those_of_the_mailbox(shared, client):
    shared.open_mailbox()
    for path in (f"/events/{shared.open.id}", f"/calendars/{shared.default.id}"):
        assert (await client.get(f"{ROOT}{path}")).status_code == 200
        assert refusal(await client.get(f"/me{path}")) == (404, "ErrorItemNotFound")
    nobody = await client.get("/users/no@provider-b.example/calendar")
    assert refusal(nobody) == (404, "ErrorInvalidUser")


@pytest.mark.parametrize(
    ("role", "subject"),
    [
        (CalendarRole.FREE_BUSY_READ, None),
        (CalendarRole.LIMITED_READ, "Plan"),
        (CalendarRole.DELEGATE_OF_PRIVATE, "Plan"),
    ],
)
@pytest.mark.parametrize("root", ["/me", ROOT])
async def test_a_schedule_shows_when_somebody_is_busy(shared, client, root, role, subject):
    shared.give(role)
    body = {
        "schedules": [OWNER],
        "startTime": {"dateTime": "2026-01-07T00:00:00", "timeZone": "UTC"},
        "endTime": {"dateTime": "2026-01-09T00:00:00", "timeZone": "UTC"},
        "availabilityViewInterval": 1440,
    }
    answer = await client.post(f"{root}/calendar/getSchedule", json=body)

    (schedule,) = answer.json()["value"]
    plan, private = schedule["scheduleItems"]
    assert (schedule["availabilityView"], plan.get("subject")) == ("22", subject)
    assert private.keys() == {"isPrivate", "status", "start", "end"}


async def test_a_schedule_that_is_closed_says_so(shared, client):
    shared.give(CalendarRole.NONE)
    body = {
        "schedules": [OWNER],
        "startTime": {"dateTime": "2026-01-07T00:00:00", "timeZone": "UTC"},
        "endTime": {"dateTime": "2026-01-09T00:00:00", "timeZone": "UTC"},
    }
    (schedule,) = (await client.post("/me/calendar/getSchedule", json=body)).json()["value"]

    assert schedule["error"]["responseCode"] == "ErrorNoFreeBusyAccess"


async def test_a_series_shows_its_private_instances_as_times(shared, client, world):
    shared.give(CalendarRole.READ)
    content = EventContent(
        start=from_instant(datetime(2026, 1, 10, 9, tzinfo=UTC)),
        end=from_instant(datetime(2026, 1, 10, 10, tzinfo=UTC)),
        title="Therapy",
        is_private=True,
    )
    series = NewEvent(content=content, recurrence=Recurrence(rules=("FREQ=DAILY;COUNT=2",)))
    (stored,) = world.state.calendars.add_events(shared.default, (series,))

    assert (await subjects(client)).count("Private Appointment") == 3
    answer = await client.get(f"{ROOT}/events/{stored.id}/instances", params=JANUARY)
    assert refusal(answer) == (404, "ErrorItemNotFound")
