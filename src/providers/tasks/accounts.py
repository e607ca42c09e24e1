"""The task accounts of one caller, by connection."""

from collections.abc import Sequence

import msgspec

from providers.ports.connection import ConnectionInfo
from providers.ports.tasks import TaskPort


class TaskAccount(msgspec.Struct, frozen=True):
    """One connection and its port."""

    connection: ConnectionInfo
    port: TaskPort


class TaskAccounts:
    """The task accounts that a caller may use."""

    def __init__(self, connections: Sequence[tuple[ConnectionInfo, TaskPort]] = ()) -> None:
        self._accounts = {info.id: TaskAccount(info, port) for info, port in connections}

    def account(self, connection_id: int) -> TaskAccount | None:
        """Return the account behind a connection; None when it is not usable."""
        return self._accounts.get(connection_id)
