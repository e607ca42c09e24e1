"""
The links that lead a person to reconnect an account: signed, good for a week, the same all day.

Whoever holds one can send the account's owner to the provider's consent page and nothing more: an
account other than the connection's own is refused there.
"""

from collections.abc import Callable

from gateway.secrets.keyring import Keyring
from gateway.store.timestamps import now_ms

PATH = "/oauth/reconnect"
_DAY = 24 * 60 * 60 * 1000  # milliseconds
_DAYS = 7
_CONTEXT = b"reconnect"


class InvalidLink(ValueError):
    """Not one of ours, or too old."""


class ReconnectLinks:
    """Makes and reads the links. One per process."""

    def __init__(
        self,
        keyring: Keyring,
        base_url: str,
        *,
        has_client: Callable[[str], bool],
        clock: Callable[[], int] = now_ms,
    ) -> None:
        """*has_client* says whether this deployment has an OAuth client for a provider."""
        self._keyring = keyring
        self._base_url = base_url
        self._has_client = has_client
        self._clock = clock

    def url(self, connection_id: int) -> str:
        """Return the link of a connection; it stays the same until the day (UTC) ends."""
        last_day = self._clock() // _DAY + _DAYS
        signature = self._keyring.sign(_signed(connection_id, last_day), context=_CONTEXT)
        return f"{self._base_url}{PATH}/{connection_id}.{last_day}.{signature}"

    def link_for(
        self, connection_id: int, *, provider: str, mode: str | None, status: str
    ) -> str | None:
        """Return the link of a connection that needs one and can be helped by it."""
        if status != "needs_reauth" or mode == "selected_sites" or not self._has_client(provider):
            return None
        return self.url(connection_id)

    def verify(self, text: str) -> int:
        """
        Return the connection that the last part of a link is for.

        Raises:
            DeadLink: Not one of ours, or its week is over.
        """
        number, _, rest = text.partition(".")
        day, _, signature = rest.partition(".")
        if not (number.isdecimal() and number.isascii() and len(number) <= 19):
            raise InvalidLink
        if not (day.isdecimal() and day.isascii() and len(day) <= 7):
            raise InvalidLink
        connection_id, last_day = int(number), int(day)
        genuine = self._keyring.verify(
            signature, _signed(connection_id, last_day), context=_CONTEXT
        )
        if not genuine or self._clock() // _DAY > last_day:
            raise InvalidLink
        return connection_id


def _signed(connection_id: int, last_day: int) -> bytes:
    return f"{connection_id}.{last_day}".encode()
