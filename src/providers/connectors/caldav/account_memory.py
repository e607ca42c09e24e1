"""
Memory of an account between requests, and the objects of ranges.

Objects are kept as the server has them, per connection. Nothing of a token is kept: what a token
may not see is left out afterwards, each time.
"""

import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, tzinfo

from providers.connectors.caldav.calendar_objects import CalendarObject
from providers.ports.calendar import Span

MAX_BYTES = 32 * 1024 * 1024  # of iCalendar whose objects a process keeps
# A request lists the calendars first. Their versions serve its other calls.
FRESH_SECONDS = 5.0

Key = tuple[int, str, Span]  # connection, calendar, range


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarState:
    """
    Version and time zone of a calendar.

    Attributes:
        version: It differs after each change; "" when the server does not send it.
        zone: Of times without a zone.
        read_at: On the scale of `time.monotonic`.
    """

    version: str
    zone: tzinfo = UTC
    read_at: float = field(default_factory=time.monotonic)

    @property
    def is_fresh(self) -> bool:
        return time.monotonic() - self.read_at < FRESH_SECONDS


@dataclass(slots=True)
class AccountMemory:
    """
    Results of the discovery of an account.

    Attributes:
        homes: Paths of the collections that hold its calendars; empty: not known yet.
        addresses: Its e-mail addresses, in small letters.
        states: By path of the calendar.
    """

    homes: tuple[str, ...] = ()
    addresses: frozenset[str] = frozenset()
    states: dict[str, CalendarState] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """An object with its entity tag; *size* is that of its iCalendar."""

    etag: str
    size: int
    parsed: CalendarObject


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectRange:
    """
    The objects of a calendar that may overlap a range.

    Attributes:
        version: That of the calendar, or an earlier one.
        objects: By name.
        complete: False when there are more than are read.
    """

    version: str
    objects: Mapping[str, StoredObject]
    complete: bool = True

    @property
    def size(self) -> int:
        return sum(stored.size for stored in self.objects.values())


class RangeCache:
    """The last used ranges of all accounts of the process, up to `MAX_BYTES`."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._ranges: OrderedDict[Key, ObjectRange] = OrderedDict()
        self._bytes = 0

    def get(self, key: Key) -> ObjectRange | None:
        cached = self._ranges.get(key)
        if cached is not None:
            self._ranges.move_to_end(key)
        return cached

    def put(self, key: Key, objects: ObjectRange) -> None:
        """Keep a range; one that is too large by itself is not kept."""
        self._drop(key)
        self._ranges[key] = objects
        self._bytes += objects.size
        while self._bytes > self._max_bytes:
            self._drop(next(iter(self._ranges)))

    def forget(self, connection: int) -> None:
        """Drop the ranges of a connection."""
        for key in [key for key in self._ranges if key[0] == connection]:
            self._drop(key)

    def _drop(self, key: Key) -> None:
        dropped = self._ranges.pop(key, None)
        if dropped is not None:
            self._bytes -= dropped.size
