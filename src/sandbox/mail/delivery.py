"""
Sending inside the sandbox: the sender's copy, and what arrives in the two mailboxes.

Mail to any other address leaves the world without a trace.
"""

import re
from collections.abc import Collection

from sandbox.mail.ids import MAILBOXES, PROVIDER_A
from sandbox.mail.mime import parse
from sandbox.mail.store import MailStore, StoredMail

_BCC = re.compile(rb"(?im)^bcc:.*(?:\r?\n[ \t].*)*\r?\n")


def send(mails: MailStore, mailbox: str, raw: bytes, *, thread_id: str | None = None) -> StoredMail:
    """
    Send *raw* from *mailbox* and return the sender's copy, which keeps its Bcc.

    A mail to the sending account itself is one message under SENT and INBOX on provider A, and a
    second message in the inbox on provider B.
    """
    recipients = parse_recipients(raw)
    to_self = mails.account(mailbox).email.casefold() in recipients
    if mailbox == PROVIDER_A and to_self:
        sent = mails.add(mailbox, raw, folder="inbox", labels=("SENT",), thread_id=thread_id)
    else:
        sent = mails.add(mailbox, raw, folder="sent", is_read=True, thread_id=thread_id)
    own = (PROVIDER_A,) if mailbox == PROVIDER_A else ()
    deliver(mails, raw, received_ms=sent.received_ms, but=own)
    return sent


def deliver(mails: MailStore, raw: bytes, *, received_ms: int, but: Collection[str] = ()) -> None:
    """Put *raw*, without its Bcc, into the inbox of every recipient's mailbox not in *but*."""
    recipients = parse_recipients(raw)
    for mailbox in MAILBOXES:
        if mailbox not in but and mails.account(mailbox).email.casefold() in recipients:
            mails.add(mailbox, strip_bcc(raw), folder="inbox", received_ms=received_ms)


def parse_recipients(raw: bytes) -> frozenset[str]:
    """Return the addresses a message goes to (To, Cc, Bcc), case-folded."""
    head = parse(raw[: _end_of_head(raw)])
    return frozenset(
        address.address.casefold()
        for name in ("to", "cc", "bcc")
        for address in head.addresses(name)
    )


def strip_bcc(raw: bytes) -> bytes:
    """Return the message as its recipients see it."""
    end = _end_of_head(raw)
    return _BCC.sub(b"", raw[:end]) + raw[end:]


def _end_of_head(raw: bytes) -> int:
    found = re.search(rb"\r?\n\r?\n", raw)
    return found.end() if found else len(raw)
