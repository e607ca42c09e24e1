"""
Sending of new messages, replies and forwards: docs/spec/upstream/outlook-mail.md#send.

A draft is created with the gateway's Message-ID, then sent once. Graph composes replies and
forwards, and does not return the ids of sent messages.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from providers.connectors.provider_b.account_cache import MESSAGES, PREFER, ROOT, AccountCache
from providers.connectors.provider_b.outlook_mail import mapping, selected_fields
from providers.connectors.provider_b.outlook_mail.response_types import Message, MessagePage
from providers.failures import Broken, OutcomeUnknown, ProviderFailure, Unreachable
from providers.http.client import Upstream
from providers.ids import is_provider_b_id
from providers.mail import delivery, quoting
from providers.ports.mail import Draft, Forward, NoReplyRecipient, Reply, UnsafeMessage
from providers.records import mail as mail_records
from providers.records.mail import Participant

_WITHOUT_IDS = mail_records.SentMessage()

_BODY_TAG = re.compile(r"<body[^<>]*>", re.IGNORECASE)

Json = dict[str, Any]
People = tuple[Participant, ...]
CreateDraft = Callable[[], Awaitable[str]]


class Sender:
    """Sender of one account."""

    def __init__(self, upstream: Upstream, cache: AccountCache) -> None:
        self._upstream = upstream
        self._call = partial(upstream.call, headers=PREFER)
        self._cache = cache

    async def send(self, draft: Draft) -> mail_records.SentMessage:
        """Send a new message once."""
        _check(draft.message_id, draft.subject, (*draft.to, *draft.cc, *draft.bcc))

        async def create_draft() -> str:
            message = {
                "subject": draft.subject,
                "body": _body(draft.body, draft.body_type),
                "importance": draft.importance,
                "toRecipients": mapping.recipients(draft.to),
                "ccRecipients": mapping.recipients(draft.cc),
                "bccRecipients": mapping.recipients(draft.bcc),
                "internetMessageId": f"<{draft.message_id}>",
            }
            return (await self._post("messages", json=message)).id

        return await self._send_once(draft.message_id, create_draft, maybe_sent=draft.maybe_sent)

    async def reply(self, message_id: str, reply: Reply) -> mail_records.SentMessage:
        """Reply to a message once, by Graph's own reply."""
        _check(reply.message_id, "", ())

        async def create_draft() -> str:
            body = _body(reply.body, reply.body_type)
            request: Json = {} if reply.quote else {"message": {"body": body}}
            action = "createReplyAll" if reply.reply_all else "createReply"
            draft = await self._post("messages", message_id, action, json=request)
            if reply.quote:
                body = _insert_text(reply.body, reply.body_type, draft)
            changes: Json = {"body": body}
            changes |= await self._recipient_changes(message_id, draft)
            return await self._complete(draft.id, reply.message_id, changes)

        return await self._send_once(reply.message_id, create_draft, maybe_sent=reply.maybe_sent)

    async def forward(self, message_id: str, forward: Forward) -> mail_records.SentMessage:
        """Forward a message once; Graph keeps its attachments."""
        _check(forward.message_id, "", (*forward.to, *forward.cc))

        async def create_draft() -> str:
            draft = await self._post("messages", message_id, "createForward", json={})
            changes: Json = {
                "toRecipients": mapping.recipients(forward.to),
                "ccRecipients": mapping.recipients(forward.cc),
            }
            if forward.hidden.isdisjoint(quoting.QUOTED_ATTRIBUTES):
                changes["body"] = _insert_text(forward.body, forward.body_type, draft)
            else:
                changes |= await self._forward_without_hidden(message_id, forward)
            return await self._complete(draft.id, forward.message_id, changes)

        return await self._send_once(
            forward.message_id, create_draft, maybe_sent=forward.maybe_sent
        )

    # -- drafts

    async def _send_once(
        self, message_id: str, create_draft: CreateDraft, *, maybe_sent: bool
    ) -> mail_records.SentMessage:
        """
        Create a draft and send it; a draft that an earlier try left is sent instead.

        Raises:
            OutcomeUnknown: The message may have been sent.
            ProviderFailure: The message was not sent.
        """
        draft = ""
        if maybe_sent:
            messages = await self._find(message_id)
            if not all(message.is_draft for message in messages):
                return _WITHOUT_IDS
            draft = messages[0].id if messages else ""
        draft = draft or await self._create_or_find(message_id, create_draft)

        async def send() -> mail_records.SentMessage:
            await self._call("POST", *MESSAGES, draft, "send")
            return _WITHOUT_IDS

        async def look_up() -> mail_records.SentMessage | None:
            messages = await self._find(message_id)
            return None if all(message.is_draft for message in messages) else _WITHOUT_IDS

        try:
            return await delivery.send_once(send, look_up, maybe_sent=False)
        except OutcomeUnknown:
            raise
        except ProviderFailure:
            await self._discard(draft)
            raise

    async def _create_or_find(self, message_id: str, create_draft: CreateDraft) -> str:
        """Create the draft; when the response was lost, find the draft that was created."""
        try:
            return await create_draft()
        except ProviderFailure as failure:
            if not delivery.is_ambiguous(failure):
                raise

        async def find_draft() -> str | None:
            messages = await self._find(message_id)
            return next((message.id for message in messages if message.is_draft), None)

        draft = await delivery.poll(find_draft)
        if draft is None:
            raise Unreachable(sent=False)  # at worst a draft remains
        return draft

    async def _complete(self, draft: str, message_id: str, changes: Json) -> str:
        """Apply *changes* and the gateway's Message-ID to a draft of Graph."""
        changes["internetMessageId"] = f"<{message_id}>"
        try:
            await self._call(
                "PATCH",
                *MESSAGES,
                draft,
                json=changes,
                retry=True,  # idempotent
            )
        except ProviderFailure as failure:
            if not delivery.is_ambiguous(failure):
                await self._discard(draft)
            raise
        return draft

    async def _discard(self, draft: str) -> None:
        """Try to delete a draft that will not be sent."""
        with suppress(ProviderFailure):
            await self._call("DELETE", *MESSAGES, draft)

    async def _find(self, message_id: str) -> list[Message]:
        response = await self._call(
            "GET",
            *MESSAGES,
            params=(
                ("$filter", f"internetMessageId eq '<{message_id.replace(chr(39), chr(39) * 2)}>'"),
                ("$select", "id,isDraft"),
                ("$top", "5"),
            ),
        )
        messages = response.decode(MessagePage).value
        return [message for message in messages if is_provider_b_id(message.id)]

    async def _post(self, *segments: str, json: Json) -> Message:
        response = await self._call("POST", *ROOT, *segments, json=json)
        message = response.decode(Message)
        if not is_provider_b_id(message.id):
            raise Broken
        return message

    # -- content of drafts

    async def _recipient_changes(self, message_id: str, draft: Message) -> Json:
        """
        Return the changes that remove the account itself from the recipients of a reply.

        Without another recipient, the reply goes to the recipients of the original.

        Raises:
            NoReplyRecipient: The original has none either; the draft is deleted.
        """
        own_address = await self._cache.own_address(self._upstream)
        chosen = mapping.email(draft, frozenset({"to", "cc"}))
        to, cc = _others(chosen.to, own_address), _others(chosen.cc, own_address)
        if not to and not cc:
            original = await self._original(message_id, frozenset({"to"}))
            to = _others(original.to, own_address)
        if not to and not cc:
            await self._discard(draft.id)
            raise NoReplyRecipient
        changes: Json = {}
        if to != chosen.to:
            changes["toRecipients"] = mapping.recipients(to)
        if cc != chosen.cc:
            changes["ccRecipients"] = mapping.recipients(cc)
        return changes

    async def _forward_without_hidden(self, message_id: str, forward: Forward) -> Json:
        """Return the changes that replace Graph's quotation, which contains hidden fields."""
        original = await self._original(message_id, quoting.QUOTED_ATTRIBUTES - forward.hidden)
        text, body_type = quoting.quote_in_forward(
            (forward.body, forward.body_type), original, hidden=forward.hidden
        )
        changes: Json = {"body": _body(text, body_type)}
        if "subject" in forward.hidden:
            changes["subject"] = "FW:"
        return changes

    async def _original(self, message_id: str, wanted: frozenset[str]) -> mail_records.Email:
        response = await self._call(
            "GET", *MESSAGES, message_id, params=selected_fields.message(wanted)
        )
        return mapping.email(response.decode(Message), wanted)


def _others(people: People | None, own_address: str) -> People:
    own = own_address.casefold()
    return tuple(person for person in people or () if person.email.casefold() != own)


def _body(text: str, body_type: str) -> Json:
    return {"contentType": "HTML" if body_type == "html" else "Text", "content": text}


def _insert_text(text: str, body_type: str, draft: Message) -> Json:
    """Return the body with *text* before Graph's quotation in a draft."""
    inserted = text if body_type == "html" else quoting.text_to_html(text)
    content = (draft.body.content or "") if draft.body is not None else ""
    if draft.body is not None and draft.body.content_type.lower() != "html":
        content = quoting.text_to_html(content)
    tag = _BODY_TAG.search(content)
    start = tag.end() if tag else 0
    return _body(f"{content[:start]}<div>{inserted}</div>{content[start:]}", "html")


def _check(message_id: str, subject: str, people: Sequence[Participant]) -> None:
    """
    Refuse text that is not allowed in a header: docs/spec/email.md#header-safety.

    Raises:
        UnsafeMessage: It contains a control character or half a surrogate pair.
    """
    texts = [
        subject,
        *(person.name or "" for person in people),
        *(person.email for person in people),
    ]
    if not delivery.is_message_id(message_id) or any(
        map(delivery.CONTROL_CHARACTERS.search, texts)
    ):
        raise UnsafeMessage
