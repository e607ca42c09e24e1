"""
Idempotency keys in the database; `rest_compat.ledger` states the contract.

When may another request take over an attempt that never ended? Only when that attempt can no longer
be running, here or upstream. A lease of 35 seconds holds a running entry: 30 seconds that a call to
a provider may last, and 5 seconds of clock difference. A live process renews the leases of its
running attempts every 5 seconds. So after a crash, requests with the same key get a 409 until 35
seconds after the last renewal: every upstream call of the dead process is over by then, and looking
the message up gives the final state. The rule is the same for a process that was killed, one that
hangs, and one on another machine; the clocks of machines that share a database must agree within 5
seconds.

Every step is one compare-and-set statement, so that two processes never run one intent.
See docs/spec/idempotency.md#crash-and-lease.
"""

import asyncio
import hashlib
import logging
import secrets
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

import msgspec
from sqlalchemy import delete, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import col

from gateway.secrets.keyring import Keyring, place
from gateway.store.background import running_tasks
from gateway.store.database import Database, StorageUnavailable
from gateway.store.tables import IdempotencyRow
from gateway.store.timestamps import ClockMs, now_ms
from policy.vocabulary import Code
from rest_compat.ledger import Attempt, Completed, InProgress, Intent, KeyReused
from rest_compat.ports import Problem
from rest_compat.responses import RestResponse

RETENTION_MS = 24 * 3600 * 1000  # docs/spec/idempotency.md#what-is-kept
LEASE_MS = 35_000  # see above
RENEWAL_SECONDS = 5.0
SWEEP_SECONDS = 600.0
MAX_PATH = 2000  # characters, the size of the column; a longer path is stored as its digest

RUNNING, DONE, FREE = "running", "done", "free"

log = logging.getLogger("gateway")


class _Outcome(msgspec.Struct, array_like=True):
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    upload_digest: bytes = b""  # missing in rows of earlier versions


class IdempotencyStore:
    """`rest_compat.ledger.Ledger` over the table `deliveries`."""

    def __init__(self, database: Database, keyring: Keyring, *, clock: ClockMs = now_ms) -> None:
        self._database = database
        self._keyring = keyring
        self._clock = clock
        self._running = set[tuple[int, int]]()  # (row id, attempt) of this process

    async def begin(self, intent: Intent) -> Attempt | Completed | InProgress | KeyReused:
        """
        Store that *intent* runs now, or return why it must not run.

        Raises:
            Problem: 503: the database did not answer, so nothing may be sent. 504: the stored
                response cannot be decrypted.
        """
        try:
            while True:
                result = await self._insert(intent) or await self._resolve(intent)
                if result is not None:
                    return result
        except StorageUnavailable as failure:
            raise Problem(
                "The service is overloaded. Try again shortly.",
                {"code": Code.OVERLOADED, "httpStatus": 503},
            ) from failure

    async def complete(self, attempt: Attempt, response: RestResponse) -> None:
        row = _row_id(attempt)
        outcome = _Outcome(response.status, response.headers, response.body, response.upload_digest)
        plain = msgspec.msgpack.encode(outcome)
        sealed = self._keyring.encrypt(plain, place=place("deliveries", row, "outcome"))
        await self._close(attempt, state=DONE, outcome=sealed)

    async def release(self, attempt: Attempt, *, maybe_sent: bool) -> None:
        """Let the next request with the key run the intent again, with the same seed."""
        await self._close(attempt, state=FREE, maybe_sent=maybe_sent)

    async def abandon(self, attempt: Attempt) -> None:
        """Stop renewing the lease; another request can take the entry over when it expires."""
        self._running.discard((_row_id(attempt), attempt.number))

    def running(self) -> AbstractAsyncContextManager[None]:
        """Renew the leases of running attempts and delete expired entries periodically."""
        return running_tasks(self._renew_and_sweep())

    async def _renew_and_sweep(self) -> None:
        loop = asyncio.get_running_loop()
        sweep_at = loop.time()
        while True:
            try:
                await self.renew()
                if loop.time() >= sweep_at:
                    sweep_at = loop.time() + SWEEP_SECONDS
                    await self.sweep()
            except Exception as failure:  # noqa: BLE001 - whatever it was, the next round may succeed
                log.warning("leases could not be renewed", extra={"kind": type(failure).__name__})
            await asyncio.sleep(RENEWAL_SECONDS)

    async def renew(self) -> None:
        """Extend the lease of every running attempt of this process."""
        if not self._running:
            return
        attempt = tuple_(col(IdempotencyRow.id), col(IdempotencyRow.attempt))
        async with self._database.writing() as session:
            await session.exec(
                update(IdempotencyRow)
                .where(attempt.in_(list(self._running)), col(IdempotencyRow.state) == RUNNING)
                .values(lease_until=self._clock() + LEASE_MS)
            )

    async def sweep(self) -> int:
        """Delete expired entries; return how many."""
        now = self._clock()
        async with self._database.writing() as session:
            deleted = await session.exec(
                delete(IdempotencyRow).where(
                    col(IdempotencyRow.started_at) <= now - RETENTION_MS,
                    col(IdempotencyRow.lease_until) <= now,
                )
            )
        return deleted.rowcount

    async def _insert(self, intent: Intent) -> Attempt | None:
        """Insert an entry with its first attempt; None when the key has an entry already."""
        now = self._clock()
        seed = secrets.token_hex(16)
        values = {
            "token_id": intent.token_id,
            "method": intent.method,
            "path": _path(intent),
            "key": intent.key,
            "fingerprint": intent.fingerprint,
            "state": RUNNING,
            "seed": seed,
            "attempt": 1,
            "maybe_sent": False,
            "lease_until": now + LEASE_MS,
            "started_at": now,
        }
        async with self._database.writing() as session:
            dialect = sqlite if self._database.path is not None else postgresql
            insert = dialect.insert(IdempotencyRow).values(values).on_conflict_do_nothing()
            row = await session.scalar(insert.returning(col(IdempotencyRow.id)))
        if row is None:
            return None
        return self._begun(row, attempt=1, seed=seed, maybe_sent=False)

    async def _resolve(self, intent: Intent) -> Attempt | Completed | InProgress | KeyReused | None:
        """Decide by the existing entry; None when it changed meanwhile: the caller must retry."""
        entry = await self._read(intent)
        if entry is None:
            return None
        now = self._clock()
        if entry.started_at <= now - RETENTION_MS and entry.lease_until <= now:
            await self._delete(entry)
            return None
        if not secrets.compare_digest(entry.fingerprint, intent.fingerprint):
            return KeyReused()
        if entry.state == DONE:
            return Completed(response=self._open(entry))
        if entry.state == RUNNING and entry.lease_until > now:
            return InProgress()
        return await self._take_over(entry, now)

    async def _take_over(self, entry: IdempotencyRow, now: int) -> Attempt | None:
        """Start the next attempt of an entry whose last one crashed or was released."""
        maybe_sent = bool(entry.maybe_sent) or entry.state == RUNNING
        attempt = entry.attempt + 1
        async with self._database.writing() as session:
            updated = await session.scalar(
                update(IdempotencyRow)
                .where(
                    col(IdempotencyRow.id) == entry.id,
                    col(IdempotencyRow.attempt) == entry.attempt,
                    col(IdempotencyRow.state) == entry.state,
                    col(IdempotencyRow.lease_until) == entry.lease_until,
                )
                .values(
                    state=RUNNING,
                    attempt=attempt,
                    maybe_sent=maybe_sent,
                    lease_until=now + LEASE_MS,
                )
                .returning(col(IdempotencyRow.id))
            )
        if updated is None:
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

    async def _delete(self, entry: IdempotencyRow) -> None:
        async with self._database.writing() as session:
            await session.exec(
                delete(IdempotencyRow).where(
                    col(IdempotencyRow.id) == entry.id,
                    col(IdempotencyRow.lease_until) == entry.lease_until,
                )
            )

    async def _close(self, attempt: Attempt, **values: object) -> None:
        """
        End an attempt, unless it was taken over.

        If the database does not answer, the entry stays until its lease expires: the operation has
        happened, so the caller still gets its response, and a retry looks the effect up.
        """
        try:
            await self._update(attempt, values)
        except StorageUnavailable:
            log.warning("the end of an idempotent call could not be stored")
        await self.abandon(attempt)

    async def _update(self, attempt: Attempt, values: Mapping[str, object]) -> None:
        ended = (
            update(IdempotencyRow)
            .where(
                col(IdempotencyRow.id) == _row_id(attempt),
                col(IdempotencyRow.attempt) == attempt.number,
                col(IdempotencyRow.state) == RUNNING,
            )
            .values(lease_until=self._clock(), **values)
        )
        async with self._database.writing() as session:
            await session.exec(ended)

    def _begun(self, row: int | None, *, attempt: int, seed: str, maybe_sent: bool) -> Attempt:
        if row is None:
            raise RuntimeError("a stored row has an id")
        self._running.add((row, attempt))
        return Attempt(entry_id=str(row), number=attempt, seed=seed, maybe_sent=maybe_sent)

    def _open(self, entry: IdempotencyRow) -> RestResponse:
        if entry.id is None or entry.outcome is None:
            raise RuntimeError("a finished entry has an id and an outcome")
        try:
            bound_to = place("deliveries", entry.id, "outcome")
            plain = self._keyring.decrypt(entry.outcome, place=bound_to)
        except ValueError as failure:  # its key left the ring; that is no reason to send again
            raise Problem(
                "The answer kept under this Idempotency-Key can no longer be read.",
                {"code": Code.OUTCOME_UNKNOWN, "httpStatus": 504},
            ) from failure
        return RestResponse(**msgspec.structs.asdict(msgspec.msgpack.decode(plain, type=_Outcome)))


def _row_id(attempt: Attempt) -> int:
    return int(attempt.entry_id)


def _path(intent: Intent) -> str:
    if len(intent.path) <= MAX_PATH:
        return intent.path
    return "sha256:" + hashlib.sha256(intent.path.encode()).hexdigest()
