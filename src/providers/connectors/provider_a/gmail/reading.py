"""Reading of messages: the pages of a search, and messages by their ids."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from providers.connectors.provider_a import batch
from providers.connectors.provider_a.account_cache import AccountCache
from providers.connectors.provider_a.batch import MESSAGES
from providers.connectors.provider_a.gmail import mapping, requested_fields
from providers.connectors.provider_a.gmail.response_types import (
    Message,
    MessagePage,
    ParsedMessage,
    Part,
    PartBody,
)
from providers.connectors.provider_a.gmail.search_query import SearchRequest
from providers.connectors.provider_a.paging import pages
from providers.failures import Broken
from providers.http.client import Upstream
from providers.http.response import Response
from providers.ids import is_provider_a_id
from providers.mail import scanning
from providers.mail.message_parts import MAX_PARTS, arrange
from providers.paging import PageIterator
from providers.records.mail import Email
from providers.turns import in_turns

MAX_IDS_PER_PAGE = 500
WIDE_PAGE = 25  # messages per page when many of them will not match
# Messages per call, which cost 20 units each: docs/spec/email.md#cost-of-a-listing.
MAX_MESSAGES = 70
_CHAT = "CHAT"  # a line of a conversation in Google Chat, which is not mail
_HIDDEN_FOLDERS = frozenset({"DRAFT", "TRASH", "SPAM"})
UNLISTED = _HIDDEN_FOLDERS | {_CHAT}  # labels of what a listing without a named folder leaves out


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPlan:
    """
    The messages to read.

    Attributes:
        folder: The folder that the query names; None leaves out drafts, spam and trash.
        page_size: Messages of the first page.
        count: Whether to count Gmail's ids, if they fit on one page.
        projection: Attributes of `Email`.
    """

    request: SearchRequest
    label_ids: tuple[str, ...]
    folder: str | None
    page_size: int
    count: bool
    projection: frozenset[str]


class MessageReader:
    """
    Reader of one account, for one operation.

    Attributes:
        estimate: Gmail's estimate of the number of messages that a search finds.
        counted: Number of ids, when they fit on one page; else None.
    """

    def __init__(self, upstream: Upstream, cache: AccountCache) -> None:
        self._upstream = upstream
        self._cache = cache
        self.estimate = 0
        self.counted: int | None = None

    def pages(self, plan: SearchPlan) -> "SearchPages":
        """Return the pages of a search, newest first."""
        return SearchPages(self, plan)

    def listings(self, params: Sequence[tuple[str, str]]) -> PageIterator[MessagePage]:
        """Return the pages of ids."""
        return pages(self._upstream, MESSAGES, params, MessagePage)

    async def messages(
        self, message_ids: Sequence[str], projection: AbstractSet[str]
    ) -> list[Message]:
        """
        Read messages in the order of their ids, without those that are gone.

        Raises:
            Broken: A message has an invalid id.
        """
        if not message_ids:
            return []
        by_id = await batch.messages(
            self._upstream, message_ids, requested_fields.message(frozenset(projection))
        )
        messages = [by_id[message_id] for message_id in message_ids if message_id in by_id]
        if not mapping.have_valid_ids(messages):
            raise Broken
        return messages

    async def emails(
        self, messages: Sequence[Message], projection: AbstractSet[str]
    ) -> list[Email]:
        """Make records of messages read for *projection*; read large bodies separately."""
        parsed = await self._parse(messages, projection)
        await asyncio.sleep(0)  # one message may have taken long
        labels = await self._labels(parsed) if "labels" in projection else {}
        bodies = await self._large_bodies(parsed) if "body" in projection else {}
        return await mapping.emails(parsed, projection, labels=labels, bodies=bodies)

    async def files(self, message: Message) -> Sequence[Part]:
        """Return the attachments of a message that was read for `attachments`."""
        (parsed,) = await self._parse([message], frozenset({"attachments"}))
        return parsed.leaves.files

    async def _parse(
        self, messages: Sequence[Message], projection: AbstractSet[str]
    ) -> Sequence[ParsedMessage]:
        """Split messages into leaves if *projection* needs them; too deep ones are read again."""
        if not requested_fields.costly_attributes(projection):
            return [ParsedMessage(message) for message in messages]
        parsed = [
            ParsedMessage(message, arrange(message.payload, most=MAX_PARTS))
            async for message in in_turns(messages)
        ]
        params = requested_fields.message(frozenset(projection), requested_fields.DEEP_LEVELS)
        async for index, shallow in in_turns(list(enumerate(parsed))):
            if shallow.message.payload.is_truncated():
                by_id = await batch.messages(self._upstream, [shallow.id], params)
                message = by_id.get(shallow.id, shallow.message)
                parsed[index] = ParsedMessage(message, arrange(message.payload, most=MAX_PARTS))
        return parsed

    async def _labels(self, messages: Sequence[ParsedMessage]) -> Mapping[str, str]:
        label_ids = {label for parsed in messages for label in parsed.message.label_ids}
        return await self._cache.labels.names_including(self._upstream, sorted(label_ids))

    async def _large_bodies(self, messages: Sequence[ParsedMessage]) -> mapping.LargeTexts:
        """Read the texts that are too large to come with their message."""
        parts = {
            (parsed.id, part.part_id): part
            for parsed in messages
            for part in parsed.leaves.texts
            if part.body.data is None and part.body.attachment_id
        }
        texts = await asyncio.gather(*(self._text(key[0], part) for key, part in parts.items()))
        return dict(zip(parts, texts, strict=True))

    async def _text(self, message_id: str, part: Part) -> str:
        response = await self._upstream.call(
            "GET", *MESSAGES, message_id, "attachments", part.body.attachment_id or ""
        )
        return mapping.part_text(part, response.decode(PartBody).data or "")


class SearchPages(AsyncIterator[scanning.Page[Message]]):
    """The pages of a search, newest first."""

    def __init__(self, reader: MessageReader, plan: SearchPlan) -> None:
        self._reader = reader
        self._plan = plan
        self._listings = reader.listings(_params(plan))
        self._first = True
        self._ids: Sequence[str] = ()  # of messages that are not read yet
        self._last = False  # whether no ids follow
        self._size = plan.page_size
        self._messages = 0  # read so far

    async def __anext__(self) -> scanning.Page[Message]:
        """Read the next page of messages, and the next page of ids when there are none left."""
        if not self._ids:
            await self._list()
        left = MAX_MESSAGES - self._messages
        size = min(self._size, left) if left > 0 else self._size
        self._size = max(self._size, WIDE_PAGE)
        page_ids, self._ids = self._ids[:size], self._ids[size:]
        messages = await self._reader.messages(page_ids, self._plan.projection)
        self._messages += len(page_ids)
        last = self._last and not self._ids
        return scanning.Page(
            emails=_visible(messages, self._plan.folder),
            floor_ms=None
            if last
            else min((message.received_ms for message in messages), default=None),
            last=last,
            is_budget_spent=self._messages >= MAX_MESSAGES,
        )

    async def _list(self) -> None:
        listing = await anext(self._listings)
        self._ids = [message.id for message in listing.messages if is_provider_a_id(message.id)]
        self._last = not listing.next_page_token
        reader = self._reader
        reader.estimate = max(reader.estimate, listing.result_size_estimate)
        if self._plan.count and self._first and self._last:
            reader.counted = len(self._ids)
        self._first = False


def _params(plan: SearchPlan) -> Sequence[tuple[str, str]]:
    # Ids are small: one page of them serves many pages of messages.
    many = plan.count or not plan.request.is_selective
    size = MAX_IDS_PER_PAGE if many else plan.page_size
    params = [("q", plan.request.text), ("maxResults", str(size))]
    params += [("labelIds", label_id) for label_id in plan.label_ids]
    if plan.request.include_spam_trash:
        params.append(("includeSpamTrash", "true"))
    return params


def decode_message(response: Response) -> Message:
    """
    Decode a response that is a message.

    Raises:
        Broken: The response is not a message, or an id is invalid.
    """
    message = response.decode(Message)
    if not mapping.have_valid_ids([message]):
        raise Broken
    return message


def _visible(messages: Sequence[Message], folder: str | None) -> Sequence[Message]:
    mail = [message for message in messages if _CHAT not in message.label_ids]
    if folder is not None:
        return [message for message in mail if folder in message.label_ids]
    return [message for message in mail if _HIDDEN_FOLDERS.isdisjoint(message.label_ids)]
