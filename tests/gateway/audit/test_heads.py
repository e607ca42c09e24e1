"""The ends of chains: removed newest rows, whole chains, moved rows, and heads kept elsewhere."""

import asyncio
import logging

import pytest
import pytest_asyncio
from decision_rows import decision_row
from machines_postgres import empty_database
from sqlalchemy import text

from gateway.audit import heads, reading
from gateway.audit.chain import DAY_MS
from gateway.audit.changes import Actor, ChangeLog, actor, log_change
from gateway.audit.decision import EntryPoint
from gateway.audit.log import DecisionLog
from gateway.audit.retention import Retention
from gateway.operations import decisions as operations
from gateway.operations.key_rotation import seal_decisions
from gateway.secrets.keyring import Keyring
from gateway.store.database import Database
from policy.refusals import InvalidInput

KEYS = Keyring(["a secret key of the tests"])
NEWER = Keyring(["a newer secret key", "a secret key of the tests"])
NOON = 20_000 * DAY_MS + DAY_MS // 2


@pytest_asyncio.fixture
async def database(request, store):
    """SQLite, or PostgreSQL for tests with the parameter "postgresql"."""
    if getattr(request, "param", "sqlite") == "sqlite":
        opened = Database.open(store)
        yield opened
        await opened.close()
        return
    async with empty_database() as url:
        opened = Database.open(url)
        await opened.migrate()
        yield opened
        await opened.close()


both = pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)


async def alter(database, *statements):
    async with database.writing() as session:
        for statement in statements:
            await session.exec(text(statement))


async def write(database, *names, at=NOON, keyring=KEYS):
    """Store rows as a process of its own, in one chain; return its log."""
    log = DecisionLog(database, keyring, days=30)
    for name in names:
        log.write(decision_row(name, at=at), change=False)
    await log.flush()
    return log


async def faults(database, keyring=KEYS, **options):
    """Return what verification finds: (the request at the beginning of the chain, number, kind)."""
    result = await operations.verify(database, keyring, **options)
    return [(fault["number"], fault["last"], fault["fault"]) for fault in result["faults"]]


async def link_of(database, name):
    async for link, row in reading.in_chain_order(database):
        if row.request_id == name:
            return link
    raise AssertionError(name)


@both
@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        pytest.param([], [], id="nothing"),
        pytest.param(
            ["DELETE FROM decisions WHERE request_id = 'c'"], [(3, 3, "missing")], id="newest"
        ),
        pytest.param(
            ["DELETE FROM decisions WHERE request_id IN ('b', 'c')"],
            [(2, 3, "missing")],
            id="newest two",
        ),
        pytest.param(
            ["DELETE FROM decisions WHERE request_id IN ('x', 'y')"],
            [(1, 2, "missing")],
            id="a chain",
        ),
        pytest.param(
            ["DELETE FROM decisions"], [(1, 2, "missing"), (1, 3, "missing")], id="all rows"
        ),
        pytest.param(
            ["DELETE FROM decision_heads"], [(3, 3, "missing"), (4, 4, "missing")], id="all heads"
        ),
        pytest.param(
            [
                "DELETE FROM decisions WHERE request_id = 'c'",
                "UPDATE decision_heads SET number = 2 WHERE number = 3",
            ],
            [(2, 2, "changed"), (2, 2, "changed")],
            id="newest, and the head forged",
        ),
        pytest.param(
            ["UPDATE decisions SET id = id + 100 WHERE request_id = 'a'"],
            [(2, 2, "reordered")],
            id="the order of pages",
        ),
    ],
)
async def test_the_end_of_a_chain_and_the_order_of_pages_are_verified(
    database, statements, expected
):
    await write(database, *"abc")
    await write(database, *"xy")
    await alter(database, *statements)

    assert sorted(set(await faults(database))) == sorted(set(expected))


@both
async def test_several_processes_and_batches_have_heads_of_their_own(database, monkeypatch):
    monkeypatch.setattr("gateway.audit.log.BATCH", 2)
    await asyncio.gather(*(write(database, *f"{number}abcde") for number in range(4)))
    stored = await heads.read(database)

    assert sorted(head.number for head in stored.values()) == [6] * 4
    assert await faults(database) == []


async def test_a_log_without_rows_or_from_before_heads_has_no_faults(database):
    assert await faults(database) == []
    log = DecisionLog(database, KEYS, days=30)
    log._chain._day, log._chain._last = NOON // DAY_MS, heads.Link("2024-10-04-old", 0, "")
    log.write(decision_row("a", at=NOON), change=False)
    await log.flush()
    await alter(database, "DELETE FROM decision_heads")

    assert await faults(database) == []


@both
async def test_a_change_after_removed_ones_shows_the_gap(database):
    ChangeLog(database=database, keyring=KEYS, days=30, clock=lambda: NOON).install()
    actor.set(Actor("ada", EntryPoint.COMMAND_LINE, "r"))
    for operation in ("first", "second", "third"):
        await log_change(database, operation)
    assert await faults(database) == []
    await alter(database, "DELETE FROM decisions WHERE operation IN ('second', 'third')")
    assert await faults(database) == [(2, 3, "missing")]
    await log_change(database, "fourth")

    assert await faults(database) == [(4, 4, "missing")]


@both
async def test_a_head_that_was_kept_elsewhere_finds_a_database_that_was_put_back(database):
    log = await write(database, *"ab")
    kept = heads.text_of(await link_of(database, "b"))
    async with database.reading() as session:
        (old,) = (await session.exec(text("SELECT * FROM decision_heads"))).all()
    log.write(decision_row("c", at=NOON), change=False)
    await log.flush()
    newest = heads.text_of(await link_of(database, "c"))
    assert await faults(database, kept_heads=[kept, newest]) == []

    await alter(
        database,
        "DELETE FROM decisions WHERE request_id = 'c'",
        f"UPDATE decision_heads SET number = {old.number}, digest = '{old.digest}',"
        f" signature = '{old.signature}'",
    )
    assert await faults(database) == []
    assert await faults(database, kept_heads=[kept, newest]) == [(3, 3, "missing")]

    await alter(database, "DELETE FROM decisions", "DELETE FROM decision_heads")
    assert await faults(database) == []
    assert await faults(database, kept_heads=[kept]) == [(1, 2, "missing")]
    assert await faults(database, kept_heads=[kept], days=30) == []  # of 2024: may be gone
    other = kept[:-1] + ("0" if kept[-1] != "0" else "1")
    await write(database, "z")
    assert await faults(database, kept_heads=[other]) == [(1, 2, "missing")]


@pytest.mark.parametrize("wrong", ["", "a:b", "a:b:c", "a:1:c:d"])
async def test_a_head_that_is_none_is_refused(database, wrong):
    with pytest.raises(InvalidInput):
        await faults(database, kept_heads=[wrong])


async def test_a_kept_head_of_another_row_is_a_changed_row(database):
    await write(database, *"ab")
    link = await link_of(database, "a")

    assert await faults(database, kept_heads=[f"{link.chain}:1:{'0' * 64}"]) == [(1, 1, "changed")]


async def test_retention_deletes_the_heads_of_its_days_alone(database, monkeypatch):
    days = {"old": 9, "older": 10, "kept": 1, "new": 0}
    for name, ago in days.items():
        await write(database, name, at=NOON - ago * DAY_MS)
    assert await Retention(database, days=2, clock=lambda: NOON).drop() == 2

    assert len(await heads.read(database)) == 2
    assert await faults(database) == []
    await alter(database, "DELETE FROM decisions WHERE request_id = 'kept'")
    assert await Retention(database, days=2, clock=lambda: NOON).drop() == 0
    assert await faults(database) == [(1, 1, "missing")]


async def test_a_rotation_signs_heads_under_the_first_key(database):
    await write(database, *"ab")
    assert await operations.count_older_chains(database, NEWER) == 1
    await seal_decisions(database, NEWER, progress=lambda *_: None)

    assert await operations.count_older_chains(database, NEWER) == 0
    only_newer = Keyring(["a newer secret key"])
    assert await faults(database, only_newer) == []
    await alter(database, "DELETE FROM decisions WHERE request_id = 'b'")
    assert (2, 2, "missing") in await faults(database, only_newer)


async def test_the_end_is_sent_out_from_time_to_time_and_at_the_end(database, caplog):
    caplog.set_level(logging.INFO, logger="gateway")
    sent = []
    log = DecisionLog(database, KEYS, days=30, on_head=lambda *head: sent.append(head))
    async with log.running():
        for name in "abc":
            log.write(decision_row(name, at=NOON), change=False)
            await log.flush()
    lines = [record.head for record in caplog.records if hasattr(record, "head")]

    assert [number for _, number in sent] == [1, 3]
    assert lines == [heads.text_of(await link_of(database, name)) for name in "ac"]
