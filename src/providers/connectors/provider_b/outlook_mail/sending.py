"""
Sending of new messages, replies and forwards: docs/spec/upstream/outlook-mail.md#send.

A draft is created with the gateway's Message-ID, its id is committed, then it is sent once. Graph
composes replies and forwards, and does not return the ids of sent messages.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import partial
from typing import Any

from providers.connectors.provider_b.account_cache import MESSAGES, PREFER, ROOT, AccountCache
from providers.connectors.provider_b.outlook_mail import attaching, mapping, selected_fields
from providers.connectors.provider_b.outlook_mail.response_types import Message, MessagePage
from providers.failures import (
    Broken,
    Missing,
    OutcomeUnknown,
    ProviderFailure,
    Refused,
    Unreachable,
    without_frames,
)
from providers.http.client import Upstream
from providers.ids import is_provider_b_id
from providers.mail import delivery, quoting
from providers.ports.mail import (
    WITHDRAWN,
    Draft,
    Forward,
    HiddenReplyRecipients,
    NoReplyRecipient,
    OutgoingFile,
    Reply,
    SendAttempt,
    UnsafeMessage,
)
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
        _check(draft.attempt.message_id, draft.subject, (*draft.to, *draft.cc, *draft.bcc))

        async def create_draft() -> str:
            message = {
                "subject": draft.subject,
                "body": _body(draft.body, draft.body_type),
                "importance": draft.importance,
                "toRecipients": mapping.recipients(draft.to),
                "ccRecipients": mapping.recipients(draft.cc),
                "bccRecipients": mapping.recipients(draft.bcc),
                "internetMessageId": f"<{draft.attempt.message_id}>",
            }
            return (await self._post("messages", json=message)).id

        return await self._send_once(draft.attempt, create_draft, draft.files)

    async def reply(self, message_id: str, reply: Reply) -> mail_records.SentMessage:
        """Reply to a message once, by Graph's own reply."""
        _check(reply.attempt.message_id, "", ())

        async def create_draft() -> str:
            if "to" in reply.hidden:
                await self._require_other_author(message_id)
            body = await self._body_of_reply(message_id, reply)
            request: Json = {"message": {"body": body}} if body else {}
            action = "createReplyAll" if reply.reply_all else "createReply"
            draft = await self._post("messages", message_id, action, json=request)
            changes: Json = {"body": body or _insert_text(reply.body, reply.body_type, draft)}
            changes |= await self._recipient_changes(message_id, draft, reply)
            return await self._complete(draft.id, reply.attempt.message_id, changes)

        return await self._send_once(reply.attempt, create_draft, reply.files)

    async def forward(self, message_id: str, forward: Forward) -> mail_records.SentMessage:
        """Forward a message once; Graph keeps its attachments."""
        _check(forward.attempt.message_id, "", (*forward.to, *forward.cc))

        async def create_draft() -> str:
            content = await self._content_of_forward(message_id, forward) if forward.hidden else {}
            request: Json = {"message": content} if content else {}
            draft = await self._post("messages", message_id, "createForward", json=request)
            changes: Json = {
                "toRecipients": mapping.recipients(forward.to),
                "ccRecipients": mapping.recipients(forward.cc),
                **(content or {"body": _insert_text(forward.body, forward.body_type, draft)}),
            }
            return await self._complete(draft.id, forward.attempt.message_id, changes)

        return await self._send_once(forward.attempt, create_draft, forward.files)

    # -- drafts

    async def _send_once(
        self, attempt: SendAttempt, create_draft: CreateDraft, files: Sequence[OutgoingFile]
    ) -> mail_records.SentMessage:
        """
        Create a draft and send it; a draft that an earlier attempt left is sent instead.

        Raises:
            OutcomeUnknown: The message may have been sent.
            TakenOver: Another attempt has begun, and sends the message.
            ProviderFailure: The message was not sent.
        """
        draft = attempt.draft_id
        if draft == WITHDRAWN:
            raise OutcomeUnknown
        if draft is not None and await self._was_sent(draft):
            return _WITHOUT_IDS
        with delivery.time_for_look_ups():
            if draft is None:
                draft = await self._create_or_find(attempt.message_id, create_draft)
                await self._attach(draft, files)
                await delivery.commit_draft(attempt, draft, self._discard)
            try:
                await self._call("POST", *MESSAGES, draft, "send")
            except ProviderFailure as problem:
                failure = without_frames(problem)
            else:
                return _WITHOUT_IDS
        return await self._settle(draft, attempt, failure)

    async def _settle(
        self, draft: str, attempt: SendAttempt, failure: ProviderFailure
    ) -> mail_records.SentMessage:
        """
        Find out whether a draft was sent whose send failed; delete it when it was not.

        The draft stays for a later attempt when this one surely did not reach Graph.
        """
        if delivery.is_ambiguous(failure):
            looked_up: list[bool] = []

            async def sent_or_none() -> bool | None:
                looked_up.append(await self._was_sent(draft))
                return looked_up[-1] or None

            if await delivery.poll(sent_or_none):
                return _WITHOUT_IDS
            if not (isinstance(failure, Broken) and failure.failed and looked_up):
                raise OutcomeUnknown from failure
        elif isinstance(failure, Refused | Missing):
            if await self._was_sent(draft):  # by another call, which is why this one was refused
                return _WITHOUT_IDS
        elif attempt.store_draft is not None:
            raise delivery.not_sent(failure)
        await attempt.store(None)
        await self._discard(draft)
        raise delivery.not_sent(failure)

    async def _was_sent(self, draft: str) -> bool:
        """
        Tell whether a draft is a sent message now; its immutable id stays the same.

        Raises:
            OutcomeUnknown: It is neither, or not yet: a sent message appears after a delay.
        """
        try:
            response = await self._call(
                "GET", *MESSAGES, draft, params=(("$select", "id,isDraft"),)
            )
        except Missing:
            raise OutcomeUnknown from None
        return not response.decode(Message).is_draft

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

    async def _attach(self, draft: str, files: Sequence[OutgoingFile]) -> None:
        """
        Attach files to a new draft, whose id is not committed yet.

        After a failure it is not known which files the draft has, so it is never sent.

        Raises:
            ProviderFailure: Nothing was sent; the draft is deleted if possible.
        """
        for file in files:
            try:
                await attaching.attach(self._upstream, draft, file)
            except ProviderFailure as failure:
                await self._discard(draft)
                raise delivery.not_sent(failure) from failure

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

    async def _require_other_author(self, message_id: str) -> None:
        """
        Check that a reply would not go to the recipients of the original, which are hidden.

        Raises:
            HiddenReplyRecipients: The original is the account's own.
        """
        own = await self._cache.own_addresses(self._upstream)
        response = await self._call(
            "GET", *MESSAGES, message_id, params=(("$select", "id,from,sender,replyTo"),)
        )
        if not _others(mapping.reply_addresses(response.decode(Message)), own):
            raise HiddenReplyRecipients

    async def _body_of_reply(self, message_id: str, reply: Reply) -> Json | None:
        """Return the body to send; None when Graph may quote the original after the text."""
        body = (reply.body, reply.body_type)
        if not reply.quote:
            return _body(*body)
        if not reply.hidden:
            return None
        original = await self._original(message_id, quoting.QUOTED_ATTRIBUTES - reply.hidden)
        return _body(*quoting.quote_in_reply(body, original, hidden=reply.hidden))

    async def _recipient_changes(self, message_id: str, draft: Message, reply: Reply) -> Json:
        """
        Return the changes that remove the account itself from the recipients of a reply.

        Without another recipient, the reply goes to the recipients of the original if visible.

        Raises:
            NoReplyRecipient: The original has none either; the draft is deleted.
        """
        own = await self._cache.own_addresses(self._upstream)
        chosen = mapping.email(draft, frozenset({"to", "cc"}))
        to, cc = _others(chosen.to, own), _others(chosen.cc, own)
        if not to and not cc and "to" not in reply.hidden:
            original = await self._original(message_id, frozenset({"to"}))
            to = _others(original.to, own)
        if not to and not cc:
            await self._discard(draft.id)
            raise NoReplyRecipient
        changes: Json = {}
        if to != chosen.to:
            changes["toRecipients"] = mapping.recipients(to)
        if cc != chosen.cc:
            changes["ccRecipients"] = mapping.recipients(cc)
        return changes

    async def _content_of_forward(self, message_id: str, forward: Forward) -> Json:
        """Return the members that replace those of Graph's forward, which show hidden fields."""
        original = await self._original(message_id, quoting.QUOTED_ATTRIBUTES - forward.hidden)
        text, body_type = quoting.quote_in_forward(
            (forward.body, forward.body_type), original, hidden=forward.hidden
        )
        content: Json = {"body": _body(text, body_type)}
        if "subject" in forward.hidden:
            content["subject"] = "FW:"
        if "importance" in forward.hidden:
            content["importance"] = "normal"
        return content

    async def _original(self, message_id: str, wanted: frozenset[str]) -> mail_records.Email:
        response = await self._call(
            "GET", *MESSAGES, message_id, params=selected_fields.message(wanted)
        )
        return mapping.email(response.decode(Message), wanted)


def _others(people: People | None, own: AbstractSet[str]) -> People:
    """Return *people* without those at an address of the account; *own* is folded."""
    return tuple(person for person in people or () if person.email.casefold() not in own)


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
