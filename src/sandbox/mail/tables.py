"""Database tables of the mail store, and the conversion between rows and records."""

import json
from collections.abc import Iterable, Iterator

from sandbox.mail.records import StoredMail
from sandbox.storage.database import Database, Row

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


class MailTables:
    """Statements on the tables; callers wrap writing ones in a transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db
        db.define(*_TABLES)

    def insert(self, mail: StoredMail) -> None:
        """Insert a new message."""
        self._db.run(_INSERT, *_cells(mail))

    def insert_many(self, mails: Iterable[StoredMail]) -> None:
        """Insert new messages."""
        self._db.run_many(_INSERT, map(_cells, mails))

    def replace(self, mail: StoredMail) -> None:
        """Replace a stored message by its new state."""
        self._db.run("DELETE FROM mail WHERE seq = ?", mail.seq)
        self.insert(mail)

    def remove(self, mail: StoredMail, change: int) -> None:
        """Delete a message and record the deletion."""
        self._db.run("DELETE FROM mail WHERE seq = ?", mail.seq)
        self._db.run(
            "INSERT INTO mail_gone (change, mailbox, seq, id, thread_id) VALUES (?, ?, ?, ?, ?)",
            change,
            mail.mailbox,
            mail.seq,
            mail.id,
            mail.thread_id,
        )

    def changed_since(self, change: int) -> Iterator[StoredMail]:
        """Yield the messages added or changed after *change*, oldest change first."""
        sql = f"SELECT {_COLUMNS} FROM mail WHERE change > ? ORDER BY change"
        return map(_from_row, self._db.rows(sql, change))

    def deleted_since(self, change: int) -> tuple[tuple[int, str, int, str, str], ...]:
        """Return (change, mailbox, seq, id, thread id) of deletions after *change*, in order."""
        rows = self._db.rows(
            "SELECT change, mailbox, seq, id, thread_id FROM mail_gone WHERE change > ?"
            " ORDER BY change",
            change,
        )
        return tuple(
            (int(number or 0), str(mailbox), int(seq or 0), str(mail_id), str(thread_id))
            for number, mailbox, seq, mail_id, thread_id in rows
        )

    def add_references(self, mailbox: str, rfc_ids: Iterable[str], thread_id: str) -> None:
        """Assign Message-IDs to a thread; those that belong to another thread stay there."""
        self._db.run_many(
            "INSERT OR IGNORE INTO mail_reference (mailbox, rfc_id, thread_id) VALUES (?, ?, ?)",
            ((mailbox, rfc_id, thread_id) for rfc_id in rfc_ids),
        )

    def find_thread(self, mailbox: str, rfc_ids: Iterable[str]) -> str | None:
        """Return the thread of the first of these Message-IDs that has one."""
        for rfc_id in rfc_ids:
            row = self._db.row(
                "SELECT thread_id FROM mail_reference WHERE mailbox = ? AND rfc_id = ?",
                mailbox,
                rfc_id,
            )
            if row is not None:
                return str(row[0])
        return None

    def labels(self, mailbox: str) -> tuple[tuple[int, str], ...]:
        """Return (number, name) of the labels, oldest first."""
        rows = self._db.rows(
            "SELECT number, name FROM mail_label WHERE mailbox = ? ORDER BY number", mailbox
        )
        return tuple((int(number or 0), str(name)) for number, name in rows)

    def add_label(self, mailbox: str, number: int, name: str) -> None:
        """Insert a new label."""
        self._db.run(
            "INSERT INTO mail_label (mailbox, number, name) VALUES (?, ?, ?)", mailbox, number, name
        )

    def rename_label(self, mailbox: str, old: str, new: str) -> None:
        """Rename a label; the messages that carry it stay as they are."""
        self._db.run(
            "UPDATE mail_label SET name = ? WHERE mailbox = ? AND name = ?", new, mailbox, old
        )

    def remove_label(self, mailbox: str, name: str) -> None:
        """Delete a label; the messages that carry it stay as they are."""
        self._db.run("DELETE FROM mail_label WHERE mailbox = ? AND name = ?", mailbox, name)


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
        mail.created_change,
        mail.change,
    )


def _from_row(row: Row) -> StoredMail:
    seq, mailbox, mail_id, immutable, thread, raw, received, folder, labels, *rest = row
    is_read, is_starred, created, change = rest
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
        created_change=int(created or 0),
        change=int(change or 0),
    )
