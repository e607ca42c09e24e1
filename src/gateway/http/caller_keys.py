"""
Keys of callers, by which admission control is fair: a valid credential, else the client address.

A credential is known as valid once a request with it was authenticated; until then, and once it is
refused, its requests count to the address. So wrong credentials never make new callers.
"""

from collections.abc import Callable, Hashable
from typing import Protocol

from starlette.types import Scope

from providers.bounded_map import BoundedMap

# In the scope of a request: whether it is the first of its connection.
FIRST_OF_CONNECTION = "gateway.first_of_connection"
KNOWN = 131_072  # credentials; about 16 MB


class Outcome(Protocol):
    """
    State of a request that has ended.

    Attributes:
        authenticated: Whether its credential is valid.
        status: The status of the response.
    """

    authenticated: bool
    status: int


class CallerKeys:
    """The hashes of valid credentials; *address_of* reads the key of requests without one."""

    def __init__(self, address_of: Callable[[Scope], str]) -> None:
        self._address_of = address_of
        self._known: BoundedMap[int, None] = BoundedMap(KNOWN)

    def key_of(self, scope: Scope) -> Hashable:
        """Return the key of the request's caller."""
        credential = _credential(scope)
        return credential if credential in self._known else self._address_of(scope)

    def page_key_of(self, scope: Scope) -> Hashable:
        """
        Return the key for a request of a page or a probe, which is never refused.

        First requests of connections have a turn of their own, since probes come on new ones: else
        they would wait behind all others of an address, which may be a proxy's.
        """
        return "page", self._address_of(scope), scope.get(FIRST_OF_CONNECTION, False)

    def learn(self, scope: Scope, outcome: Outcome) -> None:
        """Keep the credential of a request that has ended if it is valid, forget it if not."""
        credential = _credential(scope)
        if credential is None:
            return
        if outcome.authenticated:
            self._known[credential] = None
            self._known.move_to_end(credential)
        elif outcome.status == 401:
            self._known.pop(credential, None)


def _credential(scope: Scope) -> int | None:
    """Return the hash of the credential, with the process's random key; None without one."""
    for name, value in scope["headers"]:
        if name == b"authorization":
            return hash(value.rpartition(b" ")[2])
    return None
