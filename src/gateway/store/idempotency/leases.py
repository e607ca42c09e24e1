"""
Leases of the attempts that this process runs.

When may another request take over an attempt that never ended? Only when that attempt can no longer
be running, here or upstream. A lease of 35 seconds holds a running entry: 30 seconds that a call to
a provider may last, and 5 seconds of clock difference. A live process renews the leases of its
running attempts every 3 seconds. So after a crash, requests with the same key get a 409 until 35
seconds after the last renewal: every upstream call of the dead process is over by then, and looking
the message up gives the final state. The rule is the same for a process that was killed, one that
hangs, and one on another machine: the time is the database's.

A process may also stand still and go on later, or renew nothing because the database does not
answer. Directly before each upstream call with an effect, the attempt is therefore confirmed: its
lease outlasts the call, by a clock that runs while the machine is suspended, or is renewed first.
See docs/spec/idempotency.md#crash-and-lease.
"""

import logging
from collections.abc import Sequence

from sqlalchemy import tuple_, update
from sqlmodel import col

from gateway.errors import Overloaded
from gateway.store import timestamps
from gateway.store.background import PeriodicTask
from gateway.store.clock import StatementClock
from gateway.store.conflicts import retried
from gateway.store.database import Database, StorageUnavailable
from gateway.store.tables import IdempotencyRow
from rest_compat.ledger import Attempt

LEASE_MS = 35_000  # see above
CALL_SECONDS = 30.0  # that an upstream call lasts at most
CONFIRMED_SECONDS = LEASE_MS / 1000 - CALL_SECONDS - 1.0  # from a renewal to the last call's start
RENEWAL_SECONDS = 3.0
MAX_RENEWALS = 5  # of one confirmation

RUNNING = "running"  # state of an entry whose attempt holds a lease

log = logging.getLogger("gateway")

Holder = tuple[int, int]  # id of the entry, number of the attempt


class AttemptLeases:
    """Confirms and renews the leases that `IdempotencyStore` takes. One per process."""

    def __init__(self, database: Database, clock: StatementClock) -> None:
        self._database = database
        self._now = clock
        # Until when an upstream call of an attempt may begin, by `uptime`.
        self._running: dict[Holder, float] = {}
        self._lost: set[Holder] = set()  # were refused, so their responses are not kept

    @property
    def task(self) -> PeriodicTask:
        """The renewal of the leases."""
        return PeriodicTask(
            name="idempotency_leases",
            work=self.renew,
            pause_seconds=RENEWAL_SECONDS,
            first_pause_seconds=0,
            failure_message="leases could not be renewed",
        )

    def add(self, attempt: Attempt, *, taken_at: float) -> None:
        """Hold the lease of *attempt*, which was stored after *taken_at*, by `uptime`."""
        self._running[_holder(attempt)] = taken_at + CONFIRMED_SECONDS

    def abandon(self, attempt: Attempt) -> None:
        """Stop renewing the lease, so that another request can take the entry over."""
        self._running.pop(_holder(attempt), None)
        self._lost.discard(_holder(attempt))

    def lose(self, attempt: Attempt, cause: str) -> None:
        """Note that *attempt* may not go on."""
        log.warning("an idempotent call was refused: %s (attempt %d)", cause, attempt.number)
        self._lost.add(_holder(attempt))

    def is_lost(self, attempt: Attempt) -> bool:
        """Return whether *attempt* was refused."""
        return _holder(attempt) in self._lost

    async def confirm(self, attempt: Attempt) -> bool:
        """
        Return whether an upstream call that begins now ends before the lease of *attempt* does.

        A lease that was renewed too long ago is renewed first, unless the attempt was taken over.
        A renewal that is known too late, as the process stood still meanwhile, is repeated.

        Raises:
            Overloaded: The database did not answer, or too late each time.
        """
        holder = _holder(attempt)
        if holder not in self._running:
            self.lose(attempt, "the attempt has ended")
            return False
        try:
            for _ in range(MAX_RENEWALS):
                if self._is_confirmed(holder):
                    return True
                if holder not in await self._renew([holder]):
                    self.lose(attempt, "its lease was taken over")
                    return False
        except StorageUnavailable as failure:
            raise Overloaded from failure
        if self._is_confirmed(holder):
            return True
        log.warning("an idempotent call was not confirmed: each renewal was known too late")
        raise Overloaded

    async def renew(self) -> None:
        """Extend the lease of every running attempt of this process."""
        if self._running:
            await self._renew(list(self._running))

    def _is_confirmed(self, holder: Holder) -> bool:
        return timestamps.uptime() < self._running.get(holder, 0.0)

    @retried
    async def _renew(self, holders: Sequence[Holder]) -> set[Holder]:
        """Extend the leases of those *holders* that were not taken over; return these."""
        holder = tuple_(col(IdempotencyRow.id), col(IdempotencyRow.attempt))
        began = timestamps.uptime()
        renewed = await self._database.execute(
            update(IdempotencyRow)
            .where(holder.in_(holders), col(IdempotencyRow.state) == RUNNING)
            .values(lease_until=self._now() + LEASE_MS)
            .returning(col(IdempotencyRow.id), col(IdempotencyRow.attempt))
        )
        held = {(row[0], row[1]) for row in renewed}
        for key in held & self._running.keys():  # another renewal may have begun later
            self._running[key] = max(self._running[key], began + CONFIRMED_SECONDS)
        return held


def _holder(attempt: Attempt) -> Holder:
    return int(attempt.entry_id), attempt.number
