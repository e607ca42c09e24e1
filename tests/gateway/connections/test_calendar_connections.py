"""Calendar connections as the management API sees them."""

import pytest

PROVIDERS = ["PROVIDER_A", "PROVIDER_B"]


async def probed(agendas, provider):
    connection = agendas.connections[provider]
    answer = await agendas.world.admin.post(f"/api/connections/{connection}/test")
    assert answer.status_code == 200, answer.text
    return {**answer.json(), "latencyMs": 0}


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_a_working_connection_is_active_after_one_read(agendas, provider):
    assert await probed(agendas, provider) == {
        "ok": True,
        "status": "active",
        "detail": "The account answers.",
        "latencyMs": 0,
    }
    assert [call["method"] for call in agendas.calls()] == ["GET"]


@pytest.mark.parametrize(
    ("provider", "upstream"), [("PROVIDER_A", "provider-a"), ("PROVIDER_B", "provider-b")]
)
async def test_a_failing_connection_is_reported_and_named(agendas, provider, upstream):
    await agendas.world.fail(upstream, kind="500", count=2)

    probe = await probed(agendas, provider)
    events = await agendas.get("/events")

    assert (probe["ok"], probe["status"]) == (False, "error")
    account = {"PROVIDER_A": "Provider A", "PROVIDER_B": "Provider B"}[provider]
    assert events.json()["authWarnings"][0].startswith(account)


async def test_removing_a_connection_removes_its_event_ids(agendas):
    from calendar_world import at, meeting

    agendas.plant("work", "one", meeting(at(1, "09:00"), at(1, "10:00"), "One"))
    (event,) = (await agendas.get("/events")).json()["events"]
    await agendas.world.admin.delete(f"/api/connections/{agendas.connections['PROVIDER_A']}")

    gone = await agendas.get(f"/events/{event['id']}")
    left = await agendas.get("/calendars")

    assert (gone.status_code, gone.json()["error"]) == (404, "EVENT_NOT_FOUND")
    assert [calendar["calendarName"] for calendar in left.json()["calendars"]] == [
        "Calendar",
        "Club",
    ]
