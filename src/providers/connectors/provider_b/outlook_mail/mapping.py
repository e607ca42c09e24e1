"""Outlook messages as records: docs/spec/upstream/outlook-mail.md#message-to-email."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from operator import attrgetter

from providers.columnar import Column, RecordBuilder, attribute, computed, constant
from providers.connectors.provider_b.outlook_mail.response_types import (
    Address,
    Attachment,
    Body,
    Message,
    Recipient,
)
from providers.ids import are_provider_b_ids
from providers.records import mail as mail_records
from providers.records.mail import Attachment as AttachmentRecord
from providers.records.mail import Participant
from providers.timestamps import parse_utc

PROVIDER = "PROVIDER_B"


def emails(messages: Sequence[Message], wanted: AbstractSet[str]) -> list[mail_records.Email]:
    """
    Make records of messages, in their order.

    Args:
        messages: Read with `selected_fields.message` for at least *wanted*.
        wanted: Attributes of `Email`; others stay None.
    """
    return _EMAILS.records(messages, wanted)


def email(message: Message, wanted: AbstractSet[str]) -> mail_records.Email:
    """Make a record of one message; see `emails`."""
    return emails([message], wanted)[0]


def have_valid_ids(messages: Iterable[Message]) -> bool:
    """Whether all ids of *messages* and their threads have the form of ids."""
    ids = [message.id for message in messages]
    ids += [thread for message in messages if (thread := message.conversation_id) is not None]
    return are_provider_b_ids(ids)


def recipients(people: Iterable[Participant]) -> list[dict[str, dict[str, str]]]:
    """Return participants in the form of Graph's requests."""
    return [
        {
            "emailAddress": {
                "address": person.email,
                **({"name": person.name} if person.name else {}),
            }
        }
        for person in people
    ]


def reply_addresses(message: Message) -> tuple[Participant, ...]:
    """Return the people to whom a reply goes: Reply-To, else the author."""
    author = _author(message)
    return _participants(message.reply_to) or ((author,) if author else ())


def _people(path: str) -> Column:
    """Return the column of recipients at *path*, those without an address left out."""
    recipients = attrgetter(path)
    return lambda messages: list(map(_participants, map(recipients, messages)))


def _participants(people: Sequence[Recipient] | None) -> tuple[Participant, ...]:
    return tuple(
        [
            Participant(who.address, _name(who))
            for person in people or ()
            if (who := person.email_address).address
        ]
    )


def _author(message: Message) -> Participant | None:
    for person in (message.from_, message.sender):
        if person is not None and (who := person.email_address).address:
            return Participant(who.address, _name(who))
    return None


def _name(who: Address) -> str | None:
    """Return a display name, None when it only repeats the address."""
    return (who.name or None) if who.name != who.address else None


def _text(body: Body | None) -> str | None:
    return body.content if body else None


def _body_type(body: Body | None) -> str | None:
    if body is None:
        return None
    return "html" if body.content_type.lower() == "html" else "text"


def _attachments(files: Sequence[Attachment] | None) -> tuple[AttachmentRecord, ...]:
    return tuple(map(attachment, files)) if files else ()


def attachment(file: Attachment) -> AttachmentRecord:
    """Make a record of an attachment."""
    return AttachmentRecord(
        file.id, file.name or "noname", file.content_type, file.size, file.is_inline
    )


def _importance(importance: str | None) -> str:
    word = (importance or "").lower()
    return word if word in ("low", "high") else "normal"


_EMAILS = RecordBuilder(
    mail_records.Email,
    {
        "id": attribute("id"),
        "provider": constant(PROVIDER),
        "thread_id": attribute("conversation_id"),
        "subject": attribute("subject"),
        "from_": computed(_author),
        "to": _people("to_recipients"),
        "cc": _people("cc_recipients"),
        "bcc": _people("bcc_recipients"),
        "body_preview": attribute("body_preview"),
        "body": attribute("body", _text),
        "body_type": attribute("body", _body_type),
        "sent_at": attribute("sent_date_time", parse_utc),
        "received_at": attribute("received_at"),
        "is_read": attribute("is_read", bool),
        "has_attachments": attribute("has_attachments", bool),
        "attachments": attribute("attachments", _attachments),
        "labels": attribute("categories", lambda names: names or ()),
        "importance": attribute("importance", _importance),
    },
    always=frozenset({"id", "provider", "thread_id", "received_at", "is_read", "has_attachments"}),
)
