"""The decision log between memory and the table: nothing twice, nothing lost in silence."""

import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from decision_rows import decision_row
from sqlalchemy import text

from gateway.audit import log as log_module
from gateway.audit import reading, recorder
from gateway.audit.chain import DAY_MS, Fault
from gateway.audit.decision import EntryPoint, looks_like_id
from gateway.audit.log import DecisionLog
from gateway.audit.reading import DecisionFilter
from gateway.audit.retention import Retention
from gateway.audit.seals import faults
from gateway.errors import Overloaded
from gateway.operations.key_rotation import seal_decisions
from gateway.secrets.keyring import Keyring
from gateway.store.database import StorageUnavailable
from gateway.telemetry.metrics import Metrics
from graph.request_log import Denial, OperationField
from policy.vocabulary import Code, Layer
from providers.http.events import CallEvent
from rest_compat.body import ClientGone
from rest_compat.responses import RestResponse

KEYS = Keyring(["a secret key of the tests"])
NOON = 20_000 * DAY_MS + DAY_MS // 2


def row(name, at=NOON, **more):
    """A row of which *name* is the request's id."""
    return decision_row(name, at=at, **more)


@pytest.fixture
def decisions(database):
    return DecisionLog(database, KEYS, days=30)


async def stored(database):
    """Return the request ids of what is in the table, in the order it came."""
    async with database.reading() as session:
        names = await session.exec(text("SELECT request_id FROM decisions ORDER BY id"))
        return [name for (name,) in names]


async def broken(database, keyring=KEYS):
    """Return what is wrong with the chains in the table."""
    return [fault async for fault in faults(keyring, reading.in_chain_order(database))]


async def alter(database, statement):
    async with database.writing() as session:
        await session.exec(text(statement))


# -- the queue


async def test_rows_are_stored_completely_in_batches(decisions, database, monkeypatch):
    monkeypatch.setattr(log_module, "BATCH", 2)
    full = row("c", resource_id="providerA:18c", layer="mask", code="X", rule_id=2**40)
    for decision in (row("a"), row("b"), full):
        decisions.write(decision, change=False)

    await decisions.flush()

    assert await stored(database) == ["a", "b", "c"]
    assert decisions.waiting == 0
    (newest_row,) = await reading.newest(database, DecisionFilter(request_id="c"), limit=5)
    assert newest_row == (3, full)


async def test_a_full_queue_drops_the_oldest_reads_and_no_change(decisions, database, monkeypatch):
    monkeypatch.setattr(log_module, "CAPACITY", 2)
    counted = Metrics()
    monkeypatch.setattr(decisions, "_on_dropped", counted.count_lost_decisions)
    for name in "abcd":
        decisions.write(row(name), change=False)
        decisions.write(row(name.upper()), change=True)

    assert decisions.dropped == 2
    assert "agw_decisions_lost_total 2.0" in counted.exposition().decode().splitlines()
    await decisions.flush()

    assert await stored(database) == ["A", "B", "C", "D", "c", "d"]


async def test_a_change_waits_until_the_log_has_capacity(decisions, monkeypatch):
    monkeypatch.setattr(log_module, "CAPACITY", 1)
    monkeypatch.setattr(log_module, "CAPACITY_TIMEOUT_SECONDS", 30)
    await decisions.wait_for_capacity()
    decisions.write(row("a"), change=True)
    waiting = asyncio.create_task(decisions.wait_for_capacity())
    await asyncio.sleep(0)
    assert not waiting.done()

    await decisions.flush()

    await waiting


async def test_a_change_without_log_capacity_is_refused(decisions, monkeypatch):
    monkeypatch.setattr(log_module, "CAPACITY", 1)
    monkeypatch.setattr(log_module, "CAPACITY_TIMEOUT_SECONDS", 0)
    decisions.write(row("a"), change=True)

    with pytest.raises(Overloaded):
        await decisions.wait_for_capacity()


async def test_an_unconfirmed_batch_is_not_stored_twice(decisions, database, monkeypatch):
    writing = database.writing

    @asynccontextmanager
    async def unanswered():
        async with writing() as session:
            yield session
        raise StorageUnavailable  # committed, but nobody heard of it

    decisions.write(row("a"), change=False)
    monkeypatch.setattr(database, "writing", unanswered)
    with pytest.raises(StorageUnavailable):
        await decisions.flush()
    monkeypatch.undo()
    decisions.write(row("b"), change=False)
    await decisions.flush()

    assert await stored(database) == ["a", "b"]
    assert await broken(database) == []


async def test_rows_that_cannot_be_stored_are_counted_and_dropped(
    decisions, database, monkeypatch, caplog
):
    monkeypatch.setattr(log_module, "BATCH_DELAY_SECONDS", 0)
    refused, store = asyncio.Event(), decisions._store

    async def refuse_once(batch):
        if not refused.is_set():
            refused.set()
            raise ValueError("not for the eyes of the log")
        await store(batch)

    monkeypatch.setattr(decisions, "_store", refuse_once)
    async with decisions.running():
        decisions.write(row("a"), change=False)
        await refused.wait()
        decisions.write(row("b"), change=False)

    assert (decisions.dropped, await stored(database)) == (1, ["b"])
    errors = [record for record in caplog.records if record.levelname == "ERROR"]
    assert [(record.message, record.kind, record.count) for record in errors] == [
        ("rows of the decision log cannot be stored", "ValueError", 1)
    ]


async def test_only_the_row_that_the_database_refuses_is_dropped(decisions, database):
    for name in ("a", None, "b"):  # a request id is required
        decisions.write(row(name), change=True)
    await decisions.flush()

    assert (decisions.dropped, await stored(database)) == (1, ["a", "b"])


@pytest.mark.parametrize("failure", [StorageUnavailable(), RuntimeError("a fault of ours")])
async def test_rows_wait_for_as_long_as_they_cannot_be_stored(
    decisions, database, monkeypatch, failure
):
    async def refuse(_batch):
        raise failure

    decisions.write(row("a"), change=True)
    monkeypatch.setattr(decisions, "_store", refuse)
    for _ in range(3):
        with pytest.raises(StorageUnavailable):
            await decisions.flush()
    monkeypatch.undo()
    await decisions.flush()

    assert (decisions.dropped, await stored(database)) == (0, ["a"])


async def test_remaining_rows_are_stored_at_shutdown(decisions, database):
    async with decisions.running():
        decisions.write(row("a"), change=False)

    assert await stored(database) == ["a"]


async def test_the_loss_of_the_last_rows_is_logged(decisions, database, monkeypatch, caplog):
    @asynccontextmanager
    async def unavailable():
        raise StorageUnavailable
        yield

    monkeypatch.setattr(database, "writing", unavailable)
    async with decisions.running():
        decisions.write(row("a"), change=True)

    assert [(record.message, record.count) for record in caplog.records] == [
        ("rows of the decision log are lost", 1)
    ]


async def test_no_days_no_log(database):
    decisions = DecisionLog(database, KEYS, days=0)
    async with decisions.running():
        decisions.write(row("a"), change=True)
        await decisions.wait_for_capacity()
        assert decisions.waiting == 0

    assert await stored(database) == []


# -- how a call ended


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (None, ("failed", None, None, 0)),
        (ClientGone(), ("failed", None, None, 0)),
        (asyncio.CancelledError(), ("failed", None, None, 0)),
        (RuntimeError(), ("failed", "upstream", "INTERNAL_ERROR", 500)),
    ],
    ids=["nobody knows how", "the client hung up", "the process ends", "a bug"],
)
async def test_a_call_without_an_answer_has_failed(decisions, failure, expected):
    caller = SimpleNamespace(token_id=1, operator_id="op", parent_id=None, policy_rev=3)
    context = SimpleNamespace(
        caller=caller,
        request_id="r",
        request_log=recorder.begin(EntryPoint.REST, 1),
        is_dry_run=False,
        held=False,
    )

    recorder.Recorder(decisions).record_rest(context, None, None, failure)

    (decision,) = decisions._reads
    assert (decision.outcome, decision.layer, decision.code, decision.status) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ('"NOT_FOUND"', ("failed", "upstream", "NOT_FOUND", 404)),
        ('"BLOCKED"', ("refused", "scope", "BLOCKED", 404)),
        ("null", ("failed", None, None, 404)),
    ],
)
async def test_a_replayed_refusal_is_recorded_by_the_code_in_its_body(decisions, word, expected):
    caller = SimpleNamespace(token_id=1, operator_id="op", parent_id=None, policy_rev=3)
    context = SimpleNamespace(
        caller=caller,
        request_id="r",
        request_log=recorder.begin(EntryPoint.REST, 1),
        is_dry_run=False,
        held=False,
    )
    answer = RestResponse(status=404, body=f'{{"error":{word}}}'.encode())

    recorder.Recorder(decisions).record_rest(context, None, answer, None)

    (decision,) = decisions._reads
    assert (decision.outcome, decision.layer, decision.code, decision.status) == expected


async def test_a_refused_call_is_recorded_by_what_refused_it(decisions):
    """Under a key too, and where the body names no code."""
    caller = SimpleNamespace(token_id=1, operator_id="op", parent_id=None, policy_rev=3)
    log = recorder.begin(EntryPoint.REST, 1)
    log.denials["result"] = Denial(layer=Layer.SCOPE, code=Code.NOT_FOUND, status=404, rule_id=9)
    context = SimpleNamespace(
        caller=caller, request_id="r", request_log=log, is_dry_run=False, held=False
    )
    operation = SimpleNamespace(
        root_fields=[OperationField(key="result", name="listFiles", surface=None, writes=False)]
    )
    error = {"message": "No.", "extensions": {"code": "NOT_FOUND", "httpStatus": 404}}
    reply = RestResponse(status=404, body=b'{"error":null}', errors=(error,))

    recorder.Recorder(decisions).record_rest(context, operation, reply, None)

    (decision,) = decisions._reads
    assert (decision.outcome, decision.layer, decision.code) == ("refused", "scope", "NOT_FOUND")
    assert decision.rule_id == 9


async def test_calls_upstream_count_for_the_request_that_made_them():
    async def call(outcome):
        recorder.count_upstream_call(CallEvent("PROVIDER_A", "GET", outcome, 0.0, 0.0))

    async def request(*outcomes):
        begun = recorder.begin(EntryPoint.REST, 1)
        await asyncio.gather(*map(call, outcomes))
        return begun.upstream

    answered, two, none = await asyncio.gather(request("200"), request("200", "broken"), request())

    assert (answered.calls, answered.last_status) == (1, 200)
    assert (two.calls, two.last_status) == (2, None)
    assert (none.calls, none.last_status) == (0, None)


# -- what is an id


@pytest.mark.parametrize(
    ("surface", "resource_id", "is_one"),
    [
        ("email", "providerA:18c0ffee", True),
        ("email", "providerB:AAMk+/=_-", True),
        ("email", "providerA:a b", False),
        ("email", "providerA:ann@home.example", False),
        ("email", "18c0ffee", False),
        ("calendar", "0190163d-8694-739b-aea5-966c26f8ad91", True),
        ("calendar", "lunch", False),
        ("tasks", "1234567890", True),
        ("tasks", "call the doctor", False),
        ("collab", "collab:drive:b!x:item:01AB", True),
        ("collab", "collab:drive:b!x:item:root", True),
        ("collab", "collab:drive:b!x:item:a secret", False),
        ("collab", "a secret", False),
        ("collab", "collab:drive:" + "x" * 1024, False),
        (None, "providerA:18c0ffee", False),
    ],
)
async def test_only_well_formed_resource_ids_are_stored(
    decisions, database, surface, resource_id, is_one
):
    decisions.write(row("a", surface=surface, resource_id=resource_id), change=False)
    await decisions.flush()

    ((_, decision),) = await reading.newest(database, DecisionFilter(), limit=1)
    assert decision.resource_id == (resource_id if is_one else None)
    assert looks_like_id(surface, resource_id) is is_one


# -- chains


@pytest.fixture
async def chained(decisions, database):
    """Three rows of one chain, and one of another process."""
    for name in "abc":
        decisions.write(row(name), change=False)
    await decisions.flush()
    other = DecisionLog(database, KEYS, days=30)
    other.write(row("other"), change=False)
    await other.flush()
    return database


async def test_chains_hold_for_whoever_has_the_keys(chained):
    assert await broken(chained) == []
    assert await broken(chained, Keyring(["a newer secret key", "a secret key of the tests"])) == []
    assert {
        damaged.fault for damaged in await broken(chained, Keyring(["another secret key"]))
    } == {Fault.CHANGED}


@pytest.mark.parametrize(
    ("statement", "number", "fault"),
    [
        ("UPDATE decisions SET outcome = 'refused' WHERE request_id = 'b'", 2, Fault.CHANGED),
        ("UPDATE decisions SET at = at + 1 WHERE request_id = 'c'", 3, Fault.CHANGED),
        ("DELETE FROM decisions WHERE request_id = 'b'", 3, Fault.MISSING),
        ("DELETE FROM decisions WHERE request_id = 'a'", 2, Fault.MISSING),
    ],
    ids=["changed", "moved in time", "one in the middle is gone", "the first is gone"],
)
async def test_verification_detects_a_changed_row(chained, statement, number, fault):
    await alter(chained, statement)

    (damaged,) = await broken(chained)
    assert (damaged.number, damaged.fault) == (number, fault)


async def test_verification_detects_swapped_rows(chained):
    for before, after in ((1, 9), (2, 1), (9, 2)):
        await alter(
            chained,
            f"UPDATE decisions SET number = {after} WHERE number = {before}"
            " AND request_id <> 'other'",
        )

    damaged = await broken(chained)
    assert [(row.number, row.fault) for row in damaged] == [
        (1, Fault.CHANGED),
        (2, Fault.CHANGED),
        (3, Fault.CHANGED),
    ]


async def test_a_new_day_begins_a_new_chain(decisions, database):
    for at in (NOON, NOON + DAY_MS, NOON):  # a clock that was set back, too
        decisions.write(row("a", at=at), change=False)
    await decisions.flush()

    links = [link async for link, _ in reading.in_chain_order(database)]
    assert [(link.chain[:10], link.number) for link in links] == [
        ("2024-10-04", 1),
        ("2024-10-04", 1),
        ("2024-10-05", 1),
    ]
    assert await broken(database) == []


# -- how long they are kept


async def test_whole_days_are_dropped_in_batches(decisions, database, monkeypatch):
    monkeypatch.setattr("gateway.audit.retention.BATCH", 2)
    today = NOON - NOON % DAY_MS
    times = {"d3": -2 * DAY_MS - 1, "c1": -2 * DAY_MS, "b": -DAY_MS, "a": 0}
    for number in range(5):
        decisions.write(row(f"old{number}", at=today - 9 * DAY_MS), change=False)
    for name, ago in times.items():
        decisions.write(row(name, at=today + ago), change=False)
    await decisions.flush()

    await seal_decisions(
        database, Keyring(["a newer secret key", "a secret key of the tests"]), progress=print
    )

    assert await Retention(database, days=2, clock=lambda: NOON).drop() == 6
    assert await stored(database) == ["c1", "b", "a"]
    assert await broken(database) == []
    assert sorted(await reading.seals(database)) == sorted(
        {link.chain async for link, _ in reading.in_chain_order(database)}
    )


async def test_one_process_at_a_time_deletes_old_rows_every_hour(database, monkeypatch):
    module = "gateway.audit.retention"
    monkeypatch.setattr(f"{module}.FIRST_PAUSE_SECONDS", 0)
    at_work, most, turns = 0, 0, asyncio.Semaphore(0)

    async def drop(_self):
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        await asyncio.sleep(0)
        at_work -= 1
        turns.release()
        return 0

    monkeypatch.setattr(Retention, "drop", drop)
    both = [
        asyncio.create_task(Retention(database, days=1, clock=lambda: NOON).task.run())
        for _ in range(2)
    ]
    for _ in both:
        await turns.acquire()
    for task in both:
        task.cancel()
    await asyncio.gather(*both, return_exceptions=True)

    assert most == 1
