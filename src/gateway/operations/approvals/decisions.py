"""Held writes, listed, shown, released and rejected by people."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Annotated, Any

import orjson
from pydantic import Field
from sqlalchemy import ColumnElement, func, tuple_, update
from sqlalchemy.orm import defer
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from gateway.audit.changes import actor, note
from gateway.held_writes import contents
from gateway.operations.approvals.approvers import Decider
from gateway.operations.approvals.views import HeldWrite, ShownHeldWrite
from gateway.operations.inputs import Input
from gateway.secrets.keyring import Keyring
from gateway.store.further_tables import HeldWriteRow
from gateway.store.tables import AccessToken, ConnectionRow
from gateway.store.timestamps import now_ms
from policy.describe import describe_write, shortened
from policy.refusals import Conflict, NotFound
from policy.vocabulary import Code, HeldState


class Rejection(Input):
    """The reason of a rejection, which the token that asked sees."""

    reason: Annotated[str, Field(min_length=1, max_length=200)] | None = None


async def list_newest(
    session: AsyncSession,
    decider: Decider,
    *,
    state: str | None,
    limit: int,
    before: tuple[int, str] | None = None,
) -> list[HeldWrite]:
    """Return the writes that *decider* sees, newest first; *before* is the last one's place."""
    place = tuple_(col(HeldWriteRow.created_at), col(HeldWriteRow.id))
    conditions = list(_seen_by(decider))
    if state is not None:
        conditions.append(col(HeldWriteRow.state) == state)
    if before is not None:
        conditions.append(place < before)
    query = (
        select(HeldWriteRow, AccessToken.name)
        .join(AccessToken, col(AccessToken.id) == HeldWriteRow.token_id)
        .where(*conditions)
        .order_by(col(HeldWriteRow.created_at).desc(), col(HeldWriteRow.id).desc())
        .limit(limit)
        # Each may have megabytes.
        .options(
            defer(HeldWriteRow.content),  # type: ignore[arg-type]  # a column
            defer(HeldWriteRow.outcome),  # type: ignore[arg-type]  # a column
        )
    )
    return [HeldWrite.of(row, token_name=name) for row, name in await session.exec(query)]


async def show_newest(  # noqa: PLR0913 - as `list_newest`, and what opens them
    session: AsyncSession,
    keyring: Keyring,
    decider: Decider,
    *,
    state: str | None,
    limit: int,
    before: tuple[int, str] | None = None,
) -> list[ShownHeldWrite]:
    """Return writes as `list_newest`, each with what it would do, one in memory at a time."""
    listed = await list_newest(session, decider, state=state, limit=limit, before=before)
    shown = []
    for write in listed:
        with suppress(NotFound):  # deleted meanwhile
            shown.append(await show(session, keyring, decider, write.id))
    return shown


async def count_waiting(session: AsyncSession, *, most: int) -> int:
    """Return how many writes wait now; *most* stands for more."""
    waits = (col(HeldWriteRow.state) == HeldState.HELD, col(HeldWriteRow.expires_at) > now_ms())
    waiting = select(HeldWriteRow.id).where(*waits).limit(most).subquery()
    return (await session.exec(select(func.count()).select_from(waiting))).one()


async def show(
    session: AsyncSession, keyring: Keyring, decider: Decider, write_id: str
) -> ShownHeldWrite:
    """
    Return one write with what it would do.

    Raises:
        NotFound: *decider* sees no such write.
    """
    row, token = await _get(session, decider, write_id)
    return _shown(row, token, keyring)


async def decide(  # noqa: PLR0913 - what a decision is made of
    session: AsyncSession,
    keyring: Keyring,
    decider: Decider,
    write_id: str,
    *,
    releases: bool,
    reason: str | None = None,
) -> ShownHeldWrite:
    """
    Release a write, which a process that serves then runs, or reject it.

    *reason* is why it is rejected; the token that asked sees it.

    Raises:
        NotFound: *decider* sees no such write.
        Conflict: It does not wait any more.
    """
    row, token = await _get(session, decider, write_id)
    now = now_ms()
    state = HeldState.RELEASING if releases else HeldState.REJECTED
    values: dict[str, Any] = {"state": state.value, "decided_by": actor.get().name}
    if not releases:
        why = reason or "A person rejected it."
        values |= {"reason": why, "ended_at": now}
    decided = await session.exec(
        update(HeldWriteRow)
        .where(
            col(HeldWriteRow.id) == row.id,
            col(HeldWriteRow.state) == HeldState.HELD,
            col(HeldWriteRow.expires_at) > now,
        )
        .values(**values)
        .execution_options(synchronize_session=False)
    )
    await session.refresh(row)
    if not decided.rowcount:
        ended = "its time is over" if row.state == HeldState.HELD else f"it is {row.state}"
        raise Conflict(
            f"This write does not wait any more: {ended}.", code=Code.PRECONDITION_FAILED
        )
    note(session, "releaseWrite" if releases else "rejectWrite", row.id, token=token)
    return _shown(row, token, keyring)


async def _get(
    session: AsyncSession, decider: Decider, write_id: str
) -> tuple[HeldWriteRow, AccessToken]:
    query = (
        select(HeldWriteRow, AccessToken)
        .join(AccessToken, col(AccessToken.id) == HeldWriteRow.token_id)
        .where(col(HeldWriteRow.id) == write_id, *_seen_by(decider))
    )
    is_id = len(write_id) <= contents.MAX_ID and write_id.isascii() and write_id.isprintable()
    pair = (await session.exec(query)).first() if is_id else None
    if pair is None:
        raise NotFound("There is no such write.", code=Code.NOT_FOUND)
    return pair[0], pair[1]


def _seen_by(decider: Decider) -> Iterator[ColumnElement[bool]]:
    if decider.operator_ids:
        yield col(HeldWriteRow.operator_id).in_(decider.operator_ids)
    if decider.resource_ids:
        reached = select(ConnectionRow.id).where(
            col(ConnectionRow.resource_id).in_(decider.resource_ids)
        )
        yield col(HeldWriteRow.connection_id).in_(reached)


def _shown(row: HeldWriteRow, token: AccessToken, keyring: Keyring) -> ShownHeldWrite:
    try:
        content = contents.content_of(row, keyring)
    except ValueError:
        lost: Sequence[str] = ["What it would do can no longer be read: its key was removed."]
        return ShownHeldWrite.of(
            row, token_name=token.name, sentences=lost, effect=None, arguments=None
        )
    return ShownHeldWrite.of(
        row,
        token_name=token.name,
        sentences=describe_write(row.operation, content.shown),
        effect=content.shown,
        arguments=shortened(orjson.loads(content.arguments)),
    )
