"""
The newest calls of tokens, also by properties that no index of the decision log has.

A page of an index is read and the rest is compared in memory, so a filter that matches little costs
as much as one that matches all.
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal

import msgspec

from gateway.audit.decision import EntryPoint
from gateway.documents import prepared
from gateway.operations import decisions, views
from gateway.operations.decisions import DecisionQuery

if TYPE_CHECKING:
    from gateway.store.database import Database

READ = 500  # rows that a page looks at, at most

Kind = Literal["read", "write"]
Position = tuple[int, int]  # milliseconds and id of a row


class CallPage(msgspec.Struct, frozen=True):
    """
    Calls, newest first.

    Attributes:
        looked_at: How many rows were read for them.
        next: Where older rows begin; None: there are none.
    """

    calls: Sequence[views.Decision]
    looked_at: int
    next: Position | None


async def newest(  # noqa: PLR0913 - filters and a page
    database: "Database",
    wanted: DecisionQuery,
    *,
    door: EntryPoint | None = None,
    kind: Kind | None = None,
    limit: int,
    before: Position | None = None,
) -> CallPage:
    """
    Return up to *limit* calls among the next `READ` rows; changes by administrators are left out.

    Of *wanted*, token and outcome are compared. None of *door* and *kind* means any; *before* is
    the `next` of the previous page.
    """
    # One index finds the rows: two would leave the choice, and its cost, to the database.
    filters = {"outcome": wanted.outcome} if wanted.token_id is None else {}
    indexed = decisions.query({"tokenId": wanted.token_id, **filters})
    rows = await decisions.list_newest(database, indexed, limit=READ, before=before)
    calls: list[views.Decision] = []
    for number, row in enumerate(rows, 1):
        if _matches(row, wanted, door, kind):
            calls.append(row)
        if len(calls) == limit and number < len(rows):
            return CallPage(calls, number, (row.at, row.id))
    last = rows[-1] if len(rows) == READ else None
    return CallPage(calls, len(rows), None if last is None else (last.at, last.id))


def is_write(operation: str | None) -> bool:
    """Return whether an operation may change something."""
    return operation in _writes()


def _matches(
    row: views.Decision, wanted: DecisionQuery, door: EntryPoint | None, kind: Kind | None
) -> bool:
    return (
        row.actor is None
        and (wanted.outcome is None or row.outcome == wanted.outcome)
        and (door is None or row.door == door)
        and (kind is None or is_write(row.operation) is (kind == "write"))
    )


@cache
def _writes() -> frozenset[str]:
    mutations = prepared.graph().schema.mutation_type
    return frozenset(() if mutations is None else mutations.fields)
