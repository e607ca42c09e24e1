"""
Sending of new messages, replies and forwards: docs/spec/upstream/gmail.md#send.

Gmail takes a complete message, and has no calls for replies and forwards. The message is written
only when no earlier attempt has left a draft of it.
"""

from functools import partial

from providers.connectors.provider_a.account_cache import AccountCache
from providers.connectors.provider_a.batch import MESSAGES
from providers.connectors.provider_a.gmail import mapping, requested_fields
from providers.connectors.provider_a.gmail.drafts import (
    MAX_MESSAGE_BYTES,
    DraftSender,
    Written,
    serialize,
)
from providers.connectors.provider_a.gmail.reading import MessageReader, decode_message
from providers.connectors.provider_a.gmail.response_types import Message, RawMessage
from providers.http.client import Upstream
from providers.mail import outgoing, quoting, reply_headers
from providers.mail.reply_headers import People, derive_recipients
from providers.ports.mail import Draft, Forward, Reply
from providers.records import mail as mail_records


class Sender:
    """Sender of one account."""

    def __init__(self, upstream: Upstream, cache: AccountCache) -> None:
        self._upstream = upstream
        self._cache = cache
        self._drafts = DraftSender(upstream)

    async def send(self, draft: Draft) -> mail_records.SentMessage:
        """Send a new message once."""
        return await self._drafts.deliver_once(draft.attempt, partial(self._new, draft))

    async def reply(self, message_id: str, reply: Reply) -> mail_records.SentMessage:
        """Reply to a message once, within its thread."""
        if reply.check_recipients is not None and reply.attempt.draft_id is not None:
            await self._recipients(await self._original(message_id, quote=False), reply)
        write = partial(self._reply, message_id, reply)
        return await self._drafts.deliver_once(reply.attempt, write)

    async def forward(self, message_id: str, forward: Forward) -> mail_records.SentMessage:
        """Forward a message with its attachments once, in a new thread."""
        write = partial(self._forward, message_id, forward)
        return await self._drafts.deliver_once(forward.attempt, write)

    async def _new(self, draft: Draft) -> Written:
        sender = await self._cache.own_address(self._upstream)
        return serialize(outgoing.new_message(draft, sender)), None

    async def _reply(self, message_id: str, reply: Reply) -> Written:
        original = await self._original(message_id, quote=reply.quote)
        own_address = await self._cache.own_address(self._upstream)
        recipients = await self._recipients(original, reply)
        quoted = None
        if reply.quote:
            reader = MessageReader(self._upstream, self._cache)
            (quoted,) = await reader.emails([original], quoting.QUOTED_ATTRIBUTES)
        message = outgoing.reply_message(
            original.payload.headers_by_name(),
            reply,
            sender=own_address,
            recipients=recipients,
            quoted=quoted,
        )
        return serialize(message), original.thread_id

    async def _recipients(self, original: Message, reply: Reply) -> tuple[People, People]:
        """Return the recipients of a reply, To and Cc; see `derive_recipients`."""
        own_addresses = await self._cache.own_addresses(self._upstream)
        return derive_recipients(
            reply_headers.people(original.payload.headers_by_name()), own_addresses, reply
        )

    async def _forward(self, message_id: str, forward: Forward) -> Written:
        response = await self._upstream.call(
            "GET",
            *MESSAGES,
            message_id,
            params=(("format", "raw"), ("fields", "raw")),
            max_bytes=2 * MAX_MESSAGE_BYTES,
        )
        raw = mapping.decode_base64url(response.decode(RawMessage).raw)
        message = await outgoing.forward_message(
            raw,
            forward,
            sender=await self._cache.own_address(self._upstream),
            provider=mapping.PROVIDER,
        )
        return serialize(message), None

    async def _original(self, message_id: str, *, quote: bool) -> Message:
        """Read the original of a reply: its headers, and its body if *quote*."""
        params: requested_fields.Params = (
            ("format", "metadata"),
            *(("metadataHeaders", name) for name in reply_headers.REPLY_HEADERS),
            ("fields", "id,threadId,labelIds,internalDate,payload(headers)"),
        )
        if quote:
            params = requested_fields.message(quoting.QUOTED_ATTRIBUTES)
        return decode_message(
            await self._upstream.call("GET", *MESSAGES, message_id, params=params)
        )
