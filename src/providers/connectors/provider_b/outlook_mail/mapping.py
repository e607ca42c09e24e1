"""Outlook messages as records: docs/spec/upstream/outlook-mail.md#message-to-email."""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TypeVar

from providers.columnar import Column, RecordBuilder, attribute, constant
from providers.connectors.provider_b.outlook_mail.response_types import (
    Address,
    Attachment,
    Body,
    Message,
    Recipient,
)
from providers.ids import are_provider_b_ids, is_provider_b_id
from providers.mail import addresses
from providers.mail.reply_headers import OriginalPeople
from providers.records import mail as mail_records
from providers.records.mail import Attachment as AttachmentRecord
from providers.records.mail import Participant
from providers.turns import mapped

PROVIDER = "PROVIDER_B"
_IMPORTANCES = frozenset({"low", "normal", "high"})
_NOBODY = Address()
_ID = attrgetter("id")
_CONVERSATION = attrgetter("conversation_id")
_NAME = attrgetter("name")

T = TypeVar("T")


def emails(messages: Sequence[Message], projection: AbstractSet[str]) -> list[mail_records.Email]:
    """
    Make records of messages, in their order.

    Args:
        messages: Read with `selected_fields.message` for at least *projection*.
        projection: Attributes of `Email`; others stay None.
    """
    return _EMAILS.records(messages, projection)


async def emails_in_turns(
    messages: Sequence[Message], projection: AbstractSet[str]
) -> list[mail_records.Email]:
    """Do as `emails`, in turns with other work of the event loop."""
    return await mapped(messages, partial(_EMAILS.records, projection=projection))


def email(message: Message, projection: AbstractSet[str]) -> mail_records.Email:
    """Make a record of one message; see `emails`."""
    return emails([message], projection)[0]


def have_valid_ids(messages: Sequence[Message]) -> bool:
    """Whether all ids of *messages* and their threads have the form of ids."""
    ids = list(map(_ID, messages))
    ids += [thread for thread in map(_CONVERSATION, messages) if thread is not None]
    return are_provider_b_ids(ids)


def has_valid_ids(message: Message) -> bool:
    """Whether the ids of one message have the form of ids; see `have_valid_ids`."""
    thread_id = message.conversation_id
    return is_provider_b_id(message.id) and (thread_id is None or is_provider_b_id(thread_id))


def recipients(people: Iterable[Participant]) -> list[dict[str, dict[str, str]]]:
    """Return participants in the form of Graph's requests."""
    return [
        {
            "emailAddress": {
                "address": addresses.as_written(person.email),
                **({"name": person.name} if person.name else {}),
            }
        }
        for person in people
    ]


def original_people(message: Message) -> OriginalPeople:
    """Return the people whom the original of a reply names."""
    author = _author(message)
    return OriginalPeople(
        reply_to=_participants(message.reply_to) or ((author,) if author else ()),
        to=_participants(message.to_recipients),
        cc=_participants(message.cc_recipients),
    )


def _people(path: str) -> Column:
    """Return the column of recipients at *path*, those without an address left out."""
    return partial(_participants_of_each, attrgetter(path))


def _participants_of_each(
    people_of: Callable[[T], Sequence[Recipient] | None], messages: Iterable[T]
) -> list[tuple[Participant, ...]]:
    # One loop for all messages, without a call per person: half the time of nested functions. A
    # name that only repeats the address is left out.
    columns = []
    for recipients in map(people_of, messages):
        people = []
        for recipient in recipients or ():
            who = recipient.email_address
            address, name = who.address, who.name
            if address:
                people.append(Participant(address, (name or None) if name != address else None))
        columns.append(tuple(people))
    return columns


def _participants(people: Sequence[Recipient] | None) -> tuple[Participant, ...]:
    return _participants_of_each(tuple, [people or ()])[0]


def _author(message: Message) -> Participant | None:
    """Return the author, or whoever sent the message for one without an address."""
    for person in (message.from_, message.sender):
        people = _participants((person,) if person is not None else ())
        if people:
            return people[0]
    return None


def _authors(messages: Sequence[Message]) -> list[Participant | None]:
    authors: list[Participant | None] = []
    for message in messages:
        who = message.from_.email_address if message.from_ is not None else _NOBODY
        address, name = who.address, who.name
        if address:
            authors.append(Participant(address, (name or None) if name != address else None))
        else:
            authors.append(_author(message))
    return authors


def _text(body: Body | None) -> str | None:
    return body.content if body else None


def _body_type(body: Body | None) -> str | None:
    if body is None:
        return None
    return "html" if body.content_type.lower() == "html" else "text"


def attachment(file: Attachment | AttachmentRecord) -> AttachmentRecord:
    """Make a record of an attachment."""
    return AttachmentRecord(
        file.id, file.name or "noname", file.content_type, file.size, file.is_inline
    )


def _attachments(messages: Sequence[Message]) -> list[tuple[AttachmentRecord, ...]]:
    columns = [message.attachments or () for message in messages]
    if all(map(_NAME, chain.from_iterable(columns))):
        return columns
    return [tuple(map(attachment, files)) for files in columns]


def _importance(message: Message) -> str:
    word = (message.importance or "").lower()
    return word if word in _IMPORTANCES else "normal"


_EMAILS = RecordBuilder(
    mail_records.Email,
    {
        "id": attribute("id"),
        "provider": constant(PROVIDER),
        "thread_id": attribute("conversation_id"),
        "subject": attribute("subject"),
        "from_": _authors,
        "to": _people("to_recipients"),
        "cc": _people("cc_recipients"),
        "bcc": _people("bcc_recipients"),
        "body_preview": attribute("body_preview"),
        "body": attribute("body", _text),
        "body_type": attribute("body", _body_type),
        "sent_at": attribute("sent_at"),
        "received_at": attribute("received_at"),
        "is_read": attribute("is_read", bool),
        "has_attachments": attribute("has_attachments", bool),
        "attachments": _attachments,
        "labels": lambda messages: [message.categories or () for message in messages],
        "importance": lambda messages: [
            message.importance if message.importance in _IMPORTANCES else _importance(message)
            for message in messages
        ],
    },
    always=frozenset({"id", "provider", "thread_id", "received_at", "is_read", "has_attachments"}),
)
