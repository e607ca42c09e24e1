"""
The ledger of intents in the database; see `rest_compat.ledger` for what is promised.

When may a try that never ended be taken over? Only when it can no longer be at work, here or
upstream. A running entry is held by a lease of 35 seconds: the 30 seconds that a call to a provider
may last, and 5 to spare for clocks. A living process renews the leases of its running tries every
5 seconds. So after a crash the next call with the key waits (409) until 35 seconds after the last
sign of life: every call that the dead process had made upstream is over by then, and looking the
message up tells the truth. The rule is the same for a process that was killed, one that hangs, and
one on another machine; clocks of machines that share a database must agree within 5 seconds.

Every step is one statement that compares and sets, so that two processes never run one intent.
"""

import asyncio
import hashlib
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import msgspec
from sqlalchemy import delete, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col

from gateway.secrets.keyring import Keyring, place
from gateway.store.background import running_tasks
from gateway.store.database import Database, StorageUnavailable
from gateway.store.tables import IdempotencyRow
from gateway.store.timestamps import now_ms
from policy.vocabulary import Code
from rest_compat.ledger import Attempt, Completed, InProgress, Intent, KeyReused
from rest_compat.ports import Problem
from rest_compat.responses import RestResponse

KEPT = 24 * 3600 * 1000  # milliseconds; decisions 5.9
LEASE = 35_000  # milliseconds; see above
RENEWAL = 5.0  # seconds between signs of life
SWEEP = 600.0  # seconds between looks for entries past their time
LONGEST_PATH = 2000  # characters that the table takes; longer ones are kept as their digest

RUNNING, DONE, FREE = "running", "done", "free"

log = logging.getLogger("gateway")


class _Outcome(msgspec.Struct, array_like=True):
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    upload_digest: bytes = b""  # rows of earlier versions have none


class IdempotencyStore:
    """`rest_compat.ledger.Ledger` over the table `deliveries`."""

    def __init__(
        self, database: Database, keyring: Keyring, *, clock: Callable[[], int] = now_ms
    ) -> None:
        """*clock* gives milliseconds since the epoch."""
        self._database = database
        self._keyring = keyring
        self._clock = clock
        self._running = set[tuple[int, int]]()  # row id and attempt of this process's tries

    async def begin(self, intent: Intent) -> Attempt | Completed | InProgress | KeyReused:
        """
        Commit that *intent* is being run now, or say why it must not be.

        Raises:
            Problem: 503: the database did not answer, so nothing may be sent. 504: the kept
                answer cannot be opened.
        """
        try:
            while True:
                begun = await self._insert(intent) or await self._meet(intent)
                if begun is not None:
                    return begun
        except StorageUnavailable as failure:
            raise Problem(
                "The service is overloaded. Try again shortly.",
                {"code": Code.OVERLOADED, "httpStatus": 503},
            ) from failure

    async def complete(self, begun: Attempt, answer: RestResponse) -> None:
        """Keep *answer*, sealed for its row."""
        row = _number(begun)
        outcome = _Outcome(answer.status, answer.headers, answer.body, answer.upload_digest)
        plain = msgspec.msgpack.encode(outcome)
        sealed = self._keyring.encrypt(plain, place=place("deliveries", row, "outcome"))
        await self._close(begun, state=DONE, outcome=sealed)

    async def release(self, begun: Attempt, *, maybe_sent: bool) -> None:
        """Let the next call with the key run the intent again, under the same seed."""
        await self._close(begun, state=FREE, maybe_sent=maybe_sent)

    async def abandon(self, begun: Attempt) -> None:
        """Renew the lease no longer; the entry can be taken over when it ends."""
        self._running.discard((_number(begun), begun.number))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Renew the leases of this process's tries and sweep old entries, meanwhile."""
        async with running_tasks(self._watch()):
            yield

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        sweep_at = loop.time()
        while True:
            try:
                await self.renew()
                if loop.time() >= sweep_at:
                    sweep_at = loop.time() + SWEEP
                    await self.sweep()
            except Exception as failure:  # noqa: BLE001 - whatever it was, the next round may do
                log.warning("leases could not be renewed", extra={"kind": type(failure).__name__})
            await asyncio.sleep(RENEWAL)

    async def renew(self) -> None:
        """Give every running try of this process a fresh lease."""
        if not self._running:
            return
        tries = tuple_(col(IdempotencyRow.id), col(IdempotencyRow.attempt))
        async with self._database.writing() as session:
            await session.exec(
                update(IdempotencyRow)
                .where(tries.in_(list(self._running)), col(IdempotencyRow.state) == RUNNING)
                .values(lease_until=self._clock() + LEASE)
            )

    async def sweep(self) -> int:
        """Delete the entries past their time; return how many."""
        now = self._clock()
        async with self._database.writing() as session:
            gone = await session.exec(
                delete(IdempotencyRow).where(
                    col(IdempotencyRow.started_at) <= now - KEPT,
                    col(IdempotencyRow.lease_until) <= now,
                )
            )
        return gone.rowcount

    async def _insert(self, intent: Intent) -> Attempt | None:
        """Commit a first try; None when there is an entry already."""
        now = self._clock()
        seed = secrets.token_hex(16)
        fresh = {
            "token_id": intent.token_id,
            "method": intent.method,
            "path": _path(intent),
            "key": intent.key,
            "fingerprint": intent.fingerprint,
            "state": RUNNING,
            "seed": seed,
            "attempt": 1,
            "maybe_sent": False,
            "lease_until": now + LEASE,
            "started_at": now,
        }
        async with self._database.writing() as session:
            insert = (
                sqlite.insert(IdempotencyRow)
                if self._database.path is not None
                else postgresql.insert(IdempotencyRow)
            )
            row = await session.scalar(
                insert.values(fresh).on_conflict_do_nothing().returning(col(IdempotencyRow.id))
            )
        if row is None:
            return None
        return self._begun(row, attempt=1, seed=seed, maybe_sent=False)

    async def _meet(self, intent: Intent) -> Attempt | Completed | InProgress | KeyReused | None:
        """Deal with the entry that is there; None when it went away or moved meanwhile."""
        entry = await self._read(intent)
        if entry is None:
            return None
        now = self._clock()
        if entry.started_at <= now - KEPT and entry.lease_until <= now:
            await self._forget(entry)
            return None
        if not secrets.compare_digest(entry.fingerprint, intent.fingerprint):
            return KeyReused()
        if entry.state == DONE:
            return Completed(answer=self._open(entry))
        if entry.state == RUNNING and entry.lease_until > now:
            return InProgress()
        return await self._take_over(entry, now)

    async def _take_over(self, entry: IdempotencyRow, now: int) -> Attempt | None:
        """Run an entry again whose last try crashed or came to nothing."""
        maybe_sent = bool(entry.maybe_sent) or entry.state == RUNNING
        attempt = entry.attempt + 1
        async with self._database.writing() as session:
            taken = await session.scalar(
                update(IdempotencyRow)
                .where(
                    col(IdempotencyRow.id) == entry.id,
                    col(IdempotencyRow.attempt) == entry.attempt,
                    col(IdempotencyRow.state) == entry.state,
                    col(IdempotencyRow.lease_until) == entry.lease_until,
                )
                .values(
                    state=RUNNING, attempt=attempt, maybe_sent=maybe_sent, lease_until=now + LEASE
                )
                .returning(col(IdempotencyRow.id))
            )
        if taken is None:
            return None
        return self._begun(entry.id, attempt=attempt, seed=entry.seed, maybe_sent=maybe_sent)

    async def _read(self, intent: Intent) -> IdempotencyRow | None:
        async with self._database.writing() as session:  # a reader may lag behind on PostgreSQL
            return await session.scalar(
                select(IdempotencyRow).where(
                    col(IdempotencyRow.token_id) == intent.token_id,
                    col(IdempotencyRow.method) == intent.method,
                    col(IdempotencyRow.path) == _path(intent),
                    col(IdempotencyRow.key) == intent.key,
                )
            )

    async def _forget(self, entry: IdempotencyRow) -> None:
        async with self._database.writing() as session:
            await session.exec(
                delete(IdempotencyRow).where(
                    col(IdempotencyRow.id) == entry.id,
                    col(IdempotencyRow.lease_until) == entry.lease_until,
                )
            )

    async def _close(self, begun: Attempt, **values: object) -> None:
        """
        End a try, unless it was taken over meanwhile.

        A database that does not answer leaves the entry to its lease: the effect has happened, so
        its answer is given all the same, and a retry will look the effect up.
        """
        try:
            await self._end(begun, values)
        except StorageUnavailable:
            log.warning("the end of an idempotent call could not be stored")
        await self.abandon(begun)

    async def _end(self, begun: Attempt, values: Mapping[str, object]) -> None:
        row = _number(begun)
        async with self._database.writing() as session:
            await session.exec(
                update(IdempotencyRow)
                .where(
                    col(IdempotencyRow.id) == row,
                    col(IdempotencyRow.attempt) == begun.number,
                    col(IdempotencyRow.state) == RUNNING,
                )
                .values(lease_until=self._clock(), **values)
            )

    def _begun(self, row: int | None, *, attempt: int, seed: str, maybe_sent: bool) -> Attempt:
        if row is None:
            raise RuntimeError("a stored row has an id")
        self._running.add((row, attempt))
        return Attempt(entry_id=str(row), number=attempt, seed=seed, maybe_sent=maybe_sent)

    def _open(self, entry: IdempotencyRow) -> RestResponse:
        if entry.id is None or entry.outcome is None:
            raise RuntimeError("a finished entry has an id and an outcome")
        try:
            plain = self._keyring.decrypt(
                entry.outcome, place=place("deliveries", entry.id, "outcome")
            )
        except ValueError as damage:  # its key has left the ring: never send again for that
            raise Problem(
                "The answer kept under this Idempotency-Key can no longer be read.",
                {"code": Code.OUTCOME_UNKNOWN, "httpStatus": 504},
            ) from damage
        return RestResponse(**msgspec.structs.asdict(msgspec.msgpack.decode(plain, type=_Outcome)))


def _number(begun: Attempt) -> int:
    return int(begun.entry_id)


def _path(intent: Intent) -> str:
    if len(intent.path) <= LONGEST_PATH:
        return intent.path
    return "sha256:" + hashlib.sha256(intent.path.encode()).hexdigest()
