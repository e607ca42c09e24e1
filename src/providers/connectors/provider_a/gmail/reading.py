"""Fetching provider A's messages: pages of a search, and the details of known ids."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from providers.connectors.provider_a import batch
from providers.connectors.provider_a.account_cache import AccountCache
from providers.connectors.provider_a.batch import ROOT
from providers.connectors.provider_a.gmail import mapping, requested_fields
from providers.connectors.provider_a.gmail.response_types import (
    Content,
    Message,
    MessagePage,
    ParsedMessage,
)
from providers.connectors.provider_a.gmail.search_query import SearchRequest
from providers.connectors.provider_a.paging import pages
from providers.failures import Broken
from providers.http.client import Upstream
from providers.http.response import Response
from providers.ids import is_provider_a_id
from providers.mail import scanning
from providers.mail.lazy_records import LazyRecords
from providers.paging import PageIterator

MAX_IDS_PER_PAGE = 500  # per call; wire report 1A.1
_OUT_OF_SIGHT = frozenset({"DRAFT", "TRASH", "SPAM"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """
    Which messages to read.

    Attributes:
        folder: The folder that the query names; otherwise drafts, spam and trash are left out.
        size: Messages per page.
        count: Whether upstream's ids are counted, as far as it gives them at once.
        wanted: Attributes of `records.Email`.
    """

    search: SearchRequest
    label_ids: tuple[str, ...]
    folder: str | None
    size: int
    count: bool
    wanted: frozenset[str]


class MessageReader:
    """
    Reads one account, for one operation.

    Attributes:
        estimate: Upstream's guess of how many messages a search finds.
        counted: How many ids it listed, when it listed all of them at once; else None.
    """

    def __init__(self, upstream: Upstream, cache: AccountCache) -> None:
        self._upstream = upstream
        self._cache = cache
        self.estimate = 0
        self.counted: int | None = None

    def pages(self, listed: SearchPlan) -> "SearchPages":
        """Return the pages of a search, newest first."""
        return SearchPages(self, listed)

    def listings(self, params: Sequence[tuple[str, str]]) -> PageIterator[MessagePage]:
        """Return one page of ids after the other, as upstream gives them."""
        return pages(self._upstream, (*ROOT, "messages"), params, MessagePage)

    async def messages(self, message_ids: Sequence[str], wanted: AbstractSet[str]) -> list[Message]:
        """
        Read messages in the order of their ids, without those that are gone.

        Raises:
            Broken: The id of one is none.
        """
        if not message_ids:
            return []
        found = await batch.messages(
            self._upstream, message_ids, requested_fields.message(frozenset(wanted))
        )
        messages = [found[message_id_] for message_id_ in message_ids if message_id_ in found]
        if not mapping.have_valid_ids(messages):
            raise Broken
        return messages

    async def emails(
        self, messages: Sequence[Message], wanted: AbstractSet[str]
    ) -> LazyRecords[ParsedMessage]:
        """Make records of messages that were fetched for *wanted*, and fetch what did not fit."""
        opened = await self._opened(messages, wanted)
        labels = await self._labels(opened) if "labels" in wanted else {}
        bodies = await self._large_bodies(opened) if "body" in wanted else {}
        return LazyRecords(
            opened, lambda some: mapping.emails(some, wanted, labels=labels, bodies=bodies)
        )

    async def _opened(
        self, messages: Sequence[Message], wanted: AbstractSet[str]
    ) -> Sequence[ParsedMessage]:
        """Open messages as far as is wanted; those that go deeper than they were read, anew."""
        if not requested_fields.costly_attributes(wanted):
            return [ParsedMessage(one) for one in messages]
        opened = [ParsedMessage(one, one.payload.leaves()) for one in messages]
        params = requested_fields.message(frozenset(wanted), requested_fields.DEEP_LEVELS)
        for at, one in enumerate(opened):
            if one.leaves.cut:
                found = await batch.messages(self._upstream, [one.id], params)
                message = found.get(one.id, one.message)
                opened[at] = ParsedMessage(message, message.payload.leaves())
        return opened

    async def _labels(self, opened: Sequence[ParsedMessage]) -> Mapping[str, str]:
        label_ids = {label for one in opened for label in one.message.label_ids}
        return await self._cache.labels.names_including(self._upstream, sorted(label_ids))

    async def _large_bodies(self, opened: Sequence[ParsedMessage]) -> dict[str, str]:
        """Fetch the bodies that are too large to come with their message."""
        apart = {}
        for one in opened:
            part = mapping.body_part(one)
            if part is not None and part.body.data is None and part.body.attachment_id:
                apart[one.id] = part
        answers = await asyncio.gather(
            *(self._bytes_of(name, part.body.attachment_id or "") for name, part in apart.items())
        )
        return {
            name: mapping.part_text(part, content.data or "")
            for (name, part), content in zip(apart.items(), answers, strict=True)
        }

    async def _bytes_of(self, message_id: str, attachment_id: str) -> Content:
        answer = await self._upstream.call(
            "GET", *ROOT, "messages", message_id, "attachments", attachment_id
        )
        return answer.decode(Content)


class SearchPages(AsyncIterator[scanning.Page[Message]]):
    """The pages of a search, newest first."""

    def __init__(self, reader: MessageReader, listed: SearchPlan) -> None:
        self._reader = reader
        self._listed = listed
        self._listings = reader.listings(_params(listed))
        self._first = True
        self._ids: Sequence[str] = ()  # listed, and not read yet
        self._last = False  # whether nothing is listed after them

    async def __anext__(self) -> scanning.Page[Message]:
        """Read the next page of messages, listing more where there are none left."""
        if not self._ids:
            await self._list()
        size = self._listed.size
        some, self._ids = self._ids[:size], self._ids[size:]
        messages = await self._reader.messages(some, self._listed.wanted)
        last = self._last and not self._ids
        return scanning.Page(
            emails=[message for message in messages if _in_sight(message, self._listed.folder)],
            floor_ms=None
            if last
            else min((message.received_ms for message in messages), default=None),
            last=last,
        )

    async def _list(self) -> None:
        listing = await anext(self._listings)
        self._ids = [message.id for message in listing.messages if is_provider_a_id(message.id)]
        self._last = not listing.next_page_token
        reader = self._reader
        reader.estimate = max(reader.estimate, listing.result_size_estimate)
        if self._listed.count and self._first and self._last:
            reader.counted = len(self._ids)
        self._first = False


def _params(listed: SearchPlan) -> Sequence[tuple[str, str]]:
    # One listing for all that a call may read: ids weigh little beside messages.
    many = listed.count or not listed.search.narrow
    size = MAX_IDS_PER_PAGE if many else listed.size
    params = [("q", listed.search.text), ("maxResults", str(size))]
    params += [("labelIds", label_id_) for label_id_ in listed.label_ids]
    if listed.search.everywhere:
        params.append(("includeSpamTrash", "true"))
    return params


def decoded(answer: Response) -> Message:
    """
    Read the answer that is a message.

    Raises:
        Broken: It is none, or its ids are no ids.
    """
    message = answer.decode(Message)
    if not mapping.have_valid_ids([message]):
        raise Broken
    return message


def _in_sight(message: Message, folder: str | None) -> bool:
    if folder is not None:
        return folder in message.label_ids
    return _OUT_OF_SIGHT.isdisjoint(message.label_ids)
