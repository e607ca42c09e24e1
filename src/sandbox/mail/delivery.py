"""
Sending: stores the sender's copy and delivers to the mailboxes of the sandbox.

Mail to any other address is dropped.
"""

import re
from collections.abc import Collection

from sandbox.mail.ids import ALL_MAILBOXES, PROVIDER_A
from sandbox.mail.mime import end_of_headers, parse
from sandbox.mail.store import MailStore, StoredMail

_BCC = re.compile(rb"(?im)^bcc:.*(?:\r?\n[ \t].*)*\r?\n")


def send(mails: MailStore, mailbox: str, raw: bytes, *, thread_id: str | None = None) -> StoredMail:
    """
    Send *raw* from *mailbox* and return the sender's copy, which keeps its Bcc.

    Mail to the sending account itself is one message with SENT and INBOX on provider A; on
    provider B the inbox gets a second message.
    """
    recipients = parse_recipients(raw)
    to_self = mails.account(mailbox).email.casefold() in recipients
    if mailbox == PROVIDER_A and to_self:
        sent = mails.add(mailbox, raw, folder="inbox", labels=("SENT",), thread_id=thread_id)
    else:
        sent = mails.add(mailbox, raw, folder="sent", is_read=True, thread_id=thread_id)
    skip = (PROVIDER_A,) if mailbox == PROVIDER_A else ()
    deliver(mails, raw, received_ms=sent.received_ms, skip=skip)
    return sent


def deliver(mails: MailStore, raw: bytes, *, received_ms: int, skip: Collection[str] = ()) -> None:
    """Add *raw*, without Bcc, to the inbox of each recipient, except mailboxes in *skip*."""
    recipients = parse_recipients(raw)
    for mailbox in ALL_MAILBOXES:
        if mailbox not in skip and mails.account(mailbox).email.casefold() in recipients:
            mails.add(mailbox, strip_bcc(raw), folder="inbox", received_ms=received_ms)


def parse_recipients(raw: bytes) -> frozenset[str]:
    """Return the recipients' addresses (To, Cc, Bcc), case-folded."""
    headers = parse(raw[: end_of_headers(raw)])
    return frozenset(
        address.address.casefold()
        for name in ("to", "cc", "bcc")
        for address in headers.addresses(name)
    )


def strip_bcc(raw: bytes) -> bytes:
    """Return the message without its Bcc headers, as recipients see it."""
    end = end_of_headers(raw)
    return _BCC.sub(b"", raw[:end]) + raw[end:]
