"""Provider B's messages as records. Source: wire report, 1A.0."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from providers import records
from providers.columns import Columns, constant, each, member
from providers.ids import are_provider_b
from providers.provider_b.message import Address, Attachment, Body, Message, Recipient, moment
from providers.records import Participant

PROVIDER = "PROVIDER_B"


def emails(messages: Sequence[Message], wanted: AbstractSet[str]) -> list[records.Email]:
    """
    Make records of what is wanted of messages.

    Args:
        messages: Fetched with `fields.message` for at least *wanted*.
        wanted: Attributes of `records.Email`; others stay None.
    """
    return _EMAILS.records(messages, wanted)


def email(message: Message, wanted: AbstractSet[str]) -> records.Email:
    """Make a record of one message; see `emails`."""
    return emails([message], wanted)[0]


def well_formed(messages: Iterable[Message]) -> bool:
    """Whether upstream's ids are ids, so that they may be handed on."""
    found = [one.id for one in messages]
    found += [thread for one in messages if (thread := one.conversation_id) is not None]
    return are_provider_b(found)


def participant(one: Recipient) -> Participant | None:
    """Return a recipient, None without an address; a name that only repeats it is left out."""
    who = one.email_address
    return Participant(email=who.address, name=name(who)) if who.address else None


def name(who: Address) -> str | None:
    """Return a display name, None when it only repeats the address."""
    return who.name if who.name and who.name != who.address else None


def recipients(people: Iterable[Participant]) -> list[dict[str, dict[str, str]]]:
    """Write participants as upstream takes them."""
    return [
        {"emailAddress": {"address": one.email, **({"name": one.name} if one.name else {})}}
        for one in people
    ]


def people(sent: Iterable[Recipient] | None) -> tuple[Participant, ...]:
    """Return recipients as `participant` does, without those that have no address."""
    return tuple(
        [
            Participant(who.address, (who.name or None) if who.name != who.address else None)
            for one in sent or ()
            if (who := one.email_address).address
        ]
    )


def _author(message: Message) -> Participant | None:
    for one in (message.from_, message.sender):
        if one is not None and (found := participant(one)) is not None:
            return found
    return None


def _text(body: Body | None) -> str | None:
    return body.content if body else None


def _body_type(body: Body | None) -> str | None:
    if body is None:
        return None
    return "html" if body.content_type.lower() == "html" else "text"


def _attachments(sent: Iterable[Attachment] | None) -> tuple[records.Attachment, ...]:
    return tuple(
        [
            records.Attachment(
                one.id, one.name or "noname", one.content_type, one.size, one.is_inline
            )
            for one in sent or ()
        ]
    )


def _importance(stated: str | None) -> str:
    word = (stated or "").lower()
    return word if word in ("low", "high") else "normal"


_EMAILS = Columns(
    records.Email,
    {
        "id": member("id"),
        "provider": constant(PROVIDER),
        "thread_id": member("conversation_id"),
        "subject": member("subject"),
        "from_": each(_author),
        "to": member("to_recipients", people),
        "cc": member("cc_recipients", people),
        "bcc": member("bcc_recipients", people),
        "body_preview": member("body_preview"),
        "body": member("body", _text),
        "body_type": member("body", _body_type),
        "sent_at": member("sent_date_time", moment),
        "received_at": member("received_at"),
        "is_read": member("is_read", bool),
        "has_attachments": member("has_attachments", bool),
        "attachments": member("attachments", _attachments),
        "labels": member("categories", lambda names: names or ()),
        "importance": member("importance", _importance),
    },
    always=frozenset({"id", "provider", "thread_id", "received_at", "is_read", "has_attachments"}),
)
