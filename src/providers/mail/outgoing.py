"""New messages, replies and forwards of connectors that compose whole messages."""

from collections.abc import Mapping
from functools import partial

from providers.mail import compose, original_message, quoting, reply_headers
from providers.mail.compose import OutgoingMessage
from providers.mail.reply_headers import RECIPIENT_FIELDS, People
from providers.ports.mail import Draft, Forward, Reply
from providers.records.mail import Email
from providers.turns import in_thread
from providers.write_previews import Recipients, Subject, add_attachments, describe

_MANY_BYTES = 100_000  # of an original: thousands of parts take a while


def new_message(draft: Draft, sender: str) -> OutgoingMessage:
    """Return a new message of the address *sender*."""
    return OutgoingMessage(
        sender=sender,
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


def reply_message(
    headers: Mapping[str, str],
    reply: Reply,
    *,
    sender: str,
    recipients: tuple[People, People],
    quoted: Email | None,
) -> OutgoingMessage:
    """
    Return a reply, and describe it to a dry run.

    Args:
        headers: Those of the original, by lower-case name; the subject is decoded.
        reply: As the caller asked for it.
        sender: An address of the account.
        recipients: To and Cc; see `derive_recipients`.
        quoted: The original with the attributes to quote; None: nothing is quoted.
    """
    to, cc = recipients
    body, body_type = reply.body, reply.body_type
    if quoted is not None:
        body, body_type = quoting.quote_in_reply((body, body_type), quoted, hidden=reply.hidden)
    subject = quoting.reply_subject(compose.blank_control_characters(headers.get("subject", "")))
    describe(
        recipients=Recipients(to=tuple(to), cc=tuple(cc), derived_from=RECIPIENT_FIELDS),
        subject=Subject(text=subject, derived=True),
    )
    original_id = next(iter(reply_headers.message_ids(headers.get("message-id", ""))), "")
    return OutgoingMessage(
        sender=sender,
        to=to,
        cc=cc,
        subject=subject,
        body=body,
        body_type=body_type,
        message_id=reply.attempt.message_id,
        in_reply_to=original_id,
        references=reply_headers.references(headers, original_id),
        files=compose.attached(reply.files),
    )


async def forward_message(
    raw: bytes, forward: Forward, *, sender: str, provider: str
) -> OutgoingMessage:
    """Return a forward of the original *raw* with its attachments, and describe it to a dry run."""
    email, files = await in_thread(
        partial(original_message.parse, raw, provider), is_long=len(raw) > _MANY_BYTES
    )
    body, body_type = quoting.quote_in_forward(
        (forward.body, forward.body_type),
        email,
        hidden=forward.hidden,
        content_ids=frozenset(file.content_id for file in files),
    )
    subject = quoting.forward_subject(
        compose.blank_control_characters("" if "subject" in forward.hidden else email.subject or "")
    )
    describe(subject=Subject(text=subject, derived=True))
    add_attachments((file.name, file.size) for file in files)
    return OutgoingMessage(
        sender=sender,
        to=forward.to,
        cc=forward.cc,
        subject=subject,
        body=body,
        body_type=body_type,
        message_id=forward.attempt.message_id,
        files=(*files, *compose.attached(forward.files)),
    )
