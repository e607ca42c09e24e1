"""Provider A's calendar wire, over a small calendar."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.app import Sandbox
from sandbox.calendar.records import (
    Attendee,
    EventContent,
    EventTime,
    NewEvent,
    Override,
    Recurrence,
    from_local,
)
from sandbox.mail.store import Account
from sandbox.state import open_state

NOW = datetime(2026, 1, 5, 8, tzinfo=UTC)
ZONE = "Europe/Stockholm"
ME = Attendee(email="me@x.test", name="Me", response="accepted")
ANN = Attendee(email="ann@x.test", name="Ann Miller", response="tentative")
EVENTS = "/calendars/primary/events"
JANUARY = {"timeMin": "2026-01-01T00:00:00Z", "timeMax": "2026-02-01T00:00:00Z"}
EXPANDED = {**JANUARY, "singleEvents": "true", "orderBy": "startTime"}


def at(text, zone=ZONE):
    return from_local(datetime.fromisoformat(text), zone)


def content(start, end, **more):
    return EventContent(**{"start": at(start), "end": at(end), "organiser": ME, **more})


class World:
    """A calendar of four events, and a second one of a single."""

    def __init__(self):
        self.state = open_state(None, clock=NOW.timestamp)
        self.state.mails.set_account("provider-a", Account("me@x.test", "Me"))
        self.store = self.state.calendars
        self.app = Sandbox(self.state, public_base="http://sandbox.test")
        self.own = self.store.add_calendar("provider-a", "Own", zone=ZONE, is_primary=True)
        self.theirs = self.store.add_calendar("provider-a", "Tides", zone="UTC", can_edit=False)
        keel = content("2026-01-07T09:00", "2026-01-07T10:00", title="Keel", location="Shed 3")
        standup = content("2026-01-05T09:00", "2026-01-05T09:15", title="Stand-up")
        self.keel = self.add(
            replace(keel, attendees=(ME, ANN), description="Planks", video_link="https://m.test/k")
        )
        self.standup = self.add(
            standup,
            Recurrence(rules=("FREQ=DAILY;COUNT=4",)),
            (Override(original=at("2026-01-06T09:00"), cancelled=True),),
        )
        day = EventTime(ZONE, day=date(2026, 1, 6))
        self.holiday = self.add(replace(standup, title="Holiday", start=day, end=day.later(_DAY)))
        self.off = self.add(replace(keel, title="Off", status="cancelled"))
        tide = EventContent(start=at("2026-01-05T00:00", "UTC"), end=at("2026-01-05T01:00", "UTC"))
        self.tide = self.store.add_events(self.theirs, (NewEvent(content=tide),))[0]

    def add(self, kept, recurrence=None, overrides=()):
        new = NewEvent(content=kept, recurrence=recurrence, overrides=overrides)
        return self.store.add_events(self.own, (new,))[0]

    def client(self, *scopes):
        token = self.state.tokens.issue("providerA", "me@x.test", scopes)
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(app=self.app),
            base_url="http://sandbox.test/provider-a/calendar/v3",
            headers={"authorization": f"Bearer {token}"},
        )


_DAY = timedelta(days=1)


@pytest.fixture
def world():
    return World()


@pytest.fixture
async def client(world):
    async with world.client("https://www.googleapis.com/auth/calendar") as client:
        yield client


async def items(client, **asked):
    answer = await client.get(EVENTS, params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def reason(answer):
    error = answer.json()["error"]
    assert error["code"] == answer.status_code
    return error["errors"][0]["reason"]


# Lists


async def test_an_expanded_list_is_in_order_of_time(client, world):
    found = await items(client, **EXPANDED)

    same_time = sorted([world.keel.id, f"{world.standup.id}_20260107T080000Z"])
    assert [event["id"] for event in found] == [
        f"{world.standup.id}_20260105T080000Z",
        world.holiday.id,
        *same_time,
        f"{world.standup.id}_20260108T080000Z",
    ]


async def test_a_plain_list_has_the_series_and_what_is_off_in_it(client, world):
    found = await items(client)

    assert [event["id"] for event in found] == [
        world.keel.id,
        world.standup.id,
        f"{world.standup.id}_20260106T080000Z",
        world.holiday.id,
    ]
    assert found[1]["recurrence"] == ["RRULE:FREQ=DAILY;COUNT=4"]
    assert found[2] == {
        "kind": "calendar#event",
        "etag": found[2]["etag"],
        "id": f"{world.standup.id}_20260106T080000Z",
        "status": "cancelled",
        "recurringEventId": world.standup.id,
        "originalStartTime": {"dateTime": "2026-01-06T09:00:00+01:00", "timeZone": ZONE},
    }


async def test_an_event_has_every_member(client, world):
    (found,) = await items(client, iCalUID=world.keel.uid)

    me = {"email": "me@x.test", "displayName": "Me", "self": True}
    assert {**found, "htmlLink": "", "etag": ""} == {
        "kind": "calendar#event",
        "etag": "",
        "id": world.keel.id,
        "status": "confirmed",
        "htmlLink": "",
        "created": "2026-01-05T08:00:00Z",
        "updated": "2026-01-05T08:00:00.000Z",
        "summary": "Keel",
        "description": "Planks",
        "location": "Shed 3",
        "creator": me,
        "organizer": me,
        "attendees": [
            {**me, "organizer": True, "responseStatus": "accepted"},
            {"email": "ann@x.test", "displayName": "Ann Miller", "responseStatus": "tentative"},
        ],
        "start": {"dateTime": "2026-01-07T09:00:00+01:00", "timeZone": ZONE},
        "end": {"dateTime": "2026-01-07T10:00:00+01:00", "timeZone": ZONE},
        "iCalUID": world.keel.uid,
        "sequence": 0,
        "hangoutLink": "https://m.test/k",
        "conferenceData": {
            "entryPoints": [{"entryPointType": "video", "uri": "https://m.test/k", "label": "k"}],
            "conferenceSolution": {"key": {"type": "hangoutsMeet"}, "name": "Video meeting"},
            "conferenceId": "k",
        },
        "reminders": {"useDefault": False},
        "eventType": "default",
    }


@pytest.mark.parametrize(
    ("zone", "start"),
    [
        ("UTC", "2026-01-07T08:00:00Z"),
        ("Asia/Tokyo", "2026-01-07T17:00:00+09:00"),
        ("", "2026-01-07T09:00:00+01:00"),
    ],
    ids=["UTC", "Tokyo", "the calendar's own"],
)
async def test_times_are_in_the_requested_zone(client, world, zone, start):
    parameters = {"timeZone": zone} if zone else {}

    found = (await client.get(f"{EVENTS}/{world.keel.id}", params=parameters)).json()

    assert found["start"] == {"dateTime": start, "timeZone": ZONE}


async def test_a_whole_day_event_has_dates_only(client, world):
    found = (await client.get(f"{EVENTS}/{world.holiday.id}?timeZone=Asia/Tokyo")).json()

    assert (found["start"], found["end"]) == ({"date": "2026-01-06"}, {"date": "2026-01-07"})


WINDOWS = {
    "ends as it begins": ({"timeMin": "2026-01-07T09:00:00Z"}, False),
    "ends later": ({"timeMin": "2026-01-07T08:59:59Z"}, True),
    "begins as it ends": ({"timeMax": "2026-01-07T08:00:00Z"}, False),
    "begins earlier": ({"timeMax": "2026-01-07T08:00:01Z"}, True),
    "with an offset": ({"timeMax": "2026-01-07T08:30:00+01:00"}, False),
}


@pytest.mark.parametrize(("window", "is_in"), WINDOWS.values(), ids=WINDOWS)
async def test_a_window_bounds_the_end_from_below_and_the_start_from_above(
    client, world, window, is_in
):
    found = await items(client, singleEvents="true", **window)

    assert (world.keel.id in [event["id"] for event in found]) is is_in


async def test_cancelled_events_are_listed_on_request(client, world):
    found = await items(client, showDeleted="true", **EXPANDED)

    off = {event["id"]: event for event in found if event["status"] == "cancelled"}
    assert off.keys() == {world.off.id, f"{world.standup.id}_20260106T080000Z"}
    assert off[world.off.id]["summary"] == "Off"
    assert "start" not in off[f"{world.standup.id}_20260106T080000Z"]


async def test_pages_may_be_empty_before_the_last(client):
    sizes, token = [], ""
    while token is not None:
        asked = {"maxResults": "1", "q": "holiday", **({"pageToken": token} if token else {})}
        page = (await client.get(EVENTS, params=asked)).json()
        sizes.append(len(page["items"]))
        token = page.get("nextPageToken")

    assert sizes == [0, 0, 0, 1, 0]


async def test_pages_follow_each_other_though_events_arrive_between(client, world):
    whole = await items(client, **EXPANDED)
    first = (await client.get(EVENTS, params={**EXPANDED, "maxResults": "2"})).json()
    world.add(content("2026-01-05T07:00", "2026-01-05T08:00", title="Before"))
    asked = {**EXPANDED, "pageToken": first["nextPageToken"]}
    second = (await client.get(EVENTS, params=asked)).json()

    assert [*first["items"], *second["items"]] == whole


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("keel", ["Keel"]),
        ("SHED planks", ["Keel"]),
        ("ann@x.test", ["Keel"]),
        ('"shed 3"', ["Keel"]),
        ('"3 shed"', []),
        ("eel", []),
        ("keel mast", []),
    ],
)
async def test_a_search_covers_texts_and_people(client, words, found):
    assert [item["summary"] for item in await items(client, q=words, singleEvents="true")] == found


async def test_the_page_tells_about_the_calendar(client):
    page = (await client.get(EVENTS, params=EXPANDED)).json()

    assert {key: page[key] for key in ("kind", "summary", "timeZone", "accessRole")} == {
        "kind": "calendar#events",
        "summary": "me@x.test",
        "timeZone": ZONE,
        "accessRole": "owner",
    }


async def test_a_sync_token_lists_later_changes(client, world):
    token = (await client.get(EVENTS)).json()["nextSyncToken"]
    await client.delete(f"{EVENTS}/{world.keel.id}")

    news = (await client.get(EVENTS, params={"syncToken": token})).json()

    assert [(item["id"], item["status"]) for item in news["items"]] == [
        (world.keel.id, "cancelled")
    ]
    again = await client.get(EVENTS, params={"syncToken": news["nextSyncToken"]})
    assert again.json()["items"] == []


async def test_fields_cut_the_answer_down(client, world):
    page = (await client.get(EVENTS, params={**EXPANDED, "fields": "items(id,start)"})).json()

    assert page.keys() == {"items"}
    assert all(item.keys() == {"id", "start"} for item in page["items"])
    assert reason(await client.get(EVENTS, params={"fields": "items(body)"})) == "invalidParameter"


async def test_too_many_guests_are_left_out(client, world):
    found = (await client.get(f"{EVENTS}/{world.keel.id}?maxAttendees=1")).json()

    assert [attendee["email"] for attendee in found["attendees"]] == ["me@x.test"]
    assert found["attendeesOmitted"] is True


REFUSED = {
    "an order without expanding": ({"orderBy": "startTime"}, 400, "invalid"),
    "an unknown order": ({"orderBy": "title"}, 400, "invalid"),
    "a moment without an offset": ({"timeMin": "2026-01-01T00:00:00"}, 400, "badRequest"),
    "no moment": ({"timeMax": "soon"}, 400, "badRequest"),
    "an empty window": (
        {"timeMin": "2026-01-02T00:00:00Z", "timeMax": "2026-01-02T00:00:00Z"},
        400,
        "timeRangeEmpty",
    ),
    "no number": ({"maxResults": "many"}, 400, "invalidParameter"),
    "no results": ({"maxResults": "0"}, 400, "invalidParameter"),
    "no zone": ({"timeZone": "Middle/Earth"}, 400, "invalid"),
    "no page": ({"pageToken": "zzz"}, 400, "invalid"),
    "no news": ({"syncToken": "zzz"}, 410, "fullSyncRequired"),
    "news and more": ({"syncToken": "zzz", "q": "a"}, 400, "badRequest"),
    "an unknown parameter": ({"calendar": "x"}, 400, "invalid"),
}


@pytest.mark.parametrize(("asked", "status", "why"), REFUSED.values(), ids=REFUSED)
async def test_an_invalid_parameter_is_rejected(client, asked, status, why):
    answer = await client.get(EVENTS, params=asked)

    assert (answer.status_code, reason(answer)) == (status, why)


# One event


async def test_an_occurrence_is_found_by_its_own_id(client, world):
    name = f"{world.standup.id}_20260107T080000Z"

    found = (await client.get(f"{EVENTS}/{name}")).json()

    assert (found["id"], found["recurringEventId"]) == (name, world.standup.id)
    assert found["originalStartTime"] == found["start"]
    assert "recurrence" not in found


@pytest.mark.parametrize(
    "ending", ["_20260109T080000Z", "_20260107T090000Z", "_20260107", "_2026", "x", "_"]
)
async def test_what_is_no_occurrence_is_not_found(client, world, ending):
    answer = await client.get(f"{EVENTS}/{world.standup.id}{ending}")

    assert (answer.status_code, reason(answer)) == (404, "notFound")


async def test_an_event_of_another_calendar_is_not_found(client, world):
    assert (await client.get(f"{EVENTS}/{world.tide.id}")).status_code == 404
    assert (
        await client.get(f"/calendars/{world.theirs.id}/events/{world.tide.id}")
    ).status_code == 200


async def test_the_instances_of_a_series_can_be_listed(client, world):
    path = f"{EVENTS}/{world.standup.id}/instances"
    plain = (await client.get(path)).json()["items"]
    every = (await client.get(path, params={"showDeleted": "true"})).json()["items"]
    one = (await client.get(path, params={"originalStart": "2026-01-07T09:00:00+01:00"})).json()

    assert [found["start"]["dateTime"][8:10] for found in plain] == ["05", "07", "08"]
    assert len(every) == 4
    assert [found["id"] for found in one["items"]] == [plain[1]["id"]]


async def test_a_deleted_event_is_shown_as_cancelled_and_not_deleted_twice(client, world):
    path = f"{EVENTS}/{world.keel.id}"

    assert (await client.delete(path)).status_code == 204
    assert (await client.get(path)).json()["status"] == "cancelled"
    again = await client.delete(path)
    assert (again.status_code, reason(again)) == (410, "deleted")


# Writing


def timed(start="2026-03-28T09:00:00", end="2026-03-28T10:00:00", zone=ZONE, **more):
    return {
        "start": {"dateTime": start, "timeZone": zone},
        "end": {"dateTime": end, "timeZone": zone},
        **more,
    }


async def test_a_new_series_keeps_its_local_time(client):
    body = timed(summary="Mast", recurrence=["RRULE:FREQ=DAILY;COUNT=3"])

    made = (await client.post(EVENTS, json=body)).json()
    path = f"{EVENTS}/{made['id']}/instances?timeZone=UTC"
    found = (await client.get(path)).json()["items"]

    assert [event["start"]["dateTime"][8:13] for event in found] == ["28T08", "29T07", "30T07"]
    assert made["organizer"]["self"] is True


async def test_one_occurrence_is_changed_and_another_deleted(client, world):
    name = world.standup.id
    first, second = (f"{EVENTS}/{name}_2026010{day}T080000Z" for day in (5, 7))

    changed = (await client.patch(first, json={"summary": "Late"})).json()
    deleted = await client.delete(second)

    found = (await client.get(f"{EVENTS}/{name}/instances")).json()["items"]
    assert changed["summary"] == "Late"
    assert deleted.status_code == 204
    assert [event["summary"] for event in found] == ["Late", "Stand-up"]


async def test_a_patch_keeps_and_an_update_drops_what_it_lacks(client, world):
    path = f"{EVENTS}/{world.keel.id}"
    patched = (await client.patch(path, json={"summary": "Keel!"})).json()
    updated = (await client.put(path, json=timed(summary="Keel?"))).json()

    assert (patched["summary"], patched["location"]) == ("Keel!", "Shed 3")
    assert (updated["summary"], "location" in updated, updated["sequence"]) == ("Keel?", False, 1)


async def test_an_attendee_changes_only_the_own_response(client, world):
    theirs = content("2026-01-09T09:00", "2026-01-09T10:00", organiser=ANN, attendees=(ANN, ME))
    path = f"{EVENTS}/{world.add(theirs).id}"
    answer = [{"email": "me@x.test", "responseStatus": "declined"}]

    changed = (await client.patch(path, json={"attendees": answer})).json()
    refused = await client.patch(path, json={"summary": "Mine"})

    assert [attendee["responseStatus"] for attendee in changed["attendees"]] == [
        "tentative",
        "declined",
    ]
    assert (refused.status_code, reason(refused)) == (403, "forbiddenForNonOrganizer")


BAD_BODIES = {
    "nothing": ({}, "required"),
    "no end": ({"start": {"dateTime": "2026-01-01T00:00:00Z"}}, "required"),
    "a time without a zone": (timed(zone=None), "required"),
    "an unknown zone": (timed(zone="Middle/Earth"), "invalid"),
    "an end before the start": (timed(end="2026-03-28T08:00:00"), "timeRangeEmpty"),
    "a day and a time": (
        {"start": {"date": "2026-01-01"}, "end": {"dateTime": "2026-01-02T00:00:00Z"}},
        "invalid",
    ),
    "no rule": (timed(recurrence=["RRULE:FREQ=NEVER"]), "invalid"),
    "no recurrence": (timed(recurrence=["SOMETIMES"]), "invalid"),
    "a guest without an address": (timed(attendees=[{"displayName": "Ann"}]), "invalid"),
    "an unknown status": (timed(status="maybe"), "invalid"),
    "an odd id": (timed(id="WXYZ!"), "invalid"),
    "before all time": (timed("0001-01-01T00:00:00", "0001-01-01T01:00:00"), "badRequest"),
    "long ago": (timed("0999-01-01T00:00:00", "0999-01-01T01:00:00"), "invalid"),
}


@pytest.mark.parametrize(("body", "why"), BAD_BODIES.values(), ids=BAD_BODIES)
async def test_an_invalid_event_is_rejected_and_not_stored(client, world, body, why):
    before = world.store.last_change()

    answer = await client.post(EVENTS, json=body)

    assert (answer.status_code, reason(answer)) == (400, why)
    assert world.store.last_change() == before


async def test_an_id_is_taken_once(client):
    body = timed(id="keel00001")

    assert (await client.post(EVENTS, json=body)).json()["id"] == "keel00001"
    again = await client.post(EVENTS, json=body)
    assert (again.status_code, reason(again)) == (409, "duplicate")


async def test_a_calendar_of_somebody_else_is_not_changed(client, world):
    answer = await client.post(f"/calendars/{world.theirs.id}/events", json=timed())

    assert (answer.status_code, reason(answer)) == (403, "requiredAccessLevel")
    assert world.store.events(world.theirs) == (world.tide,)


async def test_a_stale_etag_is_rejected(client, world):
    path = f"{EVENTS}/{world.keel.id}"
    tag = (await client.get(path)).json()["etag"]

    first = await client.patch(path, json={"summary": "1"}, headers={"if-match": tag})
    second = await client.patch(path, json={"summary": "2"}, headers={"if-match": tag})

    assert first.status_code == 200
    assert (second.status_code, reason(second)) == (412, "conditionNotMet")


# Calendars and free/busy


async def test_the_list_has_every_calendar_the_own_one_first(client, world):
    found = (await client.get("/users/me/calendarList")).json()["items"]
    written = (await client.get("/users/me/calendarList?minAccessRole=writer")).json()["items"]

    assert [(event["id"], event["summary"], event["accessRole"]) for event in found] == [
        ("me@x.test", "Own", "owner"),
        (world.theirs.id, "Tides", "reader"),
    ]
    assert [event["id"] for event in written] == ["me@x.test"]


@pytest.mark.parametrize("name", ["primary", "me@x.test", "ME@X.TEST"])
async def test_the_own_calendar_has_two_names(client, name):
    assert (await client.get(f"/calendars/{name}")).json()["id"] == "me@x.test"


async def test_the_list_comes_in_pages(client, world):
    first = (await client.get("/users/me/calendarList?maxResults=1")).json()
    path = f"/users/me/calendarList?maxResults=1&pageToken={first['nextPageToken']}"
    second = (await client.get(path)).json()

    assert [item["summary"] for item in (*first["items"], *second["items"])] == ["Own", "Tides"]
    assert "nextPageToken" not in second


async def test_busy_periods_are_merged_and_clipped(client, world):
    for start, end, more in (
        ("09:30", "11:00", {}),
        ("11:00", "11:30", {"status": "tentative"}),
        ("13:00", "14:00", {"shows_as": "free"}),
        ("15:00", "16:00", {"my_response": "declined"}),
        ("17:00", "17:00", {}),
    ):
        world.add(content(f"2026-01-07T{start}", f"2026-01-07T{end}", **more))
    body = {
        "timeMin": "2026-01-07T08:10:00Z",
        "timeMax": "2026-01-08T08:10:00Z",
        "items": [{"id": "primary"}, {"id": "nobody@x.test"}],
    }

    found = (await client.post("/freeBusy", json=body)).json()

    assert found["calendars"] == {
        "primary": {
            "busy": [
                {"start": "2026-01-07T08:10:00Z", "end": "2026-01-07T10:30:00Z"},
                {"start": "2026-01-08T08:00:00Z", "end": "2026-01-08T08:10:00Z"},
            ]
        },
        "nobody@x.test": {"errors": [{"domain": "global", "reason": "notFound"}], "busy": []},
    }


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"timeMax": "2026-04-08T00:00:00Z"}, "timeRangeTooLong"),
        ({"timeMax": "2026-01-01T00:00:00Z"}, "timeRangeEmpty"),
        ({"timeMin": None}, "required"),
        ({"items": [{"id": str(number)} for number in range(51)]}, "tooManyCalendarsRequested"),
        ({"items": "primary"}, "badRequest"),
    ],
    ids=["too long", "empty", "no start", "too many", "no list"],
)
async def test_an_invalid_free_busy_request_is_rejected(client, change, why):
    body = {"timeMin": "2026-01-07T00:00:00Z", "timeMax": "2026-01-08T00:00:00Z", "items": []}

    answer = await client.post("/freeBusy", json={**body, **change})

    assert (answer.status_code, reason(answer)) == (400, why)


# Permissions, and anything


ALLOWED = {
    "reading with the right to read": ("calendar.readonly", "GET", EVENTS, 200),
    "reading events with the right to them": ("calendar.events.readonly", "GET", EVENTS, 200),
    "the list without the right to it": ("calendar.events", "GET", "/users/me/calendarList", 403),
    "writing with the right to read": ("calendar.readonly", "POST", EVENTS, 403),
    "writing with the right to events": ("calendar.events", "POST", EVENTS, 200),
    "busy with the right to that": ("calendar.freebusy", "POST", "/freeBusy", 200),
    "events with the right to busy": ("calendar.freebusy", "GET", EVENTS, 403),
    "events with the right to mail": ("https://mail.google.com/", "GET", EVENTS, 403),
}


@pytest.mark.parametrize(("scope", "method", "path", "status"), ALLOWED.values(), ids=ALLOWED)
async def test_scopes_limit_what_a_token_may_do(world, scope, method, path, status):
    body = {**timed(), "timeMin": JANUARY["timeMin"], "timeMax": JANUARY["timeMax"]}
    async with world.client(scope) as client:
        answer = await client.request(method, path, json=body if method == "POST" else None)

    assert answer.status_code == status, answer.text
    if status == 403:
        assert reason(answer) == "insufficientPermissions"


VALUES = st.one_of(
    st.text(max_size=8),
    st.sampled_from(("2026-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00")),
    st.sampled_from(("true", "1", "-1", "startTime", "updated", "UTC", "eyJhZnRlciI6WzEsMl19")),
)
NAMES = st.sampled_from(
    (
        "timeMin", "timeMax", "timeZone", "singleEvents", "orderBy", "maxResults", "pageToken",
        "syncToken", "q", "showDeleted", "updatedMin", "maxAttendees", "fields", "iCalUID",
    )
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked=st.dictionaries(NAMES, VALUES, max_size=5))
async def test_any_parameters_get_a_response(client, asked):
    answer = await client.get(EVENTS, params=asked)

    assert answer.status_code in {200, 400, 410}


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), VALUES),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(
            st.sampled_from(("dateTime", "date", "timeZone", "email", "overrides", "minutes")),
            inner,
            max_size=2,
        ),
    ),
    max_leaves=5,
)
MEMBERS = st.sampled_from(
    (
        "start", "end", "summary", "recurrence", "attendees", "reminders", "status", "visibility",
        "transparency", "conferenceData", "id", "location", "description",
    )
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.dictionaries(MEMBERS, JSON, max_size=5))
async def test_any_event_is_stored_or_rejected(client, world, body):
    made = await client.post(EVENTS, json=body)
    changed = await client.patch(f"{EVENTS}/{world.keel.id}", json=body)
    listed = await client.get(EVENTS, params=EXPANDED)

    assert made.status_code in {200, 400, 409}
    assert changed.status_code in {200, 400}
    assert listed.status_code == 200
