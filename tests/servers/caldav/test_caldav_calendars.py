"""Calendars on an owner's own server, connected and read through the gateway."""

import pytest

JANUARY = {"from_": "2026-01-01", "to": "2026-02-01"}
WEEKLY = """
    DTSTART;TZID=Europe/Stockholm:20260105T090000
    DTEND;TZID=Europe/Stockholm:20260105T100000
    RRULE:FREQ=WEEKLY;UNTIL=20260301T000000Z
    EXDATE;TZID=Europe/Stockholm:20260112T090000
    SUMMARY:Weekly talk
    DESCRIPTION:About\\, this\\nand that
    LOCATION:Room 5
    CATEGORIES:Client work,Home
    ORGANIZER;CN=Ann:mailto:ann@north.example
    ATTENDEE;CN="Bo, the guest";PARTSTAT=ACCEPTED:mailto:bo@north.example
    ATTENDEE;PARTSTAT=DECLINED:mailto:ada@example.test
    ATTENDEE;CUTYPE=ROOM;CN=Loft:mailto:loft@rooms.example
    X-GOOGLE-CONFERENCE:https://meet.example/1
"""
MOVED = """
    RECURRENCE-ID;TZID=Europe/Stockholm:20260119T090000
    DTSTART;TZID=Europe/Stockholm:20260120T110000
    DTEND;TZID=Europe/Stockholm:20260120T113000
    SUMMARY:Moved talk
"""
CANCELLED = """
    RECURRENCE-ID:20260126T080000Z
    DTSTART:20260126T080000Z
    DTEND:20260126T090000Z
    STATUS:CANCELLED
    SUMMARY:Cancelled talk
"""


def starts(response):
    assert response.status_code == 200, response.text
    return [(event["title"], event["startUtc"]) for event in response.json()["events"]]


async def test_a_series_is_listed_and_read(calendar):
    calendar.put("weekly", WEEKLY, MOVED, CANCELLED)

    listed = await calendar.events(**JANUARY)
    everything = await calendar.events(**JANUARY, includeCancelled="true")
    event = listed.json()["events"][0]
    read = await calendar.client.get(f"/api/access/calendar/events/{event['id']}")

    assert starts(listed) == [
        ("Weekly talk", "2026-01-05T08:00:00Z"),
        ("Moved talk", "2026-01-20T10:00:00Z"),
    ]
    assert starts(everything)[2:] == [("Cancelled talk", "2026-01-26T08:00:00Z")]
    assert event == {
        "id": event["id"],
        "title": "Weekly talk",
        "description": "About, this\nand that",
        "location": "Room 5",
        "startUtc": "2026-01-05T08:00:00Z",
        "endUtc": "2026-01-05T09:00:00Z",
        "allDay": False,
        "status": "confirmed",
        "organizer": "ann@north.example",
        "attendees": [
            {"email": "bo@north.example", "name": "Bo, the guest", "response": "accepted"},
            {"email": "ada@example.test", "name": None, "response": "declined"},
            {"email": "loft@rooms.example", "name": "Loft", "response": "needsAction"},
        ],
        "joinUrl": "https://meet.example/1",
        "labels": ["Client work", "Home"],
        "isRecurringEvent": True,
    }
    assert read.json()["event"] == event


async def test_calendars_are_listed(calendar):
    (listed,) = [
        entry
        for entry in (await calendar.client.get("/api/access/calendar/calendars")).json()[
            "calendars"
        ]
        if entry["calendarName"] == "Work & more"
    ]

    assert listed == {
        "calendarId": listed["calendarId"],
        "calendarName": "Work & more",
        "provider": "CALDAV",
        "accountEmail": "ada@example.test",
        "isPrimary": False,
        "timeZone": None,
    }


async def test_an_unchanged_calendar_costs_one_call(calendar):
    calendar.put("first", "DTSTART:20260105T080000Z\nDTEND:20260105T090000Z\nSUMMARY:First")
    await calendar.events(**JANUARY)
    calendar.forget_calls()

    again = await calendar.events(**JANUARY)
    unchanged = list(calendar.calls)
    calendar.put("second", "DTSTART:20260106T080000Z\nDTEND:20260106T090000Z\nSUMMARY:Second")
    calendar.forget_calls()
    changed = await calendar.events(**JANUARY)

    assert starts(again) == [("First", "2026-01-05T08:00:00Z")]
    assert unchanged == [("PROPFIND", "207")]
    assert starts(changed)[1:] == [("Second", "2026-01-06T08:00:00Z")]
    assert calendar.calls[0] == ("PROPFIND", "207")
    assert len(calendar.calls) == 3  # the list, entity tags, the new object


async def test_what_one_token_may_not_see_stays_hidden_when_another_has_read_it(world, calendar):
    calendar.put("weekly", WEEKLY)
    await calendar.events(**JANUARY)
    settings = {"calendarAccessEnabled": True, "visibleCalendarFields": ["title", "times"]}

    async with world.client(await world.token(settings)) as client:
        params = {"from": "2026-01-01", "to": "2026-02-01"}
        answer = await client.get("/api/access/calendar/events", params=params)
        refused = await client.get(
            "/api/access/calendar/events", params={**params, "attendees": "bo@north.example"}
        )

    event = answer.json()["events"][0]
    assert {name for name, value in event.items() if value is not None} == {
        *("id", "title", "startUtc", "endUtc", "allDay")
    }
    assert (refused.status_code, refused.json()["error"]) == (403, "FIELD_NOT_VISIBLE")


async def test_busy_times_leave_out_what_the_owner_declined(calendar):
    calendar.put("weekly", WEEKLY)
    calendar.put("busy", "DTSTART:20260106T080000Z\nDURATION:PT90M\nSUMMARY:Busy")
    calendar.put("free", "DTSTART:20260107T080000Z\nDURATION:PT1H\nTRANSP:TRANSPARENT")
    calendar.put("off", "DTSTART:20260108T080000Z\nDURATION:PT1H\nSTATUS:CANCELLED")
    calendar.put("day", "DTSTART;VALUE=DATE:20260109")

    answer = await calendar.busy("2026-01-01", "2026-02-01")

    (entry,) = [
        entry for entry in answer.json()["calendars"] if entry["calendarName"] == "Work & more"
    ]
    assert [(period["startUtc"], period["endUtc"]) for period in entry["busy"]] == [
        ("2026-01-06T08:00:00Z", "2026-01-06T09:30:00Z"),
        ("2026-01-09T00:00:00Z", "2026-01-10T00:00:00Z"),
    ]


REFUSED = {
    "no server": ({"baseUrl": None}, "baseUrl"),
    "a server of another protocol": ({"baseUrl": "imaps://mail.example.org"}, "baseUrl"),
    "a server without encryption elsewhere": ({"baseUrl": "http://cal.example.org"}, "baseUrl"),
    "a user in the address": ({"baseUrl": "https://ada:x@cal.example.org"}, "baseUrl"),
    "a token in place of a password": ({"credentials": {"accessToken": "x"}}, "credentials"),
    "a user without a password": ({"credentials": {"username": "ada"}}, "credentials"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("changes", "member"), REFUSED.values(), ids=REFUSED.keys())
async def test_wrong_servers_and_credentials_are_refused(world, connect, changes, member):
    before = (await world.admin.get("/api/connections")).json()

    answer = await connect(**changes)

    assert answer.status_code == 400
    assert member in answer.json()["message"]
    assert (await world.admin.get("/api/connections")).json() == before
