"""Events go in slices before the connections that are removed: a cascade is one statement."""

import pytest
import pytest_asyncio
from sqlalchemy import event, func
from sqlmodel import select

from gateway.store import cleanup
from gateway.store.event_ids import EventIds
from gateway.store.tables import ConnectionRow, EventRow
from providers.calendar.event_ids import event_id
from providers.ports.calendar import CalendarKey, EventKey

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("emptied")]


@pytest_asyncio.fixture(loop_scope="module")
async def connection(admin, operator, resource):
    new = {
        "resourceId": resource,
        "operatorId": operator,
        "kind": "calendar",
        "provider": "PROVIDER_A",
        "accountEmail": "ada@example.org",
        "grantedScopes": [],
    }
    return (await admin.post("/api/connections", json=new)).json()


@pytest.fixture
def slices_of_two(monkeypatch):
    monkeypatch.setattr(cleanup, "SLICE_ROWS", 2)


@pytest.fixture
def deletions(gateway):
    """The DELETE statements from now on."""
    statements = []

    def keep(_connection, _cursor, statement, *_more):
        if statement.startswith("DELETE"):
            statements.append(statement)

    engine = gateway.services.database.writer.sync_engine
    event.listen(engine, "before_cursor_execute", keep)
    yield statements
    event.remove(engine, "before_cursor_execute", keep)


async def store_events(gateway, connection, count):
    ids, calendar = EventIds(gateway.services.database), CalendarKey(connection["id"], "c")
    ((_, number),) = (await ids.calendar_ids([calendar])).items()
    await ids.store_events(
        {
            event_id(calendar, f"e-{at}"): EventKey(number, calendar, f"e-{at}")
            for at in range(count)
        }
    )


@pytest.mark.parametrize("what", ["connections", "operators", "resources"])
@pytest.mark.parametrize(("events", "slices"), [(5, 3), (2, 0)], ids=["many", "few"])
@pytest.mark.usefixtures("slices_of_two")
async def test_many_events_go_in_slices_before_their_connection(  # noqa: PLR0917 - fixtures
    gateway, admin, connection, deletions, what, events, slices
):
    await store_events(gateway, connection, events)
    number = {
        "connections": connection["id"],
        "operators": connection["operatorId"],
        "resources": connection["resourceId"],
    }[what]
    deletions.clear()

    assert (await admin.delete(f"/api/{what}/{number}")).status_code == 204

    of_events = [each for each in deletions if each.startswith("DELETE FROM events ")]
    assert len(of_events) == slices
    assert all("LIMIT" in statement for statement in of_events)
    async with gateway.services.database.reading() as session:
        for table in (EventRow, ConnectionRow):
            assert (await session.exec(select(func.count()).select_from(table))).one() == 0


@pytest.mark.usefixtures("slices_of_two")
async def test_a_connection_is_of_no_use_while_its_events_go(
    gateway, admin, connection, monkeypatch
):
    await store_events(gateway, connection, 5)
    statuses, delete_in_slices = [], cleanup.delete_in_slices

    async def look(*arguments, **named):
        async with gateway.services.database.reading() as session:
            statuses.append((await session.exec(select(ConnectionRow.status))).one())
        return await delete_in_slices(*arguments, **named)

    monkeypatch.setattr(cleanup, "delete_in_slices", look)

    assert (await admin.delete(f"/api/connections/{connection['id']}")).status_code == 204
    assert statuses == ["disabled"]
