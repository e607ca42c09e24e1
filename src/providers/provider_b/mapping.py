"""Provider B's messages as records. Source: wire report, 1A.0."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from providers import records
from providers.ids import is_provider_b
from providers.provider_b.message import Address, Message, Recipient, moment

PROVIDER = "PROVIDER_B"


def email(message: Message, wanted: AbstractSet[str]) -> records.Email:
    """
    Make a record of what is wanted of a message.

    Args:
        message: Fetched with `fields.message` for at least *wanted*.
        wanted: Attributes of `records.Email`; others stay None.
    """
    body = message.body
    received = message.received
    return records.Email(
        id=message.id,
        provider=PROVIDER,
        thread_id=message.conversation_id,
        subject=message.subject if "subject" in wanted else None,
        from_=_author(message) if "from_" in wanted else None,
        to=_people(message.to_recipients) if "to" in wanted else None,
        cc=_people(message.cc_recipients) if "cc" in wanted else None,
        bcc=_people(message.bcc_recipients) if "bcc" in wanted else None,
        body_preview=message.body_preview if "body_preview" in wanted else None,
        body=body.content if body and "body" in wanted else None,
        body_type=_body_type(body.content_type) if body and "body_type" in wanted else None,
        sent_at=moment(message.sent_date_time) if "sent_at" in wanted else None,
        received_at=received,
        is_read=bool(message.is_read),
        has_attachments=bool(message.has_attachments),
        attachments=_attachments(message) if "attachments" in wanted else None,
        labels=message.categories or () if "labels" in wanted else None,
        importance=_importance(message) if "importance" in wanted else None,
    )


def well_formed(message: Message) -> bool:
    """Whether upstream's ids are ids, so that they may be handed on."""
    thread = message.conversation_id
    return is_provider_b(message.id) and (thread is None or is_provider_b(thread))


def participant(one: Recipient) -> records.Participant | None:
    """Return a recipient, None without an address; a name that only repeats it is left out."""
    who = one.email_address
    return records.Participant(email=who.address, name=name(who)) if who.address else None


def name(who: Address) -> str | None:
    """Return a display name, None when it only repeats the address."""
    return who.name if who.name and who.name != who.address else None


def recipients(people: Iterable[records.Participant]) -> list[dict[str, dict[str, str]]]:
    """Write participants as upstream takes them."""
    return [
        {"emailAddress": {"address": one.email, **({"name": one.name} if one.name else {})}}
        for one in people
    ]


def _people(people: Iterable[Recipient] | None) -> tuple[records.Participant, ...]:
    return tuple(
        [
            records.Participant(email=who.address, name=name(who))
            for one in people or ()
            if (who := one.email_address).address
        ]
    )


def _author(message: Message) -> records.Participant | None:
    for one in (message.from_, message.sender):
        found = participant(one) if one else None
        if found:
            return found
    return None


def _body_type(kind: str) -> str:
    return "html" if kind.lower() == "html" else "text"


def _attachments(message: Message) -> tuple[records.Attachment, ...]:
    return tuple(
        records.Attachment(
            id=one.id,
            name=one.name or "noname",
            content_type=one.content_type,
            size=one.size,
            is_inline=one.is_inline,
        )
        for one in message.attachments or ()
    )


def _importance(message: Message) -> str:
    stated = (message.importance or "").lower()
    return stated if stated in ("low", "high") else "normal"
