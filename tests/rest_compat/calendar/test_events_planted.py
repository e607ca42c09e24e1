"""Range membership and mapping of events that each test creates itself."""

import calendar_world
import pytest
import pytest_asyncio
from calendar_world import ANA, BO, at, day, meeting, text, whole_days

from sandbox.calendar.records import Attendee, Recurrence, from_instant

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_calendars(world_template, tmp_path_factory):
    async with calendar_world.empty(world_template, tmp_path_factory.mktemp("agendas")) as agendas:
        yield agendas


@pytest.fixture
def agendas(shared_calendars):
    """Empty calendars; what a test plants is gone after it."""
    yield shared_calendars
    shared_calendars.clear()


def titles(response):
    assert response.status_code == 200, response.text
    return [event["title"] for event in response.json()["events"]]


@pytest.mark.parametrize(("calendar", "status"), [("work", 200), ("office", 404)])
async def test_a_deleted_event_is_reported_as_upstream_reports_it(agendas, calendar, status):
    stored = agendas.plant(calendar, "gone", meeting(at(1, "09:00"), at(1, "10:00"), "Gone"))
    event = (await agendas.get("/events")).json()["events"][0]
    agendas.world.sandbox.state.calendars.delete(stored)

    response = await agendas.get(f"/events/{event['id']}")

    assert response.status_code == status
    if status == 200:
        assert response.json()["event"]["status"] == "cancelled"


async def test_without_a_range_it_is_today_and_six_days_more(agendas):
    for offset in (-1, 0, 6, 7):
        agendas.plant(
            "work", str(offset), meeting(at(offset, "11:00"), at(offset, "12:00"), str(offset))
        )

    assert titles(await agendas.get("/events")) == ["0", "6"]


@pytest.mark.parametrize(
    ("start", "end", "belongs"),
    [
        pytest.param("08:00", "10:00", False, id="ends as the range starts"),
        pytest.param("08:00", "10:01", True, id="ends within"),
        pytest.param("10:00", "10:00", True, id="no length, at the start"),
        pytest.param("11:30", "11:30", True, id="no length, within"),
        pytest.param("12:00", "12:00", False, id="no length, at the end"),
        pytest.param("11:59", "13:00", True, id="starts within"),
        pytest.param("12:00", "13:00", False, id="starts as the range ends"),
        pytest.param("08:00", "13:00", True, id="all around"),
    ],
)
@pytest.mark.parametrize("calendar", ["work", "office"])
async def test_overlapping_events_belong_to_the_range(agendas, calendar, start, end, belongs):
    agendas.plant(calendar, "one", meeting(at(1, start), at(1, end), "One"))

    response = await agendas.get("/events", from_=text(at(1, "10:00")), to=text(at(1, "12:00")))

    assert titles(response) == (["One"] if belongs else [])


@pytest.mark.parametrize("zone", ["UTC", "Europe/Stockholm", "America/Los_Angeles"])
@pytest.mark.parametrize("calendar", ["work", "office"])
async def test_a_whole_day_is_a_day_of_utc_whatever_its_zone(agendas, calendar, zone):
    agendas.plant(calendar, "day", whole_days(3, 4, "Day", zone=zone))

    early = await agendas.get("/events", from_=text(day(3)), to=text(at(3, "01:00")))
    late = await agendas.get("/events", from_=text(at(3, "23:00")), to=text(day(4)))
    after = await agendas.get("/events", from_=text(day(4)), to=text(day(5)))
    before = await agendas.get("/events", from_=text(day(2)), to=text(day(3)))

    assert [titles(response) for response in (early, late, after, before)] == [
        ["Day"],
        ["Day"],
        [],
        [],
    ]


async def test_order_is_by_start_then_id(agendas):
    for name in "abc":
        agendas.plant("work", f"w{name}", meeting(at(1, "09:00"), at(1, "10:00"), "Same"))
        agendas.plant("club", f"c{name}", meeting(at(1, "09:00"), at(1, "11:00"), "Same"))
    agendas.plant("home", "first", meeting(at(1, "08:59"), at(1, "12:00"), "First"))

    events = (await agendas.get("/events")).json()["events"]

    assert events[0]["title"] == "First"
    assert [event["id"] for event in events[1:]] == sorted(event["id"] for event in events[1:])
    assert len(events) == 7


async def test_the_default_is_fifty(agendas):
    agendas.plant(
        "work",
        "often",
        meeting(at(0, "00:00"), at(0, "00:30"), "Often"),
        recurrence=Recurrence(rules=("FREQ=HOURLY;COUNT=60",)),
    )

    body = (await agendas.get("/events")).json()

    assert len(body["events"]) == 50
    assert body["meta"] == {
        "count": 50,
        "offset": 0,
        "totalCount": 60,
        "hasMore": True,
        "from": text(day()),
        "to": text(day(7)),
    }


@pytest.mark.parametrize("calendar", ["work", "office"])
async def test_many_upstream_pages_are_read(agendas, monkeypatch, calendar):
    from providers.connectors.provider_a.google_calendar import calendars as calendar_a
    from providers.connectors.provider_b.outlook_calendar import calendars as calendar_b

    monkeypatch.setattr(calendar_a, "PAGE", 7)
    monkeypatch.setattr(calendar_b, "PAGE", 7)
    agendas.plant(
        calendar,
        "often",
        meeting(at(1, "00:00"), at(1, "00:30"), "Often"),
        recurrence=Recurrence(rules=("FREQ=HOURLY;COUNT=60",)),
    )

    body = (await agendas.get("/events", limit=1000)).json()

    assert body["meta"]["totalCount"] == 60
    assert len({event["id"] for event in body["events"]}) == 60
    assert len(agendas.calls()) > 9


async def test_every_attendee_response_is_mapped(agendas):
    guests = tuple(
        Attendee(email=f"{word}@x.example", name=word.title(), response=word)
        for word in ("accepted", "declined", "tentative", "needsAction")
    )
    for calendar in ("work", "office"):
        content = meeting(at(1, "09:00"), at(1, "10:00"), calendar, organiser=ANA, attendees=guests)
        agendas.plant(calendar, calendar, content)

    for event in (await agendas.get("/events")).json()["events"]:
        assert [attendee["response"] for attendee in event["attendees"]] == [
            "accepted",
            "declined",
            "tentative",
            "needsAction",
        ]


@pytest.mark.parametrize("calendar", ["work", "office"])
async def test_an_event_without_a_title_has_an_empty_title(agendas, calendar):
    agendas.plant(calendar, "untitled", meeting(at(1, "09:00"), at(1, "10:00"), None))

    assert titles(await agendas.get("/events")) == [""]


async def test_both_copies_of_a_meeting_are_events_of_their_own(agendas):
    content = meeting(at(1, "09:00"), at(1, "10:00"), "Both", attendees=(ANA, BO))
    agendas.plant("work", "a", content, uid="same@x.example")
    agendas.plant("office", "b", content, uid="same@x.example")

    events = (await agendas.get("/events")).json()["events"]

    assert [event["title"] for event in events] == ["Both", "Both"]
    assert events[0]["id"] != events[1]["id"]


async def test_occurrences_keep_their_ids_when_one_is_moved(agendas):
    stored = agendas.plant(
        "work",
        "series",
        meeting(at(1, "09:00"), at(1, "10:00"), "Series"),
        recurrence=Recurrence(rules=("FREQ=DAILY;COUNT=3",)),
    )
    before = (await agendas.get("/events")).json()["events"]
    moved = stored.content.starting_at(from_instant(at(5, "15:00")))
    agendas.world.sandbox.state.calendars.set_override(
        stored, from_instant(at(2, "09:00")), moved, cancelled=False
    )

    after = (await agendas.get("/events")).json()["events"]

    assert [item["id"] for item in after] == [before[0]["id"], before[2]["id"], before[1]["id"]]
    assert after[2]["startUtc"] == text(at(5, "15:00"))
