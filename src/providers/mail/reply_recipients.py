"""Derivation of the recipients of a reply: docs/spec/email.md#reply-recipients."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

import msgspec

from providers.ports.mail import HiddenReplyRecipients, NoReplyRecipient, Reply
from providers.records.mail import Participant

People = Sequence[Participant]

# The mask words of what the recipients of a reply reveal, whichever header each comes from.
RECIPIENT_FIELDS = ("from", "to", "cc")


class OriginalPeople(msgspec.Struct, frozen=True, kw_only=True):
    """
    The people whom the original of a reply names, with addresses that can be written to.

    Attributes:
        reply_to: The addresses of Reply-To, or of From without Reply-To.
    """

    reply_to: People
    to: People
    cc: People


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
