"""
Sending from a mailbox of provider B: a draft is made under our Message-ID, then sent once.

Upstream makes replies and forwards itself and tells no ids of what was sent. Source: wire report
1A.5 to 1A.7; decisions 5.5, 5.7, 16.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from providers.connectors.provider_b.account_cache import PREFER, ROOT, AccountCache
from providers.connectors.provider_b.outlook_mail import mapping, selected_fields
from providers.connectors.provider_b.outlook_mail.response_types import Message, MessagePage
from providers.failures import Broken, OutcomeUnknown, ProviderFailure, Unreachable
from providers.http.client import Upstream
from providers.ids import is_provider_b_id
from providers.mail import delivery, quoting
from providers.ports.mail import Draft, Forward, NoReplyRecipient, Reply, UnsafeMessage
from providers.records import mail as mail_records
from providers.records.mail import Participant

_NOTHING_TOLD = mail_records.SentMessage()
_FORWARDED = frozenset({"from_", "to", "cc", "subject", "sent_at", "body", "body_type"})

_BODY_TAG = re.compile(r"<body[^<>]*>", re.IGNORECASE)

Json = dict[str, Any]
People = tuple[Participant, ...]
Make = Callable[[], Awaitable[str]]


class Sender:
    """Sends from one account."""

    def __init__(self, upstream: Upstream, cache: AccountCache) -> None:
        self._upstream = upstream
        self._cache = cache

    async def send(self, draft: Draft) -> mail_records.SentMessage:
        """Send a new message once."""
        _check(draft.message_id, draft.subject, (*draft.to, *draft.cc, *draft.bcc))

        async def make() -> str:
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

        return await self._once(draft.message_id, make, maybe_sent=draft.maybe_sent)

    async def reply(self, message_id: str, reply: Reply) -> mail_records.SentMessage:
        """Answer a message once, as upstream's own reply."""
        _check(reply.message_id, "", ())

        async def make() -> str:
            body = _body(reply.body, reply.body_type)
            given: Json = {} if reply.quote else {"message": {"body": body}}
            action = "createReplyAll" if reply.reply_all else "createReply"
            made = await self._post("messages", message_id, action, json=given)
            if reply.quote:
                body = _before(reply.body, reply.body_type, made)
            changes: Json = {"body": body}
            changes |= await self._addressed(message_id, made)
            return await self._finished(made.id, reply.message_id, changes)

        return await self._once(reply.message_id, make, maybe_sent=reply.maybe_sent)

    async def forward(self, message_id: str, forward: Forward) -> mail_records.SentMessage:
        """Pass a message on once; upstream keeps its attachments."""
        _check(forward.message_id, "", (*forward.to, *forward.cc))

        async def make() -> str:
            made = await self._post("messages", message_id, "createForward", json={})
            changes: Json = {
                "toRecipients": mapping.recipients(forward.to),
                "ccRecipients": mapping.recipients(forward.cc),
            }
            if forward.hidden.isdisjoint(_FORWARDED):
                changes["body"] = _before(forward.body, forward.body_type, made)
            else:
                changes |= await self._rewritten(message_id, forward)
            return await self._finished(made.id, forward.message_id, changes)

        return await self._once(forward.message_id, make, maybe_sent=forward.maybe_sent)

    # -- drafts

    async def _once(
        self, message_id: str, make: Make, *, maybe_sent: bool
    ) -> mail_records.SentMessage:
        """
        Make a draft and send it, or the draft that an earlier try has left.

        Raises:
            OutcomeUnknown: It may have been sent.
            ProviderFailure: It was surely not sent.
        """
        draft = ""
        if maybe_sent:
            found = await self._find(message_id)
            if any(not one.is_draft for one in found):
                return _NOTHING_TOLD
            draft = next((one.id for one in found), "")
        draft = draft or await self._made(message_id, make)

        async def send() -> mail_records.SentMessage:
            await self._upstream.call("POST", *ROOT, "messages", draft, "send", headers=PREFER)
            return _NOTHING_TOLD

        async def look_up() -> mail_records.SentMessage | None:
            found = await self._find(message_id)
            return _NOTHING_TOLD if any(not one.is_draft for one in found) else None

        try:
            return await delivery.send_once(send, look_up, maybe_sent=False)
        except OutcomeUnknown:
            raise
        except ProviderFailure:
            await self._discard(draft)
            raise

    async def _made(self, message_id: str, make: Make) -> str:
        """Make the draft; when the answer was lost, take the one that was made."""
        try:
            return await make()
        except ProviderFailure as failure:
            if not delivery.is_ambiguous(failure):
                raise

        async def left() -> str | None:
            return next((one.id for one in await self._find(message_id) if one.is_draft), None)

        found = await delivery.poll(left)
        if found is None:
            raise Unreachable(sent=False)  # at worst a draft was left behind
        return found

    async def _finished(self, draft: str, message_id: str, changes: Json) -> str:
        """Put everything into a draft that upstream made, under our Message-ID."""
        changes["internetMessageId"] = f"<{message_id}>"
        try:
            await self._upstream.call(
                "PATCH",
                *ROOT,
                "messages",
                draft,
                json=changes,
                headers=PREFER,
                retry=True,  # the same change twice is one change
            )
        except ProviderFailure as failure:
            if not delivery.is_ambiguous(failure):
                await self._discard(draft)
            raise
        return draft

    async def _discard(self, draft: str) -> None:
        """Take away a draft that will not be sent, if that can be done."""
        with suppress(ProviderFailure):
            await self._upstream.call("DELETE", *ROOT, "messages", draft, headers=PREFER)

    async def _find(self, message_id: str) -> list[Message]:
        answer = await self._upstream.call(
            "GET",
            *ROOT,
            "messages",
            params=(
                ("$filter", f"internetMessageId eq '<{message_id.replace(chr(39), chr(39) * 2)}>'"),
                ("$select", "id,isDraft"),
                ("$top", "5"),
            ),
            headers=PREFER,
        )
        return [one for one in answer.decode(MessagePage).value if is_provider_b_id(one.id)]

    async def _post(self, *segments: str, json: Json) -> Message:
        answer = await self._upstream.call("POST", *ROOT, *segments, json=json, headers=PREFER)
        message = answer.decode(Message)
        if not is_provider_b_id(message.id):
            raise Broken
        return message

    # -- what goes into them

    async def _addressed(self, message_id: str, made: Message) -> Json:
        """
        Return whom a reply goes to where upstream's choice holds the account itself.

        Without anybody else it goes to the original's recipients.

        Raises:
            NoReplyRecipient: There are none; the draft is taken away.
        """
        me = await self._cache.own_address(self._upstream)
        chosen = mapping.email(made, frozenset({"to", "cc"}))
        to, cc = _others(chosen.to, me), _others(chosen.cc, me)
        if not to and not cc:
            original = await self._original(message_id, frozenset({"to"}))
            to = _others(original.to, me)
        if not to and not cc:
            await self._discard(made.id)
            raise NoReplyRecipient
        changes: Json = {}
        if to != chosen.to:
            changes["toRecipients"] = mapping.recipients(to)
        if cc != chosen.cc:
            changes["ccRecipients"] = mapping.recipients(cc)
        return changes

    async def _rewritten(self, message_id: str, forward: Forward) -> Json:
        """Write a forward's text ourselves, because upstream's would tell what is hidden."""
        original = await self._original(message_id, _FORWARDED - forward.hidden)
        text, kind = quoting.quote_in_forward(
            (forward.body, forward.body_type), original, hidden=forward.hidden
        )
        changes: Json = {"body": _body(text, kind)}
        if "subject" in forward.hidden:
            changes["subject"] = "FW:"
        return changes

    async def _original(self, message_id: str, wanted: frozenset[str]) -> mail_records.Email:
        answer = await self._upstream.call(
            "GET",
            *ROOT,
            "messages",
            message_id,
            params=selected_fields.message(wanted),
            headers=PREFER,
        )
        return mapping.email(answer.decode(Message), wanted)


def _others(people: People | None, me: str) -> People:
    return tuple(person for person in people or () if person.email.casefold() != me.casefold())


def _body(text: str, kind: str) -> Json:
    return {"contentType": "HTML" if kind == "html" else "Text", "content": text}


def _before(text: str, kind: str, made: Message) -> Json:
    """Put a caller's text before what upstream quotes in a draft."""
    own = text if kind == "html" else quoting.text_to_html(text)
    quoted = made.body.content if made.body is not None else ""
    if made.body is not None and made.body.content_type.lower() != "html":
        quoted = quoting.text_to_html(quoted or "")
    tag = _BODY_TAG.search(quoted or "")
    at = tag.end() if tag else 0
    content = quoted or ""
    return _body(f"{content[:at]}<div>{own}</div>{content[at:]}", "html")


def _check(message_id: str, subject: str, people: Sequence[Participant]) -> None:
    """
    Refuse what cannot stand in a header.

    Raises:
        UnsafeMessage: There is a control character or half a surrogate pair in it.
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
