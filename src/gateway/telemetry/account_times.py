"""Seconds of upstream calls by account, in this process and the last day."""

import time
from collections import Counter
from collections.abc import Callable
from itertools import islice

import msgspec

from providers.http.events import CallEvent

HOURS = 24
MOST_ACCOUNTS = 1000  # of an hour; the others are counted as `OTHERS`
OTHERS = 0  # no connection has this id


class AccountTime(msgspec.Struct, frozen=True):
    """Attempts at upstream calls with the credentials of a connection, and their *seconds*."""

    id: int
    calls: int
    seconds: float


class AccountTimes:
    """
    Sums by connection and hour; one per process.

    Attributes:
        since: Milliseconds; when it began to count, or the hours that it keeps.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        """*clock* gives seconds since the epoch."""
        self._clock = clock
        self._began = clock()
        # Hour since the epoch -> calls and seconds by connection.
        self._hours: dict[int, tuple[Counter[int], Counter[int]]] = {}

    @property
    def since(self) -> int:
        return int(max(self._began, (self._oldest() * 3600)) * 1000)

    def record(self, event: CallEvent) -> None:
        """Count an attempt; listens to `providers.http`."""
        if not isinstance(event.connection, int):
            return
        hour = int(self._clock()) // 3600
        if hour not in self._hours:
            self._hours[hour] = (Counter(), Counter())
            for passed in [each for each in self._hours if each < self._oldest()]:
                del self._hours[passed]
        calls, seconds = self._hours[hour]
        is_kept = event.connection in calls or len(calls) < MOST_ACCOUNTS
        account = event.connection if is_kept else OTHERS
        calls[account] += 1
        seconds[account] += event.ended - event.began  # type: ignore[assignment]  # ints are floats

    def slowest(self, most: int) -> list[AccountTime]:
        """Return up to *most* accounts by their seconds, longest first."""
        calls, seconds = Counter[int](), Counter[int]()
        for hour, (hour_calls, hour_seconds) in self._hours.items():
            if hour >= self._oldest():
                calls.update(hour_calls)
                seconds.update(hour_seconds)
        sums = islice(seconds.most_common(), most)
        return [AccountTime(account, calls[account], spent) for account, spent in sums]

    def _oldest(self) -> int:
        return int(self._clock()) // 3600 - HOURS + 1
