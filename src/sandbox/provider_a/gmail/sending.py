"""
Sent messages: the headers that Gmail adds, and the thread that a message joins.

See docs/spec/upstream/gmail.md#send and docs/spec/upstream/gmail.md#reply.
"""

import re
import secrets
from email.utils import formataddr, formatdate

from sandbox.mail.ids import PROVIDER_A
from sandbox.mail.mime import Part, parse, threading_ids
from sandbox.mail.store import NEW_THREAD, Account, MailStore
from sandbox.provider_a.errors import GoogleError, NotFound

_FROM = re.compile(rb"(?im)^from:.*(?:\r?\n[ \t].*)*\r?\n")
_MESSAGE_ID = re.compile(rb"(?im)^message-id:.*(?:\r?\n[ \t].*)*\r?\n")
_PREFIX = re.compile(r"(?i)^\s*(?:(?:re|fwd?|aw|wg)\s*:\s*)+")
_ADDRESS = re.compile(r"[^\s@<>,;]+@[^\s@<>,;]+")


def complete_headers(raw: bytes, account: Account, now: float) -> bytes:
    """
    Return the message with the account as its sender, a Date and a Message-ID of Gmail's own.

    The Message-ID that the caller wrote is lost, as at Gmail.

    Raises:
        GoogleError: 400, the message has no recipient or a malformed address.
    """
    tree = parse(raw)
    _check_recipients(tree)
    head, body = _split(raw)
    head = _MESSAGE_ID.sub(b"", head)
    added = [f"Message-ID: <CA{secrets.token_urlsafe(24)}@mail.gmail.com>"]
    senders = {address.address.casefold() for address in tree.addresses("from")}
    if account.email.casefold() not in senders:
        head = _FROM.sub(b"", head)
        added.append(f"From: {formataddr((account.name, account.email))}")
    if tree.header("date") is None:
        added.append(f"Date: {formatdate(now)}")
    return "".join(f"{line}\r\n" for line in added).encode() + head + body


def choose_thread(mails: MailStore, raw: bytes, thread_id: str | None) -> str:
    """
    Return the id of the thread that a sent message joins.

    It is *thread_id* if References or In-Reply-To name a message of the thread and the subjects
    agree, else a new thread.

    Raises:
        NotFound: There is no such thread.
    """
    if not thread_id:
        return NEW_THREAD
    thread = mails.thread(PROVIDER_A, thread_id)
    if not thread:
        raise NotFound
    own = parse(raw)
    own_id = (own.header("message-id") or "").strip()
    referred = {message_id for message_id in threading_ids(raw) if message_id != own_id}
    trees = [parse(mail.raw) for mail in thread]
    known = {(tree.header("message-id") or "").strip() for tree in trees}
    subjects = {_thread_subject(tree) for tree in trees}
    return thread_id if referred & known and _thread_subject(own) in subjects else NEW_THREAD


def _thread_subject(tree: Part) -> str:
    return " ".join(_PREFIX.sub("", tree.header("subject") or "").split())


def _check_recipients(tree: Part) -> None:
    has_recipient = False
    for name in ("To", "Cc", "Bcc"):
        for address in tree.addresses(name):
            if not _ADDRESS.fullmatch(address.address):
                raise GoogleError(400, f"Invalid {name} header", "invalidArgument")
            has_recipient = True
    if not has_recipient:
        raise GoogleError(400, "Recipient address required", "invalidArgument")


def _split(raw: bytes) -> tuple[bytes, bytes]:
    end = re.search(rb"\r?\n\r?\n", raw)
    at = end.start() + len(end.group()) // 2 if end else len(raw)
    return raw[:at], raw[at:]
