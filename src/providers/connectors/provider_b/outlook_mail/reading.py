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
from providers.failures import Broken, Refused, TimedOut
from providers.http.client import Upstream
from providers.mail import scanning
from providers.paging import PageIterator
from providers.records import mail as mail_records

MAX_SEARCH_HITS = 1000  # of one `$search`, over all its pages
WIDE_PAGE = 250  # messages; larger pages of large mailboxes time out
BODIES_PAGE = 100  # messages with bodies, so that no page is too large
# `$search` sorts by the sent time; a message that was under way for longer may be missed.
MAX_DELIVERY_MS = 2 * 24 * 3600 * 1000
COUNT_SECONDS = 5.0  # until a call that counts is made again without the count
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
        count_timed_out: Whether Graph did not answer a call that counts.
    """

    def __init__(self, upstream: Upstream, scope: SearchScope) -> None:
        self._upstream = upstream
        self._scope = scope
        self.counted: int | None = None
        self.count_timed_out = False

    def pages(
        self, mail_filter: MailFilter, wanted: AbstractSet[str], size: int, *, count: bool
    ) -> "FilteredPages":
        """Return the pages of a filter, newest first."""
        return FilteredPages(self, mail_filter, wanted, size, count=count)

    def search(self, text: str, wanted: AbstractSet[str]) -> "SearchPages":
        """Return the pages of a `$search`, newest first by the sent time."""
        return SearchPages(self, text, wanted)

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

    def listings(
        self, params: Sequence[tuple[str, str]], *, first_seconds: float | None = None
    ) -> PageIterator[MessagePage]:
        """Return the pages of the scope, with messages that may not be shown; see `pages`."""
        return pages(
            self._upstream,
            self._scope.path,
            params,
            MessagePage,
            headers=PREFER,
            first_seconds=first_seconds,
        )

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


class SearchPages(AsyncIterator[scanning.Page[Message]]):
    """The pages of a `$search`, newest first by the sent time; Graph returns a thousand at most."""

    def __init__(self, reader: MessageReader, text: str, wanted: AbstractSet[str]) -> None:
        self._reader = reader
        params = (
            ("$search", text),
            ("$top", str(page_size(wanted))),
            *selected_fields.message(frozenset({*wanted, "sent_at"})),
        )
        self._listings = reader.listings(params)
        self._hits = 0
        self._oldest_ms: int | None = None

    async def __anext__(self) -> scanning.Page[Message]:
        """Read the next page."""
        listing = await anext(self._listings)
        self._hits += len(listing.value)
        is_full = self._hits >= MAX_SEARCH_HITS
        received = [message.received_ms for message in listing.value]
        received += [] if self._oldest_ms is None else [self._oldest_ms]
        self._oldest_ms = min(received, default=None)
        last = listing.next_link is None and not is_full
        floor_ms = self._oldest_ms if is_full or last else _search_floor(listing)
        return scanning.Page(
            emails=self._reader.visible(listing.value),
            floor_ms=floor_ms,
            last=last,
            is_budget_spent=is_full,
        )


def _search_floor(listing: MessagePage) -> int | None:
    """Return the received time that no later result reaches, but one that was long under way."""
    sent = min((message.sent_ms for message in listing.value), default=None)
    return None if sent is None else sent + MAX_DELIVERY_MS


class FilteredPages(AsyncIterator[scanning.Page[Message]]):
    """The pages of a filter, newest first."""

    def __init__(
        self,
        reader: MessageReader,
        mail_filter: MailFilter,
        wanted: AbstractSet[str],
        size: int,
        *,
        count: bool,
    ) -> None:
        self._reader = reader
        self._filter = mail_filter
        self._params = (
            ("$orderby", "receivedDateTime desc"),
            ("$top", str(size)),
            *selected_fields.message(frozenset(wanted)),
        )
        self._counts = count
        self._listings = self._pages()

    async def __anext__(self) -> scanning.Page[Message]:
        """Read the next page."""
        listing = await self._read()
        self._counts = False
        if listing.count is not None:
            self._reader.counted = listing.count
        return scanning.Page(
            emails=self._reader.visible(listing.value),
            floor_ms=_oldest(listing),
            last=listing.next_link is None,
        )

    async def _read(self) -> MessagePage:
        """Read the next page; start again without the count or the clauses that Graph refuses."""
        while True:
            try:
                return await anext(self._listings)
            except TimedOut:
                if not self._counts:
                    raise
                self._reader.count_timed_out = True
            except Refused as refusal:
                if refusal.word != _TOO_COMPLEX or self._filter.simplified == self._filter.text:
                    raise
                self._filter = replace(self._filter, text=self._filter.simplified)
            self._counts = False
            self._listings = self._pages()

    def _pages(self) -> PageIterator[MessagePage]:
        count = (("$count", "true"),) if self._counts else ()
        return self._reader.listings(
            (("$filter", self._filter.text), *count, *self._params),
            first_seconds=COUNT_SECONDS if self._counts else None,
        )


def _oldest(listing: MessagePage) -> int | None:
    """Return the oldest received time of a page; None for the last page, which needs none."""
    if listing.next_link is None:
        return None
    return min((message.received_ms for message in listing.value), default=None)
