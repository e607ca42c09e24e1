"""
Signed links with which a person reconnects an account: valid for a week, the same all day.

A link leads to the provider's consent page and allows nothing more: an account other than the
connection's own is refused after it. See docs/spec/management.md#reconnecting-an-account.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from gateway.store.timestamps import ClockMs, now_ms

if TYPE_CHECKING:
    from gateway.secrets.keyring import Keyring

PATH = "/oauth/reconnect"
DEFAULT_HOURS = 24  # of one-time links
MAX_HOURS = 7 * 24
_DAY = 24 * 60 * 60 * 1000  # milliseconds
_VALID_DAYS = 7
_CONTEXT = b"reconnect"


class InvalidLink(ValueError):
    """Not a link of this gateway, or expired."""


class ReconnectLinks:
    """Makes and verifies links. One per process."""

    def __init__(
        self,
        keyring: "Keyring",
        base_url: str,
        *,
        has_client: Callable[[str], bool],
        clock: ClockMs = now_ms,
    ) -> None:
        """*has_client* returns whether this deployment has an OAuth client for a provider."""
        self._keyring = keyring
        self._base_url = base_url
        self._has_client = has_client
        self._clock = clock

    def url(self, connection_id: int) -> str:
        """Return the link of a connection; the same until the UTC day ends."""
        last_day = self._clock() // _DAY + _VALID_DAYS
        signature = self._keyring.sign(_payload(connection_id, last_day), context=_CONTEXT)
        return f"{self._base_url}{PATH}/{connection_id}.{last_day}.{signature}"

    def link_for(self, connection_id: int, *, provider: str, mode: str | None) -> str | None:
        """Return the link of a connection whose consent is needed; None: it is not possible."""
        if mode == "selected_sites" or not self._has_client(provider):
            return None
        return self.url(connection_id)

    def verify(self, text: str) -> int:
        """
        Return the connection id of *text*, the last path segment of a link.

        Raises:
            InvalidLink: Not signed by this gateway, or expired.
        """
        number, _, rest = text.partition(".")
        day, _, signature = rest.partition(".")
        if not (number.isdecimal() and number.isascii() and len(number) <= 19):
            raise InvalidLink
        if not (day.isdecimal() and day.isascii() and len(day) <= 7):
            raise InvalidLink
        connection_id, last_day = int(number), int(day)
        genuine = self._keyring.verify(
            signature, _payload(connection_id, last_day), context=_CONTEXT
        )
        if not genuine or self._clock() // _DAY > last_day:
            raise InvalidLink
        return connection_id


def _payload(connection_id: int, last_day: int) -> bytes:
    return f"{connection_id}.{last_day}".encode()
