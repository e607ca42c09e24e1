"""
One page out of many mailboxes' answers: k-way merge, positions, totals.

A connection that was not read to its end hides what may still come from it, so nothing is emitted
that its unread part could precede. Source: decisions 5.3.
"""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from operator import itemgetter

from msgspec import structs

from providers import ids, records
from providers.fanout import ConnectionWarning
from providers.ports import ConnectionInfo, MailPosition, MailSlice

Rank = tuple[int, str]
Entry = tuple[Rank, int, records.Email]

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

    emails: tuple[records.Email, ...]
    positions: Mapping[int, ConnectionPosition]
    total: int
    total_exact: bool
    has_more: bool
    warnings: tuple[ConnectionWarning, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """
    One connection's answer, ready to be merged.

    Attributes:
        ranks: Of its emails, in order.
        horizon: Up to where its order is known; None: to the end.
    """

    info: ConnectionInfo
    answer: MailSlice
    ranks: tuple[Rank, ...]
    horizon: Rank | None

    @classmethod
    def of(cls, info: ConnectionInfo, answer: MailSlice, after: MailPosition | None) -> "Slice":
        ranks = tuple([_rank(info, _position(email)) for email in answer.emails])
        reached = answer.scanned_to or (_position(answer.emails[-1]) if ranks else after)
        horizon = _rank(info, reached) if reached is not None else _BEFORE_ALL
        return cls(
            info=info,
            answer=answer,
            ranks=ranks,
            horizon=None if answer.exhausted else horizon,
        )

    def entries(self) -> Iterator[Entry]:
        """Yield rank, connection id and email, in order."""
        for rank, email in zip(self.ranks, self.answer.emails, strict=True):
            yield rank, self.info.id, email


def merge(slices: Sequence[Slice], limit: int) -> list[Entry]:
    """Take the first *limit*, but nothing past the point to which every slice is known."""
    merged: Iterator[Entry] = heapq.merge(*(one.entries() for one in slices), key=itemgetter(0, 1))
    horizons = [one.horizon for one in slices if one.horizon is not None]
    if horizons:
        nearest = min(horizons)
        merged = takewhile(lambda entry: entry[0] <= nearest, merged)
    return list(islice(merged, limit))


def page(
    chosen: Sequence[Entry],
    slices: Sequence[Slice],
    before: Mapping[int, ConnectionPosition],
    *,
    warnings: Sequence[ConnectionWarning],
    wanted: AbstractSet[str],
) -> MailPage:
    """
    Make the page that holds *chosen*, and say where each connection stands after it.

    Args:
        chosen: From `merge`.
        slices: Of the connections that answered.
        before: Where every connection stood before, by id.
        warnings: Of the connections that did not answer; their positions stay.
        wanted: Attributes of `records.Email`.
    """
    provider = {one.info.id: one.info.provider for one in slices}
    counts = dict.fromkeys(provider, 0)
    for _, connection, _ in chosen:
        counts[connection] += 1
    positions = dict(before)
    for one in slices:
        positions[one.info.id] = _moved(before[one.info.id], one.answer, counts[one.info.id])
    return MailPage(
        emails=tuple(prefixed(email, provider[owner], wanted) for _, owner, email in chosen),
        positions=positions,
        total=sum(max(one.total, one.returned) for one in positions.values()),
        total_exact=all(one.total_exact for one in positions.values()),
        has_more=not all(one.exhausted for one in positions.values()),
        warnings=tuple(warnings),
    )


def _moved(old: ConnectionPosition, answer: MailSlice, count: int) -> ConnectionPosition:
    """Return where a connection stands after *count* of the emails it brought."""
    after = _position(answer.emails[count - 1]) if count else old.after
    used_up = count == len(answer.emails)
    if used_up and answer.scanned_to is not None:
        after = answer.scanned_to
    total, exact = old.total, old.total_exact
    if not exact and answer.exhausted:
        total, exact = old.returned + len(answer.emails), True
    elif not exact and (answer.total_exact or not total):
        total, exact = old.returned + answer.total, answer.total_exact
    return replace(
        old,
        after=after,
        exhausted=answer.exhausted and used_up,
        returned=old.returned + count,
        total=max(total, old.returned + len(answer.emails)),
        total_exact=exact,
    )


def _position(email: records.Email) -> MailPosition:
    received = email.received_at
    return MailPosition(0 if received is None else records.milliseconds(received), email.id)


def _rank(info: ConnectionInfo, position: MailPosition) -> Rank:
    return -position.received_ms, ids.join_mail(info.provider, position.id)


def prefixed(email: records.Email, provider: str, wanted: AbstractSet[str]) -> records.Email:
    """Prefix the ids; the received time, which is always read, stays only when it is wanted."""
    return structs.replace(
        email,
        id=ids.join_mail(provider, email.id),
        provider=provider,
        thread_id=email.thread_id and ids.join_mail(provider, email.thread_id),
        received_at=email.received_at if "received_at" in wanted else None,
    )
