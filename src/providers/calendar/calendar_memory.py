"""Memory of an account's calendars between requests: docs/spec/calendar.md#upstream-calls."""

import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from providers.http.events import shared_lookup
from providers.records.calendar import Calendar

RECENT_SECONDS = 60.0


class CalendarMemory(msgspec.Struct):
    """
    The list of the calendars of one account, as upstream told it.

    Attributes:
        listed: The calendars.
        until: Monotonic time, in seconds, until which the list is recent.
        is_split: Whether each calendar is read by calls of its own until the list is read again,
            because a call for several failed.
    """

    listed: tuple[Calendar, ...] = ()
    until: float = 0.0
    is_split: bool = False

    async def calendars(
        self, read: Callable[[], Awaitable[Sequence[Calendar]]], *, recent: bool
    ) -> Sequence[Calendar]:
        """
        Return the list.

        Args:
            read: Asks upstream for it.
            recent: Whether a list of the last `RECENT_SECONDS` serves.
        """
        if not recent:
            return self._keep(await read())
        if time.monotonic() >= self.until:
            with shared_lookup():
                self._keep(await read())
        return self.listed

    def _keep(self, calendars: Sequence[Calendar]) -> Sequence[Calendar]:
        self.listed = tuple(calendars)
        self.until = time.monotonic() + RECENT_SECONDS
        self.is_split = False
        return self.listed
