"""The connection, the clients and the memory with which a connector opens a port."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from providers.http.client import Upstream
from providers.http.events import CallListener
from providers.imap.logins import Logins
from providers.ports.connection import ConnectionInfo

T = TypeVar("T")


class Memory:
    """The memory of connectors between requests, for the life of the process."""

    def __init__(self) -> None:
        self._accounts: dict[tuple[int, str, str, object], Any] = {}
        self._shared: dict[object, Any] = {}

    def of_account(self, info: ConnectionInfo, make: Callable[[], T]) -> T:
        key = info.id, info.base_url, info.account_email, make
        if key not in self._accounts:
            self._accounts[key] = make()
        memory: T = self._accounts[key]
        return memory

    def of_all(self, make: Callable[[], T]) -> T:
        if make not in self._shared:
            self._shared[make] = make()
        memory: T = self._shared[make]
        return memory

    def forget(self, connection: int) -> None:
        for key in [key for key in self._accounts if key[0] == connection]:
            _close(self._accounts.pop(key))
        for memory in self._shared.values():
            if hasattr(memory, "forget"):
                memory.forget(connection)

    def close(self) -> None:
        for memory in self._accounts.values():
            _close(memory)


def _close(memory: Any) -> None:
    if hasattr(memory, "close"):
        memory.close()


class Opening(msgspec.Struct, frozen=True):
    """
    A connection that is being opened.

    Attributes:
        make_upstream: Makes the HTTP client of a connection.
        logins: The logins at own servers; None: there are none.
        notify: Learns of calls that are not made by HTTP.
    """

    info: ConnectionInfo
    make_upstream: Callable[[ConnectionInfo], Upstream]
    store: Memory
    logins: Logins | None = None
    notify: CallListener | None = None

    def upstream(self) -> Upstream:
        """Return the HTTP client of the connection."""
        return self.make_upstream(self.info)

    def memory(self, make: Callable[[], T]) -> T:
        """
        Return the object of the account that the first call made with *make*, its key.

        It begins anew with another base URL or account, and is dropped with the connection: its
        method `close`, if it has one, is called then and when the process ends.
        """
        return self.store.of_account(self.info, make)

    def shared(self, make: Callable[[], T]) -> T:
        """
        Return the object of all accounts that the first call made with *make*, its key.

        Its method `forget`, if it has one, is called with each connection that is dropped.
        """
        return self.store.of_all(make)
