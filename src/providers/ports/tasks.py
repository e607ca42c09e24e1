"""
Port of one account of a task provider.

Reads take the attributes of records that are wanted, and request nothing else from upstream beyond
what locating an item needs. Every method raises members of `providers.failures` and nothing else.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, Protocol

import msgspec

from providers.failures import ProviderFailure
from providers.item_visibility import Column
from providers.records.tasks import TaskBoard, TaskItem

MAX_COMMENTS = 25  # of an item: docs/spec/tasks.md#comment
NAME_COLUMN = "name"  # the pseudo column that renames an item: docs/spec/tasks.md#fields


class ItemVisibility(msgspec.Struct, frozen=True, kw_only=True):
    """
    The part of an item that a caller selected and may see: docs/spec/masks.md#task-columns.

    Attributes:
        projection: Attributes of `TaskItem`: selected and visible.
        hidden: Attributes of `TaskItem` that the caller may not see; columns that reveal them are
            not read either.
        boards: The boards that the caller may see; None: all. Values that columns take from items
            on other boards are not read.
    """

    projection: AbstractSet[str]
    hidden: AbstractSet[str] = frozenset()
    boards: AbstractSet[str] | None = None


class StalePosition(Exception):
    """A position is too old to be found again in so long a list (400 INVALID_PAGE_TOKEN)."""


class TaskPosition(NamedTuple):
    """
    Position of a reader in a list.

    Attributes:
        seen: Number of upstream entries consumed.
        last: Id of the last one.
        cursor: Upstream's cursor; None when it has none.
        at: Unix time of the cursor, in seconds.
        skip: Number of entries after the cursor that were consumed too.
    """

    seen: int
    last: str
    cursor: str | None = None
    at: int = 0
    skip: int = 0


class BoardQuery(msgspec.Struct, frozen=True, kw_only=True):
    """
    A listing of boards.

    Attributes:
        text: Part of the name, any case.
        only: The boards that exist for the caller; None: all.
        archived: Whether archived boards are listed too.
    """

    text: str | None = None
    only: AbstractSet[str] | None = None
    archived: bool = False
    limit: int = 50


class ItemQuery(msgspec.Struct, frozen=True, kw_only=True):
    """
    A listing of a board's items. All parts are ANDed; None restricts nothing.

    Attributes:
        group_id: Equal.
        text: Part of the name, any case.
        status: Equal, any case.
        assignee: Part of an assignee's name, any case.
        assignee_email: The whole address of an assignee, any case.
    """

    group_id: str | None = None
    text: str | None = None
    status: str | None = None
    assignee: str | None = None
    assignee_email: str | None = None
    limit: int = 50

    @property
    def filtered(self) -> bool:
        people = self.assignee or self.assignee_email
        return any((self.group_id, self.text, self.status, people))


class BoardSlice(msgspec.Struct, frozen=True):
    """A part of a list; *position* is None when nothing follows."""

    boards: tuple[TaskBoard, ...]
    position: TaskPosition | None


class ItemSlice(msgspec.Struct, frozen=True):
    """
    A part of a list.

    Attributes:
        position: None when nothing follows.
        total: Number of the board's items; None when upstream does not tell, or with a filter.
    """

    items: tuple[TaskItem, ...]
    position: TaskPosition | None
    total: int | None


class TaskTarget(msgspec.Struct, frozen=True, kw_only=True):
    """
    An item to be changed.

    Attributes:
        boards: The boards it is on; of a sub-item, those of its parent.
        home: The board whose columns it has.
        columns: Those columns; empty when they were not requested.
    """

    item_id: str
    boards: tuple[str, ...]
    home: str
    columns: tuple[Column, ...] = ()


class NewItem(msgspec.Struct, frozen=True, kw_only=True):
    """An item to be created; *fields* are as with `TaskPort.update`."""

    board_id: str
    name: str
    group_id: str | None = None
    fields: Mapping[str, str]


class CreatedTask(msgspec.Struct, frozen=True):
    """A new item's id, and the ids of the columns that upstream refused to set."""

    item_id: str
    rejected: tuple[str, ...]


class TaskPort(Protocol):
    """
    One connected account of a task provider.

    Attributes:
        max_item_name: How many characters the provider takes as the name of an item.
    """

    max_item_name: int

    async def boards(
        self, query: BoardQuery, *, after: TaskPosition | None, projection: AbstractSet[str]
    ) -> BoardSlice:
        """List boards after a position (None: from the start); *projection* of `TaskBoard`."""

    async def board(self, board_id: str, *, projection: AbstractSet[str]) -> TaskBoard:
        """
        Read one board, in any state but deleted.

        Raises:
            Missing: There is none, or the account may not see it.
        """

    async def boards_by_id(
        self, board_ids: Sequence[str], *, projection: AbstractSet[str]
    ) -> Mapping[str, TaskBoard | ProviderFailure]:
        """Read boards, together where upstream can; per id the board, or what `board` raises."""

    async def items(
        self,
        board_id: str,
        query: ItemQuery,
        *,
        after: TaskPosition | None,
        visibility: ItemVisibility,
    ) -> ItemSlice:
        """
        List items of a board after a position, in the board's order, without comments.

        Raises:
            Missing: There is no such board.
        """

    async def item(self, item_id: str, *, visibility: ItemVisibility) -> TaskItem:
        """
        Read one item.

        Raises:
            Missing: There is none, it was deleted, or the account may not see it.
        """

    async def items_by_id(
        self, item_ids: Sequence[str], *, visibility: ItemVisibility
    ) -> Mapping[str, TaskItem | ProviderFailure]:
        """Read items, together where upstream can; per id the item, or what `item` raises."""

    async def targets(self, item_ids: Sequence[str]) -> Mapping[str, TaskTarget | ProviderFailure]:
        """Locate items, without columns; per id the target, or what `target` raises."""

    async def target(self, item_id: str, *, columns: bool = False) -> TaskTarget:
        """
        Locate an item, with *columns* also its board's columns; none of its content is read.

        Raises:
            Missing: As `item`.
        """

    async def create(self, item: NewItem) -> CreatedTask:
        """
        Create an item once, even when upstream refuses some of its columns.

        Raises:
            OutcomeUnknown: It may have been created.
            Missing: There is no such board.
        """

    async def people(self, values: Sequence[Any]) -> Sequence[str | None]:
        """
        Return the addresses of all people whom *values* name otherwise than by an address.

        *values* are decoded from a people column as it would be written. The ids among them are
        looked up together. None stands for a person who is named in another way, whom the account
        does not know or who has no address.
        """

    async def update(self, target: TaskTarget, fields: Mapping[str, str]) -> tuple[str, ...]:
        """
        Set columns: column id -> the provider's JSON as a text, or plain text.

        Returns:
            The ids of the columns that upstream refused; the others are set.
        """

    async def delete(self, target: TaskTarget) -> None:
        """Delete an item for good."""

    async def comment(self, target: TaskTarget, body: str) -> str:
        """
        Add a comment, plain text, once; return its id.

        Raises:
            OutcomeUnknown: It may have been added.
        """

    async def probe(self) -> None:
        """Make one read, to test the connection."""
