"""
Participants and Message-IDs of an original, and the recipients of a reply to it.

docs/spec/email.md#reply-recipients, docs/spec/email.md#reply-headers.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

import msgspec

from providers.mail import addresses, compose
from providers.ports.mail import HiddenReplyRecipients, NoReplyRecipient, Reply
from providers.records.mail import Participant

People = Sequence[Participant]

# The mask words of what the recipients of a reply reveal, whichever header each comes from.
RECIPIENT_FIELDS = ("from", "to", "cc")

REPLY_HEADERS = (
    "Message-ID",
    "In-Reply-To",
    "References",
    "Reply-To",
    "Subject",
    "From",
    "To",
    "Cc",
    "Date",
)
_ANGLED = re.compile(r"<([^<>]{1,900})>")
_BARE = re.compile(r"[^\s<>\"(),;]{1,900}")
# Other signs cannot be written into a header.
_IDENTIFIER = re.compile(r"[!-;=?-~](?:[ -;=?-~]*[!-;=?-~])?")
_MAX_REFERENCES = 50


class OriginalPeople(msgspec.Struct, frozen=True, kw_only=True):
    """
    The people whom the original of a reply names, with addresses that can be written to.

    Attributes:
        reply_to: The addresses of Reply-To, or of From without Reply-To.
    """

    reply_to: People
    to: People
    cc: People


def people(headers: Mapping[str, str]) -> OriginalPeople:
    """Return the people whom the headers of an original, by lower-case name, refer to."""
    parsed = {
        name: addresses.parse(headers.get(name, "")) for name in ("reply-to", "from", "to", "cc")
    }
    return OriginalPeople(
        reply_to=compose.addressable(parsed["reply-to"] or parsed["from"]),
        to=compose.addressable(parsed["to"]),
        cc=compose.addressable(parsed["cc"]),
    )


def derive_recipients(
    original: OriginalPeople, own_addresses: AbstractSet[str], reply: Reply
) -> tuple[People, People]:
    """
    Return the recipients of *reply*, To and Cc, after `Reply.check_recipients` accepted them.

    The account itself, by *own_addresses* (folded), and repetitions are left out.

    Raises:
        NoReplyRecipient: There is no recipient.
        HiddenReplyRecipients: They are the original To, which is hidden.
    """
    seen = set(own_addresses)
    to = _take_new(original.reply_to, seen)
    if not to and reply.to_is_hidden:
        raise HiddenReplyRecipients
    to = to or _take_new(original.to, seen)
    cc: list[Participant] = []
    if reply.reply_all:
        to += _take_new(original.to, seen)
        cc = _take_new(original.cc, seen)
    if not to and not cc:
        raise NoReplyRecipient
    if reply.check_recipients is not None:
        reply.check_recipients([*to, *cc])
    return (to, cc) if to else (cc, [])


def _take_new(people: Iterable[Participant], seen: set[str]) -> list[Participant]:
    """Return the people who are not in *seen*, and add them to it."""
    new = []
    for person in people:
        address = person.email.casefold()
        if address not in seen:
            seen.add(address)
            new.append(person)
    return new


def message_ids(header: str) -> list[str]:
    """
    Return the Message-IDs in a header, without angle brackets.

    They are copied as they are, with or without @: they need not be valid to name a message. One
    that has no brackets is the whole header.
    """
    angled = (" ".join(text.split()) for text in _ANGLED.findall(header))
    identifiers = [text for text in angled if _IDENTIFIER.fullmatch(text)]
    bare = header.strip()
    if not identifiers and _BARE.fullmatch(bare) and _IDENTIFIER.fullmatch(bare):
        return [bare]
    return identifiers


def references(headers: Mapping[str, str], original_id: str) -> Sequence[str]:
    """
    Return the References of a reply (RFC 5322, 3.6.4).

    Args:
        headers: Those of the original, by lower-case name: its References, or its In-Reply-To
            when that names one message, come first.
        original_id: Its Message-ID; "" without one.
    """
    earlier = message_ids(headers.get("references", ""))
    if not earlier:
        answered = message_ids(headers.get("in-reply-to", ""))
        earlier = answered if len(answered) == 1 else []
    ids = [message_id for message_id in earlier if message_id != original_id]
    if len(ids) >= _MAX_REFERENCES:  # the first identifies the thread
        ids = ids[:1] + ids[-_MAX_REFERENCES:]
    return (*ids, original_id) if original_id else ids
