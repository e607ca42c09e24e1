"""
The entries of Idempotency-Keys: their begin, their end and their deletion.

Every step is one compare-and-set statement, so that two processes never run one intent.
"""

import hashlib
import logging
import secrets
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

import msgspec
from sqlalchemy import ColumnElement, delete, func, update
from sqlmodel import col, select

from gateway.errors import Overloaded
from gateway.secrets.keyring import Keyring, column_context
from gateway.store import timestamps
from gateway.store.background import PeriodicTask, running_tasks
from gateway.store.cleanup import delete_in_slices
from gateway.store.clock import StatementClock, as_column
from gateway.store.conflicts import retried
from gateway.store.database import Database, StorageUnavailable
from gateway.store.idempotency.leases import LEASE_MS, RENEWAL_SECONDS, RUNNING, AttemptLeases
from gateway.store.tables import IdempotencyRow
from policy.refusals import Conflict
from policy.vocabulary import Code
from rest_compat.ledger import Attempt, Completed, InProgress, Intent, KeyReused
from rest_compat.responses import RestResponse

RETENTION_MS = 24 * 3600 * 1000  # docs/spec/idempotency.md#what-is-kept
SWEEP_SECONDS = 600.0
MAX_PATH = 2000  # characters, the size of the column; a longer path is stored as its digest

DONE, FREE = "done", "free"  # states of an entry without a running attempt

log = logging.getLogger("gateway")


class IdempotencyStore:
    """The ledger of intents, in the table `deliveries`; an entry lives 24 hours."""

    def __init__(
        self, database: Database, keyring: Keyring, *, clock: StatementClock | None = None
    ) -> None:
        """*clock* is the database's; tests have their own."""
        self._database = database
        self._keyring = keyring
        self._now = clock or database.clock.now
        self._leases = AttemptLeases(database, self._now)

    async def begin(self, intent: Intent) -> Attempt | Completed | InProgress | KeyReused:
        """
        Store that *intent* runs now, or return why it must not run.

        Raises:
            Overloaded: The database did not answer, so nothing may be sent.
            Conflict: 504, the stored response cannot be decrypted.
        """
        try:
            seed = secrets.token_hex(16)
            while True:
                result = (
                    await self._resolve(intent, former=True)
                    or await self._insert(intent, seed)
                    or await self._resolve(intent)
                )
                if result is not None:
                    return result
        except StorageUnavailable as failure:
            raise Overloaded from failure

    async def complete(self, attempt: Attempt, response: RestResponse) -> None:
        sealed = _seal(response, attempt.entry_id, self._keyring)
        await self._close(attempt, state=DONE, outcome=sealed)

    async def release(self, attempt: Attempt, *, maybe_sent: bool) -> None:
        """Let the next request with the key run the intent again, with the same seed."""
        await self._close(attempt, state=FREE, maybe_sent=maybe_sent)

    async def forget(self, attempt: Attempt) -> None:
        """Delete the entry of an attempt that did nothing, as if its key had not begun."""
        try:
            await self._remove(attempt)
        except StorageUnavailable:
            log.warning("an idempotent call that did nothing could not be forgotten")
        await self.abandon(attempt)

    async def abandon(self, attempt: Attempt) -> None:
        """Stop renewing the lease; another request can take the entry over when it expires."""
        self._leases.abandon(attempt)

    async def confirm(self, attempt: Attempt) -> bool:
        """See `AttemptLeases.confirm`."""
        return await self._leases.confirm(attempt)

    async def store_draft(self, attempt: Attempt, draft: str | None) -> bool:
        """
        Commit *draft* for later attempts; False when another attempt has begun.

        Raises:
            Overloaded: The database did not answer, so that it may or may not have been stored.
        """
        try:
            is_stored = await self._update(attempt, {"draft": draft})
        except StorageUnavailable as failure:
            raise Overloaded from failure
        if not is_stored:
            self._leases.lose(attempt, "its draft came after it was taken over")
        return is_stored

    def running(self) -> AbstractAsyncContextManager[None]:
        """Renew the leases of running attempts and delete expired entries periodically."""
        return running_tasks(
            self._leases.task,
            PeriodicTask(
                name="idempotency_sweep",
                work=self.sweep,
                pause_seconds=SWEEP_SECONDS,
                retry_seconds=RENEWAL_SECONDS,
                first_pause_seconds=0,
                failure_message="expired idempotency entries could not be deleted",
            ),
        )

    async def sweep(self) -> int:
        """
        Delete expired entries; return how many.

        Only what a newer entry confirms is old enough: a wrong clock alone deletes nothing.
        """
        if not self._database.clock.is_trusted:
            return 0
        now = self._now()
        newest = select(func.max(IdempotencyRow.started_at)).scalar_subquery()
        return await delete_in_slices(
            self._database,
            IdempotencyRow,
            col(IdempotencyRow.started_at) <= now - RETENTION_MS,
            col(IdempotencyRow.started_at) <= newest - RETENTION_MS,
            col(IdempotencyRow.lease_until) <= now,
            by=col(IdempotencyRow.started_at),
        )

    @retried
    async def _insert(self, intent: Intent, seed: str) -> Attempt | None:
        """Insert an entry with its first attempt; None when the key has an entry already."""
        began, now = timestamps.uptime(), self._now()
        insert = self._database.insert(IdempotencyRow).values(
            token_id=intent.token_id,
            method=intent.method,
            path=_stored_path(intent.path),
            key=intent.key,
            fingerprint=intent.fingerprint,
            state=RUNNING,
            seed=seed,
            attempt=1,
            maybe_sent=False,
            lease_until=now + LEASE_MS,
            started_at=now,
        )
        rows = await self._database.execute(
            insert.on_conflict_do_update(  # with the same seed: this insert runs again
                index_elements=["token_id", "method", "path", "key"],
                set_={"seed": seed},
                where=col(IdempotencyRow.seed) == seed,
            ).returning(col(IdempotencyRow.id))
        )
        if not rows:
            return None
        first = Attempt(entry_id=str(rows[0][0]), number=1, seed=seed, maybe_sent=False)
        self._leases.add(first, taken_at=began)
        return first

    async def _resolve(
        self, intent: Intent, *, former: bool = False
    ) -> Attempt | Completed | InProgress | KeyReused | None:
        """
        Decide by the existing entry; None when it changed meanwhile: the caller must retry.

        *former*: by the entry of an earlier version; None when there is none.
        """
        path = intent.former_path if former else intent.path
        if path is None or (former and path == intent.path):
            return None
        stored = await self._read(intent, path)
        if stored is None:
            return None
        entry, now = stored
        # A longer lease than any process takes was stored by a wrong clock.
        is_free = (
            not now < entry.lease_until <= now + 2 * LEASE_MS and self._database.clock.is_trusted
        )
        if is_free and entry.started_at <= now - RETENTION_MS:
            await self._delete(entry)
            return None
        if entry.fingerprint not in {intent.fingerprint, intent.former_fingerprint}:
            return KeyReused()
        if entry.state == DONE:
            return Completed(response=_unseal(entry, self._keyring))
        if entry.state == RUNNING and not is_free:
            return InProgress()
        return await self._take_over(entry)

    @retried
    async def _take_over(self, entry: IdempotencyRow) -> Attempt | None:
        """Start the next attempt of an entry whose last one crashed or was released."""
        maybe_sent = bool(entry.maybe_sent) or entry.state == RUNNING
        attempt, began = entry.attempt + 1, timestamps.uptime()
        updated = await self._database.execute(
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
                lease_until=self._now() + LEASE_MS,
            )
            .returning(col(IdempotencyRow.draft))  # stored since *entry* was read, perhaps
        )
        if not updated:
            return None
        taken_over = Attempt(
            entry_id=str(entry.id),
            number=attempt,
            seed=entry.seed,
            maybe_sent=maybe_sent,
            draft=updated[0][0],
        )
        self._leases.add(taken_over, taken_at=began)
        return taken_over

    @retried
    async def _read(self, intent: Intent, path: str) -> tuple[IdempotencyRow, int] | None:
        """Return an entry and the time at which it was read; None when there is none."""
        async with self._database.reading() as session:
            rows = await session.exec(
                select(IdempotencyRow, as_column(self._now())).where(
                    col(IdempotencyRow.token_id) == intent.token_id,
                    col(IdempotencyRow.method) == intent.method,
                    col(IdempotencyRow.path) == _stored_path(path),
                    col(IdempotencyRow.key) == intent.key,
                )
            )
            row = rows.first()
        return None if row is None else (row[0], row[1])

    @retried
    async def _delete(self, entry: IdempotencyRow) -> None:
        await self._database.execute(
            delete(IdempotencyRow).where(
                col(IdempotencyRow.id) == entry.id,
                col(IdempotencyRow.lease_until) == entry.lease_until,
            )
        )

    async def _close(self, attempt: Attempt, **values: object) -> None:
        """
        End an attempt, unless it was taken over or refused: its lease then expires.

        If the database does not answer, the entry stays until its lease expires: the operation has
        happened, so the caller still gets its response, and a retry looks the effect up.
        """
        try:
            if not self._leases.is_lost(attempt):
                await self._update(attempt, {**values, "lease_until": self._now()})
        except StorageUnavailable:
            log.warning("the end of an idempotent call could not be stored")
        await self.abandon(attempt)

    @retried
    async def _remove(self, attempt: Attempt) -> None:
        await self._database.execute(delete(IdempotencyRow).where(*_running(attempt)))

    @retried
    async def _update(self, attempt: Attempt, values: Mapping[str, object]) -> bool:
        """Change the entry of *attempt*; return False when it was taken over."""
        changed = (
            update(IdempotencyRow)
            .where(*_running(attempt))
            .values(**values)
            .returning(col(IdempotencyRow.id))
        )
        return bool(await self._database.execute(changed))


def _running(attempt: Attempt) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions of the entry of *attempt*, unless it was taken over."""
    return (
        col(IdempotencyRow.id) == int(attempt.entry_id),
        col(IdempotencyRow.attempt) == attempt.number,
        col(IdempotencyRow.state) == RUNNING,
    )


def _stored_path(path: str) -> str:
    if len(path) <= MAX_PATH:
        return path
    return "sha256:" + hashlib.sha256(path.encode()).hexdigest()


class _Outcome(msgspec.Struct, array_like=True):
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    # Missing in rows of earlier versions:
    upload_digest: bytes = b""
    kept_result: bytes = b""
    view: bytes = b""
    hold: str = ""


def _seal(response: RestResponse, entry_id: str, keyring: Keyring) -> bytes:
    """Encrypt *response* for the column `outcome` of an entry."""
    outcome = _Outcome(**{name: getattr(response, name) for name in _Outcome.__struct_fields__})
    plain = msgspec.msgpack.encode(outcome)
    return keyring.encrypt(plain, context=column_context("deliveries", int(entry_id), "outcome"))


def _unseal(entry: IdempotencyRow, keyring: Keyring) -> RestResponse:
    """
    Decrypt the response of a finished entry.

    Raises:
        Conflict: 504, its key left the ring; that is not a reason to send again.
    """
    if entry.id is None or entry.outcome is None:
        raise RuntimeError("a finished entry has an id and an outcome")
    try:
        plain = keyring.decrypt(
            entry.outcome, context=column_context("deliveries", entry.id, "outcome")
        )
    except ValueError as failure:
        raise Conflict(
            "The response kept under this Idempotency-Key can no longer be read.",
            code=Code.OUTCOME_UNKNOWN,
        ) from failure
    return RestResponse(**msgspec.structs.asdict(msgspec.msgpack.decode(plain, type=_Outcome)))
