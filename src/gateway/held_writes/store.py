"""
The rows of held writes.

Every step is one compare-and-set statement from one state to the next, so that two processes, or a
person and the clock, never both decide. That a released write runs once is decided by the ledger
of Idempotency-Keys; see `gateway.releases`.
"""

import logging
import secrets
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec
import orjson
from sqlalchemy import ColumnElement, case, func, or_, update
from sqlmodel import col, select

from gateway.errors import Overloaded
from gateway.held_writes import contents, notices
from gateway.secrets.keyring import Keyring
from gateway.store.cleanup import delete_in_slices
from gateway.store.clock import StatementClock
from gateway.store.conflicts import retried
from gateway.store.database import Database, StorageUnavailable
from gateway.store.further_tables import HeldWriteRow
from gateway.store.timestamps import from_ms, now_ms
from graph import kept_results
from graph.context import Context
from graph.effects import ShownWrite, WriteHeld
from graph.held_write_port import PendingWrite
from graph.scalars import format_datetime
from policy.caller import Caller
from policy.refusals import Conflict, NotFound
from policy.vocabulary import Code, HeldState, Layer
from rest_compat.calls import Call
from rest_compat.held.stored_calls import HeldContent, HeldOutcome, camel
from rest_compat.held.waiting import Waiting
from rest_compat.responses import RestResponse

MAX_OPEN = 100  # of one token; docs/spec/held-writes.md#limits
RETENTION_MS = 24 * 60 * 60 * 1000  # of an ended one
ID_BYTES = 12
OPEN = (HeldState.HELD, HeldState.RELEASING)

log = logging.getLogger("gateway")


class HeldWriteStore:
    """The writes of all tokens that wait for a person. One per process."""

    def __init__(
        self,
        database: Database,
        keyring: Keyring,
        minutes: int,
        *,
        on_held: Callable[[], None] = lambda: None,
        clock: StatementClock | None = None,
    ) -> None:
        """
        *minutes* is how long a write waits.

        *on_held* is called when one was stored; *clock* is the database's, and tests have their
        own.
        """
        self._database = database
        self._keyring = keyring
        self._lifetime = minutes * 60_000
        self._on_held = on_held
        self._now = clock or database.clock.now
        self.waiting = Waiting(self.find_ended)

    def of(self, caller: Caller) -> "TokenHeldWrites":
        """Return the writes of one token."""
        return TokenHeldWrites(self, caller.token_id)

    # -- the call that is held

    async def hold(self, call: Call, context: Context, shown: ShownWrite) -> WriteHeld:
        """
        Store a write, or find the one that an earlier attempt under the same key stored.

        Raises:
            Conflict: `HELD_WRITE_LIMIT`: too many of the token wait.
            Overloaded: The database did not answer, so nothing may wait.
        """
        content = HeldContent(
            call.stored(),
            orjson.dumps(shown.effect),
            msgspec.json.encode(shown.operation.arguments, enc_hook=_described),
            shown.digest,
            context.visibility,
        )
        origin = context.delivery.held_id if context.delivery is not None else None
        try:
            row = await self._insert(context.caller, shown, content, origin)
        except StorageUnavailable as failure:
            raise Overloaded from failure
        return WriteHeld(self._shown(row, context.visibility))

    @retried
    async def _insert(
        self, caller: Caller, shown: ShownWrite, content: HeldContent, origin: str | None
    ) -> HeldWriteRow:
        async with self._database.writing() as session:
            if origin is not None:
                known = select(HeldWriteRow).where(col(HeldWriteRow.origin) == origin)
                if (row := (await session.exec(known)).first()) is not None:
                    return row
            of_token = (
                col(HeldWriteRow.token_id) == caller.token_id,
                col(HeldWriteRow.state).in_(OPEN),
            )
            count = select(func.count()).select_from(HeldWriteRow).where(*of_token)
            if (await session.exec(count)).one() >= MAX_OPEN:
                message = f"At most {MAX_OPEN} writes of a token wait for a person."
                raise Conflict(message, code=Code.HELD_WRITE_LIMIT)
            row_id, now = secrets.token_urlsafe(ID_BYTES), now_ms()
            row = HeldWriteRow(
                id=row_id,
                token_id=caller.token_id,
                operator_id=caller.operator_id,
                origin=origin,
                operation=shown.operation.name,
                connection_id=shown.connection,
                state=HeldState.HELD.value,
                content=contents.seal(content, row_id, "content", self._keyring),
                created_at=now,
                expires_at=now + self._lifetime,
            )
            session.add(row)
            await notices.tell(self._database, session, row)
        self._on_held()
        return row

    async def outcome(self, write_id: str, context: Context) -> RestResponse | WriteHeld:
        """
        Return how a write of the caller stands, after `context.wait` seconds at most.

        Returns:
            The response of the call when the caller waits and it ran; else what to answer.

        Raises:
            Overloaded: The database did not answer.
        """
        token_id = context.caller.token_id
        if context.wait:
            await self.waiting.wait(write_id, token_id, context.wait)
        row = await self.read(write_id, token_id)
        outcome = contents.outcome_in(row, self._keyring)
        is_same = outcome is not None and outcome.visibility == context.visibility
        if context.wait and outcome is not None and is_same and outcome.is_whole:
            return outcome.response
        return WriteHeld(self._shown(row, context.visibility))

    def _shown(self, row: HeldWriteRow, visibility: bytes) -> dict[str, Any]:
        """Return a row as the response to its call shows it."""
        members = msgspec.structs.asdict(self.pending(row, visibility))
        return {
            camel(name): format_datetime(value) if isinstance(value, datetime) else value
            for name, value in members.items()
        }

    # -- the token that asked

    async def read(self, write_id: str, token_id: int) -> HeldWriteRow:
        """
        Return a write of a token.

        Raises:
            NotFound: The token has no such write.
            Overloaded: The database did not answer.
        """
        row = None
        if len(write_id) <= contents.MAX_ID and write_id.isascii() and write_id.isprintable():
            try:
                row = await self._read(write_id)
            except StorageUnavailable as failure:
                raise Overloaded from failure
        if row is None or row.token_id != token_id:
            raise NotFound("There is no such write.", code=Code.NOT_FOUND, layer=Layer.INPUT)
        return row

    @retried
    async def _read(self, write_id: str) -> HeldWriteRow | None:
        async with self._database.reading() as session:
            return await session.get(HeldWriteRow, write_id)

    def pending(self, row: HeldWriteRow, visibility: bytes) -> PendingWrite:
        """Return a row as the token that asked sees it."""
        content, outcome = None, contents.outcome_in(row, self._keyring)
        with suppress(ValueError):  # its key left the ring
            content = contents.content_of(row, self._keyring)
        is_same = content is not None and content.visibility == visibility
        return PendingWrite(
            id=row.id,
            operation=row.operation,
            state=row.state,
            created_at=from_ms(row.created_at),
            expires_at=from_ms(row.expires_at),
            ended_at=None if row.ended_at is None else from_ms(row.ended_at),
            reason=row.reason,
            effect=content.shown if content is not None and is_same else None,
            status=None if outcome is None else outcome.status,
            result=_result(outcome, visibility),
        )

    # -- the run

    async def due(self, limit: int, besides: Collection[str] = ()) -> Sequence[HeldWriteRow]:
        """Return released writes that have not ended, the oldest first, but those of *besides*."""
        async with self._database.reading() as session:
            released = select(HeldWriteRow).where(
                col(HeldWriteRow.state) == HeldState.RELEASING, col(HeldWriteRow.id).not_in(besides)
            )
            ordered = released.order_by(col(HeldWriteRow.expires_at)).limit(limit)
            return (await session.exec(ordered)).all()

    @retried
    async def start(self, write_id: str) -> bool:
        """Note that a released write runs now; return False when its time is over."""
        started = await self._database.execute(
            update(HeldWriteRow)
            .where(
                col(HeldWriteRow.id) == write_id,
                col(HeldWriteRow.state) == HeldState.RELEASING,
                or_(
                    col(HeldWriteRow.started_at).is_not(None),
                    col(HeldWriteRow.expires_at) > self._now(),
                ),
            )
            .values(started_at=func.coalesce(col(HeldWriteRow.started_at), self._now()))
            .returning(col(HeldWriteRow.id))
        )
        return bool(started)

    @retried
    async def postpone(self, write_id: str) -> None:
        """Note that nothing of a run was done: the write expires unless another run begins."""
        await self._database.execute(
            update(HeldWriteRow)
            .where(col(HeldWriteRow.id) == write_id, col(HeldWriteRow.state) == HeldState.RELEASING)
            .values(started_at=None)
            .returning(col(HeldWriteRow.id))
        )

    @retried
    async def finish(
        self,
        write_id: str,
        state: HeldState,
        reason: str | None = None,
        outcome: HeldOutcome | None = None,
    ) -> None:
        """End a released write, unless it has ended."""
        sealed = outcome and contents.seal(outcome, write_id, "outcome", self._keyring)
        await self._database.execute(
            update(HeldWriteRow)
            .where(col(HeldWriteRow.id) == write_id, col(HeldWriteRow.state) == HeldState.RELEASING)
            .values(
                state=state.value,
                reason=reason and reason[:300],
                outcome=sealed,
                ended_at=self._now(),
            )
            .returning(col(HeldWriteRow.id))
        )
        self.waiting.ended([write_id])

    @retried
    async def expire(self) -> None:
        """End what nobody released in time, and what was released and not begun in time."""
        await self._database.execute(
            update(HeldWriteRow)
            .where(
                col(HeldWriteRow.state).in_(OPEN),
                col(HeldWriteRow.started_at).is_(None),
                col(HeldWriteRow.expires_at) <= self._now(),
            )
            .values(
                state=HeldState.EXPIRED.value,
                reason=case(
                    (
                        col(HeldWriteRow.state) == HeldState.RELEASING,
                        "It was released, and could not be done in time.",
                    ),
                    else_="Nobody released it in time.",
                ),
                ended_at=self._now(),
            )
            .returning(col(HeldWriteRow.id))
        )

    async def find_ended(self, write_ids: Collection[str]) -> Collection[str]:
        """Return those of *write_ids* that have ended; none while the database does not answer."""
        with suppress(StorageUnavailable):
            async with self._database.reading() as session:
                has_ended: ColumnElement[bool] = col(HeldWriteRow.state).not_in(OPEN)
                rows = select(HeldWriteRow.id).where(col(HeldWriteRow.id).in_(write_ids), has_ended)
                return (await session.exec(rows)).all()
        return ()

    async def count_open(self) -> dict[str, int]:
        """Return how many writes wait or run, by state."""
        async with self._database.reading() as session:
            state = col(HeldWriteRow.state)
            counts = select(state, func.count()).where(state.in_(OPEN)).group_by(state)
            return {OPEN[0].value: 0, OPEN[1].value: 0} | dict((await session.exec(counts)).all())

    async def sweep(self) -> int:
        """Delete what ended more than a day ago; return how many rows."""
        if not self._database.clock.is_trusted:
            return 0
        is_old = col(HeldWriteRow.ended_at) <= self._now() - RETENTION_MS
        return await delete_in_slices(
            self._database, HeldWriteRow, is_old, by=col(HeldWriteRow.ended_at)
        )


def _result(outcome: HeldOutcome | None, visibility: bytes) -> dict[str, Any] | None:
    """Return the body; the ids alone for a token that may see other things by now."""
    if outcome is None:
        return None
    if outcome.visibility == visibility:
        return outcome.members
    ids = kept_results.decode(outcome.kept_result).members if outcome.kept_result else {}
    return {camel(name): value for name, value in ids.items()}


def _described(value: object) -> str:
    """Return an argument that JSON does not have; of the bytes of an upload only how many."""
    size = getattr(value, "size", None)
    return f"{size} bytes" if callable(getattr(value, "chunks", None)) else str(value)


class TokenHeldWrites(msgspec.Struct, frozen=True):
    """`graph.held_write_port.HeldWrites` of one token."""

    store: HeldWriteStore
    token_id: int

    async def get(self, write_id: str, *, wait: int, visibility: bytes) -> PendingWrite:
        row = await self.store.read(write_id, self.token_id)
        if wait and row.state in OPEN:
            await self.store.waiting.wait(write_id, self.token_id, wait)
            row = await self.store.read(write_id, self.token_id)
        return self.store.pending(row, visibility)
