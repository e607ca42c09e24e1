"""
One page out of the answers of many mailboxes: k-way merge, positions, totals.

A mailbox that was not read to its end may hold messages that come earlier than those of others, so
nothing past the point it was read to is returned: docs/spec/email.md#merging.
"""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice, takewhile
from operator import itemgetter

import msgspec
from msgspec.structs import replace

from providers import ids
from providers.fanout import ConnectionWarning
from providers.mail.scanning import end_of_millisecond, position
from providers.ports.connection import ConnectionInfo
from providers.ports.mail import MailPort, MailPosition, MailSlice
from providers.records import mail as mail_records

Pair = tuple[ConnectionInfo, MailPort]
Rank = tuple[int, str]
Entry = tuple[Rank, int, "MailboxSlice"]  # ordered by rank, then by connection id

_BEFORE_ALL: Rank = (-(2**63), "")


class ConnectionPosition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
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


class MailPage(msgspec.Struct, frozen=True, kw_only=True):
    """
    One page over all mailboxes.

    Attributes:
        emails: Newest first, then by prefixed id; ids are prefixed. May be short, even empty,
            while there is more.
        positions: Connection id -> its position after this page.
        total: Over all connections; at least the number returned so far.
        total_exact: Whether every part of *total* was counted.
        warnings: The connections that failed, whose positions did not move, and those of which a
            message is shown in part.
    """

    emails: tuple[mail_records.Email, ...]
    positions: Mapping[int, ConnectionPosition]
    total: int
    total_exact: bool
    has_more: bool
    warnings: tuple[ConnectionWarning, ...]


class PageEnd(msgspec.Struct, frozen=True):
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


class MailboxSlice(msgspec.Struct, frozen=True):
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
        return position(self.answer.emails[count - 1]) if count else self.before.after

    def entries(self) -> Iterator[Entry]:
        """Yield an entry for each of its messages."""
        for message in self.answer.emails:
            yield self._rank(position(message)), self.info.id, self

    def emails(self, count: int, projection: AbstractSet[str]) -> Sequence[mail_records.Email]:
        """Return the first *count* of its messages as `with_prefixed_ids` does."""
        emails, hidden = self.answer.emails[:count], self.answer.hidden
        records = with_prefixed_ids(emails, self.info, projection)
        return [without(record, hidden) for record in records] if hidden else records

    def position_after(self, count: int, end: PageEnd | None) -> ConnectionPosition:
        """
        Return the connection's position after a page that holds *count* of its messages.

        *end* is the end of the page; None when the page is empty.
        """
        old, answer = self.before, self.answer
        size = len(self.answer.emails)
        total, exact = old.total, old.total_exact
        if not exact and answer.exhausted:
            total, exact = old.returned + size, True
        elif not exact and (answer.total_exact or not total):
            total, exact = old.returned + answer.total, answer.total_exact
        return ConnectionPosition(
            after=self._consumed_to(count, end),
            exhausted=answer.exhausted and count == size,
            returned=old.returned + count,
            total=max(total, old.returned + size),
            total_exact=exact,
        )

    def _consumed_to(self, count: int, end: PageEnd | None) -> MailPosition | None:
        """
        Return the furthest position up to which everything is consumed.

        As a rule that is the end of the page, for all mailboxes alike: page tokens then hold it
        only once.
        """
        messages = self.answer.emails
        is_own = end is not None and end.info is self.info
        own = end.position if end is not None and is_own else self.position_at(count)
        if count == len(messages) and self.answer.scanned_to is not None:
            own = self.answer.scanned_to
        if end is None or is_own:
            return own
        reached = end.seen_from(self.info)
        if own is not None and own.rank >= reached.rank:
            return own
        # The next message may have the same time and id as the end, which is in another mailbox.
        unread = count < len(messages) and position(messages[count]).rank <= reached.rank
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
    projection: AbstractSet[str],
) -> MailPage:
    """
    Build the page of the *chosen* messages and each connection's position after it.

    Args:
        chosen: From `merge_slices`.
        slices: Of the connections that answered.
        before: Connection id -> its position before.
        warnings: As `MailPage.warnings`.
        projection: Attributes of `records.Email`.
    """
    counts = _counts(chosen, slices)
    end = _end(chosen[-1], counts) if chosen else None
    emails_by_connection: dict[int, Iterator[mail_records.Email]] = {}
    positions = dict(before)
    for mailbox_slice in slices:
        connection = mailbox_slice.info.id
        count = counts[connection]
        positions[connection] = mailbox_slice.position_after(count, end)
        if count:
            emails_by_connection[connection] = iter(mailbox_slice.emails(count, projection))
    total, total_exact, has_more = 0, True, False
    for after in positions.values():
        total += max(after.total, after.returned)
        total_exact = total_exact and after.total_exact
        has_more = has_more or not after.exhausted
    return MailPage(
        emails=_in_order(chosen, emails_by_connection),
        positions=positions,
        total=total,
        total_exact=total_exact,
        has_more=has_more,
        warnings=tuple(warnings),
    )


def _counts(chosen: Sequence[MailboxSlice], slices: Sequence[MailboxSlice]) -> Mapping[int, int]:
    """Return the number of chosen messages of each connection."""
    if len(slices) == 1:
        return {slices[0].info.id: len(chosen)}
    counts = dict.fromkeys([mailbox_slice.info.id for mailbox_slice in slices], 0)
    for mailbox_slice in chosen:
        counts[mailbox_slice.info.id] += 1
    return counts


def _in_order(
    chosen: Sequence[MailboxSlice], emails_by_connection: Mapping[int, Iterator[mail_records.Email]]
) -> tuple[mail_records.Email, ...]:
    if len(emails_by_connection) == 1:
        (emails,) = emails_by_connection.values()
        return tuple(emails)
    return tuple([next(emails_by_connection[chosen_slice.info.id]) for chosen_slice in chosen])


def _end(last: MailboxSlice, counts: Mapping[int, int]) -> PageEnd:
    return PageEnd(position(last.answer.emails[counts[last.info.id] - 1]), last.info)


def without(email: mail_records.Email, hidden: AbstractSet[str]) -> mail_records.Email:
    """Return an email without its *hidden* attributes."""
    return replace(email, **dict.fromkeys(hidden)) if hidden else email


def with_prefixed_ids(
    emails: Iterable[mail_records.Email],
    info: ConnectionInfo,
    projection: AbstractSet[str],
    *,
    hidden: AbstractSet[str] = frozenset(),
) -> list[mail_records.Email]:
    """
    Prefix the ids of emails, and name their connection unless it is *hidden*.

    The received time, which is always read, is dropped unless wanted.
    """
    keep_received_at = "received_at" in projection
    provider = info.provider
    prefix = ids.join_mail_id(provider, "")
    connection = None if "connection_id" in hidden else info.id
    return [
        replace(
            email,
            id=prefix + email.id,
            provider=provider,
            thread_id=email.thread_id and prefix + email.thread_id,
            received_at=email.received_at if keep_received_at else None,
            connection_id=connection,
        )
        for email in emails
    ]


def shown(
    pair: Pair, emails: Iterable[mail_records.Email], projection: AbstractSet[str]
) -> list[mail_records.Email]:
    """Return emails of one mailbox with prefixed ids and their connection."""
    info, port = pair
    hidden: AbstractSet[str] = getattr(
        port, "hidden", frozenset()
    )  # of an account with settings of its own
    return with_prefixed_ids(emails, info, projection, hidden=hidden)


def shown_thread(
    pair: Pair, thread: mail_records.Thread, projection: AbstractSet[str]
) -> mail_records.Thread:
    """Return a conversation with its messages as `shown`."""
    return mail_records.Thread(
        id=ids.join_mail_id(pair[0].provider, thread.id),
        provider=pair[0].provider,
        messages=tuple(shown(pair, thread.messages, projection)),
    )
