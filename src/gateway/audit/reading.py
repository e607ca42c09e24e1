"""
Queries over the decision log: filtered pages, and whole chains for verification.

Positions are compared as rows of values, which an index finds: a page costs the same wherever it
begins.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, select, tuple_
from sqlmodel import col
from sqlmodel import select as select_rows

from gateway.audit.chain import Link
from gateway.audit.decision import Decision
from gateway.audit.seals import Seals
from gateway.store.database import Database
from gateway.store.tables import DecisionRow, DecisionSeal

_TABLE = DecisionRow.__table__  # type: ignore[attr-defined]  # SQLModel makes it
_ROW = [_TABLE.c[name] for name in Decision._fields]
_CHUNK = 1000  # rows per query when every row is read


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFilter:
    """A filter of rows; None matches anything. *since* is inclusive and *until* exclusive (ms)."""

    token_id: int | None = None
    outcome: str | None = None
    surface: str | None = None
    operation: str | None = None
    layer: str | None = None
    code: str | None = None
    request_id: str | None = None
    actor: str | None = None
    since: int | None = None
    until: int | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        exact = (
            *("token_id", "outcome", "surface", "operation", "layer", "code", "request_id"),
            "actor",
        )
        conditions = [
            _TABLE.c[name] == getattr(self, name)
            for name in exact
            if getattr(self, name) is not None
        ]
        if self.since is not None:
            conditions.append(col(DecisionRow.at) >= self.since)
        if self.until is not None:
            conditions.append(col(DecisionRow.at) < self.until)
        return conditions


Numbered = tuple[int, Decision]


async def newest(
    database: Database,
    filter_: DecisionFilter,
    *,
    limit: int,
    before: tuple[int, int] | None = None,
) -> Sequence[Numbered]:
    """
    Return up to *limit* rows as (id, row), newest first.

    *before* is (at, id) of the last row of the previous page.
    """
    at, number = col(DecisionRow.at), col(DecisionRow.id)
    rows = select(number, *_ROW).where(*filter_.conditions())
    if before is not None:
        rows = rows.where(tuple_(at, number) < before)
    async with database.reading() as session:
        connection = await session.connection()
        result = await connection.execute(rows.order_by(at.desc(), number.desc()).limit(limit))
        return [(row[0], Decision(*row[1:])) for row in result]


async def in_chain_order(database: Database) -> AsyncIterator[tuple[Link, Decision]]:
    """Yield every row with its link, chain by chain and in the order of their numbers."""
    chain, number = col(DecisionRow.chain), col(DecisionRow.number)
    signature, row_id = col(DecisionRow.signature), col(DecisionRow.id)
    rows = select(chain, number, signature, row_id, *_ROW).order_by(chain, number)
    last: Link | None = None
    while True:
        chunk = rows.limit(_CHUNK)
        if last is not None:
            chunk = chunk.where(tuple_(chain, number) > (last.chain, last.number))
        async with database.reading() as session:
            result = (await (await session.connection()).execute(chunk)).all()
        for row in result:
            last = Link(*row[:4])
            yield last, Decision(*row[4:])
        if len(result) < _CHUNK:
            return


async def seals(database: Database) -> Seals:
    """Return every seal, by chain and in the order of the rows."""
    query = select_rows(DecisionSeal).order_by(col(DecisionSeal.chain), col(DecisionSeal.first))
    by_chain: dict[str, list[DecisionSeal]] = {}
    async with database.reading() as session:
        for seal in await session.exec(query):
            by_chain.setdefault(seal.chain, []).append(seal)
    return by_chain


async def ends_of_chains(database: Database) -> AsyncIterator[tuple[str, Link, Decision]]:
    """Yield the first and the last row of every chain, each after the signature before it."""
    chain, number = col(DecisionRow.chain), col(DecisionRow.number)
    # From chain to chain by the index: grouping would read every row.
    last_link = select(chain, number).order_by(chain.desc(), number.desc()).limit(1)
    below = last_link
    while True:
        async with database.reading() as session:
            end = (await (await session.connection()).execute(below)).first()
        if end is None:
            return
        name, last = end
        below = last_link.where(chain < name)
        ends = {1, last - 1, last}
        query = select(number, col(DecisionRow.signature), *_ROW).order_by(number)
        async with database.reading() as session:
            connection = await session.connection()
            wanted = query.where(chain == name, number.in_(ends))
            rows = (await connection.execute(wanted)).all()
        previous = Link(name, 0, "")
        for row in rows:
            link = Link(name, row[0], row[1])
            if row[0] in {1, last}:
                yield previous.signature, link, Decision(*row[2:])
            previous = link
