"""Reading of messages: the two modes of a search, and messages by their ids."""

from collections.abc import AsyncIterator, Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache, partial
from typing import Self

import msgspec
from msgspec.structs import replace

from providers.connectors.provider_b import batch
from providers.connectors.provider_b.account_cache import PREFER
from providers.connectors.provider_b.graph_user import GraphUser
from providers.connectors.provider_b.outlook_mail import filter_query, mapping, selected_fields
from providers.connectors.provider_b.outlook_mail.filter_query import MailFilter
from providers.connectors.provider_b.outlook_mail.response_types import (
    Message,
    MessagePage,
    decode_page,
    page_of,
)
from providers.connectors.provider_b.paging import pages
from providers.failures import Broken, Refused, TimedOut
from providers.http.response import Response
from providers.http.urls import SharedParams
from providers.mail import query_matching, scanning
from providers.odata import MAX_BATCH
from providers.paging import PageIterator
from providers.ports.mail import MailPosition, MailQuery
from providers.records import mail as mail_records

MAX_SEARCH_HITS = 1000  # of one `$search`, over all its pages
WIDE_PAGE = 250  # messages; larger pages of large mailboxes time out
CONVERSATIONS_WITH_BODIES = 4  # per call, for the same reason as `BODIES_PAGE`
BODIES_PAGE = 100  # messages with bodies, so that no page is too large
# `$search` sorts by the sent time; messages that were under way for longer are asked for apart.
MAX_DELIVERY_MS = 2 * 24 * 3600 * 1000
COUNT_SECONDS = 5.0  # until a call that counts is made again without the count
_TOO_COMPLEX = "InefficientFilter"


class SearchScope(msgspec.Struct, frozen=True, kw_only=True):
    """
    The searched part of a mailbox.

    Attributes:
        path: Segments below the account: of the whole mailbox or of one folder.
        hidden_folders: Ids of folders that a filter leaves out, and drafts with them; () within
            one folder.
        unseen_folders: Ids of all folders whose messages may not be shown, nor drafts; None within
            one folder, of which everything may be shown.
    """

    path: tuple[str, ...]
    hidden_folders: tuple[str, ...] = ()
    unseen_folders: frozenset[str] | None = None

    @property
    def hides_more(self) -> bool:
        """Whether messages that a filter finds may not be shown."""
        return len(self.unseen_folders or ()) > len(self.hidden_folders)


class MessageReader(msgspec.Struct):
    """
    Reader of one account, for one operation.

    Attributes:
        counted: Graph's count of the messages that a filter finds; None when it does not tell.
        count_timed_out: Whether Graph did not answer a call that counts.
    """

    user: GraphUser
    scope: SearchScope
    counted: int | None = None
    count_timed_out: bool = False

    async def details(
        self, messages: Sequence[Message], projection: AbstractSet[str]
    ) -> Sequence[Message]:
        """Read messages again, with all wanted attributes; those that are gone are left out."""
        if not messages:
            return ()
        by_id = await batch.messages(
            self.user,
            [message.id for message in messages],
            selected_fields.message(frozenset(projection)),
        )
        return self.visible([by_id[message.id] for message in messages if message.id in by_id])

    def visible(self, messages: Sequence[Message]) -> Sequence[Message]:
        """
        Return the messages that may be shown.

        Raises:
            Broken: One of them has an invalid id.
        """
        unseen = self.scope.unseen_folders
        if unseen is not None:
            messages = [
                message
                for message in messages
                if not message.is_draft and message.parent_folder_id not in unseen
            ]
        if not mapping.have_valid_ids(messages):
            raise Broken
        return messages

    def listings(
        self,
        params: Sequence[tuple[str, str]],
        projection: frozenset[str],
        *,
        first_seconds: float | None = None,
    ) -> PageIterator[MessagePage]:
        """
        Return the pages of the scope, with messages that may not be shown; see `pages`.

        Only the members that *projection* needs are decoded.
        """
        return pages(
            self.user,
            self.scope.path,
            params,
            _decoder(projection),
            headers=PREFER,
            first_seconds=first_seconds,
        )

    async def conversation(
        self, thread_id: str, projection: AbstractSet[str], *, max_messages: int
    ) -> list[mail_records.Email]:
        """Return the messages of a conversation, in no order; reading stops at *max_messages*."""
        params = _conversation_params(thread_id, projection)
        by_id: dict[str, Message] = {}
        async for listing in self.listings(params, frozenset(projection)):
            by_id |= {message.id: message for message in self.visible(listing.value)}
            if len(by_id) >= max_messages:
                break
        return await mapping.emails_in_turns(list(by_id.values()), projection)

    async def conversations(
        self, thread_ids: Sequence[str], projection: AbstractSet[str], *, max_messages: int
    ) -> dict[str, list[mail_records.Email]]:
        """Return the messages of several conversations; see `conversation`."""
        pages = await batch.conversations(
            self.user,
            thread_ids,
            lambda thread_id: _conversation_params(thread_id, projection),
            per_call=CONVERSATIONS_WITH_BODIES if "body" in projection else MAX_BATCH,
        )
        return {
            thread_id: await mapping.emails_in_turns(self.visible(page.value), projection)
            if page.next_link is None
            else await self.conversation(thread_id, projection, max_messages=max_messages)
            for thread_id, page in pages.items()
        }


@lru_cache(maxsize=256)
def _decoder(projection: frozenset[str]) -> Callable[[Response], MessagePage]:
    return partial(decode_page, shape=page_of(selected_fields.members(projection)))


def _conversation_params(thread_id: str, projection: AbstractSet[str]) -> batch.Params:
    return (
        ("$filter", f"conversationId eq '{thread_id}'"),
        ("$top", "50"),
        *selected_fields.message(frozenset(projection)),
    )


def page_size(projection: AbstractSet[str]) -> int:
    """Return the number of messages per page when many of them will not match."""
    return BODIES_PAGE if "body" in projection else WIDE_PAGE


class SearchPages(AsyncIterator[scanning.Page[Message]]):
    """The pages of a `$search`, newest first by the sent time; Graph returns a thousand at most."""

    def __init__(self, reader: MessageReader, text: str, projection: AbstractSet[str]) -> None:
        self._reader = reader
        self._text = text
        self._scanned = frozenset({*projection, "sent_at"})
        self._listings = self._search(text)
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
        messages = [*listing.value]
        if floor_ms is not None and not (is_full or last):
            late = filter_query.arrived_late(self._text, floor_ms, floor_ms - MAX_DELIVERY_MS)
            async for late_listing in self._search(late):
                messages += late_listing.value
        return scanning.Page(
            emails=self._reader.visible(messages),
            floor_ms=floor_ms,
            last=last,
            is_budget_spent=is_full,
        )

    def _search(self, text: str) -> PageIterator[MessagePage]:
        return search_listings(self._reader, text, self._scanned)


def search_listings(
    reader: MessageReader, text: str, projection: AbstractSet[str]
) -> PageIterator[MessagePage]:
    """Return the pages of a `$search`, with messages that may not be shown."""
    fields = frozenset(projection)
    params = (("$search", text), ("$top", str(page_size(fields))), *selected_fields.message(fields))
    return reader.listings(params, fields)


def _search_floor(listing: MessagePage) -> int | None:
    """Return the received time that no later result reaches, but one that was long under way."""
    sent = min((message.sent_ms for message in listing.value), default=None)
    return None if sent is None else sent + MAX_DELIVERY_MS


class FilterPlan(msgspec.Struct, frozen=True):
    """
    Plan of a search by `$filter`.

    Attributes:
        restricts: Whether messages that the filter finds may not match the query.
        compared: The attributes of `Email` that tell whether they match.
        scanned: The attributes that are read of each message.
        suffices: Whether these are all that are wanted of the messages that match.
        size: Number of messages of a page.
    """

    filter: MailFilter
    restricts: bool
    compared: frozenset[str]
    scanned: frozenset[str]
    suffices: bool
    size: int


def filter_plan(
    query: MailQuery,
    after: MailPosition | None,
    projection: frozenset[str],
    hidden_folders: tuple[str, ...],
) -> FilterPlan:
    """Plan the search of a query that needs no `$search`; see `filter_query.mail_filter`."""
    mail_filter = filter_query.mail_filter(query, after, hidden_folders=hidden_folders)
    return _plan(query, after, projection, mail_filter)


@lru_cache(maxsize=1024)
def plan_of_all(
    limit: int, projection: frozenset[str], hidden_folders: tuple[str, ...]
) -> FilterPlan:
    """Return the plan of the first page of a query that every message matches."""
    shared = filter_query.unrestricted(hidden_folders)
    return _plan(MailQuery(limit=limit), None, projection, shared)


def _plan(
    query: MailQuery,
    after: MailPosition | None,
    projection: frozenset[str],
    mail_filter: MailFilter,
) -> FilterPlan:
    compared = scanned = query_matching.needed_attributes(query, text=True)
    size = page_size(scanned)
    if mail_filter.is_selective:
        scanned = projection | compared
        size = scanning.first_page_size(query.limit, after)
    restricts = query_matching.restricts(query, text=True)
    suffices = selected_fields.selectable(projection) <= scanned
    return FilterPlan(mail_filter, restricts, compared, scanned, suffices, size)


class FilteredPages(msgspec.Struct):
    """
    The pages of a filter, newest first.

    Attributes:
        counts: Whether Graph is asked how many messages the filter finds.
        listings: The pages as Graph sends them; None before the first one, and to start again.
    """

    reader: MessageReader
    plan: FilterPlan
    counts: bool
    listings: PageIterator[MessagePage] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> scanning.Page[Message]:
        """Read the next page."""
        while True:
            if self.listings is None:
                self.listings = self._pages()
            try:
                listing = await anext(self.listings)
                break
            except (TimedOut, Refused) as failure:
                self._start_again(failure)
        self.counts = False
        if listing.count is not None:
            self.reader.counted = listing.count
        return scanning.Page(
            emails=self.reader.visible(listing.value),
            floor_ms=None if listing.next_link is None else _oldest(listing),
            last=listing.next_link is None,
        )

    def _start_again(self, failure: TimedOut | Refused) -> None:
        """
        Start again without the count or the clauses that made Graph fail.

        Raises:
            TimedOut, Refused: The failure, when there are none.
        """
        mail_filter = self.plan.filter
        if isinstance(failure, TimedOut):
            if not self.counts:
                raise failure
            self.reader.count_timed_out = True
        elif failure.word != _TOO_COMPLEX or mail_filter.simplified == mail_filter.text:
            raise failure
        else:
            simplified = replace(mail_filter, text=mail_filter.simplified)
            self.plan = msgspec.structs.replace(self.plan, filter=simplified)
        self.counts = False
        self.listings = None

    def _pages(self) -> PageIterator[MessagePage]:
        plan = self.plan
        of_filter = _shared_params if plan.filter.is_shared else _params_of_filter
        return self.reader.listings(
            of_filter(plan.filter.text, plan.size, plan.scanned, count=self.counts),
            plan.scanned,
            first_seconds=COUNT_SECONDS if self.counts else None,
        )


def _params_of_filter(
    text: str, size: int, projection: frozenset[str], *, count: bool
) -> selected_fields.Params:
    return (
        ("$filter", text),
        *((("$count", "true"),) if count else ()),
        ("$orderby", "receivedDateTime desc"),
        ("$top", str(size)),
        *selected_fields.message(projection),
    )


@lru_cache(maxsize=1024)
def _shared_params(
    text: str, size: int, projection: frozenset[str], *, count: bool
) -> selected_fields.Params:
    return SharedParams(_params_of_filter(text, size, projection, count=count))


def _oldest(listing: MessagePage) -> int | None:
    """Return the oldest received time of a page; None for an empty one."""
    return min((message.received_ms for message in listing.value), default=None)
