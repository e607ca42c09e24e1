"""Cancelled events: left out by default, or returned with the fields that remain."""

from calendar_world import CARLA, at, meeting, text

from sandbox.calendar.records import Override, Recurrence, from_instant


def titles(response):
    assert response.status_code == 200, response.text
    return [event["title"] for event in response.json()["events"]]


async def test_cancelled_events_are_returned_only_on_request(agendas):
    agendas.plant(
        "work",
        "series",
        meeting(at(0, "11:00"), at(0, "12:00"), "Series"),
        recurrence=Recurrence(rules=("FREQ=DAILY;COUNT=2",)),
        overrides=(Override(original=from_instant(at(1, "11:00")), cancelled=True),),
    )
    agendas.plant(
        "office",
        "off",
        meeting(at(2, "11:00"), at(2, "12:00"), "Off", organiser=CARLA, status="cancelled"),
    )

    usual = await agendas.get("/events")
    everything = await agendas.get("/events", includeCancelled="TRUE")

    assert titles(usual) == ["Series"]
    assert [
        (event["title"], event["status"], event["startUtc"])
        for event in everything.json()["events"]
    ] == [
        ("Series", "confirmed", text(at(0, "11:00"))),
        ("", "cancelled", text(at(1, "11:00"))),
        ("Off", "cancelled", text(at(2, "11:00"))),
    ]
    for event in everything.json()["events"]:
        again = await agendas.get(f"/events/{event['id']}")
        assert again.json()["event"] == event
