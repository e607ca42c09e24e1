"""The task accounts of one caller, by connection."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import msgspec
from msgspec.structs import replace

from providers.ports.connection import ConnectionInfo
from providers.ports.tasks import TaskPort
from providers.records.base import of_connection
from providers.records.tasks import TaskBoard, TaskItem


class TaskAccount(msgspec.Struct, frozen=True):
    """One connection and its port."""

    connection: ConnectionInfo
    port: TaskPort

    def board(self, board: TaskBoard, hidden: AbstractSet[str]) -> TaskBoard:
        """Return a board of the account, without its *hidden* attributes."""
        return of_connection(board, self.connection.id, hidden)

    def item(self, item: TaskItem, hidden: AbstractSet[str]) -> TaskItem:
        """Return an item of the account, without its *hidden* attributes and its sub-items'."""
        below = item.sub_items and tuple([self.item(each, hidden) for each in item.sub_items])
        return of_connection(replace(item, sub_items=below), self.connection.id, hidden)


class TaskAccounts:
    """The task accounts that a caller may use."""

    def __init__(self, connections: Sequence[tuple[ConnectionInfo, TaskPort]] = ()) -> None:
        self._accounts = {info.id: TaskAccount(info, port) for info, port in connections}

    def account(self, connection_id: int) -> TaskAccount | None:
        """Return the account behind a connection; None when it is not usable."""
        return self._accounts.get(connection_id)
