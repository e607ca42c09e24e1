"""Ids of the sandbox's mail, derived from counters: the same in every run."""

import hashlib
from base64 import urlsafe_b64encode

PROVIDER_A = "provider-a"
PROVIDER_B = "provider-b"
SHARED_B = "provider-b-shared"  # a mailbox of provider B that is shared with people
MAILBOXES = (PROVIDER_A, PROVIDER_B)  # of a person
ALL_MAILBOXES = (*MAILBOXES, SHARED_B)

_STORE_GUID = "NDM4YTQ0ZDAtYjU2Yy00ZWEyLTk4MzctZmUzMjgzYTRhN2QwAEYAAAAAA"


def message_id(mailbox: str, seq: int, change: int) -> str:
    """
    Return a message's id: 16 hexadecimal digits, or a long text with ``-``, ``_`` and ``=``.

    A new id of the same message depends on *change* too: a move gives one on provider B, an edit of
    a draft on provider A, where the first id does not depend on it.
    """
    if mailbox == PROVIDER_A:
        return _hex(f"message/{seq}/{change}") if change else _hex(f"message/{seq}")
    return f"AAMkAG{_STORE_GUID}-{_text(f'message/{seq}/{change}', 45)}_AAA="


def immutable_id(mailbox: str, seq: int) -> str:
    """Return the id that a message keeps when it is moved; on provider A the plain id."""
    if mailbox == PROVIDER_A:
        return _hex(f"message/{seq}")
    return f"AAkALgAA-{_text(f'immutable/{seq}', 60)}_AA="


def conversation_id(seq: int) -> str:
    """Return a conversation's id on provider B; on provider A it is the first message's id."""
    return f"AAQkAG{_STORE_GUID[:40]}-{_text(f'conversation/{seq}', 18)}_A="


def label_id(mailbox: str, number: int) -> str:
    """Return the id of a user label (provider A) or a category (provider B)."""
    if mailbox == PROVIDER_A:
        return f"Label_{number}"
    digits = hashlib.sha256(f"category/{number}".encode()).hexdigest()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))


def _hex(seed: str) -> str:
    return "1" + hashlib.sha256(seed.encode()).hexdigest()[:15]


def _text(seed: str, size: int) -> str:
    return urlsafe_b64encode(hashlib.shake_256(seed.encode()).digest(size)).decode().rstrip("=")
