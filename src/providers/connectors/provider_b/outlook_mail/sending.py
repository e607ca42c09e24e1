"""
Sending of new messages, replies and forwards: docs/spec/upstream/outlook-mail.md#send.

Graph composes replies and forwards. The draft is written only when no earlier attempt has left one.
"""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import partial

from providers.connectors.provider_b.account_cache import PREFER, AccountCache
from providers.connectors.provider_b.graph_user import GraphUser
from providers.connectors.provider_b.outlook_mail import mapping, selected_fields
from providers.connectors.provider_b.outlook_mail.drafts import DraftSender, Json, NewDraft
from providers.connectors.provider_b.outlook_mail.response_types import Message, decode_message
from providers.mail import delivery, message_parts, quoting
from providers.mail.reply_headers import RECIPIENT_FIELDS, derive_recipients
from providers.ports.mail import Draft, Forward, NoReplyRecipient, Reply, UnsafeMessage
from providers.records import mail as mail_records
from providers.records.mail import Email, Participant
from providers.write_previews import Recipients, Subject, add_attachments, current_preview, describe

_BODY_TAG = re.compile(r"<body[^<>]*>", re.IGNORECASE)

People = tuple[Participant, ...]


class Sender:
    """Sender of one account."""

    def __init__(self, user: GraphUser, cache: AccountCache) -> None:
        self._user = user
        self._call = partial(user.call, headers=PREFER)
        self._cache = cache
        self._drafts = DraftSender(user)

    async def send(self, draft: Draft) -> mail_records.SentMessage:
        """Send a new message once."""
        _check(draft.attempt.message_id, draft.subject, (*draft.to, *draft.cc, *draft.bcc))

        async def write() -> NewDraft:
            message = {
                "subject": draft.subject,
                "body": _body(draft.body, draft.body_type),
                "importance": draft.importance,
                "toRecipients": mapping.recipients(draft.to),
                "ccRecipients": mapping.recipients(draft.cc),
                "bccRecipients": mapping.recipients(draft.bcc),
                "internetMessageId": f"<{draft.attempt.message_id}>",
                **self._user.author,
            }
            return NewDraft(path=("messages",), request=message, files=draft.files)

        return await self._drafts.deliver_once(draft.attempt, write)

    async def reply(self, message_id: str, reply: Reply) -> mail_records.SentMessage:
        """Reply to a message once, by Graph's own reply."""
        _check(reply.attempt.message_id, "", ())
        recipients: Json = {}
        derives = reply.to_is_hidden or reply.check_recipients is not None
        if derives or current_preview() is not None:
            recipients = await self._derived_recipients(message_id, reply)

        async def write() -> NewDraft:
            body = await self._body_of_reply(message_id, reply)

            async def complete(draft: Message) -> Json:
                changes: Json = {"body": body or _insert_text(reply.body, reply.body_type, draft)}
                return changes | (recipients or await self._recipient_changes(message_id, draft))

            action = "createReplyAll" if reply.reply_all else "createReply"
            return NewDraft(
                path=("messages", message_id, action),
                request={"message": {"body": body}} if body else {},
                complete=complete,
                files=reply.files,
            )

        return await self._drafts.deliver_once(reply.attempt, write)

    async def forward(self, message_id: str, forward: Forward) -> mail_records.SentMessage:
        """Forward a message once; Graph keeps its attachments."""
        _check(forward.attempt.message_id, "", (*forward.to, *forward.cc))
        previewed = await self._preview_forward(message_id, forward)

        async def write() -> NewDraft:
            content = await self._content_of_forward(message_id, forward) if forward.hidden else {}

            async def complete(draft: Message) -> Json:
                return {
                    "toRecipients": mapping.recipients(forward.to),
                    "ccRecipients": mapping.recipients(forward.cc),
                    **(content or {"body": _insert_text(forward.body, forward.body_type, draft)}),
                    **previewed,
                }

            return NewDraft(
                path=("messages", message_id, "createForward"),
                request={"message": content} if content else {},
                complete=complete,
                files=forward.files,
            )

        return await self._drafts.deliver_once(forward.attempt, write)

    # -- content of drafts

    async def _derived_recipients(self, message_id: str, reply: Reply) -> Json:
        """
        Return the recipients of a reply before Graph composes it; see `derive_recipients`.

        Graph's choice is not taken, so the reply goes to those that were checked.
        """
        members = ["id", "from", "sender", "replyTo"]
        if not reply.to_is_hidden:
            members.append("toRecipients")
        if reply.reply_all:
            members.append("ccRecipients")
        members += _taken_by_reply()
        response = await self._call(
            "GET", *self._user.messages, message_id, params=(("$select", ",".join(members)),)
        )
        original = decode_message(response)
        own = await self._cache.own_addresses(self._user)
        to, cc = derive_recipients(mapping.original_people(original), own, reply)
        return {
            "toRecipients": mapping.recipients(to),
            "ccRecipients": mapping.recipients(cc),
            **_describe_reply(to, cc, original.subject),
        }

    async def _body_of_reply(self, message_id: str, reply: Reply) -> Json | None:
        """Return the body to send; None when Graph may quote the original after the text."""
        body = (reply.body, reply.body_type)
        if not reply.quote:
            return _body(*body)
        if not reply.hidden:
            return None
        original = await self._original(message_id, quoting.QUOTED_ATTRIBUTES - reply.hidden)
        return _body(*quoting.quote_in_reply(body, original, hidden=reply.hidden))

    async def _recipient_changes(self, message_id: str, draft: Message) -> Json:
        """
        Return the changes that remove the account itself from the recipients of a reply.

        Without another recipient, the reply goes to the recipients of the original.

        Raises:
            NoReplyRecipient: The original has none either; the draft is deleted.
        """
        own = await self._cache.own_addresses(self._user)
        chosen = mapping.email(draft, frozenset({"to", "cc"}))
        to, cc = _others(chosen.to, own), _others(chosen.cc, own)
        if not to and not cc:
            original = await self._original(message_id, frozenset({"to"}))
            to = _others(original.to, own)
        if not to and not cc:
            await self._drafts.discard(draft.id)
            raise NoReplyRecipient
        changes: Json = {}
        if to != chosen.to:
            changes["toRecipients"] = mapping.recipients(to)
        if cc != chosen.cc:
            changes["ccRecipients"] = mapping.recipients(cc)
        return changes

    async def _preview_forward(self, message_id: str, forward: Forward) -> Json:
        """Describe what a forward takes from its original; return members of the draft."""
        projection = _taken_by_forward(forward)
        if not projection:
            return {}
        return _describe_forward(await self._original(message_id, projection), projection)

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

    async def _original(self, message_id: str, projection: frozenset[str]) -> mail_records.Email:
        response = await self._call(
            "GET", *self._user.messages, message_id, params=selected_fields.message(projection)
        )
        return mapping.email(decode_message(response), projection)


def _others(people: People | None, own: AbstractSet[str]) -> People:
    """Return *people* without those at an address of the account; *own* is folded."""
    return tuple(person for person in people or () if person.email.casefold() not in own)


def _body(text: str, body_type: str) -> Json:
    return {"contentType": "HTML" if body_type == "html" else "Text", "content": text}


def _insert_text(text: str, body_type: str, draft: Message) -> Json:
    """Return the body with *text* before Graph's quotation in a draft."""
    inserted = text if body_type == "html" else message_parts.text_to_html(text)
    content = (draft.body.content or "") if draft.body is not None else ""
    if draft.body is not None and draft.body.content_type.lower() != "html":
        content = message_parts.text_to_html(content)
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


# Graph composes subjects itself. Where a preview is asked for, the draft gets the subject that the
# preview shows, whatever Graph chose.


def _taken_by_reply() -> tuple[str, ...]:
    """Return the members of the original to read for a preview, besides those of its people."""
    preview = current_preview()
    return () if preview is None or "subject" in preview.hidden else ("subject",)


def _describe_reply(
    to: Sequence[Participant], cc: Sequence[Participant], subject: str | None
) -> dict[str, str]:
    """Describe a reply to *to* and *cc*; *subject* is that of the original, if it was read."""
    describe(recipients=Recipients(to=tuple(to), cc=tuple(cc), derived_from=RECIPIENT_FIELDS))
    return _subject_of_draft("RE:", subject) if _taken_by_reply() else {}


def _taken_by_forward(forward: Forward) -> frozenset[str]:
    """Return the attributes of the original to read for a preview; empty without one."""
    preview = current_preview()
    if preview is None:
        return frozenset()
    return frozenset({"subject", "attachments"} - preview.hidden - forward.hidden)


def _describe_forward(original: Email, projection: AbstractSet[str]) -> dict[str, str]:
    """Describe the *projection* attributes of the original; return members of the draft."""
    add_attachments((file.name, file.size) for file in original.attachments or ())
    return _subject_of_draft("FW:", original.subject) if "subject" in projection else {}


def _subject_of_draft(prefix: str, subject: str | None) -> dict[str, str]:
    """Describe the subject of a reply or forward; return it as a member of the draft."""
    text = subject or ""
    if not text.lower().startswith(prefix.lower()):
        text = f"{prefix} {text}"
    describe(subject=Subject(text=text, derived=True))
    return {"subject": text}
