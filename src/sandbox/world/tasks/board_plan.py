"""
Planned boards and items, and the builder that adds them to the board store.

Values of columns have the form of a mutation's input and go through the same parsers, so that the
world holds nothing that the API would reject.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from sandbox.boards.column_parsers import parse_value
from sandbox.boards.labels import ColumnWrite, LabelResolver
from sandbox.boards.records import Board, Column, Group, Item
from sandbox.boards.store import BoardStore, format_time


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentPlan:
    """
    A comment.

    Attributes:
        author: Key of the user.
        body: HTML.
        hours: Age at the start of the world's day.
        replies: Author, body and age in hours of each.
    """

    author: str
    body: str
    hours: int
    replies: tuple[tuple[str, str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemPlan:
    """
    An item.

    Attributes:
        key: Key by which other plans link to the item; "" when none does.
        values: Column id to the value as a mutation takes it.
        author: Key of the user who created the item.
        age_days: Days from its creation to the world's day.
        changed_days_ago: Days from its last change to the world's day.
    """

    name: str
    group: str
    key: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    author: str = "nora"
    age_days: int = 60
    changed_days_ago: int = 3
    state: str = "active"
    comments: tuple[CommentPlan, ...] = ()
    subitems: tuple["ItemPlan", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardPlan:
    """A board and everything on it; *fields* are more fields of its record."""

    name: str
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]
    items: Sequence[ItemPlan]
    author: str = "nora"
    age_days: int = 400
    fields: Mapping[str, Any] = field(default_factory=dict)


class BoardBuilder:
    """
    Adds planned boards to a store, as of one day.

    Attributes:
        users: Key to the id of a user.
        items: Key of a plan to its item.
    """

    def __init__(self, store: BoardStore, day: datetime, users: Mapping[str, str]) -> None:
        self._store = store
        self._day = day
        self.users = users
        self.items: dict[str, Item] = {}

    def build(self, plan: BoardPlan, subitems_board: Board | None = None) -> Board:
        """Add a board; sub-items go to *subitems_board* and are left out when it is None."""
        board = self._store.add_board(
            plan.name,
            creator_id=self.users[plan.author],
            columns=plan.columns,
            groups=plan.groups,
            created_at=self._ago(days=plan.age_days),
            updated_at=self._ago(days=1),
            **plan.fields,
        )
        for item_plan in plan.items:
            item = self._add_item(board, item_plan, parent=None)
            if subitems_board is not None:
                for subitem_plan in item_plan.subitems:
                    self._add_item(subitems_board, subitem_plan, parent=item.id)
        return board

    def _add_item(self, board: Board, plan: ItemPlan, *, parent: str | None) -> Item:
        updated_at = self._ago(days=plan.changed_days_ago)
        item = self._store.add_item(
            board,
            plan.name,
            group=plan.group,
            creator_id=self.users[plan.author],
            values=self._values(board, plan, updated_at),
            parent=parent,
            created_at=self._ago(days=plan.age_days, minutes=len(plan.name)),
            updated_at=updated_at,
        )
        if plan.state != "active":
            item = self._store.items.put(msgspec.structs.replace(item, state=plan.state))
        if plan.key:
            self.items[plan.key] = item
        for comment in plan.comments:
            self._add_comment(item, comment)
        return item

    def _values(self, board: Board, plan: ItemPlan, timestamp: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for column_id, value in plan.values.items():
            column = board.column(column_id)
            if column is None:
                raise KeyError(column_id)
            labels = LabelResolver(create_missing=False)
            write = ColumnWrite(
                store=self._store, column=column, labels=labels, timestamp=timestamp
            )
            stored = parse_value(write, value)
            if stored is not None:
                values[column_id] = stored
        return values

    def _add_comment(self, item: Item, plan: CommentPlan) -> None:
        comment = self._store.add_update(
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
                parent=comment.id,
                created_at=self._ago(hours=hours),
            )

    def _ago(self, **span: int) -> str:
        return format_time((self._day - timedelta(**span)).timestamp())


def start_of_work(day: datetime) -> datetime:
    """Return 08:00 UTC of a day: the start of the world's day."""
    return day.astimezone(UTC).replace(hour=8, minute=0, second=0, microsecond=0)
