"""Fetching provider A's messages: pages of a search, and the details of known ids."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import msgspec

from providers import records, scanning
from providers.failures import Broken
from providers.http import Upstream
from providers.ids import is_provider_a
from providers.provider_a import batch, fields, mapping
from providers.provider_a.batch import ROOT
from providers.provider_a.memory import Memory
from providers.provider_a.message import Content, Listing, Message
from providers.provider_a.query import Search

MOST_IDS = 500  # per call; wire report 1A.1
_OUT_OF_SIGHT = frozenset({"DRAFT", "TRASH", "SPAM"})
_MESSAGE = msgspec.json.Decoder(Message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """
    Which messages to read.

    Attributes:
        folder: The folder that the query names; otherwise drafts, spam and trash are left out.
        size: Messages per page.
        count: Whether upstream is asked for as many ids as it gives at once, to count them.
        wanted: Attributes of `records.Email`.
    """

    search: Search
    label_ids: tuple[str, ...]
    folder: str | None
    size: int
    count: bool
    wanted: frozenset[str]


class Reader:
    """
    Reads one account, for one operation.

    Attributes:
        estimate: Upstream's guess of how many messages a search finds.
        counted: How many ids it listed, when it listed all of them at once; else None.
    """

    def __init__(self, upstream: Upstream, memory: Memory) -> None:
        self._upstream = upstream
        self._memory = memory
        self.estimate = 0
        self.counted: int | None = None

    async def pages(self, listed: Listed) -> AsyncGenerator[scanning.Page[records.Email]]:
        """Yield pages newest first."""
        async for message_ids, last in self._ids(listed):
            messages = await self.messages(message_ids, listed.wanted)
            in_sight = [one for one in messages if _in_sight(one, listed.folder)]
            yield scanning.Page(
                emails=await self.emails(in_sight, listed.wanted),
                floor_ms=min((one.received_ms for one in messages), default=None),
                last=last,
            )

    async def _ids(self, listed: Listed) -> AsyncGenerator[tuple[Sequence[str], bool]]:
        """Yield the ids of one page after the other, and whether they are the last."""
        seen: set[str] = set()
        token = ""
        while token not in seen:
            seen.add(token)
            listing = await self._listing(listed, token)
            token = listing.next_page_token or ""
            ids = [one.id for one in listing.messages if is_provider_a(one.id)]
            self.estimate = max(self.estimate, listing.result_size_estimate)
            if listed.count and not token and len(seen) == 1:
                self.counted = len(ids)
            for at in range(0, max(len(ids), 1), listed.size):
                rest = at + listed.size < len(ids)
                yield ids[at : at + listed.size], not token and not rest
            if not token:
                return
        raise Broken  # the same page again

    async def messages(self, message_ids: Sequence[str], wanted: AbstractSet[str]) -> list[Message]:
        """Read messages in the order of their ids, without those that are gone."""
        if not message_ids:
            return []
        found = await batch.messages(self._upstream, message_ids, fields.message(frozenset(wanted)))
        return [decoded(found[one]) for one in message_ids if one in found]

    async def emails(
        self, messages: Sequence[Message], wanted: AbstractSet[str]
    ) -> list[records.Email]:
        """Make records of messages that were fetched for *wanted*."""
        if fields.brings(wanted):
            messages = [await self._deepened(one, wanted) for one in messages]
        names = await self._names(messages) if "labels" in wanted else {}
        bodies = await self._large_bodies(messages) if "body" in wanted else {}
        return [
            mapping.email(one, wanted, labels=names, body=bodies.get(one.id)) for one in messages
        ]

    async def _deepened(self, message: Message, wanted: AbstractSet[str]) -> Message:
        """Return a message, read again when its parts go deeper than was asked for."""
        if not message.payload.leaves().cut:
            return message
        params = fields.message(frozenset(wanted), fields.DEEP_LEVELS)
        found = await batch.messages(self._upstream, [message.id], params)
        return decoded(found[message.id]) if message.id in found else message

    async def _listing(self, listed: Listed, token: str) -> Listing:
        size = MOST_IDS if listed.count else listed.size
        params = [("q", listed.search.text), ("maxResults", str(size))]
        params += [("labelIds", one) for one in listed.label_ids]
        if listed.search.everywhere:
            params.append(("includeSpamTrash", "true"))
        if token:
            params.append(("pageToken", token))
        answer = await self._upstream.call("GET", *ROOT, "messages", params=params)
        return answer.decode(Listing)

    async def _names(self, messages: Sequence[Message]) -> Mapping[str, str]:
        label_ids = {label for one in messages for label in one.label_ids}
        return await self._memory.labels.knows(self._upstream, sorted(label_ids))

    async def _large_bodies(self, messages: Sequence[Message]) -> dict[str, str]:
        """Fetch the bodies that are too large to come with their message."""
        apart = {}
        for one in messages:
            part = mapping.body_part(one.payload.leaves().texts)
            if part is not None and part.body.data is None and part.body.attachment_id:
                apart[one.id] = part
        answers = await asyncio.gather(
            *(self._bytes_of(name, part.body.attachment_id or "") for name, part in apart.items())
        )
        return {
            name: mapping.text_of(part, content.data or "")
            for (name, part), content in zip(apart.items(), answers, strict=True)
        }

    async def _bytes_of(self, message_id: str, attachment_id: str) -> Content:
        answer = await self._upstream.call(
            "GET", *ROOT, "messages", message_id, "attachments", attachment_id
        )
        return answer.decode(Content)


def decoded(body: bytes) -> Message:
    """
    Read a message's JSON.

    Raises:
        Broken: It is none, or its ids are no ids.
    """
    try:
        message = _MESSAGE.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Broken from None
    if not mapping.well_formed(message):
        raise Broken
    return message


def _in_sight(message: Message, folder: str | None) -> bool:
    if folder is not None:
        return folder in message.label_ids
    return _OUT_OF_SIGHT.isdisjoint(message.label_ids)
