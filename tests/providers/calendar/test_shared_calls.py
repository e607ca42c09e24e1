"""The calendars of an account are listed once a minute, and read by one call."""

import dataclasses
import time
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
import sandbox_calendars
from in_memory_calendars import everywhere, views
from msgspec.structs import replace

from providers.calendar import calendar_memory, shared_calls
from providers.connectors.provider_a.google_calendar import calendars as calendar_a
from providers.connectors.provider_b.outlook_calendar import calendars as calendar_b
from providers.ports.calendar import CALENDARS_PER_CALL, EventQuery, Span
from sandbox.calendar.records import EventContent, EventTime, NewEvent
from sandbox.faults import Fault

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
QUERY = EventQuery(span=Span(NOON - timedelta(days=30), NOON + timedelta(days=30)), limit=500)
COLD = Counter(
    {
        ("GET", "calendarList"): 1,
        ("GET", "calendars"): 1,
        ("POST", "v3"): 1,
        ("POST", "$batch"): 1,
        ("GET", "events"): 2,  # parts of the batches
        ("GET", "calendarView"): 2,
    }
)
WARM = COLD - Counter({("GET", "calendarList"): 1, ("GET", "calendars"): 1})


def fill(store, mailbox, _owner):
    """Make two calendars with three events each."""
    others = [store.add_calendar(mailbox, "Other", zone="UTC")]
    for calendar in (store.primary(mailbox), *others):
        store.add_events(calendar, [event(number) for number in range(3)])


def event(number):
    start = NOON + timedelta(hours=number)
    return NewEvent(
        content=EventContent(
            start=EventTime("UTC", at=start),
            end=EventTime("UTC", at=start + timedelta(minutes=30)),
            title=f"Talk {number}",
        )
    )


async def read(calendars, query=QUERY):
    return await calendars.events(everywhere(query), projection=frozenset({"title"}))


async def ids(calendars, query=QUERY):
    page = await read(calendars, query)
    assert page.warnings == ()
    return [event.id for event in page.events]


def calls(upstream):
    return Counter(sandbox_calendars.paths(upstream))


def later(monkeypatch, seconds):
    clock = time.monotonic
    monkeypatch.setattr(calendar_memory.time, "monotonic", lambda: clock() + seconds)


async def test_an_account_is_asked_once_for_its_calendars_and_once_for_their_events():
    async with sandbox_calendars.opened(fill) as (calendars, upstream):
        cold, asked = await ids(calendars), calls(upstream)
        again = calendars.of_another_request()
        warm, asked_again = await ids(again), calls(upstream)

    assert asked == COLD
    assert asked_again == WARM
    assert len(cold) == 12
    assert cold == warm


@pytest.mark.parametrize("newest_first", [False, True])
async def test_answers_are_those_of_single_calls(monkeypatch, newest_first):
    query = replace(QUERY, newest_first=newest_first)
    async with sandbox_calendars.opened(fill) as (calendars, upstream):
        together = await ids(calendars, query)
        calls(upstream)
        monkeypatch.setattr(shared_calls, "first_pages", nothing)
        singly = await ids(calendars.of_another_request(), query)

        assert calls(upstream) == WARM - Counter({("POST", "v3"): 1, ("POST", "$batch"): 1})
    assert together == singly


async def nothing(*_arguments, **_options):
    return {}


async def test_the_list_is_read_again_after_a_minute(monkeypatch):
    async with sandbox_calendars.opened(fill) as (calendars, upstream):
        await ids(calendars)
        upstream.state.calendars.add_events(
            upstream.state.calendars.add_calendar("provider-a", "New", zone="UTC"), [event(7)]
        )
        early = await ids(calendars.of_another_request())
        later(monkeypatch, calendar_memory.RECENT_SECONDS + 1)
        calls(upstream)
        late = await ids(calendars.of_another_request())

        assert calls(upstream) == COLD + Counter({("GET", "events"): 1})
    assert (len(early), len(late)) == (12, 13)


async def test_a_listing_of_calendars_is_always_read_and_is_what_events_use():
    async with sandbox_calendars.opened(fill) as (calendars, upstream):
        await ids(calendars)
        upstream.state.calendars.add_events(
            upstream.state.calendars.add_calendar("provider-a", "New", zone="UTC"), [event(7)]
        )
        listed = await calendars.of_another_request().calendars(views())
        events = await ids(calendars.of_another_request())

    assert [calendar.calendar_name for calendar in listed.calendars].count("New") == 1
    assert len(events) == 13


@pytest.mark.parametrize("account", ["provider-a", "provider-b"])
async def test_a_calendar_that_was_removed_leaves_without_a_warning(account):
    async with sandbox_calendars.opened(fill) as (calendars, upstream):
        await ids(calendars)
        store = upstream.state.calendars
        store.put_calendar(dataclasses.replace(store.calendars(account)[1], is_deleted=True))
        left = await ids(calendars.of_another_request())

    assert len(left) == 9


@pytest.mark.parametrize("wire", ["providerA", "providerB"])
async def test_a_part_that_fails_is_read_by_a_call_of_its_own(wire):
    async with sandbox_calendars.opened(fill) as (calendars, upstream):
        expected = await ids(calendars)
        calls(upstream)
        name = {"providerA": "/events", "providerB": "/calendarView"}[wire]
        upstream.upstreams[wire].faults.append(Fault(kind="500", count=1, match=name))
        seen = await ids(calendars.of_another_request())

        assert calls(upstream) == WARM + Counter({("GET", name.removeprefix("/")): 1})
    assert seen == expected


@pytest.mark.parametrize(("wire", "last"), [("providerA", "v3"), ("providerB", "$batch")])
async def test_after_a_batch_failed_calendars_are_read_by_single_calls(wire, last):
    async with sandbox_calendars.opened(fill) as (calendars, upstream):
        expected = await ids(calendars)
        calls(upstream)
        upstream.upstreams[wire].faults.append(Fault(kind="403", match="batch"))
        seen = [await ids(calendars.of_another_request()) for _ in range(2)]

        assert calls(upstream)["POST", last] == 1  # only the first of the two requests tries it
    assert seen == [expected, expected]


@pytest.mark.parametrize("newest_first", [False, True])
async def test_a_calendar_of_several_pages_is_read_on_from_its_first(monkeypatch, newest_first):
    for module in (calendar_a, calendar_b):
        monkeypatch.setattr(module, "PAGE", 2)
    filtered = replace(
        QUERY, text="talk", text_fields=frozenset({"title"}), newest_first=newest_first
    )
    async with sandbox_calendars.opened(fill) as (calendars, upstream):
        together = await ids(calendars, filtered)
        asked = calls(upstream)
        monkeypatch.setattr(shared_calls, "first_pages", nothing)
        singly = await ids(calendars.of_another_request(), filtered)
        single_calls = calls(upstream)

    batches = Counter({("POST", "v3"): 1, ("POST", "$batch"): 1})
    assert asked - COLD == single_calls + batches - WARM  # no page is read twice
    assert asked["GET", "calendarView"] == 4
    assert together == singly
    assert len(together) == 12


async def test_a_call_is_about_a_bounded_number_of_calendars():
    def fill_many(store, mailbox, _owner):
        for number in range(2 * CALENDARS_PER_CALL):  # and the primary one
            calendar = store.add_calendar(mailbox, f"C{number}", zone="UTC")
            store.add_events(calendar, [event(number)])

    async with sandbox_calendars.opened(fill_many) as (calendars, upstream):
        events = await ids(calendars)

        assert calls(upstream) == Counter(
            {
                **dict.fromkeys([("GET", "calendarList"), ("GET", "calendars")], 1),
                **dict.fromkeys([("POST", "v3"), ("POST", "$batch")], 2),
                **dict.fromkeys(
                    [("GET", "events"), ("GET", "calendarView")], 2 * CALENDARS_PER_CALL + 1
                ),
            }
        )
    assert len(events) == 4 * CALENDARS_PER_CALL
