"""The series of an event: other instances near it, by the edge and by the root field."""

import calendar_world
import pytest
import whole_world

from sandbox.calendar.records import Recurrence

DOCUMENT = """{ calendarEvents(q: "Standup", limit: 1) { events {
    id startUtc series(limit: 2, offset: 1) {
        events { id startUtc title } meta { count offset totalCount hasMore }
    }
} } }"""
WEEKLY = Recurrence(rules=("FREQ=WEEKLY;COUNT=60",))


@pytest.fixture(scope="module")
def world(world_template, tmp_path_factory):
    with whole_world.opened(world_template, tmp_path_factory.mktemp("series")) as world:
        for calendar in ("work", "office"):
            start, end = (calendar_world.at(1, clock) for clock in ("09:00", "09:15"))
            world.agendas.plant(
                calendar,
                f"standup {calendar}",
                calendar_world.meeting(start, end, f"Standup {calendar}"),
                recurrence=WEEKLY,
            )
        start, end = (calendar_world.at(1, clock) for clock in ("11:00", "12:00"))
        world.agendas.plant("work", "talk", calendar_world.meeting(start, end, "Talk"))
        yield world


@pytest.mark.parametrize("calendar", ["work", "office"])
def test_it_lists_other_instances_by_pages(world, calendar):
    (event,) = ask(world, DOCUMENT.replace("Standup", f"Standup {calendar}"))["calendarEvents"][
        "events"
    ]
    page = event["series"]

    # 180 days after the first instance hold 25 more of them, one per week.
    assert page["meta"] == {"count": 2, "offset": 1, "totalCount": 25, "hasMore": True}
    assert [entry["startUtc"] for entry in page["events"]] == [
        calendar_world.text(calendar_world.at(1 + 7 * week, "09:00")) for week in (2, 3)
    ]
    by_root = f"""{{ eventSeries(eventId: "{event["id"]}", limit: 2, offset: 1) {{
        events {{ id startUtc title }} meta {{ count offset totalCount hasMore }}
    }} }}"""
    assert ask(world, by_root)["eventSeries"] == page
    instance = page["events"][0]
    back = ask(world, f"""{{ eventSeries(eventId: "{instance["id"]}") {{ events {{ id }} }} }}""")
    ids = [entry["id"] for entry in back["eventSeries"]["events"]]
    assert event["id"] in ids
    assert instance["id"] not in ids


def test_a_single_event_has_no_series(world):
    document = """{ calendarEvents(q: "Talk") { events { id series { events { id } } } } }"""
    (event,) = ask(world, document)["calendarEvents"]["events"]

    assert event["series"] is None
    root = f"""{{ eventSeries(eventId: "{event["id"]}") {{ events {{ id }} }} }}"""
    assert ask(world, root)["eventSeries"]["events"] == []


def test_hidden_times_do_not_tell_when_the_event_is(world):
    words = ["title", "recurrence"]
    document = DOCUMENT.replace("meta {", "meta { from to")
    (event,) = ask(world, document, visibleCalendarFields=words)["calendarEvents"]["events"]

    assert event["startUtc"] is None
    assert event["series"]["meta"]["from"] == calendar_world.text(calendar_world.day(-180))


def test_a_hidden_recurrence_refuses_the_root_field_and_hides_the_edge(world):
    (event,) = ask(world, DOCUMENT)["calendarEvents"]["events"]
    words = ["title", "times"]
    (hidden,) = ask(world, DOCUMENT, visibleCalendarFields=words)["calendarEvents"]["events"]
    body = send(
        world,
        f"""{{ eventSeries(eventId: "{event["id"]}") {{ events {{ id }} }} }}""",
        visibleCalendarFields=words,
    )

    assert hidden["series"] is None
    assert [error["extensions"]["code"] for error in body["errors"]] == ["FIELD_NOT_VISIBLE"]
    assert world.upstream_calls() == 0


def ask(world, document, **settings):
    body = send(world, document, **settings)
    assert "errors" not in body, body
    return body["data"]


def send(world, document, **settings):
    """Return the answer to a token with *settings*."""
    return world.runner.run(_send(world, document, settings))


async def _send(world, document, settings):
    secret = await world.world.token({**whole_world.SETTINGS, **settings})
    for upstream in world.world.sandbox.upstreams.values():
        upstream.calls.clear()
    async with world.world.client(secret) as client:
        return (await client.post("/graphql", json={"query": document})).json()
