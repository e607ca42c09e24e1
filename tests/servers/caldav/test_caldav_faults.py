"""Faults of a calendar server: wrong passwords, restarts, broken objects, deleted calendars."""

import pytest
from caldav_servers import PASSWORD

from providers.http import client as http_client

pytestmark = pytest.mark.slow  # a world and a server for each test

JANUARY = {"from_": "2026-01-01", "to": "2026-02-01"}
EVENT = "DTSTART:20260105T080000Z\nDTEND:20260105T090000Z\nSUMMARY:Talk"
TALK = [("Talk", "2026-01-05T08:00:00Z")]
UNREADABLE = (
    'Calendar server (ada@example.test), calendar "Work & more": has events that cannot be read.'
)
UNREAD = (
    'Calendar server (ada@example.test), calendar "Work & more": has more than can be read at once.'
)


def starts(response):
    assert response.status_code == 200, response.text
    return [(event["title"], event["startUtc"]) for event in response.json()["events"]]


async def busy_names(calendar):
    answer = await calendar.busy("2026-01-01", "2026-02-01")
    return [entry["calendarName"] for entry in answer.json()["calendars"]], answer.json().get(
        "authWarnings"
    )


async def test_a_wrong_password_needs_reconnecting_until_it_is_right(world, server, calendar):
    if not server.has_passwords:
        pytest.skip("this server has no passwords")
    calendar.put("talk", EVENT)
    assert starts(await calendar.events(**JANUARY)) == TALK
    path = f"/api/connections/{calendar.connection}"

    server.set_password("another-secret")
    try:
        refused = await calendar.events(**JANUARY)
        after = (await world.admin.get(path)).json()
        tested = (await world.admin.post(f"{path}/test")).json()
    finally:
        server.set_password(PASSWORD)
    mended = (await world.admin.post(f"{path}/test")).json()

    assert (refused.status_code, refused.json()["error"]) == (502, "PROVIDER_ERROR")
    assert after["status"] == "needs_reauth"
    assert (tested["ok"], tested["status"]) == (False, "needs_reauth")
    assert tested["detail"] == "The calendar server refused the user name or the password."
    assert mended["ok"] is True
    assert starts(await calendar.events(**JANUARY)) == TALK


async def test_the_owner_renews_a_password_by_a_link(world, server, calendar):
    if not server.has_passwords:
        pytest.skip("this server has no passwords")
    path = f"/api/connections/{calendar.connection}"
    link = (await world.admin.post(f"{path}/reconnect-link", json={})).json()["url"]
    page = link.removeprefix(str(world.admin.base_url).rstrip("/"))

    server.set_password("another-secret")
    try:
        refused = await world.admin.post(page, data={"password": PASSWORD})
        renewed = await world.admin.post(page, data={"password": "another-secret"})
        tested = (await world.admin.post(f"{path}/test")).json()
    finally:
        server.set_password(PASSWORD)

    assert (refused.status_code, renewed.status_code, tested["ok"]) == (400, 200, True)


async def test_a_killed_server_is_502_and_answers_after_its_restart(server, calendar):
    calendar.put("talk", EVENT)
    assert starts(await calendar.events(**JANUARY)) == TALK

    server.kill()
    try:
        down = await calendar.events(**JANUARY)
    finally:
        server.start()
    up = await calendar.events(**JANUARY)

    assert (down.status_code, down.json()["error"]) == (502, "PROVIDER_ERROR")
    assert starts(up) == TALK


async def test_a_frozen_server_is_504(server, calendar, monkeypatch):
    from providers.connectors.caldav import dav_client

    monkeypatch.setattr(dav_client, "SECONDS", 0.5)
    monkeypatch.setattr(http_client, "READ_SECONDS", 0.5)
    calendar.put("talk", EVENT)

    server.freeze()
    try:
        frozen = await calendar.events(**JANUARY)
    finally:
        server.thaw()

    assert (frozen.status_code, frozen.json()["error"]) == (504, "PROVIDER_TIMEOUT")
    assert starts(await calendar.events(**JANUARY)) == TALK


async def test_a_huge_object_is_left_out_and_named(calendar):
    calendar.put("talk", EVENT)
    calendar.put("huge", f"{EVENT}\nDESCRIPTION:{'x' * 600_000}")

    listed = await calendar.events(**JANUARY)
    names, warnings = await busy_names(calendar)

    assert starts(listed) == TALK
    assert listed.json()["authWarnings"] == [UNREADABLE]
    assert "Work & more" in names
    assert warnings == [UNREADABLE]


async def test_a_rule_that_cannot_be_expanded_is_named(calendar):
    calendar.put("talk", f"{EVENT}\nRRULE:FREQ=HOURLY;INTERVAL=7;BYDAY=MO;COUNT=3")

    listed = await calendar.events(**JANUARY)
    names, warnings = await busy_names(calendar)

    assert starts(listed) == TALK
    assert listed.json()["authWarnings"] == [UNREADABLE]
    assert "Work & more" in names
    assert warnings == [UNREADABLE]


async def test_an_hourly_rule_of_weekdays_is_expanded(calendar):
    # RFC 5545, 3.3.10: BYDAY leaves out hours of a rule that is HOURLY; the 5th is a Monday.
    calendar.put("talk", f"{EVENT}\nRRULE:FREQ=HOURLY;BYDAY=MO;COUNT=3")

    listed = await calendar.events(**JANUARY)

    assert starts(listed) == [("Talk", f"2026-01-05T{hour:02}:00:00Z") for hour in (8, 9, 10)]
    assert "authWarnings" not in listed.json()


async def test_a_deleted_calendar_and_event_are_missing(server, calendar):
    calendar.put("talk", EVENT)
    (event,) = (await calendar.events(**JANUARY)).json()["events"]
    listed = (await calendar.client.get("/api/access/calendar/calendars")).json()["calendars"]
    ids = {entry["calendarName"]: entry["calendarId"] for entry in listed}
    event_path = f"/api/access/calendar/events/{event['id']}"

    server.delete(f"{calendar.path}talk.ics")
    gone = await calendar.client.get(event_path)
    server.delete(calendar.path)
    deleted = await calendar.events(**JANUARY, calendarId=ids["Work & more"])
    other = await calendar.client.get(event_path)
    server.add_calendar("work", "Work & more")

    assert (gone.status_code, gone.json()["error"]) == (404, "EVENT_NOT_FOUND")
    assert (deleted.status_code, deleted.json()["error"]) == (404, "CALENDAR_NOT_FOUND")
    assert (other.status_code, other.json()["error"]) == (404, "EVENT_NOT_FOUND")


async def test_more_events_than_are_read_are_reported(calendar, monkeypatch):
    from providers.connectors.caldav import calendars, event_reading

    calendar.put("daily", f"{EVENT}\nRRULE:FREQ=DAILY")
    monkeypatch.setattr(calendars, "MAX_EVENTS", 3)

    listed = await calendar.events(**JANUARY)
    latest = await calendar.client.get(
        "/api/access/calendar/events/by-contact", params={"name": "nobody"}
    )
    names, warnings = await busy_names(calendar)

    assert [start for _, start in starts(listed)] == [
        f"2026-01-{day:02}T08:00:00Z" for day in (5, 6, 7)
    ]
    assert listed.json()["authWarnings"] == [UNREAD]
    assert latest.status_code == 200
    # One series, which anybody may have sent, does not take the calendar away.
    assert ("Work & more" in names, warnings) == (True, [UNREAD])

    monkeypatch.undo()
    calendar.put("talk", EVENT)
    monkeypatch.setattr(event_reading, "MAX_OBJECTS", 1)
    assert (await calendar.events(**JANUARY)).json()["authWarnings"] == [UNREAD]
    names, _ = await busy_names(calendar)
    assert "Work & more" not in names
