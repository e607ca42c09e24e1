"""
The mail of both sandbox mailboxes. The truth of a message is its raw RFC 5322 bytes.

Everything is kept in memory beside the file and brought up to date after each write, also after
writes of another process, so that reading costs no query.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from providers.sandbox import mailnames
from providers.sandbox.mailnames import PROVIDER_A
from providers.sandbox.mime import threading_ids
from providers.sandbox.store import Row, Store

FOLDERS = ("inbox", "sent", "drafts", "trash", "spam", "archive")

NEW_THREAD = ""  # as a thread_id: start a thread, whatever the headers refer to

_TABLES = (
    """CREATE TABLE IF NOT EXISTS mail (
        seq INTEGER PRIMARY KEY, mailbox TEXT NOT NULL, id TEXT NOT NULL UNIQUE,
        immutable_id TEXT NOT NULL, thread_id TEXT NOT NULL, raw BLOB NOT NULL,
        received_ms INTEGER NOT NULL, folder TEXT NOT NULL, labels TEXT NOT NULL,
        is_read INTEGER NOT NULL, is_starred INTEGER NOT NULL, born INTEGER NOT NULL,
        change INTEGER NOT NULL) STRICT""",
    "CREATE INDEX IF NOT EXISTS mail_change ON mail (change)",
    """CREATE TABLE IF NOT EXISTS mail_gone (
        change INTEGER PRIMARY KEY, mailbox TEXT NOT NULL, seq INTEGER NOT NULL,
        id TEXT NOT NULL, thread_id TEXT NOT NULL) STRICT""",
    """CREATE TABLE IF NOT EXISTS mail_reference (
        mailbox TEXT NOT NULL, rfc_id TEXT NOT NULL, thread_id TEXT NOT NULL,
        PRIMARY KEY (mailbox, rfc_id)) STRICT""",
    """CREATE TABLE IF NOT EXISTS mail_label (
        mailbox TEXT NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL COLLATE NOCASE,
        PRIMARY KEY (mailbox, name)) STRICT""",
)
_COLUMNS = (
    "seq, mailbox, id, immutable_id, thread_id, raw, received_ms, folder, labels,"
    " is_read, is_starred, born, change"
)
_INSERT = f"INSERT INTO mail ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMail:
    """
    One message of one mailbox.

    Attributes:
        mailbox: "provider-a" or "provider-b".
        id: What the wire calls it. On provider B it changes when the message is moved.
        immutable_id: Never changes; equal to *id* on provider A.
        received_ms: Milliseconds since the epoch, UTC.
        folder: One of `FOLDERS`.
        labels: Names of user labels (A) or categories (B). On provider A also the system labels
            that the folder does not tell, such as "IMPORTANT" or the "SENT" of a trashed mail.
        change: Counts up over the whole store with every change of anything: an ETag.
        born: The *change* at which the message came to be.
    """

    seq: int
    mailbox: str
    id: str
    immutable_id: str
    thread_id: str
    raw: bytes = field(repr=False)
    received_ms: int
    folder: str
    labels: tuple[str, ...]
    is_read: bool
    is_starred: bool
    born: int
    change: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMail:
    """A message to be added; see `MailStore.add` for the members."""

    raw: bytes
    folder: str = "inbox"
    labels: tuple[str, ...] = ()
    is_read: bool = False
    is_starred: bool = False
    received_ms: int | None = None
    thread_id: str | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """A user label (A) or category (B)."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Account:
    """Whose mailbox it is."""

    email: str
    name: str


DEFAULT_ACCOUNTS: Mapping[str, Account] = MappingProxyType(
    {
        mailnames.PROVIDER_A: Account("me@provider-a.example", "Provider A Account"),
        mailnames.PROVIDER_B: Account("me@provider-b.example", "Provider B Account"),
    }
)


@dataclass(slots=True)
class _Box:
    """One mailbox in memory; *ordered*, *threads* and *labels* are made again when None."""

    by_seq: dict[int, StoredMail] = field(default_factory=dict)
    by_id: dict[str, StoredMail] = field(default_factory=dict)
    ordered: tuple[StoredMail, ...] | None = None
    threads: dict[str, tuple[StoredMail, ...]] | None = None
    labels: tuple[Label, ...] | None = None

    def put(self, mail: StoredMail) -> None:
        self.drop(mail.seq)
        self.by_seq[mail.seq] = mail
        self.by_id[mail.id] = self.by_id[mail.immutable_id] = mail

    def drop(self, seq: int) -> None:
        self.ordered = self.threads = None
        old = self.by_seq.pop(seq, None)
        if old is not None:
            self.by_id.pop(old.id, None)
            self.by_id.pop(old.immutable_id, None)


class MailStore:
    """Both mailboxes, kept in *db*. One object per `Store`."""

    def __init__(self, db: Store, *, clock: Callable[[], float] = time.time) -> None:
        """*clock* tells seconds since the epoch, for messages without a received time."""
        self._db = db
        self._clock = clock
        db.define(*_TABLES)
        self._boxes = {name: _Box() for name in mailnames.MAILBOXES}
        self._seen = 0
        self._stamp = -1
        self._refresh()

    # Reading

    def all(self, mailbox: str) -> tuple[StoredMail, ...]:
        """Return every message of the mailbox, newest first, then by immutable id."""
        box = self._box(mailbox)
        if box.ordered is None:
            mails = box.by_seq.values()
            box.ordered = tuple(sorted(mails, key=lambda m: (-m.received_ms, m.immutable_id)))
        return box.ordered

    def find(self, mailbox: str, mail_id: str) -> StoredMail | None:
        """Return the message with this id or immutable id (compared exactly)."""
        return self._box(mailbox).by_id.get(mail_id)

    def thread(self, mailbox: str, thread_id: str) -> tuple[StoredMail, ...]:
        """Return the messages of a thread, oldest first; empty when there is no such thread."""
        return self.threads(mailbox).get(thread_id, ())

    def threads(self, mailbox: str) -> Mapping[str, tuple[StoredMail, ...]]:
        """Return every thread by its id: most recent thread first, oldest message first."""
        box = self._box(mailbox)
        if box.threads is None:
            found: dict[str, list[StoredMail]] = {}
            for mail in self.all(mailbox):
                found.setdefault(mail.thread_id, []).append(mail)
            box.threads = {name: tuple(reversed(mails)) for name, mails in found.items()}
        return box.threads

    def user_labels(self, mailbox: str) -> tuple[Label, ...]:
        """Return the user labels (A) or categories (B), oldest first."""
        box = self._box(mailbox)
        if box.labels is None:
            rows = self._db.rows(
                "SELECT number, name FROM mail_label WHERE mailbox = ? ORDER BY number", mailbox
            )
            box.labels = tuple(
                Label(mailnames.label_id(mailbox, int(number or 0)), str(name))
                for number, name in rows
            )
        return box.labels

    def account(self, mailbox: str) -> Account:
        """Return whose mailbox it is."""
        kept = self._db.meta(f"account:{mailbox}")
        return Account(*json.loads(kept)) if kept else DEFAULT_ACCOUNTS[mailbox]

    def change(self) -> int:
        """Return the number of the latest change."""
        self._refresh()
        return self._seen

    def gone_since(self, mailbox: str, change: int) -> tuple[tuple[int, str, str], ...]:
        """Return (change, id, thread id) of what was deleted after *change*, oldest first."""
        rows = self._db.rows(
            "SELECT change, id, thread_id FROM mail_gone WHERE mailbox = ? AND change > ?"
            " ORDER BY change",
            mailbox,
            change,
        )
        return tuple((int(at or 0), str(name), str(thread)) for at, name, thread in rows)

    # Writing

    def add(
        self,
        mailbox: str,
        raw: bytes,
        *,
        folder: str,
        labels: Sequence[str] = (),
        is_read: bool = False,
        is_starred: bool = False,
        received_ms: int | None = None,
        thread_id: str | None = None,
    ) -> StoredMail:
        """
        Add a message.

        *received_ms* None means now. *thread_id* None looks the thread up through Message-ID,
        In-Reply-To and References, `NEW_THREAD` starts one. Labels that are new to the mailbox
        are not registered: see `add_label`.
        """
        mail = NewMail(
            raw=raw,
            folder=folder,
            labels=tuple(labels),
            is_read=is_read,
            is_starred=is_starred,
            received_ms=received_ms,
            thread_id=thread_id,
        )
        return self.add_many(mailbox, (mail,))[0]

    def add_many(self, mailbox: str, mails: Iterable[NewMail]) -> tuple[StoredMail, ...]:
        """Add messages in one transaction, in the order given (as `add` does each)."""
        self._refresh()
        with self._db.transaction():
            added = tuple(self._insert(mailbox, mail) for mail in mails)
        self._keep(mailbox, added)
        return added

    def update(
        self,
        mailbox: str,
        mail_id: str,
        *,
        folder: str | None = None,
        labels: Sequence[str] | None = None,
        is_read: bool | None = None,
        is_starred: bool | None = None,
        raw: bytes | None = None,
        received_ms: int | None = None,
        new_id: bool = False,
    ) -> StoredMail:
        """
        Change what is not None; *new_id* gives provider B's plain id anew, as a move does.

        Raises:
            KeyError: There is no such message.
        """
        old = self._existing(mailbox, mail_id)
        with self._db.transaction():
            change = self._db.next("change")
            new = replace(
                old,
                id=mailnames.message_id(mailbox, old.seq, change) if new_id else old.id,
                folder=old.folder if folder is None else folder,
                labels=old.labels if labels is None else tuple(dict.fromkeys(labels)),
                is_read=old.is_read if is_read is None else is_read,
                is_starred=old.is_starred if is_starred is None else is_starred,
                raw=old.raw if raw is None else raw,
                received_ms=old.received_ms if received_ms is None else received_ms,
                change=change,
            )
            self._db.run(
                "UPDATE mail SET id = ?, folder = ?, labels = ?, is_read = ?, is_starred = ?,"
                " raw = ?, received_ms = ?, change = ? WHERE seq = ?",
                new.id,
                new.folder,
                json.dumps(new.labels),
                new.is_read,
                new.is_starred,
                new.raw,
                new.received_ms,
                new.change,
                new.seq,
            )
        self._keep(mailbox, (new,))
        return new

    def delete(self, mailbox: str, mail_id: str) -> None:
        """
        Delete a message for good.

        Raises:
            KeyError: There is no such message.
        """
        old = self._existing(mailbox, mail_id)
        with self._db.transaction():
            change = self._db.next("change")
            self._db.run("DELETE FROM mail WHERE seq = ?", old.seq)
            self._db.run(
                "INSERT INTO mail_gone (change, mailbox, seq, id, thread_id)"
                " VALUES (?, ?, ?, ?, ?)",
                change,
                mailbox,
                old.seq,
                old.id,
                old.thread_id,
            )
        self._boxes[mailbox].drop(old.seq)
        self._seen = max(self._seen, change)

    def add_label(self, mailbox: str, name: str) -> Label:
        """Return the label of this name (any case), making it when there is none."""
        for label in self.user_labels(mailbox):
            if label.name.casefold() == name.casefold():
                return label
        with self._db.transaction():
            number = self._db.next(f"label:{mailbox}")
            self._db.run(
                "INSERT INTO mail_label (mailbox, number, name) VALUES (?, ?, ?)",
                mailbox,
                number,
                name,
            )
        self._boxes[mailbox].labels = None
        return Label(mailnames.label_id(mailbox, number), name)

    def rename_label(self, mailbox: str, old: str, new: str) -> None:
        """Rename a label and what carries it."""
        self._relabel(mailbox, old, lambda names: [new if name == old else name for name in names])
        self._db.run(
            "UPDATE mail_label SET name = ? WHERE mailbox = ? AND name = ?", new, mailbox, old
        )
        self._boxes[mailbox].labels = None

    def delete_label(self, mailbox: str, name: str) -> None:
        """Delete a label and take it off what carries it."""
        self._relabel(mailbox, name, lambda names: [other for other in names if other != name])
        self._db.run("DELETE FROM mail_label WHERE mailbox = ? AND name = ?", mailbox, name)
        self._boxes[mailbox].labels = None

    def set_account(self, mailbox: str, account: Account) -> None:
        """Say whose mailbox it is."""
        self._db.set_meta(f"account:{mailbox}", json.dumps([account.email, account.name]))

    # Behind

    def _insert(self, mailbox: str, mail: NewMail) -> StoredMail:
        if mail.folder not in FOLDERS:
            raise ValueError(f"No such folder: {mail.folder}")
        seq, change = self._db.next("mail"), self._db.next("change")
        now = int(self._clock() * 1000)
        stored = StoredMail(
            seq=seq,
            mailbox=mailbox,
            id=mailnames.message_id(mailbox, seq, change),
            immutable_id=mailnames.immutable_id(mailbox, seq),
            thread_id=self._thread_for(mailbox, mail, seq),
            raw=mail.raw,
            received_ms=now if mail.received_ms is None else mail.received_ms,
            folder=mail.folder,
            labels=tuple(dict.fromkeys(mail.labels)),
            is_read=mail.is_read,
            is_starred=mail.is_starred,
            born=change,
            change=change,
        )
        self._db.run(_INSERT, *_cells(stored))
        return stored

    def _thread_for(self, mailbox: str, mail: NewMail, seq: int) -> str:
        ids = threading_ids(mail.raw)
        thread_id = mail.thread_id
        if thread_id is None:
            thread_id = self._known_thread(mailbox, ids)
        if not thread_id:
            thread_id = (
                mailnames.message_id(mailbox, seq, 0)
                if mailbox == PROVIDER_A
                else mailnames.conversation_id(seq)
            )
        self._db.run_many(
            "INSERT OR IGNORE INTO mail_reference (mailbox, rfc_id, thread_id) VALUES (?, ?, ?)",
            ((mailbox, rfc_id, thread_id) for rfc_id in ids),
        )
        return thread_id

    def _known_thread(self, mailbox: str, ids: Iterable[str]) -> str | None:
        for rfc_id in ids:
            found = self._db.row(
                "SELECT thread_id FROM mail_reference WHERE mailbox = ? AND rfc_id = ?",
                mailbox,
                rfc_id,
            )
            if found is not None:
                return str(found[0])
        return None

    def _relabel(
        self, mailbox: str, name: str, change: Callable[[Sequence[str]], Sequence[str]]
    ) -> None:
        with self._db.transaction():
            for mail in self.all(mailbox):
                if name in mail.labels:
                    self.update(mailbox, mail.id, labels=change(mail.labels))

    def _existing(self, mailbox: str, mail_id: str) -> StoredMail:
        found = self.find(mailbox, mail_id)
        if found is None:
            raise KeyError(mail_id)
        return found

    def _box(self, mailbox: str) -> _Box:
        self._refresh()
        return self._boxes[mailbox]

    def _keep(self, mailbox: str, mails: Iterable[StoredMail]) -> None:
        for mail in mails:
            self._boxes[mailbox].put(mail)
            self._seen = max(self._seen, mail.change)

    def _refresh(self) -> None:
        """Take over what another connection wrote since the last look."""
        stamp = self._db.foreign_writes()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        for box in self._boxes.values():
            box.labels = None
        seen = self._seen
        for row in self._db.rows(f"SELECT {_COLUMNS} FROM mail WHERE change > ?", seen):
            mail = _from_row(row)
            self._keep(mail.mailbox, (mail,))
        for at, mailbox, seq in self._db.rows(
            "SELECT change, mailbox, seq FROM mail_gone WHERE change > ?", seen
        ):
            self._boxes[str(mailbox)].drop(int(seq or 0))
            self._seen = max(self._seen, int(at or 0))


def _cells(mail: StoredMail) -> Row:
    return (
        mail.seq,
        mail.mailbox,
        mail.id,
        mail.immutable_id,
        mail.thread_id,
        mail.raw,
        mail.received_ms,
        mail.folder,
        json.dumps(mail.labels),
        mail.is_read,
        mail.is_starred,
        mail.born,
        mail.change,
    )


def _from_row(row: Row) -> StoredMail:
    seq, mailbox, mail_id, immutable, thread, raw, received, folder, labels, *rest = row
    is_read, is_starred, born, change = rest
    return StoredMail(
        seq=int(seq or 0),
        mailbox=str(mailbox),
        id=str(mail_id),
        immutable_id=str(immutable),
        thread_id=str(thread),
        raw=raw if isinstance(raw, bytes) else b"",
        received_ms=int(received or 0),
        folder=str(folder),
        labels=tuple(json.loads(str(labels))),
        is_read=bool(is_read),
        is_starred=bool(is_starred),
        born=int(born or 0),
        change=int(change or 0),
    )
