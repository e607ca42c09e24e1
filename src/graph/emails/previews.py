"""Previews of mail writes: what the caller asked for; connectors add what they derive."""

import hashlib
from collections.abc import Sequence

from policy.vocabulary import SendMode
from providers.ports.mail import Draft, Forward, OutgoingFile, Reply, SendAttempt, StoredContent
from providers.write_previews import (
    AttachmentSummary,
    Recipients,
    Resource,
    Subject,
    WritePreview,
    current_preview,
    describe,
)


def describe_draft(draft: Draft) -> None:
    """Describe a new message."""
    preview = current_preview()
    if preview is not None:
        preview.recipients = Recipients(to=draft.to, cc=draft.cc, bcc=draft.bcc)
        preview.subject = Subject(text=draft.subject)
        preview.basis = (draft.body, draft.body_type, draft.importance)
        _describe_attempt(draft.attempt, preview)
        _describe_files(draft.files, preview)


def describe_reply(email_id: str, reply: Reply) -> None:
    """Describe a reply without its recipients."""
    preview = current_preview()
    if preview is not None:
        preview.target = Resource(kind="message", id=email_id)
        preview.basis = (reply.body, reply.body_type, reply.reply_all, reply.quote)
        _describe_attempt(reply.attempt, preview)
        _describe_files(reply.files, preview)


def describe_forward(email_id: str, forward: Forward) -> None:
    """Describe a forward without what it takes from the original."""
    preview = current_preview()
    if preview is not None:
        preview.target = Resource(kind="message", id=email_id)
        preview.recipients = Recipients(to=forward.to, cc=forward.cc)
        preview.basis = (forward.body, forward.body_type)
        _describe_attempt(forward.attempt, preview)
        _describe_files(forward.files, preview)


def describe_draft_change(
    draft_id: str, files: Sequence[OutgoingFile] = (), *, destination: Resource | None = None
) -> None:
    """Describe a change or deletion of a draft without what changes."""
    preview = current_preview()
    if preview is not None:
        preview.target = Resource(kind="draft", id=draft_id)
        preview.destination = destination
        _describe_files(files, preview)


def describe_sent_draft(draft_id: str, attempt: SendAttempt) -> None:
    """Describe the send of a draft without what is in it."""
    preview = current_preview()
    if preview is not None:
        preview.target = Resource(kind="draft", id=draft_id)
        _describe_attempt(attempt, preview)


def describe_change(email_id: str, *, destination: Resource | None = None) -> None:
    """Describe a change or deletion without what changes."""
    describe(
        target=Resource(kind="message", id=email_id),
        destination=destination,
        result={"email_id": email_id},
    )


def _describe_attempt(attempt: SendAttempt, preview: WritePreview) -> None:
    if attempt.hold:
        describe_hold(preview)


def describe_hold(preview: WritePreview) -> None:
    """Say that the message is left as a draft."""
    preview.basis += (SendMode.DRAFT.value,)
    preview.result["held"] = SendMode.DRAFT.value


def _describe_files(files: Sequence[OutgoingFile], preview: WritePreview) -> None:
    """Add the caller's attachments."""
    preview.attachments = tuple(AttachmentSummary(name=file.name, size=file.size) for file in files)
    preview.basis += tuple((file.media_type, _identify(file.content)) for file in files)


def _identify(content: bytes | StoredContent) -> str:
    return hashlib.sha256(content).hexdigest() if isinstance(content, bytes) else content.handle
