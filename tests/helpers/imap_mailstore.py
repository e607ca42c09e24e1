"""
The mail of accounts on a Dovecot, in the form of the sandbox's `MailStore`.

It reads and writes by the standard library's client, which is a second opinion on the connector's.
"""

import imaplib
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from dovecot import DOMAIN, Dovecot

from providers.connectors.imap import mapping, modified_utf7
from providers.connectors.imap.message_ids import Location, MessageIds
from providers.connectors.imap.received_times import internal_date
from sandbox.mail.records import Account, NewMail, StoredMail

FOLDERS = {
    "inbox": "INBOX",
    "sent": "Sent",
    "drafts": "Drafts",
    "trash": "Trash",
    "spam": "Junk",
    "archive": "Archive",
}
_MESSAGE_ID = re.compile(rb"(?im)^message-id:\s*(\S+)")


class ImapMailStore:
    """
    The mail of accounts that are empty at first.

    A message that the connector has moved has another id; `find` knows it by both. `seq` is that of
    the Message-ID, which a draft keeps when it is changed.
    """

    def __init__(
        self,
        server: Dovecot,
        users: Mapping[str, str],
        ids: Mapping[str, MessageIds],
        accounts: Mapping[str, Account],
    ) -> None:
        """*users*, *ids* and *accounts*: by the name of the mailbox."""
        self._ids = ids
        self._accounts = dict(accounts)
        self._numbers: dict[tuple[str, bytes], int] = {}  # by mailbox and Message-ID
        self._message_ids: dict[str, bytes] = {}  # Message-ID by the id of an added message
        self._clients = {}
        for mailbox, user in users.items():
            shutil.rmtree(server.folder / "mail" / user, ignore_errors=True)
            client = imaplib.IMAP4("127.0.0.1", server.port)
            client.login(f"{user}@{DOMAIN}", f"{user}-secret")
            self._clients[mailbox] = client

    def close(self) -> None:
        for client in self._clients.values():
            client.shutdown()

    def account(self, mailbox: str) -> Account:
        return self._accounts[mailbox]

    def set_account(self, mailbox: str, account: Account) -> None:
        self._accounts[mailbox] = account

    def add_label(self, mailbox: str, name: str) -> None:
        """Do nothing: a label is there when a message has it."""

    def add(self, mailbox: str, raw: bytes, **members: object) -> StoredMail:
        """Add a message; `NewMail` describes the members. Headers alone make its thread."""
        return self.add_many(mailbox, [NewMail(raw=raw, **members)])[0]

    def add_many(self, mailbox: str, mails: Iterable[NewMail]) -> tuple[StoredMail, ...]:
        return tuple([self._append(mailbox, mail) for mail in mails])

    def all(self, mailbox: str) -> tuple[StoredMail, ...]:
        """Return every message of the mailbox: newest first, then by id."""
        client, mails = self._clients[mailbox], []
        client.noop()
        for folder, name in FOLDERS.items():
            status, answer = client.status(name, "(MESSAGES UIDVALIDITY)")
            if status != "OK" or b"MESSAGES 0" in answer[0]:
                continue
            validity = int(re.search(rb"UIDVALIDITY (\d+)", answer[0])[1])
            client.select(name, readonly=True)
            _, rows = client.uid("FETCH", "1:*", "(UID FLAGS INTERNALDATE BODY.PEEK[])")
            mails += [
                self._stored(mailbox, folder, validity, row[0], row[1])
                for row in rows
                if isinstance(row, tuple)
            ]
            client.unselect()
        return tuple(sorted(mails, key=lambda mail: (-mail.received_ms, mail.id)))

    def find(self, mailbox: str, mail_id: str) -> StoredMail | None:
        mails = self.all(mailbox)
        message_id = self._message_ids.get(mail_id)
        for mail in mails:
            if mail.id == mail_id:
                return mail
        for mail in mails:
            if message_id is not None and _message_id(mail.raw) == message_id:
                return mail
        return None

    def update(self, mailbox: str, mail_id: str, *, folder: str) -> StoredMail:
        """Move a message to another folder."""
        mail = self.find(mailbox, mail_id)
        location = self._ids[mailbox].location(mail.id)
        client = self._clients[mailbox]
        client.select(location.folder.decode())
        client.uid("MOVE", str(location.uid), FOLDERS[folder])
        client.unselect()
        return replace(mail, folder=folder)

    def _append(self, mailbox: str, mail: NewMail) -> StoredMail:
        name = FOLDERS[mail.folder]
        client = self._clients[mailbox]
        flags = [modified_utf7.encode_keyword(label) for label in mail.labels]
        flags += ["\\Seen"] * mail.is_read + ["\\Flagged"] * mail.is_starred
        received = datetime.now(UTC)
        if mail.received_ms is not None:
            received = datetime.fromtimestamp(mail.received_ms / 1000, UTC)
        if mail.folder == "archive":
            client.create(name)
        raw = mail.raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
        status, answer = client.append(
            name, f"({' '.join(flags)})", received.strftime('"%d-%b-%Y %H:%M:%S +0000"'), raw
        )
        assert status == "OK", answer
        validity, uid = map(int, re.search(rb"APPENDUID (\d+) (\d+)", answer[0]).groups())
        row = f"1 (UID {uid} FLAGS ({' '.join(flags)}) INTERNALDATE "
        row += received.strftime('"%d-%b-%Y %H:%M:%S +0000"')
        stored = self._stored(mailbox, mail.folder, validity, row.encode(), raw)
        message_id = _message_id(raw)
        if message_id is not None:
            self._message_ids[stored.id] = message_id
        return stored

    def _stored(
        self, mailbox: str, folder: str, validity: int, row: bytes, raw: bytes
    ) -> StoredMail:
        uid = int(re.search(rb"UID (\d+)", row)[1])
        flags = re.search(rb"FLAGS \(([^)]*)\)", row)[1].decode().split()
        date = re.search(rb'INTERNALDATE "([^"]*)"', row)[1]
        ids = self._ids[mailbox]
        native = ids.message_id(Location(FOLDERS[folder].encode(), validity, uid))
        root = mapping.thread_root(mapping.parse_headers(raw.partition(b"\r\n\r\n")[0]))
        key = mailbox, _message_id(raw) or native.encode()
        seq = self._numbers.setdefault(key, len(self._numbers) + 1)
        return StoredMail(
            seq=seq,
            mailbox=mailbox,
            id=native,
            immutable_id=native,
            thread_id="" if root is None else ids.thread_id(root),
            raw=raw,
            received_ms=internal_date(date) * 1000,
            folder=folder,
            labels=tuple(
                [modified_utf7.decode(flag) for flag in flags if not flag.startswith("\\")]
            ),
            is_read="\\Seen" in flags,
            is_starred="\\Flagged" in flags,
            created_change=seq,
            change=seq,
        )


def _message_id(raw: bytes) -> bytes | None:
    match = _MESSAGE_ID.search(raw.partition(b"\r\n\r\n")[0])
    return None if match is None else match[1]
