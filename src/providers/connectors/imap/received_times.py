"""Received times of messages of one folder, and the answers of a server that they are read from."""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from providers.imap import parsing
from providers.imap.sequence_sets import MAX_UID
from providers.imap.session import Reply

MAX_TIME = 2**32 - 1  # seconds since the epoch, as stored


class ReceivedTimes:
    """Received times by UID, in seconds since the epoch. An object never changes."""

    def __init__(self, uids: "array[int]", times: "array[int]") -> None:
        """Take ascending UIDs and their times."""
        self._uids, self._times = uids, times
        self._newest_first: array[int] | None = None  # indexes, by descending time

    @classmethod
    def of(cls, times: Mapping[int, int]) -> "ReceivedTimes":
        """Return the times that are given by UID."""
        return cls(*_by_uid(times))

    def __len__(self) -> int:
        return len(self._uids)

    @property
    def last_uid(self) -> int:
        """The highest UID; 0 without one."""
        return self._uids[-1] if self._uids else 0

    def time(self, uid: int) -> int | None:
        """Return the received time of a message; None: it is unknown."""
        position = bisect_left(self._uids, uid)
        known = position < len(self._uids) and self._uids[position] == uid
        return self._times[position] if known else None

    def items(self) -> Iterator[tuple[int, int]]:
        """Return UID and received time of each message, by UID."""
        return zip(self._uids, self._times, strict=True)

    def newest_first(self, not_after: int = MAX_TIME) -> Iterator[tuple[int, int]]:
        """Return received time and UID of the messages from a time on, newest first."""
        order = self._order()
        for index in range(self._first_not_after(order, not_after), len(order)):
            position = order[index]
            yield self._times[position], self._uids[position]

    def count(self, low: int, high: int) -> int:
        """Return the number of messages received from *low* to *high*, both included."""
        order = self._order()
        return max(0, self._first_not_after(order, low - 1) - self._first_not_after(order, high))

    def with_newer(self, times: Mapping[int, int]) -> "ReceivedTimes":
        """Return these and the times of messages whose UIDs are higher than all here."""
        uids, by_uid = _by_uid(times)
        return ReceivedTimes(self._uids + uids, self._times + by_uid)

    def without(self, uids: AbstractSet[int]) -> "ReceivedTimes":
        """Return these but for some messages of the folder."""
        return ReceivedTimes.of({uid: time for uid, time in self.items() if uid not in uids})

    def _first_not_after(self, order: "array[int]", not_after: int) -> int:
        return bisect_left(order, -not_after, key=lambda position: -self._times[position])

    def _order(self) -> "array[int]":
        if self._newest_first is None:
            indexes = range(len(self._times))
            newest_first = sorted(indexes, key=self._times.__getitem__, reverse=True)
            self._newest_first = array("I", newest_first)
        return self._newest_first


def _by_uid(times: Mapping[int, int]) -> tuple["array[int]", "array[int]"]:
    uids = array("I", sorted(times))
    return uids, array("I", map(times.__getitem__, uids))


# As servers write it; tens of thousands of rows are read at once, while nothing else runs.
_ROW = re.compile(
    rb"\* [0-9]{1,10} FETCH \((?:UID ([0-9]{1,10}) )?INTERNALDATE "
    rb'"([ 0-9][0-9]-[A-Za-z]{3}-[0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) '
    rb'([+-][0-9]{2})([0-9]{2})"'
    rb"(?: UID ([0-9]{1,10}))?\)\Z",
    re.IGNORECASE,
)


def read(reply: Reply) -> dict[int, int]:
    """Return the received times of the rows of an answer by UID."""
    times: dict[int, int] = {}
    days: dict[bytes, int] = {}
    for pieces in reply.untagged:
        match = _ROW.match(pieces[0]) if len(pieces) == 1 else None
        uid = match and (match[1] or match[8])
        if match is None or not uid or int(uid) > MAX_UID:
            row = parsing.fetch_row(pieces)
            number = 0 if row is None else parsing.number(row.get("UID"))
            if row is not None and 0 < number <= MAX_UID:
                times[number] = internal_date(row.get("INTERNALDATE"))
            continue
        day = days.get(match[2])
        if day is None:
            day = days[match[2]] = internal_date(match[2] + b" 00:00:00 +0000")
        hours, minutes, seconds, zone = map(int, match.group(3, 4, 5, 6))
        zone_minutes = int(match[7]) if match[6][:1] == b"+" else -int(match[7])
        moment = day + (hours - zone) * 3600 + (minutes - zone_minutes) * 60 + seconds
        times[int(uid)] = min(max(0, moment), MAX_TIME) if day else 0
    return times


def internal_date(value: parsing.Value) -> int:
    """Return an INTERNALDATE as seconds since the epoch; 0 if it is not valid."""
    text = parsing.text(value).strip().replace("-", " ", 2)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return min(max(0, int(moment.timestamp())), MAX_TIME)


def received_at(seconds: int) -> datetime:
    """Return a received time as a record has it."""
    return datetime.fromtimestamp(seconds, UTC)
