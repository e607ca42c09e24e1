"""Results of the email root fields, in the shape of the output types."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from datetime import datetime

from policy.vocabulary import SendMode
from providers.records.base import Record
from providers.records.mail import Email, Participant, SentMessage, Thread


class EmailPageView(Record, frozen=True, kw_only=True):
    emails: tuple[Email, ...]
    total_count: int
    total_count_exact: bool
    has_more: bool
    next_page_token: str | None
    access_info: str | None
    auth_warnings: tuple[str, ...] | None


class ThreadEntryView(Record, frozen=True, kw_only=True):
    id: str


class ThreadPageView(Record, frozen=True, kw_only=True):
    threads: tuple[ThreadEntryView, ...]
    has_more: bool
    next_page_token: str | None
    access_info: str | None
    auth_warnings: tuple[str, ...] | None


class AttachmentView(Record, frozen=True, kw_only=True):
    id: str
    name: str
    content_type: str | None
    size: int
    is_inline: bool
    download_url: str | None
    expires_at: datetime | None


class ThreadView(Record, frozen=True, kw_only=True):
    """See the type Thread; derived attributes come from visible fields alone."""

    id: str
    provider: str
    subject: str | None
    messages: tuple[Email, ...]
    message_count: int
    participants: tuple[Participant, ...] | None
    last_message_at: datetime | None


class ActionView(Record, frozen=True, kw_only=True):
    success: bool = True
    email_id: str | None = None
    thread_id: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    held: str | None = None


class UploadedAttachmentView(Record, frozen=True, kw_only=True):
    handle: str = ""
    name: str | None = None
    content_type: str | None = None
    size: int | None = None
    expires_at: datetime | None = None


def thread_view(thread: Thread, hidden: AbstractSet[str]) -> ThreadView:
    """Derive subject, participants and newest time from what *hidden* leaves visible."""
    received = [email.received_at for email in thread.messages if email.received_at is not None]
    return ThreadView(
        id=thread.id,
        provider=thread.provider,
        subject=thread.messages[0].subject if thread.messages else None,
        messages=thread.messages,
        message_count=thread.message_count,
        participants=participants(thread.messages, hidden),
        last_message_at=max(received, default=None),
    )


def participants(
    emails: Iterable[Email], hidden: AbstractSet[str]
) -> tuple[Participant, ...] | None:
    """
    List each address of the visible from, to and cc once, in order of appearance.

    Addresses are compared without case; the first name seen wins, also when it comes later than
    the address. None when none of the three is visible (docs/spec/masks.md#thread-participants).
    """
    if {"Email.from", "Email.to", "Email.cc"} <= hidden:
        return None
    seen: dict[str, Participant] = {}
    for email in emails:
        for person in _visible_people(email, hidden):
            first = seen.setdefault(person.email.casefold(), person)
            if not first.name and person.name:
                seen[person.email.casefold()] = Participant(email=first.email, name=person.name)
    return tuple(seen.values())


def done(sent: SentMessage) -> ActionView:
    """Report success with the ids that are known."""
    held = SendMode.DRAFT.value if sent.held else None
    return ActionView(email_id=sent.email_id, thread_id=sent.thread_id, held=held)


def _visible_people(email: Email, hidden: AbstractSet[str]) -> Iterable[Participant]:
    if "Email.from" not in hidden and email.from_ is not None:
        yield email.from_
    if "Email.to" not in hidden:
        yield from email.to or ()
    if "Email.cc" not in hidden:
        yield from email.cc or ()
