"""
Reads a mailbox from a position on, page by page, until enough messages match.

Upstream sends pages newest first; messages of one received time are ordered by id, by us. So the
messages of the last received time of a page are held back until the next page has completed them.
The limits: docs/spec/paging.md#page-filling.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from operator import attrgetter, gt
from typing import Generic, Protocol, TypeVar

import msgspec

from providers.failures import Throttled, TimedOut
from providers.ports.mail import MailPosition, MailSlice
from providers.records.base import EPOCH, from_epoch_ms, to_epoch_ms
from providers.records.mail import Email

MAX_PAGES = 5  # of upstream, per call
MAX_SECONDS = 8.0  # no page is requested later, so that a call ends within its 15 seconds

_FEW = 4  # messages that are not worth a call: at most those that `first_page_size` adds

# Sorts after every id: with it, a position comes after all messages of its millisecond.
_LAST_ID = "~"
_ID = attrgetter("id")
_RECEIVED_AT = attrgetter("received_at")


class Positioned(Protocol):
    """A message with the attributes that order it: a record, or as upstream sent it."""

    @property
    def id(self) -> str:
        """The native id."""

    @property
    def received_at(self) -> datetime | None:
        """The received time, in whole milliseconds."""


M = TypeVar("M", bound=Positioned)


class Page(msgspec.Struct, Generic[M], frozen=True, kw_only=True):
    """
    One page of upstream.

    Attributes:
        emails: Messages that may match, in any order.
        floor_ms: The oldest received time on the page, also of messages left out; None when the
            page is empty.
        last: Whether upstream has no further page.
        is_budget_spent: Whether the call has cost enough with this page, so that it ends here once
            the position has moved.
    """

    emails: Sequence[M]
    floor_ms: int | None
    last: bool
    is_budget_spent: bool = False


class ScanResult(msgspec.Struct, Generic[M], frozen=True, kw_only=True):
    """
    Result of `scan`.

    Attributes:
        emails: Matching messages in order, at most the limit.
        scanned_to, exhausted: As in `MailSlice`.
        counted: Number of messages that matched, those past the limit included.
        is_complete: Whether upstream was read to its end, so that *counted* is all that match.
    """

    emails: tuple[M, ...]
    scanned_to: MailPosition | None
    exhausted: bool
    counted: int
    is_complete: bool


def first_page_size(limit: int, after: MailPosition | None) -> int:
    """
    Return the number of messages that as a rule tell a whole page from a last one.

    One more than *limit*; the last one, which is held back; and those of the second of *after*,
    to which upstream cannot be told the position more exactly: as a rule one, perhaps two.
    """
    return limit + 2 if after is None else limit + 4


def size_of_whole_calls(size: int, per_call: int) -> int:
    """Return *size* without the last few messages, where a call of its own would read them."""
    rest = size % per_call
    return size - rest if size > per_call and rest <= _FEW else size


def position(message: Positioned) -> MailPosition:
    """Return the position of a message in its mailbox."""
    received = message.received_at
    return MailPosition(0 if received is None else to_epoch_ms(received), message.id)


def end_of_millisecond(received_ms: int) -> MailPosition:
    """Return the position after all messages of a millisecond."""
    return MailPosition(received_ms, _LAST_ID)


def sorted_after(emails: Iterable[M], after: MailPosition | None) -> list[M]:
    """Return the messages that come strictly after a position, in order."""
    ordered = list(emails)
    if len(ordered) > 1 and not _are_newest_first(ordered):
        ordered.sort(key=_ID)
        ordered.sort(key=_received, reverse=True)  # stable: ids stay in order
    if after is None:
        return ordered
    start = after.rank
    return [email for email in ordered if position(email).rank > start]


def _are_newest_first(messages: Sequence[Positioned]) -> bool:
    """Return quickly whether each message was received before the one in front of it."""
    times = list(map(_RECEIVED_AT, messages))
    try:
        return all(map(gt, times, times[1:]))
    except TypeError:  # a message without a received time
        return False


def _received(message: Positioned) -> datetime:
    return message.received_at or EPOCH


def slice_of_page(emails: Sequence[Email], *, last: bool) -> MailSlice:
    """Return the messages of a first page that is read alone; *last*: no page follows it."""
    return MailSlice(
        emails=emails, scanned_to=None, exhausted=last, total=len(emails), total_exact=last
    )


async def scan(
    pages: AsyncIterator[Page[M]],
    *,
    after: MailPosition | None,
    limit: int,
    enough: int | None = None,
    keep: Callable[[Sequence[M]], Awaitable[Sequence[M]]] | None,
) -> ScanResult[M]:
    """
    Read pages until *limit* messages match, all is read, or a bound is reached.

    The bounds are `MAX_PAGES`, `MAX_SECONDS`, and `Page.is_budget_spent`.

    Args:
        pages: Newest first, except that a message may come later than *floor_ms* of an earlier
            page allows: it is put in order if it is read in the same call. Needs no closing.
        after: Messages up to here are skipped.
        limit: Number of messages to return.
        enough: No page is read when more than so many match; None: *limit*.
        keep: Returns the messages that match, of some that are in order; None: all match.

    Raises:
        Throttled, TimedOut: Before anything was read; later they end the page early.
        ProviderFailure: From *pages* and *keep*.
    """
    reader: _Reader[M] = _Reader(after)
    matching: list[M] = []
    last = False
    enough = limit if enough is None else enough
    while True:
        try:
            page = await anext(pages, None)
            last = page is None or page.last
            ready = reader.rest() if page is None else reader.take(page)
            matching += ready if keep is None else await keep(ready)
        except (Throttled, TimedOut):
            if not reader.moved:
                raise
            last = False
            break
        reader.reached = reader.complete  # the messages taken so far are consumed
        if last or len(matching) > enough or reader.limit_reached:
            break
    if reader.pages > 1:  # one page is in order already
        matching = sorted_after(matching, after)
    whole = last and len(matching) <= limit
    return ScanResult(
        emails=tuple(matching[:limit]),
        scanned_to=None if whole or len(matching) > limit else reader.reached,
        exhausted=whole,
        counted=len(matching),
        is_complete=last,
    )


class _Reader(Generic[M]):
    """Puts the messages of pages in order, and holds back those of a page's last received time."""

    def __init__(self, after: MailPosition | None) -> None:
        self._after = after
        self._held: list[M] = []
        self._seen: set[str] = set()
        self._floor: int | None = None
        self.pages = 0
        self._is_budget_spent = False
        self._started = time.monotonic()
        self.complete = after
        self.reached = after

    @property
    def moved(self) -> bool:
        return self.reached != self._after

    @property
    def limit_reached(self) -> bool:
        if not self.moved:
            return False
        late = time.monotonic() - self._started > MAX_SECONDS
        return late or self.pages >= MAX_PAGES or self._is_budget_spent

    def rest(self) -> list[M]:
        ready, self._held = sorted_after(self._held, self._after), []
        return ready

    def take(self, page: Page[M]) -> list[M]:
        """Add a page; return, in order, the messages that are complete now."""
        self.pages += 1
        self._is_budget_spent = page.is_budget_spent
        fresh = dict(zip(map(_ID, page.emails), page.emails))  # noqa: B905 - of one sequence
        if self._seen:
            for known in self._seen & fresh.keys():
                del fresh[known]
        self._held += fresh.values()
        if page.last:
            return self.rest()
        self._seen |= fresh.keys()
        floors = [floor for floor in (self._floor, page.floor_ms) if floor is not None]
        if not floors:
            return []
        self._floor = min(floors)
        complete = end_of_millisecond(self._floor + 1)
        floor = from_epoch_ms(self._floor)
        held, self._held = self._held, []
        ready: list[M] = []
        for email in held:
            (ready if _received(email) > floor else self._held).append(email)
        if self._after is None or complete.rank > self._after.rank:
            self.complete = complete
        return sorted_after(ready, self._after)
