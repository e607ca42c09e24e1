"""Rotates the secret keys: seals and signs everything that is stored under the first key."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import func, update
from sqlmodel import col, select

from gateway.audit import heads, provider_errors, reading, seals
from gateway.audit.changes import log_change
from gateway.rule_intents.log import seal_context
from gateway.secrets.keyring import Keyring, column_context
from gateway.store.background import ProgressListener
from gateway.store.conflicts import retried
from gateway.store.database import Database
from gateway.store.further_tables import DecisionHead, HeldWriteRow, WebhookTarget
from gateway.store.sealed_columns import CREDENTIALS, SealedColumn, rotate_column
from gateway.store.tables import (
    ConnectionRow,
    DecisionRow,
    DecisionSeal,
    IdempotencyRow,
    OAuthAttempt,
    ProviderErrorRow,
    RuleIntent,
)

_BATCH = 100  # seals per transaction

SEALED_COLUMNS = (
    CREDENTIALS,
    SealedColumn(table=IdempotencyRow, column="outcome", before=0),
    SealedColumn(table=HeldWriteRow, column="content", before=""),
    SealedColumn(table=HeldWriteRow, column="outcome", before=""),
    SealedColumn(table=WebhookTarget, column="secrets", before=""),
    SealedColumn(table=OAuthAttempt, column="secret", before=""),
    SealedColumn(
        table=RuleIntent, column="trace", before=0, context=lambda row: seal_context(row.token_id)
    ),
    SealedColumn(
        table=ProviderErrorRow,
        column="reason",
        before=0,
        context=lambda row: provider_errors.seal_context(row.request_id),
    ),
)


async def rotate(
    database: Database, keyring: Keyring, progress: Callable[[int, int | None], None]
) -> dict[str, Any]:
    """
    Reseal every column and seal the decision log.

    *progress* is called with the rows done and their total, if known.

    Returns:
        Table -> the number of `sealed` values, and the ids of the rows with `unreadable` ones; of
        `decisions`, the names of chains with rows that no key of the ring verifies.
    """
    report: dict[str, Any] = {}
    for column in SEALED_COLUMNS:
        result = await rotate_column(database, keyring, column, progress=progress)
        of_table = report.setdefault(column.name, {"sealed": 0, "unreadable": []})
        of_table["sealed"] += result.changed
        known = of_table["unreadable"]
        known += [row for row in map(str, result.unreadable) if row not in known]
    await log_change(database, "rotateKeys")
    report["decisions"] = await seal_decisions(database, keyring, progress=progress)
    return report


class CredentialKeys(NamedTuple):
    """The keys that open the stored credentials of connections."""

    unreadable: Sequence[int]  # connections whose credentials no key of the ring opens, ascending
    older: int  # connections whose credentials are sealed with another key than the first
    readable: int  # connections whose credentials can be opened, those with older keys included


async def credential_keys(database: Database, keyring: Keyring) -> CredentialKeys:
    """Open the credentials of all connections, and count them by the key that opens them."""
    unreadable, older, readable = list[int](), 0, 0
    async with database.reading() as session:
        statement = select(ConnectionRow.id, ConnectionRow.credentials)
        rows = await session.exec(
            statement.where(col(ConnectionRow.credentials).is_not(None)).order_by(
                col(ConnectionRow.id)
            )
        )
        for connection_id, sealed in rows:
            context = column_context("connections", connection_id or 0, "credentials")
            try:
                resealed = keyring.rotate(sealed or b"", context=context)
                keyring.decrypt(sealed or b"", context=context)
            except ValueError:
                unreadable.append(connection_id or 0)
                continue
            readable += 1
            older += resealed is not None
    return CredentialKeys(unreadable, older, readable)


async def seal_decisions(
    database: Database, keyring: Keyring, *, progress: ProgressListener
) -> dict[str, Any]:
    """
    Seal the rows that older keys of the ring signed, and sign older seals under the first key.

    It adds seals and changes no row, so gateways may append meanwhile; an interrupted run is simply
    started again.

    Returns:
        The number of rows now `sealed`, and the `unreadable` chains.
    """
    stored = (await heads.read(database)).values()
    await _resign_heads(
        database, keyring, [head for head in stored if not heads.is_current(head, keyring)]
    )
    existing = await reading.seals(database)
    older = [
        seal
        for chain_seals in existing.values()
        for seal in chain_seals
        if seals.is_valid(seal, keyring) and not seals.is_current(seal, keyring)
    ]
    sealed = 0
    for seal in older:
        seal.signature = seals.sign(seal, keyring)
        sealed += seal.last - seal.first + 1
    await _store_seals(database, older)
    async with database.reading() as session:
        total = (await session.exec(select(func.count(col(DecisionRow.id))))).one()
    checked, new, unreadable = 0, list[DecisionSeal](), set[str]()
    rows = reading.in_chain_order(database)
    async for segment, covering in seals.segments(keyring, rows, existing):
        checked += segment.rows
        progress(checked, total)
        if covering is not None and seals.is_valid(covering, keyring):
            continue
        if segment.older:
            new.append(segment.seal(keyring))
            sealed += segment.rows
        elif not segment.current:
            unreadable.add(segment.chain)
        if len(new) == _BATCH:
            await _store_seals(database, new)
            new.clear()
    await _store_seals(database, new)
    return {"sealed": sealed, "unreadable": sorted(unreadable)}


@retried
async def _resign_heads(
    database: Database, keyring: Keyring, older: Sequence[DecisionHead]
) -> None:
    """Sign valid heads under the first key, unless their chains went on meanwhile."""
    async with database.writing() as session:
        for head in older:
            if heads.is_valid(head, keyring):
                now = {"signature": heads.sign(head, keyring)}
                await session.exec(
                    update(DecisionHead)
                    .where(
                        col(DecisionHead.chain) == head.chain,
                        col(DecisionHead.number) == head.number,
                    )
                    .values(now)
                )


@retried
async def _store_seals(database: Database, changed: Sequence[DecisionSeal]) -> None:
    async with database.writing() as session:
        for seal in changed:
            await session.merge(seal)
