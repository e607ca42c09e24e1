"""Fetching provider B's messages: the two modes of a search, and the details of known ids."""

from collections.abc import AsyncGenerator, Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from providers import records, scanning
from providers.failures import Broken, Refused
from providers.http import Upstream
from providers.ports import MailPosition
from providers.provider_b import batch, fields, mapping
from providers.provider_b.memory import PREFER, ROOT
from providers.provider_b.message import Listing, Message
from providers.provider_b.query import Filter

MOST_FOUND = 1000  # by one search, over all its pages; wire report 1A.2
_TOO_COMPLEX = "InefficientFilter"

InSight = Callable[[Message], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """
    Where to look.

    Attributes:
        path: Segments below the account, of the whole mailbox or of one folder.
        in_sight: Whether a message found there may be shown.
    """

    path: tuple[str, ...]
    in_sight: InSight


class Reader:
    """
    Reads one account, for one operation.

    Attributes:
        counted: How many messages upstream says a filter finds; None when it does not say.
    """

    def __init__(self, upstream: Upstream, place: Place) -> None:
        self._upstream = upstream
        self._place = place
        self.counted: int | None = None

    async def pages(
        self, asked: Filter, wanted: AbstractSet[str], size: int
    ) -> AsyncGenerator[scanning.Page]:
        """Yield pages of a filter, newest first."""
        async for listing in self._filtered(asked, wanted, size):
            yield scanning.Page(
                emails=self.emails(listing.value, wanted),
                floor_ms=_oldest(listing),
                last=listing.next_link is None,
            )

    async def searched(
        self, text: str, wanted: AbstractSet[str]
    ) -> tuple[list[records.Email], MailPosition | None]:
        """
        Return what a search finds, in no order, and up to where that is all there is.

        The position is None when everything was found; upstream stops at a thousand.
        """
        messages: list[Message] = []
        more = False
        params = (("$search", text), ("$top", str(MOST_FOUND)), *fields.message(frozenset(wanted)))
        async for listing in self._listings(params):
            messages += listing.value
            more = listing.next_link is not None
            if len(messages) >= MOST_FOUND:
                break
        whole = not more and len(messages) < MOST_FOUND
        floor = min((one.received_ms for one in messages), default=0)
        emails = {one.id: one for one in self.emails(messages, wanted)}
        return list(emails.values()), None if whole else scanning.whole_of(floor + 1)

    async def details(
        self, emails: Sequence[records.Email], wanted: AbstractSet[str]
    ) -> tuple[records.Email, ...]:
        """Read again, with all that is wanted, what was found by less."""
        if not emails:
            return ()
        found = await batch.messages(
            self._upstream, [one.id for one in emails], fields.message(frozenset(wanted))
        )
        return tuple(self.emails([found[one.id] for one in emails if one.id in found], wanted))

    def emails(self, messages: Sequence[Message], wanted: AbstractSet[str]) -> list[records.Email]:
        """Make records of the messages in sight."""
        shown = [one for one in messages if self._place.in_sight(one)]
        if not all(map(mapping.well_formed, shown)):
            raise Broken
        return [mapping.email(one, wanted) for one in shown]

    async def _filtered(
        self, asked: Filter, wanted: AbstractSet[str], size: int
    ) -> AsyncGenerator[Listing]:
        params = (
            ("$orderby", "receivedDateTime desc"),
            ("$top", str(size)),
            *fields.message(frozenset(wanted)),
        )
        try:
            text = (("$filter", asked.text), ("$count", "true"))
            async for listing in self._listings((*text, *params)):
                if listing.count is not None:
                    self.counted = listing.count
                yield listing
        except Refused as refusal:
            if refusal.word != _TOO_COMPLEX or asked.simple == asked.text:
                raise
            async for listing in self._listings((("$filter", asked.simple), *params)):
                yield listing

    async def _listings(self, params: Sequence[tuple[str, str]]) -> AsyncGenerator[Listing]:
        """Yield one page after the other, by upstream's links."""
        answer = await self._upstream.call(
            "GET", *ROOT, *self._place.path, params=params, headers=PREFER
        )
        seen: set[str] = set()
        while True:
            listing = answer.decode(Listing)
            yield listing
            link = listing.next_link
            if link is None:
                return
            if link in seen:
                raise Broken
            seen.add(link)
            answer = await self._upstream.follow(link, headers=PREFER)

    async def conversation(
        self, thread_id: str, wanted: AbstractSet[str], *, most: int
    ) -> list[records.Email]:
        """Return the messages of a conversation in no order, at most about *most*."""
        params = (
            ("$filter", f"conversationId eq '{thread_id}'"),
            ("$top", "50"),
            *fields.message(frozenset(wanted)),
        )
        found: dict[str, records.Email] = {}
        async for listing in self._listings(params):
            found |= {one.id: one for one in self.emails(listing.value, wanted)}
            if len(found) >= most:
                break
        return list(found.values())


def _oldest(listing: Listing) -> int | None:
    """Return the oldest received time of a page that others follow: for the last, nobody asks."""
    if listing.next_link is None:
        return None
    return min((one.received_ms for one in listing.value), default=None)
