"""Leases and the deletion of old rows go by one clock, and by none that jumped or disagrees."""

import pytest
from sqlalchemy import text

from gateway.app import assemble
from gateway.audit.chain import DAY_MS
from gateway.audit.retention import Retention
from gateway.errors import CommandError
from gateway.store import clock_check
from gateway.store.clock import DISTRUST_SECONDS, MAX_DIFFERENCE_MS, DatabaseClock
from gateway.store.clock_check import ClockCheck
from gateway.store.database import TransactionConflict
from gateway.store.leases import MAX_LEASE_SECONDS, Leases
from gateway.store.tables import DecisionRow, LeaseRow

TERM_MS = round(MAX_LEASE_SECONDS * 1000)


class Machine:
    """The two clocks of a machine, moved by hand."""

    def __init__(self):
        self.wall_ms, self.seconds = 1_700_000_000_000, 500.0

    def wait(self, seconds):
        self.seconds += seconds
        self.wall_ms += round(seconds * 1000)

    def wall(self):
        return self.wall_ms

    def clock(self, *, of_server=False):
        return DatabaseClock(of_server=of_server, wall=self.wall, steady=lambda: self.seconds)


@pytest.fixture
def machine():
    return Machine()


def test_time_that_passes_is_no_jump(machine):
    clock = machine.clock()
    for _ in range(3):
        machine.wait(31 * 24 * 3600)
        assert clock.is_trusted


@pytest.mark.parametrize("seconds", [40, -40, -60, 25 * 3600, 31 * 24 * 3600])
def test_a_clock_that_jumped_is_not_trusted_until_every_holder_has_renewed(machine, seconds):
    clock = machine.clock()
    machine.wall_ms += seconds * 1000
    assert not clock.is_trusted
    machine.wait(DISTRUST_SECONDS - 0.1)
    assert not clock.is_trusted
    machine.wait(0.1)
    assert clock.is_trusted


def test_a_small_correction_of_the_clock_is_no_jump(machine):
    clock = machine.clock()
    machine.wall_ms += MAX_DIFFERENCE_MS
    assert clock.is_trusted


async def test_no_lease_is_taken_over_after_a_jump(database, machine):
    database.clock = machine.clock()
    leases = Leases(database)
    assert await leases._take("refresh:7", "holder")
    machine.wall_ms += 25 * 3600 * 1000

    assert not await leases._take("refresh:7", "another")
    assert not await leases.take_turn("hourly sweep", 3600)
    assert await leases._take("refresh:8", "holder")  # nobody has it
    machine.wait(DISTRUST_SECONDS)
    assert await leases._take("refresh:7", "another")
    assert await leases.take_turn("hourly sweep", 3600)


@pytest.mark.parametrize(("ahead_ms", "free"), [(2 * TERM_MS, False), (2 * TERM_MS + 1, True)])
async def test_a_lease_beyond_twice_its_term_is_free(database, machine, ahead_ms, free):
    async with database.writing() as session:
        session.add(LeaseRow(name="refresh:6", holder="gone", until=machine.wall_ms + ahead_ms))

    assert await Leases(database, clock=machine.wall)._take("refresh:6", "another") is free


def decision(at):
    members = dict.fromkeys(DecisionRow.model_fields) | {
        "at": at, "request_id": f"{at}", "token_id": 1, "operator_id": "o", "door": "rest",
        "outcome": "allowed", "status": 200, "policy_rev": 1, "hidden_fields": 0, "cost": 1,
        "duration": 1, "upstream_calls": 0, "chain": "c", "number": at, "signature": "s",
    }  # fmt: skip
    return DecisionRow(**members)


async def count(database):
    async with database.reading() as session:
        return await session.scalar(text("SELECT count(*) FROM decisions"))


async def test_old_decisions_are_deleted_only_when_a_newer_one_confirms_their_age(
    database, machine
):
    first_day = machine.wall_ms - machine.wall_ms % DAY_MS
    month_later = first_day + 31 * DAY_MS
    retention = Retention(database, days=30, clock=lambda: month_later)
    async with database.writing() as session:
        session.add_all(decision(first_day + number) for number in range(3))
    assert await retention.drop() == 0

    async with database.writing() as session:
        session.add(decision(month_later - 1))
    assert await retention.drop() == 0
    async with database.writing() as session:
        session.add(decision(month_later))
    database.clock.agrees, database.clock.of_server = False, True
    assert await retention.drop() == 0
    database.clock.of_server = False
    assert await retention.drop() == 3
    assert await count(database) == 2


# -- the comparison with the database's clock


@pytest.fixture
def server_clock(database, machine, monkeypatch):
    """Let *database* have a clock of its own, which *machine* has the time of at first."""
    database.clock = machine.clock(of_server=True)
    moment = machine.wall_ms
    monkeypatch.setattr(database.clock, "now", lambda: moment, raising=False)
    return database.clock


@pytest.mark.parametrize(
    ("ahead_ms", "sentence"),
    [
        (40_000, "40.0 seconds ahead of"),
        (-40_000, "40.0 seconds behind"),
        (-5_001, "5.0 seconds behind"),
        (31 * DAY_MS, "2678400.0 seconds ahead of"),
    ],
)
async def test_a_process_with_a_wrong_clock_does_not_start(
    database, machine, server_clock, ahead_ms, sentence
):
    machine.wall_ms += ahead_ms
    with pytest.raises(CommandError) as refusal:
        await ClockCheck(database, clock=machine.wall).require_agreement()

    assert str(refusal.value) == (
        f"The clock of this machine is {sentence} the database's; at most 5 are allowed. "
        "Set it by NTP."
    )


@pytest.mark.parametrize("ahead_ms", [5000, 0, -5000])
async def test_clocks_may_differ_by_five_seconds(database, machine, server_clock, ahead_ms):
    machine.wall_ms += ahead_ms
    await ClockCheck(database, clock=machine.wall).require_agreement()
    assert server_clock.agrees


async def test_a_process_whose_clock_goes_wrong_takes_nothing_over_until_it_is_right(
    database, machine, server_clock, caplog
):
    check, leases = ClockCheck(database, clock=machine.wall), Leases(database, clock=machine.wall)
    async with database.writing() as session:
        session.add(LeaseRow(name="refresh:6", holder="gone", until=0))
    machine.wall_ms += 40_000
    await check.watch()
    await check.watch()
    assert not server_clock.is_trusted
    assert not await leases._take("refresh:6", "another")
    assert caplog.messages == ["the clock differs from the database's"]

    machine.wall_ms -= 40_000
    await check.watch()
    assert server_clock.is_trusted
    assert await leases._take("refresh:6", "another")


async def test_a_machine_alone_compares_nothing(database, machine):
    assert await ClockCheck(database, clock=lambda: 0).compare() == 0.0
    await ClockCheck(database, clock=lambda: 0).require_agreement()


async def test_a_worker_with_a_wrong_clock_names_it_in_its_log(settings, monkeypatch, caplog):
    async def compare(self):
        self._database.clock.agrees = False
        return 7_000.0

    monkeypatch.setattr(clock_check.ClockCheck, "compare", compare)
    with pytest.raises(CommandError):
        async with assemble(settings).running():
            pass

    assert caplog.messages[0].startswith("The clock of this machine is 7.0 seconds ahead of")


async def test_a_lease_whose_taking_is_not_known_to_be_stored_is_held(database, monkeypatch):
    execute, lost = database.execute, []

    async def lose_the_first_response(statement):
        rows = await execute(statement)
        if not lost:
            lost.append(rows)
            raise TransactionConflict
        return rows

    monkeypatch.setattr(database, "execute", lose_the_first_response)

    assert await Leases(database)._take("refresh:6", "this process")
    assert lost == [[("refresh:6",)]]
    assert not await Leases(database)._take("refresh:6", "another")
