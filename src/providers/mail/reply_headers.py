"""Participants and Message-IDs of an original, for a reply: docs/spec/email.md#reply-headers."""

import re
from collections.abc import Mapping, Sequence

from providers.mail import addresses, compose
from providers.mail.reply_recipients import OriginalPeople

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
