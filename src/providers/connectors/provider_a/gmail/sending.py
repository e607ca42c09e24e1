"""
Sending of new messages, replies and forwards: docs/spec/upstream/gmail.md#send.

Gmail takes a complete message, and has no calls for replies and forwards. The message is written
only when no earlier attempt has left a draft of it.
"""

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import partial

from providers.connectors.provider_a.account_cache import AccountCache
from providers.connectors.provider_a.batch import MESSAGES
from providers.connectors.provider_a.gmail import (
    addresses,
    compose,
    original_message,
    requested_fields,
)
from providers.connectors.provider_a.gmail.compose import OutgoingMessage
from providers.connectors.provider_a.gmail.drafts import MAX_MESSAGE_BYTES, DraftSender
from providers.connectors.provider_a.gmail.reading import MessageReader, decode_message
from providers.connectors.provider_a.gmail.response_types import Message, Part
from providers.http.client import Upstream
from providers.mail import delivery, quoting
from providers.ports.mail import Draft, Forward, HiddenReplyRecipients, NoReplyRecipient, Reply
from providers.records import mail as mail_records
from providers.records.mail import Participant

_REPLY_HEADERS = ("Message-ID", "References", "Reply-To", "Subject", "From", "To", "Cc", "Date")
_ANGLED = re.compile(r"<([^<>\s]+)>")
_MAX_REFERENCES = 50


class Sender:
    """Sender of one account."""

    def __init__(self, upstream: Upstream, cache: AccountCache) -> None:
        self._upstream = upstream
        self._cache = cache
        self._drafts = DraftSender(upstream)

    async def send(self, draft: Draft) -> mail_records.SentMessage:
        """Send a new message once."""
        return await self._drafts.send_once(draft.attempt, partial(self._new, draft))

    async def reply(self, message_id: str, reply: Reply) -> mail_records.SentMessage:
        """Reply to a message once, within its thread."""
        return await self._drafts.send_once(reply.attempt, partial(self._reply, message_id, reply))

    async def forward(self, message_id: str, forward: Forward) -> mail_records.SentMessage:
        """Forward a message with its attachments once, in a new thread."""
        write = partial(self._forward, message_id, forward)
        return await self._drafts.send_once(forward.attempt, write)

    async def _new(self, draft: Draft) -> tuple[OutgoingMessage, None]:
        message = OutgoingMessage(
            sender=await self._cache.own_address(self._upstream),
            to=draft.to,
            cc=draft.cc,
            bcc=draft.bcc,
            subject=draft.subject,
            body=draft.body,
            body_type=draft.body_type,
            importance=draft.importance,
            message_id=draft.attempt.message_id,
            files=compose.attached(draft.files),
        )
        return message, None

    async def _reply(self, message_id: str, reply: Reply) -> tuple[OutgoingMessage, str | None]:
        original = await self._original(message_id, quote=reply.quote)
        own_address = await self._cache.own_address(self._upstream)
        to, cc = recipients(
            original.payload,
            await self._cache.own_addresses(self._upstream),
            reply_all=reply.reply_all,
            to_is_hidden="to" in reply.hidden,
        )
        body = (reply.body, reply.body_type)
        if reply.quote:
            emails = await MessageReader(self._upstream, self._cache).emails(
                [original], quoting.QUOTED_ATTRIBUTES
            )
            body = quoting.quote_in_reply(body, emails[0], hidden=reply.hidden)
        subject = addresses.decode_words(original.payload.header("subject"))
        original_id = next(iter(_message_ids(original.payload.header("message-id"))), "")
        message = OutgoingMessage(
            sender=own_address,
            to=to,
            cc=cc,
            subject=quoting.reply_subject(compose.blank_control_characters(subject)),
            body=body[0],
            body_type=body[1],
            message_id=reply.attempt.message_id,
            in_reply_to=original_id,
            references=_references(original.payload, original_id),
            files=compose.attached(reply.files),
        )
        return message, original.thread_id

    async def _forward(self, message_id: str, forward: Forward) -> tuple[OutgoingMessage, None]:
        response = await self._upstream.call(
            "GET",
            *MESSAGES,
            message_id,
            params=(("format", "raw"), ("fields", "raw")),
            max_bytes=2 * MAX_MESSAGE_BYTES,
        )
        email, files = original_message.parse(response.decode(original_message.RawMessage))
        text, body_type = quoting.quote_in_forward(
            (forward.body, forward.body_type), email, hidden=forward.hidden
        )
        subject = "" if "subject" in forward.hidden else email.subject
        message = OutgoingMessage(
            sender=await self._cache.own_address(self._upstream),
            to=forward.to,
            cc=forward.cc,
            subject=quoting.forward_subject(compose.blank_control_characters(subject or "")),
            body=text,
            body_type=body_type,
            message_id=forward.attempt.message_id,
            files=(*files, *compose.attached(forward.files)),
        )
        return message, None

    async def _original(self, message_id: str, *, quote: bool) -> Message:
        """Read the original of a reply: its headers, and its body if *quote*."""
        params: requested_fields.Params = (
            ("format", "metadata"),
            *(("metadataHeaders", name) for name in _REPLY_HEADERS),
            ("fields", "id,threadId,labelIds,internalDate,payload(headers)"),
        )
        if quote:
            params = requested_fields.message(quoting.QUOTED_ATTRIBUTES)
        return decode_message(
            await self._upstream.call("GET", *MESSAGES, message_id, params=params)
        )


def recipients(
    root: Part, own_addresses: AbstractSet[str], *, reply_all: bool, to_is_hidden: bool = False
) -> tuple[Sequence[Participant], Sequence[Participant]]:
    """
    Return the recipients of a reply, To and Cc: docs/spec/email.md#reply-recipients.

    Reply-To, else From; for the account's own messages the original To. *reply_all* adds the
    original To and Cc. The account itself, by *own_addresses* (folded), and repetitions are
    left out.

    Raises:
        NoReplyRecipient: There is no recipient.
        HiddenReplyRecipients: They are the original To, and *to_is_hidden*.
    """
    headers = root.headers_by_name()
    original_to = addresses.parse(headers.get("to", ""))
    author = addresses.parse(headers.get("reply-to", "")) or addresses.parse(
        headers.get("from", "")
    )
    seen = set(own_addresses)
    to = _take_new(author, seen)
    if not to and to_is_hidden:
        raise HiddenReplyRecipients
    to = to or _take_new(original_to, seen)
    if reply_all:
        to += _take_new(original_to, seen)
    cc = _take_new(addresses.parse(headers.get("cc", "")), seen) if reply_all else []
    if not to and not cc:
        raise NoReplyRecipient
    return (to, cc) if to else (cc, [])


def _take_new(people: Iterable[Participant], seen: set[str]) -> list[Participant]:
    """Return the addressable people who are not in *seen*, and add them to it."""
    new = []
    for person in compose.addressable(people):
        address = person.email.casefold()
        if address not in seen:
            seen.add(address)
            new.append(person)
    return new


def _references(root: Part, original_id: str) -> Sequence[str]:
    earlier = _message_ids(root.header("references"))
    ids = [message_id for message_id in earlier if message_id != original_id]
    if len(ids) >= _MAX_REFERENCES:  # the first identifies the thread
        ids = ids[:1] + ids[-_MAX_REFERENCES:]
    return (*ids, original_id) if original_id else ids


def _message_ids(header: str) -> list[str]:
    return list(filter(delivery.is_message_id, _ANGLED.findall(header)))
