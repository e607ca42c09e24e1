"""
One page out of the answers of many mailboxes: k-way merge, positions, totals.

A mailbox that was not read to its end may hold messages that come earlier than those of others, so
nothing past the point it was read to is returned: docs/spec/email.md#merging.
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
Entry = tuple[Rank, int, "MailboxSlice"]  # ordered by rank, then by connection id

_BEFORE_ALL: Rank = (-(2**63), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionPosition:
    """
    Position of one connection between two pages of a search.

    Attributes:
        after: The last message consumed; None at the beginning.
        exhausted: Whether nothing is left.
        returned: Number of its messages on all pages so far.
        total: Number of matches in the whole mailbox, as far as known.
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
        positions: Connection id -> its position after this page.
        total: Over all connections; at least the number returned so far.
        total_exact: Whether every part of *total* was counted.
        warnings: The connections that failed; their positions did not move.
    """

    emails: tuple[mail_records.Email, ...]
    positions: Mapping[int, ConnectionPosition]
    total: int
    total_exact: bool
    has_more: bool
    warnings: tuple[ConnectionWarning, ...]


@dataclass(frozen=True, slots=True)
class PageEnd:
    """The last message of a page: its position in the mailbox of *info*."""

    position: MailPosition
    info: ConnectionInfo

    def seen_from(self, info: ConnectionInfo) -> MailPosition:
        """Return the same point in the order, as a position in the mailbox of *info*."""
        if info.provider == self.info.provider:
            return self.position
        comes_first = ids.join_mail_id(info.provider, "") < ids.join_mail_id(self.info.provider, "")
        return (
            end_of_millisecond(self.position.received_ms)
            if comes_first
            else replace(self.position, id="")
        )


@dataclass(frozen=True, slots=True)
class MailboxSlice:
    """
    One connection's answer, ready to be merged.

    Attributes:
        before: The connection's position when it was asked.
    """

    info: ConnectionInfo
    answer: MailSlice
    before: ConnectionPosition

    @property
    def horizon(self) -> Rank | None:
        """Rank of the last point to which its order is known; None: to the end."""
        if self.answer.exhausted:
            return None
        reached = self.answer.scanned_to or self.position_at(len(self.answer.emails))
        return self._rank(reached) if reached is not None else _BEFORE_ALL

    def position_at(self, count: int) -> MailPosition | None:
        """Return the connection's position after the first *count* of its messages."""
        return position(unmapped(self.answer.emails)[count - 1]) if count else self.before.after

    def entries(self) -> Iterator[Entry]:
        """Yield an entry for each of its messages."""
        for message in unmapped(self.answer.emails):
            yield self._rank(position(message)), self.info.id, self

    def emails(self, count: int, wanted: AbstractSet[str]) -> list[mail_records.Email]:
        """Return the first *count* of its messages, with prefixed ids."""
        return with_prefixed_ids(self.answer.emails[:count], self.info.provider, wanted)

    def position_after(self, count: int, end: PageEnd | None) -> ConnectionPosition:
        """
        Return the connection's position after a page that holds *count* of its messages.

        *end* is the end of the page; None when the page is empty.
        """
        old, answer = self.before, self.answer
        all_used = count == len(answer.emails)
        total, exact = old.total, old.total_exact
        if not exact and answer.exhausted:
            total, exact = old.returned + len(answer.emails), True
        elif not exact and (answer.total_exact or not total):
            total, exact = old.returned + answer.total, answer.total_exact
        return ConnectionPosition(
            after=self._consumed_to(count, end),
            exhausted=answer.exhausted and all_used,
            returned=old.returned + count,
            total=max(total, old.returned + len(answer.emails)),
            total_exact=exact,
        )

    def _consumed_to(self, count: int, end: PageEnd | None) -> MailPosition | None:
        """
        Return the furthest position up to which everything is consumed.

        As a rule that is the end of the page, for all mailboxes alike: page tokens then hold it
        only once.
        """
        emails = unmapped(self.answer.emails)
        own = self.position_at(count)
        if count == len(emails) and self.answer.scanned_to is not None:
            own = self.answer.scanned_to
        if end is None:
            return own
        reached = end.seen_from(self.info)
        if own is not None and own.rank >= reached.rank:
            return own
        # The next message may have the same time and id as the end, which is in another mailbox.
        unread = count < len(emails) and position(emails[count]).rank <= reached.rank
        return own if unread else reached

    def _rank(self, at: MailPosition) -> Rank:
        return -at.received_ms, ids.join_mail_id(self.info.provider, at.id)


def merge_slices(slices: Sequence[MailboxSlice], limit: int) -> list[MailboxSlice]:
    """
    Merge the first *limit* messages, but none past the point to which every slice is known.

    Returns:
        For each message of the page, in order, the slice whose next message it is.
    """
    if len(slices) == 1:
        return [slices[0]] * min(limit, len(slices[0].answer.emails))
    merged: Iterator[Entry] = heapq.merge(
        *(mailbox_slice.entries() for mailbox_slice in slices), key=itemgetter(0, 1)
    )
    horizons = [
        horizon for mailbox_slice in slices if (horizon := mailbox_slice.horizon) is not None
    ]
    if horizons:
        nearest = min(horizons)
        merged = takewhile(lambda entry: entry[0] <= nearest, merged)
    return [mailbox_slice for _, _, mailbox_slice in islice(merged, limit)]


def build_page(
    chosen: Sequence[MailboxSlice],
    slices: Sequence[MailboxSlice],
    before: Mapping[int, ConnectionPosition],
    *,
    warnings: Sequence[ConnectionWarning],
    wanted: AbstractSet[str],
) -> MailPage:
    """
    Build the page of the *chosen* messages and each connection's position after it.

    Args:
        chosen: From `merge_slices`.
        slices: Of the connections that answered.
        before: Connection id -> its position before.
        warnings: Of the connections that failed; their positions stay.
        wanted: Attributes of `records.Email`.
    """
    counts = Counter([mailbox_slice.info.id for mailbox_slice in chosen])
    end = _end(chosen[-1], counts) if chosen else None
    emails_by_connection: dict[int, Iterator[mail_records.Email]] = {}
    positions = dict(before)
    for mailbox_slice in slices:
        connection = mailbox_slice.info.id
        count = counts[connection]
        positions[connection] = mailbox_slice.position_after(count, end)
        if count:
            emails_by_connection[connection] = iter(mailbox_slice.emails(count, wanted))
    return MailPage(
        emails=tuple([next(emails_by_connection[chosen_slice.info.id]) for chosen_slice in chosen]),
        positions=positions,
        total=sum(max(after.total, after.returned) for after in positions.values()),
        total_exact=all(after.total_exact for after in positions.values()),
        has_more=not all(after.exhausted for after in positions.values()),
        warnings=tuple(warnings),
    )


def _end(last: MailboxSlice, counts: Mapping[int, int]) -> PageEnd:
    return PageEnd(position(unmapped(last.answer.emails)[counts[last.info.id] - 1]), last.info)


def with_prefixed_ids(
    emails: Iterable[mail_records.Email], provider: str, wanted: AbstractSet[str]
) -> list[mail_records.Email]:
    """Prefix the ids of emails; drop the received time, which is always read, unless wanted."""
    keep_received_at = "received_at" in wanted
    prefix = ids.join_mail_id(provider, "")
    return [
        replace(
            email,
            id=prefix + email.id,
            provider=provider,
            thread_id=email.thread_id and prefix + email.thread_id,
            received_at=email.received_at if keep_received_at else None,
        )
        for email in emails
    ]
