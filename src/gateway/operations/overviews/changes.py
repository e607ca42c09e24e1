"""
Changes by administrators, newest first.

The log finds rows by their actor: the names of the actors are read from that index, one step for
each, and the newest rows of each are merged. So no page reads the calls between two changes.
"""

import csv
import heapq
import io
import json
from collections.abc import AsyncIterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select
from sqlmodel import col

from gateway.operations import decisions, views
from gateway.operations.decisions import DecisionQuery
from gateway.store.tables import DecisionRow

if TYPE_CHECKING:
    from gateway.store.database import Database

MOST_STEPS = 100  # of the index of actors
MOST_EXPORTED = 100_000  # rows
_PAGE = 500  # rows
# Actors that are tokens, which make child tokens, are behind the first text and before the second.
_TOKENS, _BEHIND_TOKENS = "token ", "token!"
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")  # how a cell begins that spreadsheets calculate

Position = tuple[int, int]  # milliseconds and id of a row


async def actors(database: "Database") -> list[str]:
    """Return the names of those who changed something, in order, as far as `MOST_STEPS` lead."""
    names: list[str] = []
    last = ""
    async with database.reading() as session:
        connection = await session.connection()
        for _ in range(MOST_STEPS):
            actor = col(DecisionRow.actor)
            following = await connection.execute(select(func.min(actor)).where(actor > last))
            name = following.scalar_one_or_none()
            if name is None:
                break
            if name.startswith(_TOKENS):
                # Where the database orders texts by a language, tokens may be behind it too.
                last = _BEHIND_TOKENS if last < _TOKENS else name
                continue
            names.append(name)
            last = name
    return names


async def newest(
    database: "Database",
    names: Sequence[str],
    wanted: DecisionQuery,
    *,
    limit: int,
    before: Position | None = None,
) -> list[views.Decision]:
    """Return up to *limit* changes by the actors *names* that *wanted* matches, newest first."""
    by_actor = [
        await decisions.list_newest(
            database, wanted.model_copy(update={"actor": name}), limit=limit, before=before
        )
        for name in names
    ]
    merged = heapq.merge(*by_actor, key=lambda row: (-row.at, -row.id))
    return list(islice(merged, limit))


async def every(
    database: "Database", names: Sequence[str], wanted: DecisionQuery
) -> AsyncIterator[list[views.Decision]]:
    """Yield the changes in pages, newest first; at most `MOST_EXPORTED` rows in all."""
    before: Position | None = None
    for _ in range(MOST_EXPORTED // _PAGE):
        page = await newest(database, names, wanted, limit=_PAGE, before=before)
        yield page
        if len(page) < _PAGE:
            return
        before = page[-1].at, page[-1].id


async def as_csv(pages: AsyncIterator[list[views.Decision]]) -> AsyncIterator[str]:
    """Yield rows as CSV with a head; a cell that a spreadsheet would calculate begins with '."""
    names = [field.alias or name for name, field in views.Decision.model_fields.items()]
    yield _lines([names])
    async for page in pages:
        yield _lines([[_cell(row.as_json()[name]) for name in names] for row in page])


async def as_json(pages: AsyncIterator[list[views.Decision]]) -> AsyncIterator[str]:
    """Yield rows as `{"decisions": […]}`, as the management API has them."""
    yield '{"decisions":['
    separator = ""
    async for page in pages:
        for row in page:
            yield separator + json.dumps(row.as_json(), ensure_ascii=False)
            separator = ","
    yield "]}"


def _cell(value: Any) -> str:
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return f"'{text}" if text.startswith(_FORMULAS) else text


def _lines(rows: Sequence[Sequence[str]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerows(rows)
    return buffer.getvalue()
