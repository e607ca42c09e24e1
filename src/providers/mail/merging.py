"""
One page out of many mailboxes' answers: k-way merge, positions, totals.

A connection that was not read to its end hides what may still come from it, so nothing is emitted
that its unread part could precede. Source: decisions 5.3.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice, takewhile
from operator import itemgetter

from msgspec.structs import replace

from providers import ids
from providers.fanout import ConnectionWarning
from providers.mail.lazy_records import unmapped
from providers.mail.scanning import end_of_millisecond, position
from providers.ports.connection import ConnectionInfo
from providers.ports.mail import MailPosition, MailSlice
from providers.records import mail as mail_records

Rank = tuple[int, str]
Entry = tuple[Rank, int, "MailboxSlice"]  # rank and connection id are what the order goes by

_BEFORE_ALL: Rank = (-(2**63), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionPosition:
    """
    Where one connection stands between two pages of a search.

    Attributes:
        after: The last message consumed, by its native id; None at the very beginning.
        exhausted: Whether nothing is left, so that it need not be asked again.
        returned: How many of its messages all pages so far held.
        total: How many match in its whole mailbox, as far as is known.
        total_exact: Whether *total* was counted rather than estimated.
    """

    after: MailPosition | None = None
    exhausted: bool = False
    returned: int = 0
    total: int = 0
    total_exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MailPage:
    """
    One page over all mailboxes.

    Attributes:
        emails: Newest first, then by prefixed id; ids are prefixed. May be short, even empty,
            while there is more.
        positions: Where each connection stands after this page, by connection id.
        total: Over all connections; never lower than the number returned so far.
        total_exact: Whether every part of *total* was counted.
        warnings: The connections that did not answer; their positions did not move.
    """

    emails: tuple[mail_records.Email, ...]
    positions: Mapping[int, ConnectionPosition]
    total: int
    total_exact: bool
    has_more: bool
    warnings: tuple[ConnectionWarning, ...]


@dataclass(frozen=True, slots=True)
class PageEnd:
    """The last email of a page: its *place* in the mailbox of *info*."""

    place: MailPosition
    info: ConnectionInfo

    def seen_from(self, info: ConnectionInfo) -> MailPosition:
        """Return how far the mailbox of *info* is consumed when all up to here is."""
        if info.provider == self.info.provider:
            return self.place
        comes_first = ids.join_mail_id(info.provider, "") < ids.join_mail_id(self.info.provider, "")
        return (
            end_of_millisecond(self.place.received_ms)
            if comes_first
            else replace(self.place, id="")
        )


@dataclass(frozen=True, slots=True)
class MailboxSlice:
    """
    One connection's answer, ready to be merged.

    Attributes:
        before: Where the connection stood when it was asked.
    """

    info: ConnectionInfo
    answer: MailSlice
    before: ConnectionPosition

    @property
    def horizon(self) -> Rank | None:
        """Up to where its order is known; None: to the end."""
        if self.answer.exhausted:
            return None
        reached = self.answer.scanned_to or self.place(len(self.answer.emails))
        return self._rank(reached) if reached is not None else _BEFORE_ALL

    def place(self, count: int) -> MailPosition | None:
        """Return where the connection stands after the first *count* of its emails."""
        return position(unmapped(self.answer.emails)[count - 1]) if count else self.before.after

    def entries(self) -> Iterator[Entry]:
        """Yield an entry for each of its emails, ranked as it is asked for."""
        for one in unmapped(self.answer.emails):
            yield self._rank(position(one)), self.info.id, self

    def emails(self, count: int, wanted: AbstractSet[str]) -> list[mail_records.Email]:
        """Return the first *count* of its emails, prefixed."""
        return with_prefixed_ids(self.answer.emails[:count], self.info.provider, wanted)

    def moved(self, count: int, end: PageEnd | None) -> ConnectionPosition:
        """
        Return where the connection stands after *count* of the emails it brought.

        *end* is of the page; None when it is empty.
        """
        old, answer = self.before, self.answer
        used_up = count == len(answer.emails)
        total, exact = old.total, old.total_exact
        if not exact and answer.exhausted:
            total, exact = old.returned + len(answer.emails), True
        elif not exact and (answer.total_exact or not total):
            total, exact = old.returned + answer.total, answer.total_exact
        return ConnectionPosition(
            after=self._reached(count, end),
            exhausted=answer.exhausted and used_up,
            returned=old.returned + count,
            total=max(total, old.returned + len(answer.emails)),
            total_exact=exact,
        )

    def _reached(self, count: int, end: PageEnd | None) -> MailPosition | None:
        """
        Return the furthest place up to which everything is consumed.

        That is the end of the page as a rule, for all mailboxes alike: page tokens say it once.
        """
        emails = unmapped(self.answer.emails)
        own = self.place(count)
        if count == len(emails) and self.answer.scanned_to is not None:
            own = self.answer.scanned_to
        if end is None:
            return own
        reached = end.seen_from(self.info)
        if own is not None and own.rank >= reached.rank:
            return own
        # Another mailbox may hold an email of the same time and id, which is still to come.
        ahead = count < len(emails) and position(emails[count]).rank <= reached.rank
        return own if ahead else reached

    def _rank(self, place: MailPosition) -> Rank:
        return -place.received_ms, ids.join_mail_id(self.info.provider, place.id)


def merge_slices(slices: Sequence[MailboxSlice], limit: int) -> list[MailboxSlice]:
    """
    Take the first *limit*, but nothing past the point to which every slice is known.

    Returns:
        In order, for each email taken, the slice whose next one it is.
    """
    if len(slices) == 1:
        return [slices[0]] * min(limit, len(slices[0].answer.emails))
    merged: Iterator[Entry] = heapq.merge(*(one.entries() for one in slices), key=itemgetter(0, 1))
    horizons = [horizon for one in slices if (horizon := one.horizon) is not None]
    if horizons:
        nearest = min(horizons)
        merged = takewhile(lambda entry: entry[0] <= nearest, merged)
    return [one for _, _, one in islice(merged, limit)]


def build_page(
    chosen: Sequence[MailboxSlice],
    slices: Sequence[MailboxSlice],
    before: Mapping[int, ConnectionPosition],
    *,
    warnings: Sequence[ConnectionWarning],
    wanted: AbstractSet[str],
) -> MailPage:
    """
    Make the page that holds *chosen*, and say where each connection stands after it.

    Args:
        chosen: From `merge_slices`.
        slices: Of the connections that answered.
        before: Where every connection stood before, by id.
        warnings: Of the connections that did not answer; their positions stay.
        wanted: Attributes of `records.Email`.
    """
    counts = Counter([one.info.id for one in chosen])
    shown = {
        one.info.id: iter(one.emails(counts[one.info.id], wanted))
        for one in slices
        if counts[one.info.id]
    }
    end = _end(chosen[-1], counts) if chosen else None
    positions = {**before, **{one.info.id: one.moved(counts[one.info.id], end) for one in slices}}
    return MailPage(
        emails=tuple([next(shown[one.info.id]) for one in chosen]),
        positions=positions,
        total=sum(max(one.total, one.returned) for one in positions.values()),
        total_exact=all(one.total_exact for one in positions.values()),
        has_more=not all(one.exhausted for one in positions.values()),
        warnings=tuple(warnings),
    )


def _end(last: MailboxSlice, counts: Mapping[int, int]) -> PageEnd:
    return PageEnd(position(unmapped(last.answer.emails)[counts[last.info.id] - 1]), last.info)


def with_prefixed_ids(
    emails: Iterable[mail_records.Email], provider: str, wanted: AbstractSet[str]
) -> list[mail_records.Email]:
    """Prefix the ids; the received time, which is always read, stays only when it is wanted."""
    dated = "received_at" in wanted
    prefix = ids.join_mail_id(provider, "")
    return [
        replace(
            email,
            id=prefix + email.id,
            provider=provider,
            thread_id=email.thread_id and prefix + email.thread_id,
            received_at=email.received_at if dated else None,
        )
        for email in emails
    ]
