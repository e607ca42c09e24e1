"""
Sending from a mailbox of provider A: new messages, replies and forwards.

Upstream takes a whole message and does no threading by itself. Source: decisions 5.7 and 16.
"""

import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Sequence

from providers.connectors.provider_a.account_cache import AccountCache
from providers.connectors.provider_a.batch import ROOT
from providers.connectors.provider_a.gmail import (
    addresses,
    compose,
    original_message,
    requested_fields,
)
from providers.connectors.provider_a.gmail.compose import OutgoingMessage
from providers.connectors.provider_a.gmail.reading import MessageReader, decoded
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
MAX_MESSAGE_BYTES = 36_700_160  # wire report 1A.5
_ANSWERED = ("Message-ID", "References", "Reply-To", "Subject", "From", "To", "Cc", "Date")
_QUOTED = frozenset({"from_", "to", "cc", "subject", "sent_at", "body", "body_type"})
_ANGLED = re.compile(r"<([^<>\s]+)>")
_MAX_REFERENCES = 50


class Sender:
    """Sends from one account."""

    def __init__(self, upstream: Upstream, cache: AccountCache) -> None:
        self._upstream = upstream
        self._cache = cache

    async def send(self, draft: Draft) -> mail_records.SentMessage:
        """Send a new message once."""
        letter = OutgoingMessage(
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
        return await self._deliver(letter, maybe_sent=draft.maybe_sent)

    async def reply(self, message_id: str, reply: Reply) -> mail_records.SentMessage:
        """Answer a message once, within its thread."""
        message = await self._answered(message_id, quote=reply.quote)
        me = await self._cache.own_address(self._upstream)
        to, cc = recipients(message.payload, me, reply_all=reply.reply_all)
        body = (reply.body, reply.body_type)
        if reply.quote:
            emails = await MessageReader(self._upstream, self._cache).emails([message], _QUOTED)
            body = quoting.quote_in_reply(body, emails[0], hidden=reply.hidden)
        subject = addresses.decoded(message.payload.header("subject"))
        own = _message_ids(message.payload.header("message-id"))[:1]
        letter = OutgoingMessage(
            sender=me,
            to=to,
            cc=cc,
            subject=quoting.reply_subject(compose.cleaned(subject)),
            body=body[0],
            body_type=body[1],
            message_id=reply.message_id,
            in_reply_to=own[0] if own else "",
            references=_references(message.payload, own),
        )
        return await self._deliver(letter, maybe_sent=reply.maybe_sent, thread_id=message.thread_id)

    async def forward(self, message_id: str, forward: Forward) -> mail_records.SentMessage:
        """Pass a message on once, its attachments included, in a thread of its own."""
        answer = await self._upstream.call(
            "GET",
            *ROOT,
            "messages",
            message_id,
            params=(("format", "raw"), ("fields", "raw")),
            max_bytes=2 * MAX_MESSAGE_BYTES,
        )
        email, files = original_message.read(answer.decode(original_message.Raw))
        text, kind = quoting.quote_in_forward(
            (forward.body, forward.body_type), email, hidden=forward.hidden
        )
        subject = "" if "subject" in forward.hidden else email.subject
        letter = OutgoingMessage(
            sender=await self._cache.own_address(self._upstream),
            to=forward.to,
            cc=forward.cc,
            subject=quoting.forward_subject(compose.cleaned(subject or "")),
            body=text,
            body_type=kind,
            message_id=forward.message_id,
            files=files,
        )
        return await self._deliver(letter, maybe_sent=forward.maybe_sent)

    async def _answered(self, message_id: str, *, quote: bool) -> Message:
        """Read what a reply needs of the original: headers, and the body when it is quoted."""
        params: requested_fields.Params = (
            ("format", "metadata"),
            *(("metadataHeaders", name) for name in _ANSWERED),
            ("fields", "id,threadId,labelIds,internalDate,payload(headers)"),
        )
        if quote:
            params = requested_fields.message(_QUOTED)
        answer = await self._upstream.call("GET", *ROOT, "messages", message_id, params=params)
        return decoded(answer)

    async def _deliver(
        self, letter: OutgoingMessage, *, maybe_sent: bool, thread_id: str | None = None
    ) -> mail_records.SentMessage:
        raw = compose.write(letter)
        if len(raw) > MAX_MESSAGE_BYTES:
            raise Refused("The message is too large for the provider.", status=413)

        async def post() -> mail_records.SentMessage:
            return await self._post(raw, thread_id)

        async def look_up() -> mail_records.SentMessage | None:
            return await self._sent_as(letter.message_id)

        return await delivery.send_once(post, look_up, maybe_sent=maybe_sent)

    async def _post(self, raw: bytes, thread_id: str | None) -> mail_records.SentMessage:
        if len(raw) > JSON_BYTES and thread_id is None:
            answer = await self._upstream.call(
                "POST",
                "upload",
                *ROOT,
                "messages",
                "send",
                params=(("uploadType", "media"),),
                content=raw,
                headers={"content-type": "message/rfc822"},
            )
        else:
            sent = {"raw": urlsafe_b64encode(raw).decode()}
            if thread_id is not None:
                sent["threadId"] = thread_id
            answer = await self._upstream.call("POST", *ROOT, "messages", "send", json=sent)
        return _named(answer.decode(MessageReference))

    async def _sent_as(self, message_id: str) -> mail_records.SentMessage | None:
        """Find what was sent under a Message-ID, wherever it lies."""
        answer = await self._upstream.call(
            "GET",
            *ROOT,
            "messages",
            params=(
                ("q", f"rfc822msgid:{message_id} in:anywhere -in:drafts"),
                ("includeSpamTrash", "true"),
                ("maxResults", "1"),
            ),
        )
        messages = answer.decode(MessagePage).messages
        return _named(messages[0]) if messages else None


def recipients(
    root: Part, me: str, *, reply_all: bool
) -> tuple[Sequence[Participant], Sequence[Participant]]:
    """
    Return whom a reply goes to: To and Cc.

    Reply-To, else From; for the account's own messages the original To. *reply_all* adds the
    original To and Cc. The account itself and repetitions are left out.

    Raises:
        NoReplyRecipient: Nobody is left.
    """
    head = root.head()
    original_to = addresses.read(head.get("to", ""))
    author = addresses.read(head.get("reply-to", "")) or addresses.read(head.get("from", ""))
    seen = {me.casefold()}
    to = _others(author, seen) or _others(original_to, seen)
    if reply_all:
        to += _others(original_to, seen)
    cc = _others(addresses.read(head.get("cc", "")), seen) if reply_all else []
    if not to and not cc:
        raise NoReplyRecipient
    return (to, cc) if to else (cc, [])


def _others(people: Iterable[Participant], seen: set[str]) -> list[Participant]:
    """Return those not seen before, and remember them."""
    found = []
    for one in compose.addressable(people):
        address = one.email.casefold()
        if address not in seen:
            seen.add(address)
            found.append(one)
    return found


def _references(root: Part, own: Sequence[str]) -> Sequence[str]:
    earlier = [
        message_id_
        for message_id_ in _message_ids(root.header("references"))
        if message_id_ not in own
    ]
    # The first names the thread, the last ones its latest turns; what is between may go.
    kept = earlier if len(earlier) < _MAX_REFERENCES else earlier[:1] + earlier[-_MAX_REFERENCES:]
    return (*kept, *own)


def _message_ids(header: str) -> list[str]:
    return [one for one in _ANGLED.findall(header) if delivery.is_message_id(one)]


def _named(sent: MessageReference) -> mail_records.SentMessage:
    """Take over the ids that are ids; a message that was sent is never reported as failed."""
    names = [one if one and is_provider_a_id(one) else None for one in (sent.id, sent.thread_id)]
    return mail_records.SentMessage(email_id=names[0], thread_id=names[1])
