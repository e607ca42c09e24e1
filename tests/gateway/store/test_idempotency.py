"""One request at a time runs an intent, and no other one while it may still be running."""

import asyncio
import os

import pytest
from sqlalchemy import delete, text

from gateway.secrets.keyring import Keyring
from gateway.store.database import Database
from gateway.store.idempotency import LEASE_MS, RETENTION_MS, IdempotencyStore
from gateway.store.tables import AccessToken
from rest_compat.ledger import Attempt, Completed, InProgress, Intent, KeyReused
from rest_compat.ports import Problem
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
async def database(request, tmp_path):
    embedded = f"sqlite+aiosqlite:///{tmp_path}/gateway.db"
    database = Database.open(embedded if request.param == "sqlite" else POSTGRES)
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

    with pytest.raises(Problem) as problem:
        await rekeyed.begin(intent())

    assert problem.value.extensions == {"code": "OUTCOME_UNKNOWN", "httpStatus": 504}


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
        await ledger.renew()

    assert isinstance(await other.begin(intent()), InProgress)


async def test_an_abandoned_attempt_is_not_renewed(ledger, clock):
    await ledger.abandon(await ledger.begin(intent()))
    clock.now += LEASE_MS
    await ledger.renew()

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
    await slow.renew()
    assert isinstance(await other.begin(intent()), Attempt)


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
    await ledger.renew()
    await ledger.complete(await ledger.begin(intent(key="new")), SENT)

    assert await ledger.sweep() == 1
    assert isinstance(await ledger.begin(intent(key="long upload")), InProgress)
    assert isinstance(await ledger.begin(intent(key="new")), Completed)
