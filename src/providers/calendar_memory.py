"""What is remembered of an account's calendars between requests: which there are, for a while."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from providers.failures import Missing
from providers.records_calendar import Calendar

SECONDS = 60.0  # a new calendar is seen this late at most


class CalendarMemory:
    """One account's list of calendars."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """*clock* tells seconds."""
        self._clock = clock
        self._calendars: tuple[Calendar, ...] = ()
        self._until = float("-inf")

    async def calendars(
        self, read: Callable[[], Awaitable[Sequence[Calendar]]]
    ) -> Sequence[Calendar]:
        """Return the list, read anew when it is old."""
        if self._clock() >= self._until:
            calendars = tuple(await read())
            self._calendars, self._until = calendars, self._clock() + SECONDS
        return self._calendars

    @asynccontextmanager
    async def trusting(self, calendar: str) -> AsyncIterator[None]:
        """Read *calendar* in here: when upstream has it no longer, the list is old."""
        try:
            yield
        except Missing:
            if any(one.id == calendar for one in self._calendars):
                self._until = float("-inf")
            raise
