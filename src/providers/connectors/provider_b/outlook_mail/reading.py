"""Fetching provider B's messages: the two modes of a search, and the details of known ids."""

from collections.abc import AsyncIterator, Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from providers.connectors.provider_b import batch
from providers.connectors.provider_b.account_cache import PREFER
from providers.connectors.provider_b.outlook_mail import mapping, selected_fields
from providers.connectors.provider_b.outlook_mail.filter_query import MailFilter
from providers.connectors.provider_b.outlook_mail.response_types import Message, MessagePage
from providers.connectors.provider_b.paging import pages
from providers.failures import Broken, Refused
from providers.http.client import Upstream
from providers.mail import scanning
from providers.paging import PageIterator
from providers.ports.mail import MailPosition
from providers.records import mail as mail_records

MAX_SEARCH_HITS = 1000  # by one search, over all its pages; wire report 1A.2
WIDE_PAGE = 1000  # messages
BODIES_PAGE = 100  # messages with their bodies, so that no page is too large to be read
_TOO_COMPLEX = "InefficientFilter"

InSight = Callable[[Message], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchScope:
    """
    Where to look.

    Attributes:
        path: Segments below the account, of the whole mailbox or of one folder.
        is_visible: Whether a message found there may be shown.
    """

    path: tuple[str, ...]
    is_visible: InSight


class MessageReader:
    """
    Reads one account, for one operation.

    Attributes:
        counted: How many messages upstream says a filter finds; None when it does not say.
    """

    def __init__(self, upstream: Upstream, place: SearchScope) -> None:
        self._upstream = upstream
        self._place = place
        self.counted: int | None = None

    def pages(self, asked: MailFilter, wanted: AbstractSet[str], size: int) -> "FilteredPages":
        """Return the pages of a filter, newest first."""
        return FilteredPages(self, asked, wanted, size)

    async def searched(
        self, text: str, wanted: AbstractSet[str]
    ) -> tuple[list[Message], MailPosition | None]:
        """
        Return what a search finds, in no order, and up to where that is all there is.

        The position is None when everything was found; upstream stops at a thousand.
        """
        messages: list[Message] = []
        more = False
        size = ("$top", str(most(wanted)))
        params = (("$search", text), size, *selected_fields.message(frozenset(wanted)))
        async for listing in self.listings(params):
            messages += listing.value
            more = listing.next_link is not None
            if len(messages) >= MAX_SEARCH_HITS:
                break
        whole = not more and len(messages) < MAX_SEARCH_HITS
        floor = min((message.received_ms for message in messages), default=0)
        found = {one.id: one for one in self.is_visible(messages)}
        return list(found.values()), None if whole else scanning.end_of_millisecond(floor + 1)

    async def details(
        self, messages: Sequence[Message], wanted: AbstractSet[str]
    ) -> Sequence[Message]:
        """Read again, with all that is wanted, what was found by less."""
        if not messages:
            return ()
        found = await batch.messages(
            self._upstream,
            [message.id for message in messages],
            selected_fields.message(frozenset(wanted)),
        )
        return self.is_visible([found[message.id] for message in messages if message.id in found])

    def is_visible(self, messages: Sequence[Message]) -> Sequence[Message]:
        """
        Leave out what may not be shown.

        Raises:
            Broken: The id of something else is none.
        """
        shown = [message for message in messages if self._place.is_visible(message)]
        if not mapping.have_valid_ids(shown):
            raise Broken
        return shown

    def listings(self, params: Sequence[tuple[str, str]]) -> PageIterator[MessagePage]:
        """Return one page after the other of the place, as upstream gives them."""
        return pages(self._upstream, self._place.path, params, MessagePage, headers=PREFER)

    async def conversation(
        self, thread_id: str, wanted: AbstractSet[str], *, most: int
    ) -> list[mail_records.Email]:
        """Return the messages of a conversation in no order, at most about *most*."""
        params = (
            ("$filter", f"conversationId eq '{thread_id}'"),
            ("$top", "50"),
            *selected_fields.message(frozenset(wanted)),
        )
        found: dict[str, Message] = {}
        async for listing in self.listings(params):
            found |= {one.id: one for one in self.is_visible(listing.value)}
            if len(found) >= most:
                break
        return mapping.emails(list(found.values()), wanted)


def most(wanted: AbstractSet[str]) -> int:
    """Return how many messages one page is to hold when many of them will not pass."""
    return BODIES_PAGE if "body" in wanted else WIDE_PAGE


class FilteredPages(AsyncIterator[scanning.Page[Message]]):
    """The pages of a filter, newest first."""

    def __init__(
        self, reader: MessageReader, asked: MailFilter, wanted: AbstractSet[str], size: int
    ) -> None:
        self._reader = reader
        self._asked = asked
        self._params = (
            ("$orderby", "receivedDateTime desc"),
            ("$top", str(size)),
            *selected_fields.message(frozenset(wanted)),
        )
        self._listings = self._filtered(asked.text, ("$count", "true"))

    async def __anext__(self) -> scanning.Page[Message]:
        """Read the next page; all anew, more simply, when upstream calls the filter too complex."""
        try:
            listing = await anext(self._listings)
        except Refused as refusal:
            if refusal.word != _TOO_COMPLEX or self._asked.simple == self._asked.text:
                raise
            self._asked = replace(self._asked, text=self._asked.simple)  # once only
            self._listings = self._filtered(self._asked.simple)
            listing = await anext(self._listings)
        if listing.count is not None:
            self._reader.counted = listing.count
        return scanning.Page(
            emails=self._reader.is_visible(listing.value),
            floor_ms=_oldest(listing),
            last=listing.next_link is None,
        )

    def _filtered(self, text: str, *options: tuple[str, str]) -> PageIterator[MessagePage]:
        return self._reader.listings((("$filter", text), *options, *self._params))


def _oldest(listing: MessagePage) -> int | None:
    """Return the oldest received time of a page that others follow: for the last, nobody asks."""
    if listing.next_link is None:
        return None
    return min((one.received_ms for one in listing.value), default=None)
