"""
Sending of new messages, replies and forwards: docs/spec/upstream/gmail.md#send.

Gmail takes a complete message, and has no calls for replies and forwards.
"""

import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Sequence

from providers.connectors.provider_a.account_cache import AccountCache
from providers.connectors.provider_a.batch import MESSAGES
from providers.connectors.provider_a.gmail import (
    addresses,
    compose,
    original_message,
    requested_fields,
)
from providers.connectors.provider_a.gmail.compose import OutgoingMessage
from providers.connectors.provider_a.gmail.reading import MessageReader, decode_message
from providers.connectors.provider_a.gmail.response_types import (
    Message,
    MessagePage,
    MessageReference,
    Part,
)
from providers.failures import Refused
from providers.http.client import Upstream
from providers.ids import is_provider_a_id
from providers.mail import delivery, quoting
from providers.ports.mail import Draft, Forward, NoReplyRecipient, Reply
from providers.records import mail as mail_records
from providers.records.mail import Participant

JSON_BYTES = 3 * 1024 * 1024  # of a raw message; larger ones go to the upload address
MAX_MESSAGE_BYTES = 36_700_160
_REPLY_HEADERS = ("Message-ID", "References", "Reply-To", "Subject", "From", "To", "Cc", "Date")
_ANGLED = re.compile(r"<([^<>\s]+)>")
_MAX_REFERENCES = 50


class Sender:
    """Sender of one account."""

    def __init__(self, upstream: Upstream, cache: AccountCache) -> None:
        self._upstream = upstream
        self._cache = cache

    async def send(self, draft: Draft) -> mail_records.SentMessage:
        """Send a new message once."""
        message = OutgoingMessage(
            sender=await self._cache.own_address(self._upstream),
            to=draft.to,
            cc=draft.cc,
            bcc=draft.bcc,
            subject=draft.subject,
            body=draft.body,
            body_type=draft.body_type,
            importance=draft.importance,
            message_id=draft.message_id,
        )
        return await self._deliver(message, maybe_sent=draft.maybe_sent)

    async def reply(self, message_id: str, reply: Reply) -> mail_records.SentMessage:
        """Reply to a message once, within its thread."""
        original = await self._original(message_id, quote=reply.quote)
        own_address = await self._cache.own_address(self._upstream)
        to, cc = recipients(original.payload, own_address, reply_all=reply.reply_all)
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
            message_id=reply.message_id,
            in_reply_to=original_id,
            references=_references(original.payload, original_id),
        )
        return await self._deliver(
            message, maybe_sent=reply.maybe_sent, thread_id=original.thread_id
        )

    async def forward(self, message_id: str, forward: Forward) -> mail_records.SentMessage:
        """Forward a message with its attachments once, in a new thread."""
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
            message_id=forward.message_id,
            files=files,
        )
        return await self._deliver(message, maybe_sent=forward.maybe_sent)

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

    async def _deliver(
        self, message: OutgoingMessage, *, maybe_sent: bool, thread_id: str | None = None
    ) -> mail_records.SentMessage:
        raw = compose.serialize(message)
        if len(raw) > MAX_MESSAGE_BYTES:
            raise Refused("The message is too large for the provider.", status=413)

        async def post() -> mail_records.SentMessage:
            return await self._post(raw, thread_id)

        async def look_up() -> mail_records.SentMessage | None:
            return await self._find_sent(message.message_id)

        return await delivery.send_once(post, look_up, maybe_sent=maybe_sent)

    async def _post(self, raw: bytes, thread_id: str | None) -> mail_records.SentMessage:
        if len(raw) > JSON_BYTES and thread_id is None:
            response = await self._upstream.call(
                "POST",
                "upload",
                *MESSAGES,
                "send",
                params=(("uploadType", "media"),),
                content=raw,
                headers={"content-type": "message/rfc822"},
            )
        else:
            body = {"raw": urlsafe_b64encode(raw).decode()}
            if thread_id is not None:
                body["threadId"] = thread_id
            response = await self._upstream.call("POST", *MESSAGES, "send", json=body)
        return _sent_message(response.decode(MessageReference))

    async def _find_sent(self, message_id: str) -> mail_records.SentMessage | None:
        """Find the sent message with a Message-ID header, in any folder."""
        response = await self._upstream.call(
            "GET",
            *MESSAGES,
            params=(
                ("q", f"rfc822msgid:{message_id} in:anywhere -in:drafts"),
                ("includeSpamTrash", "true"),
                ("maxResults", "1"),
            ),
        )
        messages = response.decode(MessagePage).messages
        return _sent_message(messages[0]) if messages else None


def recipients(
    root: Part, own_address: str, *, reply_all: bool
) -> tuple[Sequence[Participant], Sequence[Participant]]:
    """
    Return the recipients of a reply, To and Cc: docs/spec/email.md#reply-recipients.

    Reply-To, else From; for the account's own messages the original To. *reply_all* adds the
    original To and Cc. The account itself and repetitions are left out.

    Raises:
        NoReplyRecipient: There is no recipient.
    """
    headers = root.headers_by_name()
    original_to = addresses.parse(headers.get("to", ""))
    author = addresses.parse(headers.get("reply-to", "")) or addresses.parse(
        headers.get("from", "")
    )
    seen = {own_address.casefold()}
    to = _take_new(author, seen) or _take_new(original_to, seen)
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


def _sent_message(sent: MessageReference) -> mail_records.SentMessage:
    """Return the ids of a sent message; invalid ids become None, since the message was sent."""
    thread_id = sent.thread_id
    return mail_records.SentMessage(
        email_id=sent.id if is_provider_a_id(sent.id) else None,
        thread_id=thread_id if thread_id and is_provider_a_id(thread_id) else None,
    )
