"""
The mail of both sandbox mailboxes. The truth of a message is its raw RFC 5322 bytes.

Everything is kept in memory beside the file and brought up to date after each write, also after
writes of another process, so that reading costs no query.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from sandbox.mail import ids as mail_ids
from sandbox.mail.ids import PROVIDER_A
from sandbox.mail.mailbox_index import MailboxIndex
from sandbox.mail.mime import threading_ids
from sandbox.mail.records import (
    DEFAULT_ACCOUNTS,
    FOLDERS,
    NEW_THREAD,
    Account,
    Label,
    NewMail,
    StoredMail,
)
from sandbox.mail.tables import MailTables
from sandbox.storage.database import Database

# The records are part of what this module offers.
__all__ = ["FOLDERS", "NEW_THREAD", "Account", "Label", "MailStore", "NewMail", "StoredMail"]


class MailStore:
    """Both mailboxes, kept in *db*. One object per `Database`."""

    def __init__(self, db: Database, *, clock: Callable[[], float] = time.time) -> None:
        """*clock* tells seconds since the epoch, for messages without a received time."""
        self._db = db
        self._clock = clock
        self._tables = MailTables(db)
        self._boxes = {name: MailboxIndex() for name in mail_ids.MAILBOXES}
        self._seen = 0
        self._stamp = -1
        self._refresh()

    # Reading

    def all(self, mailbox: str) -> tuple[StoredMail, ...]:
        """Return every message of the mailbox, newest first, then by immutable id."""
        return self._box(mailbox).newest_first()

    def find(self, mailbox: str, mail_id: str) -> StoredMail | None:
        """Return the message with this id or immutable id (compared exactly)."""
        return self._box(mailbox).by_id.get(mail_id)

    def thread(self, mailbox: str, thread_id: str) -> tuple[StoredMail, ...]:
        """Return the messages of a thread, oldest first; empty when there is no such thread."""
        return self.threads(mailbox).get(thread_id, ())

    def threads(self, mailbox: str) -> Mapping[str, tuple[StoredMail, ...]]:
        """Return every thread by its id: most recent thread first, oldest message first."""
        return self._box(mailbox).by_thread()

    def user_labels(self, mailbox: str) -> tuple[Label, ...]:
        """Return the user labels (A) or categories (B), oldest first."""
        box = self._box(mailbox)
        if box.labels is None:
            box.labels = tuple(
                Label(mail_ids.label_id(mailbox, number), name)
                for number, name in self._tables.labels(mailbox)
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
        return tuple(
            (at, name, thread)
            for at, box, _, name, thread in self._tables.gone_since(change)
            if box == mailbox
        )

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
                id=mail_ids.message_id(mailbox, old.seq, change) if new_id else old.id,
                folder=old.folder if folder is None else folder,
                labels=old.labels if labels is None else tuple(dict.fromkeys(labels)),
                is_read=old.is_read if is_read is None else is_read,
                is_starred=old.is_starred if is_starred is None else is_starred,
                raw=old.raw if raw is None else raw,
                received_ms=old.received_ms if received_ms is None else received_ms,
                change=change,
            )
            self._tables.replace(new)
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
            self._tables.remove(old, change)
        self._boxes[mailbox].drop(old.seq)
        self._seen = max(self._seen, change)

    def add_label(self, mailbox: str, name: str) -> Label:
        """Return the label of this name (any case), making it when there is none."""
        for label in self.user_labels(mailbox):
            if label.name.casefold() == name.casefold():
                return label
        with self._db.transaction():
            number = self._db.next(f"label:{mailbox}")
            self._tables.add_label(mailbox, number, name)
        self._boxes[mailbox].labels = None
        return Label(mail_ids.label_id(mailbox, number), name)

    def rename_label(self, mailbox: str, old: str, new: str) -> None:
        """Rename a label and what carries it."""
        self._relabel(mailbox, old, lambda names: [new if name == old else name for name in names])
        self._tables.rename_label(mailbox, old, new)
        self._boxes[mailbox].labels = None

    def delete_label(self, mailbox: str, name: str) -> None:
        """Delete a label and take it off what carries it."""
        self._relabel(mailbox, name, lambda names: [other for other in names if other != name])
        self._tables.remove_label(mailbox, name)
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
            id=mail_ids.message_id(mailbox, seq, change),
            immutable_id=mail_ids.immutable_id(mailbox, seq),
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
        self._tables.insert(stored)
        return stored

    def _thread_for(self, mailbox: str, mail: NewMail, seq: int) -> str:
        ids = threading_ids(mail.raw)
        thread_id = mail.thread_id
        if thread_id is None:
            thread_id = self._tables.thread_of(mailbox, ids)
        if not thread_id:
            thread_id = (
                mail_ids.message_id(mailbox, seq, 0)
                if mailbox == PROVIDER_A
                else mail_ids.conversation_id(seq)
            )
        self._tables.refer(mailbox, ids, thread_id)
        return thread_id

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

    def _box(self, mailbox: str) -> MailboxIndex:
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
        for mail in self._tables.changed_since(seen):
            self._keep(mail.mailbox, (mail,))
        for at, mailbox, seq, _, _ in self._tables.gone_since(seen):
            self._boxes[mailbox].drop(seq)
            self._seen = max(self._seen, at)
