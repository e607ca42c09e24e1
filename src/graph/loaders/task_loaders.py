"""Loaders of boards and items."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import NamedTuple

from graph.loaders.object_loader import EVERYTHING, Loaded, ObjectLoader, Projection, ReadMany
from providers.failures import Missing, ProviderFailure, without_frames
from providers.ports.tasks import ItemVisibility, TaskPort, TaskTarget
from providers.records.tasks import TaskBoard, TaskItem
from providers.tasks.accounts import TaskAccount, TaskAccounts


class _Key(NamedTuple):
    """
    A board or an item.

    Attributes:
        connection: The connection's id.
        name: The provider's id of the object.
        hidden, boards: Of an item, what the caller may not see of it; see `ItemVisibility`.
    """

    connection: int
    name: str
    hidden: AbstractSet[str] = frozenset()
    boards: AbstractSet[str] | None = None


_Read = Callable[
    [TaskPort, Sequence[str], ItemVisibility], Awaitable[Mapping[str, Loaded | ProviderFailure]]
]


class TaskLoaders:
    """
    Loaders of what the caller's task accounts hold.

    Attributes:
        single_use: Only one field reads, once, so nothing is read together or twice.
    """

    def __init__(self, accounts: TaskAccounts, *, single_use: bool) -> None:
        self.single_use = single_use
        self._accounts = accounts

    async def board(self, account: TaskAccount, board_id: str, projection: Projection) -> TaskBoard:
        """Read one board of an account."""
        if self.single_use:
            return await account.port.board(board_id, projection=projection)
        return await self._boards.load(_Key(account.connection.id, board_id), projection)

    async def task_item(
        self, account: TaskAccount, item_id: str, visibility: ItemVisibility
    ) -> TaskItem:
        """Read one item of an account."""
        if self.single_use:
            return await account.port.item(item_id, visibility=visibility)
        key = _Key(account.connection.id, item_id, visibility.hidden, visibility.boards)
        return await self._task_items.load(key, frozenset(visibility.projection))

    async def task_target(self, account: TaskAccount, item_id: str) -> TaskTarget:
        """Locate one item of an account, without columns."""
        if self.single_use:
            return await account.port.target(item_id)
        return await self._targets.load(_Key(account.connection.id, item_id), EVERYTHING)

    @cached_property
    def _boards(self) -> ObjectLoader[_Key, TaskBoard]:
        return ObjectLoader(
            self._by_account(
                lambda port, ids, visible: port.boards_by_id(ids, projection=visible.projection)
            )
        )

    @cached_property
    def _task_items(self) -> ObjectLoader[_Key, TaskItem]:
        return ObjectLoader(
            self._by_account(lambda port, ids, visible: port.items_by_id(ids, visibility=visible))
        )

    @cached_property
    def _targets(self) -> ObjectLoader[_Key, TaskTarget]:
        return ObjectLoader(self._by_account(lambda port, ids, _: port.targets(ids)))

    def _by_account(self, read: _Read[Loaded]) -> ReadMany[_Key, Loaded]:
        """Read the objects of each account together, all accounts at the same time."""

        async def read_group(
            group: _Key, keys: Sequence[_Key], projection: Projection
        ) -> dict[_Key, Loaded | ProviderFailure]:
            account = self._accounts.account(group.connection)
            if account is None:
                return dict.fromkeys(keys, Missing())
            visible = ItemVisibility(
                projection=projection, hidden=group.hidden, boards=group.boards
            )
            try:
                objects = await read(account.port, [key.name for key in keys], visible)
            except ProviderFailure as failure:
                return dict.fromkeys(keys, without_frames(failure))
            return {key: objects[key.name] for key in keys}

        async def read_many(
            keys: Sequence[_Key], projection: Projection
        ) -> Mapping[_Key, Loaded | ProviderFailure]:
            groups: dict[_Key, list[_Key]] = {}
            for key in keys:
                groups.setdefault(key._replace(name=""), []).append(key)
            results = await asyncio.gather(
                *(read_group(group, members, projection) for group, members in groups.items())
            )
            return {key: result for objects in results for key, result in objects.items()}

        return read_many
