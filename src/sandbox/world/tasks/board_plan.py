"""
Planned boards as values, independent of the wire, and how they come into the board store.

Values are given as a call would give them and go through the wire's own writers, so that the world
holds nothing that the wire would not take.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from sandbox.boards.column_writers import Writing, write
from sandbox.boards.labels import LabelBook
from sandbox.boards.records import Board, Column, Group, Item
from sandbox.boards.store import BoardStore, wire_time


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentPlan:
    """A comment: who, what (HTML), how many hours before the world's day, and its replies."""

    author: str
    body: str
    hours: int
    replies: tuple[tuple[str, str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPlan:
    """
    An item.

    Attributes:
        key: How other plans link to it; "" when none does.
        values: Column id to what a call would give.
        author: Key of the user who made it.
        age: Days before the world's day that it was made; *touched* days that it last changed.
    """

    name: str
    group: str
    key: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    author: str = "nora"
    age: int = 60
    touched: int = 3
    state: str = "active"
    comments: tuple[CommentPlan, ...] = ()
    below: tuple["ItemPlan", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardPlan:
    """A board and everything on it; *rest* are further fields of its record."""

    name: str
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    items: Sequence[ItemPlan]
    author: str = "nora"
    age: int = 400
    rest: Mapping[str, Any] = field(default_factory=dict)


class Builder:
    """
    Puts plans into a store, as of one day.

    Attributes:
        users: Key to the id of a user.
        items: Key to the item of a plan that has one.
    """

    def __init__(self, store: BoardStore, day: datetime, users: Mapping[str, str]) -> None:
        self._store = store
        self._day = day
        self.users = users
        self.items: dict[str, Item] = {}

    def build(self, plan: BoardPlan, below: Board | None = None) -> Board:
        """Add a board; its items' sub-items go onto *below*."""
        made = wire_time((self._day - timedelta(days=plan.age)).timestamp())
        board = self._store.add_board(
            plan.name,
            creator_id=self.users[plan.author],
            columns=plan.columns,
            groups=plan.groups,
            created_at=made,
            updated_at=self._ago(days=1),
            **plan.rest,
        )
        for item in plan.items:
            added = self._add(board, item, parent=None)
            for one in item.below if below is not None else ():
                self._add(below or board, one, parent=added.id)
        return board

    def _add(self, board: Board, plan: ItemPlan, *, parent: str | None) -> Item:
        author, touched = self.users[plan.author], self._ago(days=plan.touched)
        item = self._store.add_item(
            board,
            plan.name,
            group=plan.group,
            creator_id=author,
            values=self._values(board, plan, touched),
            parent=parent,
            created_at=self._ago(days=plan.age, minutes=len(plan.name)),
            updated_at=touched,
        )
        if plan.state != "active":
            item = self._store.items.put(msgspec.structs.replace(item, state=plan.state))
        if plan.key:
            self.items[plan.key] = item
        for comment in plan.comments:
            self._comment(item, comment)
        return item

    def _values(self, board: Board, plan: ItemPlan, at: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for column_id, given in plan.values.items():
            column = board.column(column_id)
            if column is None:
                raise KeyError(column_id)
            labels = LabelBook(makes=False)
            writing = Writing(store=self._store, column=column, labels=labels, at=at)
            written = write(writing, given)
            if written is not None:
                values[column_id] = written
        return values

    def _comment(self, item: Item, plan: CommentPlan) -> None:
        said = self._store.add_update(
            item.id,
            plan.body,
            creator_id=self.users[plan.author],
            created_at=self._ago(hours=plan.hours),
        )
        for author, body, hours in plan.replies:
            self._store.add_update(
                item.id,
                body,
                creator_id=self.users[author],
                parent=said.id,
                created_at=self._ago(hours=hours),
            )

    def _ago(self, **span: int) -> str:
        return wire_time((self._day - timedelta(**span)).timestamp())


def morning(day: datetime) -> datetime:
    """Return eight o'clock of a day, UTC: when the world's day begins."""
    return day.astimezone(UTC).replace(hour=8, minute=0, second=0, microsecond=0)
