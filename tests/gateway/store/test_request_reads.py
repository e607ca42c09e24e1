"""The connections by which requests read from PostgreSQL, cut, frozen, cancelled and restarted."""

import asyncio

import pytest
import pytest_asyncio
from database_servers import pgbouncer
from network_faults import Link
from postgres_faults import KILL, faulty_postgres

from gateway.store import postgres
from gateway.store.database import Database
from gateway.store.postgres import ReadConnections

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
PID = "SELECT pg_backend_pid()"
SLEEP = "SELECT $1::int, pg_sleep($2::float)"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server():
    async with faulty_postgres() as server:
        yield server


@pytest_asyncio.fixture(loop_scope="module")
async def reads(server):
    made = ReadConnections(server.url, "session", most=3)
    yield made
    await made.close()


async def number(reads, value, seconds=0.0):
    """Return *value* as the server read it, after a pause."""
    ((read, _),) = await reads.fetch(SLEEP, [value, seconds])
    return read


async def test_a_connection_is_used_again(reads):
    pids = [await reads.fetch(PID, []) for _ in range(5)]

    assert pids == [pids[0]] * 5
    assert (reads.used, reads.idle) == (0, 1)


async def test_the_level_of_statements_is_the_one_that_they_are_written_for(server, reads):
    await server.run(["ALTER ROLE app SET default_transaction_isolation = 'serializable'"])
    try:
        assert await reads.fetch("SHOW transaction_isolation", []) == [("read committed",)]
    finally:
        await server.run(["ALTER ROLE app RESET default_transaction_isolation"])


async def test_no_more_connections_are_opened_than_allowed(server, reads):
    reading = [asyncio.create_task(number(reads, value, 0.2)) for value in range(9)]
    await asyncio.sleep(0.3)
    watcher = await server.admin()
    count = await watcher.fetchval("SELECT count(*) FROM pg_stat_activity WHERE usename = 'app'")
    await watcher.close()

    assert await asyncio.gather(*reading) == list(range(9))
    assert count == 3
    assert (reads.used, reads.idle) == (0, 3)


async def test_a_read_that_gets_no_connection_fails_in_time(reads, monkeypatch):
    monkeypatch.setattr(postgres, "STATEMENT_SECONDS", 0.5)
    await asyncio.gather(*(number(reads, value) for value in range(3)))
    reading = [asyncio.create_task(number(reads, value, 5.0)) for value in range(4)]

    outcomes = await asyncio.gather(*reading, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [TimeoutError] * 4
    assert await number(reads, 7) == 7
    assert (reads.used, reads.idle) == (0, 1)


async def test_connections_that_were_ended_while_idle_are_replaced(server, reads):
    await asyncio.gather(*(number(reads, value, 0.1) for value in range(3)))
    await server.run([KILL])

    assert await asyncio.gather(*(number(reads, value) for value in range(3))) == [0, 1, 2]


async def test_a_read_whose_connection_is_ended_runs_once_more(server, reads):
    reading = [asyncio.create_task(number(reads, value, 1.0)) for value in range(3)]
    await asyncio.sleep(0.5)
    await server.run([KILL])

    assert await asyncio.gather(*reading) == [0, 1, 2]


async def test_a_read_that_loses_two_connections_fails(server, reads):
    reading = asyncio.create_task(number(reads, 1, 2.0))
    for _ in range(2):
        await asyncio.sleep(0.5)
        await server.run([KILL])

    with pytest.raises(ConnectionError):
        await reading
    assert await number(reads, 2) == 2


async def test_a_cancelled_read_leaves_no_rows_to_the_next(reads):
    for value in range(20):
        reading = asyncio.create_task(number(reads, -1, 0.05))
        await asyncio.sleep(0.005 * (value % 12))
        reading.cancel()
        later = await asyncio.gather(*(number(reads, value + more) for more in range(4)))

        assert later == [value, value + 1, value + 2, value + 3]
        await asyncio.gather(reading, return_exceptions=True)
    assert reads.used == 0


async def test_a_statement_that_fails_does_not_stop_the_next(reads):
    for _ in range(5):
        with pytest.raises(Exception, match="division by zero"):
            await reads.fetch("SELECT 1 / $1::int", [0])

    assert await number(reads, 3) == 3


async def test_a_frozen_server_fails_reads_in_time_and_is_used_again(server, reads):
    await number(reads, 1)
    began = asyncio.get_running_loop().time()
    async with server.fault("frozen"):
        outcomes = await asyncio.gather(
            *(number(reads, value) for value in range(5)), return_exceptions=True
        )
    took = asyncio.get_running_loop().time() - began

    assert [type(outcome) for outcome in outcomes] == [TimeoutError] * 5
    assert took < 2 * postgres.STATEMENT_SECONDS
    assert await number(reads, 2) == 2


async def test_a_restarted_server_costs_no_read(server, reads):
    await asyncio.gather(*(number(reads, value, 0.1) for value in range(3)))
    async with server.fault("killed"):
        with pytest.raises(ConnectionRefusedError):
            await number(reads, 0)

    assert await asyncio.gather(*(number(reads, value) for value in range(9))) == list(range(9))


async def test_an_idle_connection_that_a_firewall_dropped_is_replaced(server, monkeypatch):
    link = Link(server.port)
    await link.start()
    reads = ReadConnections(server.url.replace(str(server.port), str(link.port)), "session", most=3)
    await asyncio.gather(*(number(reads, value, 0.1) for value in range(3)))
    monkeypatch.setattr(postgres, "_PING_AFTER", 0.0)
    monkeypatch.setattr(postgres, "_PING_SECONDS", 0.5)
    link.hold()
    reading = asyncio.create_task(number(reads, 5))
    await asyncio.sleep(0.2)
    assert reads.idle == 2
    await asyncio.sleep(0.6)  # the ping has failed: a new connection is waited for
    assert reads.idle == 0
    link.restore()

    assert await reading == 5
    await reads.close()
    await link.close()


async def test_closing_waits_for_running_reads(reads):
    reading = asyncio.create_task(number(reads, 4, 0.5))
    await asyncio.sleep(0.1)
    await reads.close()

    assert reading.done()
    assert await reading == 4
    assert reads.idle == 0


async def test_closing_ends_beside_a_frozen_server(server, reads):
    await asyncio.gather(*(number(reads, value, 0.1) for value in range(3)))
    async with server.fault("frozen"), asyncio.timeout(10):
        await reads.close()

    assert reads.idle == 0


async def test_reads_go_through_a_pooler_per_transaction(server):
    with pgbouncer(server.postgres, database="store", user="app") as port:
        url = server.url.replace(str(server.port), str(port))
        database = Database.open(url, connections=15, pooler="transaction")
        reads = database.request_reads
        for _ in range(3):
            found = await asyncio.gather(*(number(reads, value, 0.01) for value in range(20)))
            assert found == list(range(20))
            await server.run([KILL])  # those of the pooler to the server
        assert reads.idle == 5
        assert database.pool_use() == (0, 5)
        await database.close()
        assert reads.idle == 0
