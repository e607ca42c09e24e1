"""Calls and refusals of the last day by hour, by statements that read little of the log."""

from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import bindparam, func, select
from sqlmodel import col

from gateway.audit.decision import Outcome
from gateway.store.tables import DecisionRow
from gateway.store.timestamps import now_ms

if TYPE_CHECKING:
    from gateway.store.database import Database

HOURS = 24
MOST = 1000  # refusals of an hour that are counted
_HOUR_MS = 60 * 60 * 1000


class Hour(msgspec.Struct, frozen=True):
    """
    An hour of the decision log.

    Attributes:
        start: Milliseconds.
        calls: How many rows were numbered in it. Their numbers have gaps where a transaction was
            rolled back, and processes store rows up to some seconds late: about so many calls.
        refused: Of them, those that a layer refused; `MOST` stands for more.
    """

    start: int
    calls: int
    refused: int


async def counted(database: "Database") -> list[Hour]:
    """Return the last `HOURS` hours, oldest first; the last one has just begun or is under way."""
    last = now_ms() // _HOUR_MS * _HOUR_MS
    starts = [last - number * _HOUR_MS for number in reversed(range(HOURS))]
    at, number, outcome = col(DecisionRow.at), col(DecisionRow.id), col(DecisionRow.outcome)
    # One step of an index: counting the rows would read the hour.
    first = select(number).where(at >= bindparam("start")).order_by(at, number).limit(1)
    refusals = (
        select(number)
        .where(outcome == Outcome.REFUSED, at >= bindparam("start"), at < bindparam("end"))
        .limit(MOST)
    )
    count = select(func.count()).select_from(refusals.subquery())
    async with database.reading() as session:
        connection = await session.connection()
        highest = (await connection.execute(select(func.max(number)))).scalar_one()
        firsts, refused = list[int | None](), list[int]()
        for start in starts:
            hour = {"start": start, "end": start + _HOUR_MS}
            firsts.append((await connection.execute(first, hour)).scalar())
            refused.append((await connection.execute(count, hour)).scalar_one())
    behind = (highest or 0) + 1
    bounds = [*(behind if each is None else each for each in firsts), behind]
    return [
        Hour(start, max(bounds[place + 1] - bounds[place], refused[place]), refused[place])
        for place, start in enumerate(starts)
    ]
