"""Participants and Message-IDs of an original, for a reply: docs/spec/email.md#reply-headers."""

import re
from collections.abc import Mapping, Sequence

from providers.mail import addresses, compose, delivery
from providers.mail.reply_recipients import OriginalPeople

REPLY_HEADERS = ("Message-ID", "References", "Reply-To", "Subject", "From", "To", "Cc", "Date")
_ANGLED = re.compile(r"<([^<>\s]+)>")
_MAX_REFERENCES = 50


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


def message_ids(header: str) -> list[str]:
    """Return the valid Message-IDs in a header, without angle brackets."""
    return list(filter(delivery.is_message_id, _ANGLED.findall(header)))


def references(header: str, original_id: str) -> Sequence[str]:
    """
    Return the References of a reply.

    Args:
        header: The References of the original.
        original_id: Its Message-ID; "" without a valid one.
    """
    ids = [message_id for message_id in message_ids(header) if message_id != original_id]
    if len(ids) >= _MAX_REFERENCES:  # the first identifies the thread
        ids = ids[:1] + ids[-_MAX_REFERENCES:]
    return (*ids, original_id) if original_id else ids
