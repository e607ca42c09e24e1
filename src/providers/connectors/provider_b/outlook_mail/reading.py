"""Reading of messages: the two modes of a search, and messages by their ids."""

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

MAX_SEARCH_HITS = 1000  # of one `$search`, over all its pages
WIDE_PAGE = 1000  # messages
BODIES_PAGE = 100  # messages with bodies, so that no page is too large
_TOO_COMPLEX = "InefficientFilter"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchScope:
    """
    The searched part of a mailbox.

    Attributes:
        path: Segments below the account: of the whole mailbox or of one folder.
        is_visible: Whether a message in this scope may be shown.
    """

    path: tuple[str, ...]
    is_visible: Callable[[Message], bool]


class MessageReader:
    """
    Reader of one account, for one operation.

    Attributes:
        counted: Graph's count of the messages that a filter finds; None when it does not tell.
    """

    def __init__(self, upstream: Upstream, scope: SearchScope) -> None:
        self._upstream = upstream
        self._scope = scope
        self.counted: int | None = None

    def pages(
        self, mail_filter: MailFilter, wanted: AbstractSet[str], size: int
    ) -> "FilteredPages":
        """Return the pages of a filter, newest first."""
        return FilteredPages(self, mail_filter, wanted, size)

    async def search(
        self, text: str, wanted: AbstractSet[str]
    ) -> tuple[list[Message], MailPosition | None]:
        """
        Return the results of a `$search`, in no order, and the position where they end.

        The position is None when there are no more results; Graph returns at most a thousand.
        """
        messages: list[Message] = []
        more = False
        size = ("$top", str(page_size(wanted)))
        params = (("$search", text), size, *selected_fields.message(frozenset(wanted)))
        async for listing in self.listings(params):
            messages += listing.value
            more = listing.next_link is not None
            if len(messages) >= MAX_SEARCH_HITS:
                break
        complete = not more and len(messages) < MAX_SEARCH_HITS
        floor_ms = min((message.received_ms for message in messages), default=0)
        by_id = {message.id: message for message in self.visible(messages)}
        return list(by_id.values()), None if complete else scanning.end_of_millisecond(floor_ms + 1)

    async def details(
        self, messages: Sequence[Message], wanted: AbstractSet[str]
    ) -> Sequence[Message]:
        """Read messages again, with all wanted attributes; those that are gone are left out."""
        if not messages:
            return ()
        by_id = await batch.messages(
            self._upstream,
            [message.id for message in messages],
            selected_fields.message(frozenset(wanted)),
        )
        return self.visible([by_id[message.id] for message in messages if message.id in by_id])

    def visible(self, messages: Sequence[Message]) -> Sequence[Message]:
        """
        Return the messages that may be shown.

        Raises:
            Broken: One of them has an invalid id.
        """
        visible = list(filter(self._scope.is_visible, messages))
        if not mapping.have_valid_ids(visible):
            raise Broken
        return visible

    def listings(self, params: Sequence[tuple[str, str]]) -> PageIterator[MessagePage]:
        """Return the pages of the scope, with messages that may not be shown."""
        return pages(self._upstream, self._scope.path, params, MessagePage, headers=PREFER)

    async def conversation(
        self, thread_id: str, wanted: AbstractSet[str], *, max_messages: int
    ) -> list[mail_records.Email]:
        """Return the messages of a conversation, in no order; reading stops at *max_messages*."""
        params = (
            ("$filter", f"conversationId eq '{thread_id}'"),
            ("$top", "50"),
            *selected_fields.message(frozenset(wanted)),
        )
        by_id: dict[str, Message] = {}
        async for listing in self.listings(params):
            by_id |= {message.id: message for message in self.visible(listing.value)}
            if len(by_id) >= max_messages:
                break
        return mapping.emails(list(by_id.values()), wanted)


def page_size(wanted: AbstractSet[str]) -> int:
    """Return the number of messages per page when many of them will not match."""
    return BODIES_PAGE if "body" in wanted else WIDE_PAGE


class FilteredPages(AsyncIterator[scanning.Page[Message]]):
    """The pages of a filter, newest first."""

    def __init__(
        self, reader: MessageReader, mail_filter: MailFilter, wanted: AbstractSet[str], size: int
    ) -> None:
        self._reader = reader
        self._filter = mail_filter
        self._params = (
            ("$orderby", "receivedDateTime desc"),
            ("$top", str(size)),
            *selected_fields.message(frozenset(wanted)),
        )
        self._listings = self._pages(mail_filter.text, ("$count", "true"))

    async def __anext__(self) -> scanning.Page[Message]:
        """Read the next page; restart with the simplified filter if Graph calls it too complex."""
        try:
            listing = await anext(self._listings)
        except Refused as refusal:
            if refusal.word != _TOO_COMPLEX or self._filter.simplified == self._filter.text:
                raise
            self._filter = replace(self._filter, text=self._filter.simplified)
            self._listings = self._pages(self._filter.simplified)
            listing = await anext(self._listings)
        if listing.count is not None:
            self._reader.counted = listing.count
        return scanning.Page(
            emails=self._reader.visible(listing.value),
            floor_ms=_oldest(listing),
            last=listing.next_link is None,
        )

    def _pages(self, text: str, *options: tuple[str, str]) -> PageIterator[MessagePage]:
        return self._reader.listings((("$filter", text), *options, *self._params))


def _oldest(listing: MessagePage) -> int | None:
    """Return the oldest received time of a page; None for the last page, which needs none."""
    if listing.next_link is None:
        return None
    return min((message.received_ms for message in listing.value), default=None)
