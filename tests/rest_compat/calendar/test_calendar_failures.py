"""Failing upstreams: calendars that could not be read are named and never look free."""

from dataclasses import replace

import calendar_world
import pytest
import pytest_asyncio
from calendar_world import at, day, meeting, text

from gateway.connections import rows as connection_rows
from sandbox import faults

RANGE = {"from_": text(day()), "to": text(day(1))}
A, B = "Provider A (me@provider-a.example)", "Provider B (me@provider-b.example)"


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


@pytest.fixture
def filled(agendas):
    calendar_world.fill(agendas)
    return agendas


def titles(response):
    return [event["title"] for event in response.json()["events"]]


async def test_a_failing_account_is_omitted_and_named(filled):
    await filled.world.fail("provider-b", kind="503")

    events = await filled.get("/events")
    busy = await filled.get("/freebusy", **RANGE)
    calendars = await filled.get("/calendars")

    assert titles(events) == ["Lease talk", "Book fair"]
    assert [calendar["calendarName"] for calendar in busy.json()["calendars"]] == ["Me", "Home"]
    assert [calendar["calendarName"] for calendar in calendars.json()["calendars"]] == [
        "Me",
        "Home",
    ]
    for response in (events, busy, calendars):
        assert response.status_code == 200
        assert response.json()["authWarnings"] == [f"{B}: failed."]


async def test_a_failing_calendar_is_omitted_and_named(filled):
    filled.plant("work", "today", meeting(at(0, "09:00"), at(0, "10:00"), "Today"))
    await filled.world.fail("provider-a", kind="500", match="calendars/me%40provider-a")

    events = await filled.get("/events")
    busy = await filled.get("/freebusy", **RANGE)

    assert titles(events) == ["Budget 2027", "Training", "Book fair"]
    assert events.json()["authWarnings"] == [f'{A}, calendar "Me": failed.']
    # The query of all busy times does not read this calendar's events.
    assert names(busy) == ["Me", "Home", "Calendar", "Club"]
    assert "authWarnings" not in busy.json()


async def test_a_calendar_that_no_call_reads_is_not_free(filled):
    await filled.world.fail("provider-a", kind="500", match="calendars/me%40provider-a")
    fail_query(filled, "500")

    busy = await filled.get("/freebusy", **RANGE)

    assert names(busy) == ["Home", "Calendar", "Club"]
    assert busy.json()["authWarnings"] == [f'{A}, calendar "Me": failed.']


def names(response):
    return [calendar["calendarName"] for calendar in response.json()["calendars"]]


def fail_query(filled, kind):
    """Let Google's free/busy query fail, besides the calls that fail already."""
    fault = faults.parse_fault({"kind": kind, "match": "freeBusy"})
    filled.world.sandbox.upstreams["providerA"].faults.append(fault)


@pytest.mark.parametrize("kind", ["401", "403", "429", "500", "502", "malformed", "reset"])
@pytest.mark.parametrize("upstream", ["provider-a", "provider-b"])
async def test_no_kind_of_failure_looks_free(filled, upstream, kind):
    await filled.world.fail(upstream, kind=kind, match="alendars/")
    if upstream == "provider-a":
        fail_query(filled, kind)

    busy = await filled.get("/freebusy", **RANGE)

    left = {"provider-a": ["Calendar", "Club"], "provider-b": ["Me", "Home"]}[upstream]
    assert busy.status_code == 200
    assert names(busy) == left
    assert len(busy.json()["authWarnings"]) == 2


async def test_deleted_and_new_calendars_take_effect_at_once(filled):
    ids = await filled.ids()
    store = filled.world.sandbox.state.calendars
    store.put_calendar(replace(filled.calendars["club"], is_deleted=True))
    new = store.add_calendar("provider-b", "New", zone="UTC")

    events = await filled.get("/events")
    named = await filled.get("/events", calendarId=ids["Club"])
    listed = await filled.ids()

    store.put_calendar(filled.calendars["club"])
    store.put_calendar(replace(new, is_deleted=True))
    assert titles(events) == ["Budget 2027", "Lease talk", "Book fair"]
    assert (named.status_code, named.json()["error"]) == (404, "CALENDAR_NOT_FOUND")
    assert set(listed) == {"Me", "Home", "Calendar", "New"}
    assert "authWarnings" not in events.json()


@pytest.mark.parametrize("path", ["/events", "/freebusy", "/calendars", "/events/by-contact"])
@pytest.mark.parametrize(
    ("kind", "status", "error"),
    [("503", 502, "PROVIDER_ERROR"), ("403", 502, "PROVIDER_ERROR"), ("429", 429, None)],
)
async def test_when_all_fail_it_is_the_failure(filled, path, kind, status, error):
    for upstream in ("provider-a", "provider-b"):
        wait = {"retryAfter": 7} if status == 429 else {}
        await filled.world.fail(upstream, kind=kind, **wait)

    response = await filled.get(path, **({} if path == "/calendars" else RANGE), name="ana")

    assert response.status_code == status
    assert response.json()["error"] == error
    assert response.headers.get("retry-after") == ("7" if status == 429 else None)
    if kind == "503":
        assert response.json()["message"] == (
            f"None of the connected calendars answered. {A}: failed. {B}: failed."
        )
    if kind == "403":  # B's consent has every scope, so that a policy denies access
        words = response.json()["message"].split()
        sentences = " ".join(word for word in words if not word.startswith("http"))
        assert sentences == (
            f"None of the connected calendars answered. {A}: needs to be reconnected. Reconnect: "
            f"{B}: is denied access by a policy of its administrators."
        )


async def test_throttles_without_a_wait_have_a_retry_after_of_one_second(filled):
    for upstream in ("provider-a", "provider-b"):
        await filled.world.fail(upstream, kind="429")

    response = await filled.get("/events", **RANGE, name="ana")

    assert response.status_code == 429
    assert response.headers["retry-after"] == "1"


async def test_the_failure_of_the_only_requested_calendar_fails_the_request(filled):
    ids = await filled.ids()
    await filled.world.fail("provider-a", kind="500")

    events = await filled.get("/events", calendarId=ids["Me"])
    busy = await filled.get("/freebusy", **RANGE, calendars=ids["Me"])

    assert events.status_code == busy.status_code == 502
    assert events.json()["error"] == busy.json()["error"] == "PROVIDER_ERROR"


async def test_an_event_whose_provider_fails_is_502_and_one_that_is_gone_404(filled):
    listed = {
        event["title"]: event["id"] for event in (await filled.get("/events")).json()["events"]
    }
    await filled.world.fail("provider-a", kind="503")
    await filled.world.fail("provider-b", kind="404")

    failed = await filled.get(f"/events/{listed['Lease talk']}")
    gone = await filled.get(f"/events/{listed['Budget 2027']}")

    assert (failed.status_code, failed.json()["error"]) == (502, "PROVIDER_ERROR")
    assert (gone.status_code, gone.json()["error"]) == (404, "EVENT_NOT_FOUND")


@pytest.mark.parametrize("path", ["/events", "/freebusy", "/calendars"])
async def test_partial_fail_turns_a_failed_calendar_into_an_error(filled, path):
    await filled.world.fail("provider-b", kind="503")
    token = await filled.token()

    async with filled.world.client(token) as client:
        response = await client.get(
            f"/api/access/calendar{path}",
            params={"from": RANGE["from_"], "to": RANGE["to"]},
            headers={"prefer": "partial=fail"},
        )

    assert response.status_code == 502
    assert response.json()["message"] == f"{B}: failed."


async def test_an_unhealthy_account_is_named_without_an_upstream_call(filled):
    database = filled.world.gateway.services.database
    await connection_rows.set_status(database, filled.connections["PROVIDER_B"], "error", None)

    response = await filled.get("/events")

    await connection_rows.set_status(database, filled.connections["PROVIDER_B"], "active", None)
    assert titles(response) == ["Lease talk", "Book fair"]
    assert response.json()["authWarnings"][0].startswith(f"{B}: failed.")


@pytest.mark.parametrize("calendar", ["work", "office"])
async def test_too_many_events_are_reported_and_never_look_free(filled, monkeypatch, calendar):
    from providers.connectors.provider_a.google_calendar import calendars as calendar_a
    from providers.connectors.provider_b.outlook_calendar import calendars as calendar_b
    from sandbox.calendar.records import Recurrence

    for module in (calendar_a, calendar_b):
        monkeypatch.setattr(module, "PAGE", 5)
        monkeypatch.setattr(module, "MAX_EVENTS", 10)
    filled.plant(
        calendar,
        "often",
        meeting(at(0, "00:00"), at(0, "00:30"), "Often"),
        recurrence=Recurrence(rules=("FREQ=HOURLY;COUNT=40",)),
    )
    account, name = {"work": (A, "Me"), "office": (B, "Calendar")}[calendar]
    warning = f'{account}, calendar "{name}": has more than can be read at once.'

    events = await filled.get("/events", to=text(day(3)))
    busy = await filled.get("/freebusy", from_=text(day()), to=text(day(3)))

    assert events.json()["authWarnings"] == [warning]
    assert titles(events)[:3] == ["Often", "Often", "Often"]
    if calendar == "work":  # Google's query needs no events
        assert "authWarnings" not in busy.json()
        (work,) = (entry for entry in busy.json()["calendars"] if entry["calendarName"] == name)
        assert len(work["busy"]) > 30
    else:
        assert busy.json()["authWarnings"] == [warning]
        assert name not in names(busy)


async def test_two_connections_to_one_account_show_its_calendars_once(filled):
    second = await calendar_world.connect(filled.world, "PROVIDER_A", resource=1)
    other = await filled.token(allowedConnectionIds=[second])

    both = await filled.get("/events")
    alone = await filled.get("/events", other)
    listed = await filled.get("/calendars")

    await filled.world.admin.delete(f"/api/connections/{second}")
    assert titles(both) == ["Budget 2027", "Lease talk", "Training", "Book fair"]
    assert titles(alone) == ["Lease talk", "Book fair"]
    assert len(listed.json()["calendars"]) == 4
    assert {event["id"] for event in alone.json()["events"]}.isdisjoint(
        event["id"] for event in both.json()["events"]
    )
