"""One request at a time runs an intent, and no other one while it may still be running."""

import asyncio
import os
from types import SimpleNamespace

import pytest
from sqlalchemy import delete, text

from gateway.errors import Overloaded
from gateway.secrets.keyring import Keyring
from gateway.store import timestamps
from gateway.store.database import Database, StorageUnavailable, TransactionConflict
from gateway.store.idempotency.leases import CONFIRMED_SECONDS, LEASE_MS, MAX_RENEWALS
from gateway.store.idempotency.store import RETENTION_MS, IdempotencyStore
from gateway.store.tables import AccessToken
from policy.refusals import Conflict
from rest_compat.ledger import Attempt, Completed, InProgress, Intent, KeyReused
from rest_compat.responses import RestResponse

SENT = RestResponse(status=200, body=b'{"success":true}', headers=(("X-Applied-Limit", "50"),))


class Clock:
    """Milliseconds, moved by hand."""

    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now


POSTGRES = os.environ.get("AGW_TEST_POSTGRES_URL", "")  # an empty database to test in


@pytest.fixture(params=["sqlite", "postgresql"] if POSTGRES else ["sqlite"])
async def database(request, store):
    database = Database.open(store if request.param == "sqlite" else POSTGRES)
    await database.migrate()
    async with database.writing() as session:
        await session.exec(delete(AccessToken))
        session.add(
            AccessToken(
                id=1,
                name="test",
                key_id="abcdefgh",
                digest=b"d" * 32,
                operator_id="o",
                settings={},
                created_at=0,
            )
        )
    yield database
    await database.close()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def process(database, clock):
    """Make the ledger of one process over the shared database."""
    keyring = Keyring(["a secret of sufficient length"])
    return lambda: IdempotencyStore(database, keyring, clock=clock)


@pytest.fixture
def ledger(process):
    return process()


def intent(**changes) -> Intent:
    members = {
        "token_id": 1,
        "method": "POST",
        "path": "/api/access/email/messages/send",
        "key": "k",
        "fingerprint": b"f" * 32,
    }
    return Intent(**{**members, **changes})


async def test_the_first_try_begins_with_a_seed_of_its_own(ledger):
    first = await ledger.begin(intent())
    second = await ledger.begin(intent(key="other"))

    assert isinstance(first, Attempt)
    assert isinstance(second, Attempt)
    assert (first.number, first.maybe_sent) == (1, False)
    assert first.seed != second.seed


async def test_a_second_call_waits_while_the_first_runs(ledger):
    await ledger.begin(intent())

    assert isinstance(await ledger.begin(intent()), InProgress)


async def test_a_key_whose_insertion_is_not_known_to_be_stored_begins(
    ledger, database, monkeypatch
):
    execute, lost = database.execute, []

    async def lose_the_first_response(statement):
        rows = await execute(statement)
        if not lost:
            lost.append(rows)
            raise TransactionConflict
        return rows

    monkeypatch.setattr(database, "execute", lose_the_first_response)

    first = await ledger.begin(intent())

    assert lost == [[(int(first.entry_id),)]]
    assert (first.number, first.maybe_sent) == (1, False)
    assert isinstance(await ledger.begin(intent()), InProgress)


async def test_only_one_of_concurrent_calls_begins(process):
    ledgers = [process() for _ in range(8)]

    begun = await asyncio.gather(*(ledger.begin(intent()) for ledger in ledgers))

    assert sorted(type(outcome).__name__ for outcome in begun) == ["Attempt"] + ["InProgress"] * 7


async def test_a_stored_response_is_replayed_completely(ledger):
    begun = await ledger.begin(intent())
    await ledger.complete(begun, SENT)

    again = await ledger.begin(intent())

    assert isinstance(again, Completed)
    assert again.response == SENT


async def test_a_stored_response_is_encrypted_at_rest(ledger, database):
    await ledger.complete(await ledger.begin(intent()), SENT)

    async with database.reading() as session:
        outcome = await session.scalar(text("SELECT outcome FROM deliveries"))

    assert b"success" not in outcome


async def test_a_response_without_its_secret_key_is_unknown_and_never_resent(
    database, ledger, clock
):
    await ledger.complete(await ledger.begin(intent()), SENT)
    rekeyed = IdempotencyStore(database, Keyring(["quite another secret key"]), clock=clock)

    with pytest.raises(Conflict) as problem:
        await rekeyed.begin(intent())

    assert problem.value.code == "OUTCOME_UNKNOWN"


@pytest.mark.parametrize("ended", [True, False], ids=["after the end", "while it runs"])
async def test_another_request_under_the_same_key_is_refused(ledger, ended):
    begun = await ledger.begin(intent())
    if ended:
        await ledger.complete(begun, SENT)

    assert isinstance(await ledger.begin(intent(fingerprint=b"g" * 32)), KeyReused)


@pytest.mark.parametrize(
    "change",
    [{"path": "/api/access/email/messages/x/reply"}, {"key": "K"}, {"path": "/" + "x" * 9000}],
    ids=["another path", "another key", "a path longer than the column"],
)
async def test_a_key_is_scoped(ledger, change):
    await ledger.begin(intent())

    assert isinstance(await ledger.begin(intent(**change)), Attempt)
    assert isinstance(await ledger.begin(intent(**change)), InProgress)


async def test_a_released_intent_runs_again_under_its_seed(ledger):
    first = await ledger.begin(intent())
    await ledger.release(first, maybe_sent=False)

    second = await ledger.begin(intent())

    assert isinstance(second, Attempt)
    assert (second.seed, second.number, second.maybe_sent) == (first.seed, 2, False)


async def test_a_release_records_that_the_request_may_have_been_sent(ledger):
    await ledger.release(await ledger.begin(intent()), maybe_sent=True)

    second = await ledger.begin(intent())
    assert isinstance(second, Attempt)
    assert second.maybe_sent is True


async def test_a_crashed_try_is_taken_over_when_its_lease_is_over_and_not_before(process, clock):
    crashed = await process().begin(intent())
    other = process()

    clock.now += LEASE_MS - 1
    assert isinstance(await other.begin(intent()), InProgress)
    clock.now += 1
    taken = await other.begin(intent())

    assert isinstance(taken, Attempt)
    assert (taken.seed, taken.number, taken.maybe_sent) == (crashed.seed, 2, True)


async def test_a_live_process_renews_its_attempts(process, clock):
    ledger, other = process(), process()
    await ledger.begin(intent())
    for _ in range(10):
        clock.now += 5_000
        await ledger._leases.renew()

    assert isinstance(await other.begin(intent()), InProgress)


async def test_an_abandoned_attempt_is_not_renewed(ledger, clock):
    await ledger.abandon(await ledger.begin(intent()))
    clock.now += LEASE_MS
    await ledger._leases.renew()

    assert isinstance(await ledger.begin(intent()), Attempt)


async def test_only_one_of_concurrent_calls_takes_over(process, clock):
    await process().begin(intent())
    clock.now += LEASE_MS
    ledgers = [process() for _ in range(8)]

    begun = await asyncio.gather(*(ledger.begin(intent()) for ledger in ledgers))

    assert sorted(type(outcome).__name__ for outcome in begun) == ["Attempt"] + ["InProgress"] * 7


async def test_a_try_that_was_taken_over_can_neither_close_nor_renew_the_later_one(process, clock):
    slow, other = process(), process()
    first = await slow.begin(intent())
    clock.now += LEASE_MS
    await other.begin(intent())

    await slow.complete(first, SENT)

    assert isinstance(await other.begin(intent()), InProgress)
    clock.now += LEASE_MS
    await slow._leases.renew()
    assert isinstance(await other.begin(intent()), Attempt)


async def test_a_later_attempt_knows_the_draft_of_an_earlier_one(process, clock):
    first_process, other = process(), process()
    first = await first_process.begin(intent())
    assert await first_process.store_draft(first, "1:r1")
    assert await first_process.store_draft(first, "2:r2")
    clock.now += LEASE_MS

    second = await other.begin(intent())

    assert (first.draft, second.draft) == (None, "2:r2")
    assert not await first_process.store_draft(first, "1:r3")
    assert await other.store_draft(second, None)
    clock.now += LEASE_MS
    assert (await first_process.begin(intent())).draft is None


async def test_a_draft_that_is_stored_during_a_take_over_is_known(process, clock, monkeypatch):
    slow, other = process(), process()
    first = await slow.begin(intent())
    clock.now += LEASE_MS
    read = other._read

    async def read_then_stored(*arguments):
        entry = await read(*arguments)
        assert await slow.store_draft(first, "1:r1")
        return entry

    monkeypatch.setattr(other, "_read", read_then_stored)

    assert (await other.begin(intent())).draft == "1:r1"


async def test_a_draft_that_cannot_be_stored_is_a_refusal(ledger, database, monkeypatch):
    first = await ledger.begin(intent())

    async def unavailable(_statement):
        raise StorageUnavailable

    monkeypatch.setattr(database, "execute", unavailable)

    with pytest.raises(Overloaded):
        await ledger.store_draft(first, "1:r1")


async def test_an_entry_expires_after_24_hours(ledger, clock):
    first = await ledger.begin(intent())
    await ledger.complete(first, SENT)
    clock.now += RETENTION_MS - 1
    assert isinstance(await ledger.begin(intent()), Completed)
    clock.now += 1

    again = await ledger.begin(intent(fingerprint=b"g" * 32))

    assert isinstance(again, Attempt)
    assert (again.number, again.maybe_sent) == (1, False)
    assert again.seed != first.seed


async def test_cleanup_deletes_expired_intents_and_not_running_ones(ledger, clock):
    await ledger.complete(await ledger.begin(intent(key="old")), SENT)
    await ledger.begin(intent(key="long upload"))
    clock.now += RETENTION_MS
    await ledger._leases.renew()
    await ledger.complete(await ledger.begin(intent(key="new")), SENT)

    assert await ledger.sweep() == 1
    assert isinstance(await ledger.begin(intent(key="long upload")), InProgress)
    assert isinstance(await ledger.begin(intent(key="new")), Completed)


async def test_cleanup_deletes_only_what_a_newer_entry_confirms(ledger, clock):
    """A wrong clock alone, such as that of a process at its start, deletes nothing."""
    await ledger.complete(await ledger.begin(intent(key="old")), SENT)
    clock.now += RETENTION_MS - 1
    await ledger.complete(await ledger.begin(intent(key="new")), SENT)
    clock.now += RETENTION_MS
    assert await ledger.sweep() == 0

    await ledger.complete(await ledger.begin(intent(key="newest")), SENT)
    assert await ledger.sweep() == 2


async def test_nothing_is_taken_over_or_deleted_while_the_clock_is_not_trusted(
    process, clock, database
):
    await process().begin(intent())
    await process().complete(await process().begin(intent(key="done")), SENT)
    clock.now += RETENTION_MS
    await process().begin(intent(key="new"))
    database.clock.of_server, database.clock.agrees = True, False

    assert isinstance(await process().begin(intent()), InProgress)
    assert isinstance(await process().begin(intent(key="done")), Completed)
    assert await process().sweep() == 0


@pytest.mark.parametrize(
    ("ahead", "outcome"), [(2 * LEASE_MS, InProgress), (2 * LEASE_MS + 1, Attempt)]
)
async def test_a_lease_beyond_twice_its_term_is_free(process, clock, ahead, outcome):
    """A process whose clock was wrong stored it."""
    await process().begin(intent())
    clock.now -= ahead - LEASE_MS

    assert isinstance(await process().begin(intent()), outcome)


FORMER = {"former_path": "/api/access/email/messages/%73end", "former_fingerprint": b"o" * 32}


@pytest.mark.parametrize("path", [FORMER["former_path"], intent().path], ids=["raw", "the same"])
async def test_an_entry_of_an_earlier_version_is_recognized(ledger, path):
    earlier = intent(path=path, fingerprint=FORMER["former_fingerprint"])
    await ledger.complete(await ledger.begin(earlier), SENT)

    retried = await ledger.begin(intent(**FORMER))
    other = await ledger.begin(intent(**{**FORMER, "former_fingerprint": b"n" * 32}))

    assert isinstance(retried, Completed)
    assert (retried.response, retried.response.kept_result) == (SENT, b"")
    assert isinstance(other, KeyReused)


async def test_an_entry_has_the_effect_and_the_view_of_its_run(ledger):
    stored = RestResponse(status=200, body=b"{}", kept_result=b'{"members":{}}', view=b"v" * 32)
    await ledger.complete(await ledger.begin(intent(**FORMER)), stored)

    assert (await ledger.begin(intent(**FORMER))).response == stored


# -- an attempt is confirmed before each call with an effect


@pytest.fixture
def uptime(monkeypatch):
    """The clock that goes on while a machine is suspended, moved by hand."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(timestamps, "uptime", lambda: clock.now)
    return clock


async def test_a_fresh_attempt_is_confirmed_without_the_database(ledger, uptime, monkeypatch):
    attempt = await ledger.begin(intent())
    monkeypatch.setattr(ledger._leases, "_database", None)
    uptime.now += CONFIRMED_SECONDS - 0.1

    assert await ledger.confirm(attempt)


async def test_an_old_attempt_is_confirmed_by_renewing_its_lease(process, clock, uptime):
    ledger, other = process(), process()
    attempt = await ledger.begin(intent())
    uptime.now += 3600
    clock.now += 3_600_000

    assert await ledger.confirm(attempt)
    assert isinstance(await other.begin(intent()), InProgress)


async def test_an_attempt_that_was_taken_over_is_not_confirmed(process, clock, uptime):
    """A process stood still for longer than its lease, while another one ran the intent."""
    suspended, other = process(), process()
    attempt = await suspended.begin(intent())
    uptime.now += LEASE_MS / 1000 + 1
    clock.now += LEASE_MS + 1000
    taken_over = await other.begin(intent())

    assert isinstance(taken_over, Attempt)
    await suspended._leases.renew()
    assert not await suspended.confirm(attempt)
    assert await other.confirm(taken_over)


async def test_an_attempt_that_was_completed_elsewhere_is_not_confirmed(process, clock, uptime):
    suspended, other = process(), process()
    attempt = await suspended.begin(intent())
    uptime.now += LEASE_MS / 1000 + 1
    clock.now += LEASE_MS + 1000
    await other.complete(await other.begin(intent()), SENT)

    assert not await suspended.confirm(attempt)
    await suspended.complete(attempt, RestResponse(status=500, body=b"{}"))
    assert (await other.begin(intent())).response == SENT


async def test_an_attempt_is_not_confirmed_while_the_database_is_away(ledger, uptime, monkeypatch):
    attempt = await ledger.begin(intent())
    uptime.now += CONFIRMED_SECONDS

    async def away(_statement):
        raise StorageUnavailable

    monkeypatch.setattr(ledger._database, "execute", away)
    with pytest.raises(Overloaded):
        await ledger.confirm(attempt)


async def test_an_abandoned_attempt_is_not_confirmed(ledger, uptime):
    attempt = await ledger.begin(intent())
    await ledger.abandon(attempt)

    assert not await ledger.confirm(attempt)


def stand_still(ledger, monkeypatch, uptime, *, times):
    """Let the process stand still *times* times after a renewal, before it knows the answer."""
    execute, renewals = ledger._database.execute, []

    async def slow(statement):
        rows = await execute(statement)
        renewals.append(1)
        if len(renewals) <= times:
            uptime.now += CONFIRMED_SECONDS + 1
        return rows

    monkeypatch.setattr(ledger._database, "execute", slow)
    return renewals


async def test_a_renewal_that_is_known_too_late_is_repeated(ledger, uptime, monkeypatch):
    """The process still holds the key: a refusal would be stored as the answer for ever."""
    attempt = await ledger.begin(intent())
    uptime.now += CONFIRMED_SECONDS
    renewals = stand_still(ledger, monkeypatch, uptime, times=1)

    assert await ledger.confirm(attempt)
    assert len(renewals) == 2


async def test_renewals_that_are_all_known_too_late_are_an_overload(
    ledger, uptime, monkeypatch, caplog
):
    attempt = await ledger.begin(intent())
    uptime.now += CONFIRMED_SECONDS
    renewals = stand_still(ledger, monkeypatch, uptime, times=100)

    with pytest.raises(Overloaded):
        await ledger.confirm(attempt)
    assert len(renewals) == MAX_RENEWALS
    assert caplog.messages == [
        "an idempotent call was not confirmed: each renewal was known too late"
    ]


async def test_a_renewal_that_began_earlier_does_not_shorten_a_later_one(
    ledger, uptime, monkeypatch
):
    attempt = await ledger.begin(intent())
    execute, inner = ledger._database.execute, []

    async def overtaken(statement):
        rows = await execute(statement)
        if not inner:
            inner.append(1)
            uptime.now += CONFIRMED_SECONDS
            assert await ledger.confirm(attempt)
        return rows

    monkeypatch.setattr(ledger._database, "execute", overtaken)
    await ledger._leases.renew()
    monkeypatch.setattr(ledger._leases, "_database", None)

    assert await ledger.confirm(attempt)


async def test_the_answer_of_a_refused_attempt_is_never_kept(ledger, clock, caplog):
    """A key ends: the next attempt begins when the lease of the refused one is over."""
    attempt = await ledger.begin(intent())
    ledger._leases._running.clear()  # whatever refuses an attempt whose row still names it

    assert not await ledger.confirm(attempt)
    await ledger.complete(attempt, RestResponse(status=409, body=b"{}"))
    assert isinstance(await ledger.begin(intent()), InProgress)
    clock.now += LEASE_MS
    retry = await ledger.begin(intent())
    assert (retry.number, retry.maybe_sent) == (2, True)
    assert await ledger.confirm(retry)
    await ledger.complete(retry, SENT)
    assert (await ledger.begin(intent())).response == SENT
    assert caplog.messages == ["an idempotent call was refused: the attempt has ended (attempt 1)"]
    assert not ledger._leases._lost
