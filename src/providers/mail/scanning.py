"""
Reading a mailbox from a position on, page by page, until enough of it passes.

Upstream gives pages newest first; the order within one received time is ours (by id), so a time
that a page's end may cut in two is held back until the next page has completed it.
Source: decisions 0 (page filling) and 5.3.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Generic, Protocol, TypeVar

from providers.failures import Throttled, TimedOut
from providers.ports.mail import MailPosition
from providers.records.base import EPOCH, to_epoch_ms

MAX_PAGES = 5  # upstream pages per call; decisions 0
MAX_SECONDS = 8.0  # after which no further page is begun, so that a call ends within its fifteen

# Sorts after every id, so that a position may say "all of this millisecond".
_LAST_ID = "~"
_ID = attrgetter("id")


class Positioned(Protocol):
    """A message as far as its place in the order goes: a record, or what upstream sent."""

    @property
    def id(self) -> str:
        """The native id."""

    @property
    def received_at(self) -> datetime | None:
        """In whole milliseconds."""


M = TypeVar("M", bound=Positioned)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[M]):
    """
    One page of upstream.

    Attributes:
        emails: Those that may pass, in any order.
        floor_ms: The oldest received time on the page, of those left out too; None when there was
            nothing to see.
        last: Whether upstream has nothing more.
    """

    emails: Sequence[M]
    floor_ms: int | None
    last: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanResult(Generic[M]):
    """
    What was found.

    Attributes:
        emails: In order, at most as many as asked for.
        scanned_to: As in `MailSlice`.
        exhausted: As in `MailSlice`.
        counted: How many passed, those past the limit included.
    """

    emails: tuple[M, ...]
    scanned_to: MailPosition | None
    exhausted: bool
    counted: int


def position(one: Positioned) -> MailPosition:
    """Return where a message stands in its mailbox's order."""
    received = one.received_at
    return MailPosition(0 if received is None else to_epoch_ms(received), one.id)


def end_of_millisecond(received_ms: int) -> MailPosition:
    """Return the position behind everything that was received in this millisecond."""
    return MailPosition(received_ms, _LAST_ID)


def sorted_after(emails: Iterable[M], after: MailPosition | None) -> list[M]:
    """Return in order what comes strictly after a position."""
    ordered: list[M] = sorted(emails, key=_ID)
    ordered.sort(key=_received, reverse=True)  # what is equal stays in order
    if after is None:
        return ordered
    start = after.rank
    return [one for one in ordered if position(one).rank > start]


def _received(one: Positioned) -> datetime:
    return one.received_at or EPOCH


async def scan(
    pages: AsyncIterator[Page[M]],
    *,
    after: MailPosition | None,
    limit: int,
    keep: Callable[[Sequence[M]], Awaitable[Sequence[M]]],
) -> ScanResult[M]:
    """
    Read pages until *limit* messages passed, all was read, or enough was read to move on.

    Args:
        pages: Newest first; holds nothing that would have to be closed.
        after: Where to start; what does not come after it is passed over.
        limit: How many to return.
        keep: Returns those of some messages, given in order, that pass.

    Raises:
        Throttled, TimedOut: Before anything could be read; later they end the page early.
        ProviderFailure: From *pages* and *keep*.
    """
    reader = _Reader[M](after)
    found: list[M] = []
    last = False
    while not last and len(found) <= limit and not reader.tired:
        try:
            page = await anext(pages, None)
            last = page is None or page.last
            found += await keep(reader.take(page) if page else reader.rest())
            reader.settle()
        except (Throttled, TimedOut):
            if not reader.moved:
                raise
            last = False
            break
    whole = last and len(found) <= limit
    return ScanResult(
        emails=tuple(found[:limit]),
        scanned_to=None if whole or len(found) > limit else reader.reached,
        exhausted=whole,
        counted=len(found),
    )


class _Reader(Generic[M]):
    """Puts pages in order, holding back what the next page may still complete."""

    def __init__(self, after: MailPosition | None) -> None:
        self._after = after
        self._held: list[M] = []
        self._seen: set[str] = set()
        self._floor: int | None = None
        self._pages = 0
        self._started = time.monotonic()
        self._complete = after
        self.reached = after

    @property
    def moved(self) -> bool:
        return self.reached != self._after

    @property
    def tired(self) -> bool:
        late = time.monotonic() - self._started > MAX_SECONDS
        return self.moved and (late or self._pages >= MAX_PAGES)

    def settle(self) -> None:
        """Count what was taken as consumed."""
        self.reached = self._complete

    def rest(self) -> list[M]:
        ready, self._held = sorted_after(self._held, self._after), []
        return ready

    def take(self, page: Page[M]) -> list[M]:
        """Take a page in; return in order what is complete now."""
        self._pages += 1
        fresh = {email.id: email for email in page.emails if email.id not in self._seen}
        self._seen |= fresh.keys()
        self._held += fresh.values()
        if page.last:
            return self.rest()
        floors = [one for one in (self._floor, page.floor_ms) if one is not None]
        if not floors:
            return []
        self._floor = min(floors)
        complete = end_of_millisecond(self._floor + 1)
        held, self._held = self._held, []
        ready: list[M] = []
        for one in held:
            (ready if position(one).rank < complete.rank else self._held).append(one)
        if self._after is None or complete.rank > self._after.rank:
            self._complete = complete
        return sorted_after(ready, self._after)
