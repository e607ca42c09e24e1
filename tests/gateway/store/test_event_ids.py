"""Public ids of calendars and events are permanent and the same in every process."""

import asyncio
from uuid import UUID

import pytest
from sqlalchemy import delete
from sqlmodel import select

from gateway.errors import Overloaded
from gateway.store import event_ids
from gateway.store.database import Database
from gateway.store.event_ids import EventIds
from gateway.store.tables import CalendarRow, ConnectionRow, EventRow, Operator, Resource
from providers.calendar.event_ids import event_id
from providers.ports.calendar import CalendarKey, EventKey

WORK, HOME = CalendarKey(1, "me@a.example"), CalendarKey(1, "home")
OTHER = CalendarKey(2, "home")


@pytest.fixture
async def known(database):
    """Two connections, 1 and 2."""
    async with database.writing() as session:
        session.add(Operator(id="op", email="op@x.example", display_name="Op", created_at=0))
        session.add(Resource(id=1, name="main", created_at=0))
        await session.flush()
        for number in (1, 2):
            session.add(connection(number))
    return database


def connection(number):
    return ConnectionRow(
        id=number,
        resource_id=1,
        operator_id="op",
        kind="calendar",
        provider="PROVIDER_A",
        account_email=f"me{number}@a.example",
        granted_scopes=[],
        can_write=False,
        status="active",
        selected_site_ids=[],
        created_at=0,
        updated_at=0,
    )


def places(ids, count, calendar=WORK, calendar_id=1):
    return {
        event_id(calendar, f"{ids}-{number}"): EventKey(calendar_id, calendar, f"{ids}-{number}")
        for number in range(count)
    }


async def rows(database, table):
    async with database.reading() as session:
        return (await session.exec(select(table))).all()


async def test_calendars_get_ids_in_the_order_they_are_met(known):
    ids = EventIds(known)

    first = await ids.calendar_ids([WORK, HOME])
    second = await ids.calendar_ids([HOME, OTHER, WORK])

    assert first == {WORK: 1, HOME: 2}
    assert second == {HOME: 2, OTHER: 3, WORK: 1}
    assert await ids.calendars([3, 1, 99]) == {1: WORK, 3: OTHER}
    assert await ids.calendar_ids([]) == {}
    assert await ids.calendars([]) == {}


async def test_ids_are_the_same_in_another_process_and_after_a_restart(known, store):
    calendar_ids = await EventIds(known).calendar_ids([WORK, HOME])
    elsewhere = Database.open(store)
    try:
        ids = EventIds(elsewhere)

        assert await ids.calendar_ids([HOME, WORK]) == calendar_ids
        assert await ids.calendars(calendar_ids.values()) == {
            number: key for key, number in calendar_ids.items()
        }
    finally:
        await elsewhere.close()


async def test_concurrent_processes_assign_the_same_calendar_ids(known, store):
    elsewhere = Database.open(store)
    try:
        wanted = [CalendarKey(1, f"calendar {number}") for number in range(40)]
        answers = await asyncio.gather(
            *(
                EventIds(database).calendar_ids(wanted[at:] + wanted[:at])
                for at, database in enumerate((known, elsewhere, known, elsewhere))
            )
        )
    finally:
        await elsewhere.close()

    assert all(answer == answers[0] for answer in answers)
    assert len(set(answers[0].values())) == 40
    assert len(await rows(known, CalendarRow)) == 40


async def test_a_stored_event_is_resolved_by_its_id(known, store):
    ids = EventIds(known)
    await ids.calendar_ids([WORK])
    events = places("event", 1201)
    await ids.store_events(events)
    elsewhere = Database.open(store)

    try:
        for event_id in list(events)[::100]:
            assert await EventIds(elsewhere).event(event_id) == events[event_id]
            assert await ids.event(event_id.upper()) == events[event_id]
    finally:
        await elsewhere.close()
    assert await ids.event("00000000-0000-5000-8000-000000000000") is None
    assert len(await rows(known, EventRow)) == 1201


async def test_an_event_whose_row_is_gone_is_stored_again_by_the_next_listing(known):
    ids = EventIds(known)
    await ids.calendar_ids([WORK])
    events = places("event", 3)
    await ids.store_events(events)
    async with known.writing() as session:
        await session.exec(delete(EventRow))
    first = next(iter(events))

    assert await ids.event(first) is None
    await ids.store_events(events)
    assert await ids.event(first) == events[first]


async def test_cached_events_are_not_written_again(known, monkeypatch):
    ids = EventIds(known)
    await ids.calendar_ids([WORK])
    await ids.store_events(places("event", 10))
    written = []
    add = ids._insert

    async def counted(table, new):
        written.append(len(new))
        return await add(table, new)

    monkeypatch.setattr(ids, "_insert", counted)
    await ids.store_events(places("event", 12))
    await ids.store_events(places("event", 12))
    await ids.store_events({})

    assert written == [2]


async def test_the_cache_is_bounded_and_eviction_loses_no_id(known, monkeypatch):
    monkeypatch.setattr(event_ids, "MAX_CACHED_EVENTS", 5)
    monkeypatch.setattr(event_ids, "MAX_CACHED_CALENDARS", 2)
    ids = EventIds(known)
    wanted = [CalendarKey(1, f"calendar {number}") for number in range(4)]
    for key in wanted:
        await ids.calendar_ids([key])
    events = places("event", 20, wanted[0])
    await ids.store_events(events)

    assert len(ids._events) == 5
    assert len(ids._calendars) == 2
    assert [(await ids.calendar_ids([key]))[key] for key in wanted] == [1, 2, 3, 4]
    await ids.store_events(events)
    assert len(await rows(known, EventRow)) == 20


async def test_calendars_beyond_the_cache_size_get_ids(known, monkeypatch):
    monkeypatch.setattr(event_ids, "MAX_CACHED_CALENDARS", 2)
    wanted = [CalendarKey(1, f"calendar {number}") for number in range(5)]

    assert list((await EventIds(known).calendar_ids(wanted)).values()) == [1, 2, 3, 4, 5]


async def test_calendars_of_a_removed_connection_are_left_out(known):
    ids = EventIds(known)
    gone = CalendarKey(99, "x")

    assert await ids.calendar_ids([gone]) == {}
    assert await ids.calendar_ids([WORK]) == {WORK: 1}


async def test_ids_of_a_removed_connection_are_never_reused(known):
    ids = EventIds(known)
    await ids.calendar_ids([OTHER])
    events = places("event", 3, OTHER)
    await ids.store_events(events)
    async with known.writing() as session:
        await session.delete(await session.get(ConnectionRow, 2))

    after = EventIds(known)

    assert await rows(known, EventRow) == []
    assert await after.event(next(iter(events))) is None
    assert await after.calendar_ids([WORK]) == {WORK: 2}


async def test_events_that_could_not_be_stored_are_retried(known):
    ids = EventIds(known)
    events = places("event", 2, WORK)

    await ids.store_events(events)  # their calendar has no row yet
    assert await rows(known, EventRow) == []
    await ids.calendar_ids([WORK])
    await ids.store_events(events)

    assert len(await rows(known, EventRow)) == 2


async def test_an_unavailable_database_is_reported_as_overload(tmp_path):
    database = Database.open(f"sqlite+aiosqlite:///{tmp_path / 'nothing' / 'gateway.db'}")
    ids = EventIds(database)

    for call in (
        ids.calendar_ids([WORK]),
        ids.calendars([1]),
        ids.store_events(places("event", 1)),
        ids.event("00000000-0000-5000-8000-000000000000"),
    ):
        with pytest.raises(Overloaded):
            await call
    await database.close()


@pytest.mark.parametrize(
    ("key", "native", "expected"),
    [
        (CalendarKey(1, "me@a.example"), "e1", "7eaa3706-351a-5bfc-b620-2df5140d26f5"),
        (CalendarKey(2, "me@a.example"), "e1", "8e7d114d-158e-5974-b3b2-8d0718d2bbe8"),
        (CalendarKey(1, "other"), "e1", "b300c1b3-f959-53e1-acff-04bab2b1ab62"),
        (
            CalendarKey(1, "me@a.example"),
            "e1_20260105T090000Z",
            "c46b348b-d9eb-5731-a6f7-79693f246ab1",
        ),
    ],
)
def test_an_event_id_depends_only_on_its_calendar_and_native_id(key, native, expected):
    """These values are in the hands of clients: they may never change."""
    made = event_id(key, native)

    assert UUID(made).version == 5
    assert made == expected
