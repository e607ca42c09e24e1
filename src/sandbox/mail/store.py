"""
The mail of both sandbox mailboxes; a message is its raw RFC 5322 bytes.

All messages are also held in memory, so that reads need no query. Each write updates the memory,
and writes of another process are noticed before the next read.
"""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, replace

from sandbox.mail import ids as mail_ids
from sandbox.mail.history import MailHistory
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
    """
    Both mailboxes in a database; one object per `Database`.

    Attributes:
        history: What changed and deleted messages.
    """

    def __init__(self, db: Database, *, clock: Callable[[], float] = time.time) -> None:
        """*clock* returns seconds since the epoch, for messages without a received time."""
        self._db = db
        self._clock = clock
        self._tables = MailTables(db)
        self.history = MailHistory(db, clock)
        self._indexes = {name: MailboxIndex() for name in mail_ids.ALL_MAILBOXES}
        self._last_change = 0
        self._foreign_writes = -1
        self._refresh()

    def all(self, mailbox: str) -> tuple[StoredMail, ...]:
        """Return every message of the mailbox: newest first, then by immutable id."""
        return self._index(mailbox).newest_first()

    def find(self, mailbox: str, mail_id: str) -> StoredMail | None:
        """Return the message with this id or immutable id (compared exactly)."""
        return self._index(mailbox).by_id.get(mail_id)

    def thread(self, mailbox: str, thread_id: str) -> tuple[StoredMail, ...]:
        """Return the messages of a thread, oldest first; empty when there is no such thread."""
        return self.threads(mailbox).get(thread_id, ())

    def threads(self, mailbox: str) -> Mapping[str, tuple[StoredMail, ...]]:
        """Return every thread by its id: most recent thread first, oldest message first."""
        return self._index(mailbox).by_thread()

    def user_labels(self, mailbox: str) -> tuple[Label, ...]:
        """Return the user labels (A) or categories (B), oldest first."""
        index = self._index(mailbox)
        if index.labels is None:
            index.labels = tuple(
                Label(mail_ids.label_id(mailbox, number), name)
                for number, name in self._tables.labels(mailbox)
            )
        return index.labels

    def account(self, mailbox: str) -> Account:
        """Return the mailbox's owner."""
        stored = self._db.meta(f"account:{mailbox}")
        if not stored:
            return DEFAULT_ACCOUNTS[mailbox]
        email, name, sign_in_name, aliases = json.loads(stored)
        return Account(email, name, sign_in_name, tuple(aliases))

    def last_change(self) -> int:
        """Return the number of the latest change."""
        self._refresh()
        return self._last_change

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

        *received_ms* None means now. *thread_id* None finds the thread by Message-ID, In-Reply-To
        and References; `NEW_THREAD` starts one. New labels are not registered: see `add_label`.
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
        """Add messages in one transaction and in order; `add` describes the members."""
        self._refresh()
        new_mails = tuple(mails)
        with self._db.transaction():
            first_seq = self._db.next("mail", len(new_mails)) - len(new_mails) + 1
            first_change = self._db.next("change", len(new_mails)) - len(new_mails) + 1
            added = tuple(
                self._stored(mailbox, mail, seq=first_seq + at, change=first_change + at)
                for at, mail in enumerate(new_mails)
            )
            self._tables.insert_many(added)
        self._index_mails(mailbox, added)
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
        Change the members that are not None; *new_id* renews the plain id, as a move does
        on provider B and an edit of a draft on provider A.

        Raises:
            KeyError: There is no such message.
        """
        old = self._require(mailbox, mail_id)
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
            self._record(old, new, change)
        self._index_mails(mailbox, (new,))
        return new

    def delete(self, mailbox: str, mail_id: str) -> None:
        """
        Delete a message for good.

        Raises:
            KeyError: There is no such message.
        """
        old = self._require(mailbox, mail_id)
        with self._db.transaction():
            change = self._db.next("change")
            self._tables.remove(old, change)
            self._record(old, None, change)
        self._indexes[mailbox].remove(old.seq)
        self._last_change = max(self._last_change, change)

    def add_label(self, mailbox: str, name: str) -> Label:
        """Return the label of this name (in any case), adding it when there is none."""
        for label in self.user_labels(mailbox):
            if label.name.casefold() == name.casefold():
                return label
        with self._db.transaction():
            number = self._db.next(f"label:{mailbox}")
            self._tables.add_label(mailbox, number, name)
        self._indexes[mailbox].labels = None
        return Label(mail_ids.label_id(mailbox, number), name)

    def rename_label(self, mailbox: str, old: str, new: str) -> None:
        """Rename a label, also on the messages that carry it."""
        self._change_labels(
            mailbox, old, lambda names: [new if name == old else name for name in names]
        )
        self._tables.rename_label(mailbox, old, new)
        self._indexes[mailbox].labels = None

    def delete_label(self, mailbox: str, name: str) -> None:
        """Delete a label, also from the messages that carry it."""
        self._change_labels(
            mailbox, name, lambda names: [other for other in names if other != name]
        )
        self._tables.remove_label(mailbox, name)
        self._indexes[mailbox].labels = None

    def set_account(self, mailbox: str, account: Account) -> None:
        """Set the mailbox's owner."""
        self._db.set_meta(f"account:{mailbox}", json.dumps(astuple(account)))

    def _stored(self, mailbox: str, mail: NewMail, *, seq: int, change: int) -> StoredMail:
        if mail.folder not in FOLDERS:
            raise ValueError(f"No such folder: {mail.folder}")
        now = int(self._clock() * 1000)
        return StoredMail(
            seq=seq,
            mailbox=mailbox,
            id=mail_ids.message_id(mailbox, seq, 0 if mailbox == PROVIDER_A else change),
            immutable_id=mail_ids.immutable_id(mailbox, seq),
            thread_id=self._assign_thread(mailbox, mail, seq),
            raw=mail.raw,
            received_ms=now if mail.received_ms is None else mail.received_ms,
            folder=mail.folder,
            labels=tuple(dict.fromkeys(mail.labels)),
            is_read=mail.is_read,
            is_starred=mail.is_starred,
            created_change=change,
            change=change,
        )

    def _assign_thread(self, mailbox: str, mail: NewMail, seq: int) -> str:
        ids = threading_ids(mail.raw)
        thread_id = mail.thread_id
        if thread_id is None:
            thread_id = self._tables.find_thread(mailbox, ids)
        if not thread_id:
            thread_id = (
                mail_ids.message_id(mailbox, seq, 0)
                if mailbox == PROVIDER_A
                else mail_ids.conversation_id(seq)
            )
        self._tables.add_references(mailbox, ids, thread_id)
        return thread_id

    def _change_labels(
        self, mailbox: str, name: str, change: Callable[[Sequence[str]], Sequence[str]]
    ) -> None:
        with self._db.transaction():
            for mail in self.all(mailbox):
                if name in mail.labels:
                    self.update(mailbox, mail.id, labels=change(mail.labels))

    def _record(self, old: StoredMail, new: StoredMail | None, change: int) -> None:
        labels = {label.name: label.id for label in self.user_labels(old.mailbox)}
        self.history.record(old, new, change=change, labels=labels)

    def _require(self, mailbox: str, mail_id: str) -> StoredMail:
        mail = self.find(mailbox, mail_id)
        if mail is None:
            raise KeyError(mail_id)
        return mail

    def _index(self, mailbox: str) -> MailboxIndex:
        self._refresh()
        return self._indexes[mailbox]

    def _index_mails(self, mailbox: str, mails: Iterable[StoredMail]) -> None:
        for mail in mails:
            self._indexes[mailbox].put(mail)
            self._last_change = max(self._last_change, mail.change)

    def _refresh(self) -> None:
        """Apply the changes that another connection has written since the last call."""
        foreign_writes = self._db.foreign_writes()
        if foreign_writes == self._foreign_writes:
            return
        self._foreign_writes = foreign_writes
        for index in self._indexes.values():
            index.labels = None
        last_change = self._last_change
        for mail in self._tables.changed_since(last_change):
            self._index_mails(mail.mailbox, (mail,))
        for number, mailbox, seq, _, _ in self._tables.deleted_since(last_change):
            self._indexes[mailbox].remove(seq)
            self._last_change = max(self._last_change, number)
