"""
Log of what changed and deleted messages, kept for a bounded time: the history of both services.

An addition has no event: the message, or its first event, says at which change it was added.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sandbox.mail.records import StoredMail
from sandbox.storage.database import Database, Row

RETENTION_SECONDS = 7 * 86_400  # "typically for at least a week", as Gmail's reference says

_TABLE = """CREATE TABLE IF NOT EXISTS mail_event (
    change INTEGER PRIMARY KEY, mailbox TEXT NOT NULL, seq INTEGER NOT NULL,
    id_before TEXT NOT NULL, id_after TEXT NOT NULL, immutable_id TEXT NOT NULL,
    thread_id TEXT NOT NULL, born INTEGER NOT NULL, received_ms INTEGER NOT NULL,
    before TEXT NOT NULL, after TEXT NOT NULL, at REAL NOT NULL) STRICT"""
_INSERT = "INSERT INTO mail_event VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_COLUMNS = (
    "change, seq, id_before, id_after, immutable_id, thread_id, born, received_ms, before, after"
)


@dataclass(frozen=True, slots=True)
class MailState:
    """
    The changeable part of a message.

    Attributes:
        labels: As in `StoredMail.labels`, but user labels of that time by their ids.
    """

    folder: str
    labels: tuple[str, ...]
    is_read: bool
    is_starred: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MailEvent:
    """
    One change or deletion of a message.

    Attributes:
        id_before, id_after: Its id in the API; the latter is "" when it was deleted.
        created_change: The change number at which the message was added.
        after: None when it was deleted.
    """

    change: int
    seq: int
    id_before: str
    id_after: str
    immutable_id: str
    thread_id: str
    created_change: int
    received_ms: int
    before: MailState
    after: MailState | None


class MailHistory:
    """The events of all mailboxes in a database."""

    def __init__(self, db: Database, clock: Callable[[], float]) -> None:
        self._db = db
        self._clock = clock
        db.define(_TABLE)

    def record(
        self,
        before: StoredMail,
        after: StoredMail | None,
        *,
        change: int,
        labels: Mapping[str, str],
    ) -> None:
        """Record a change, or with None the deletion; *labels* is name to id."""
        self._db.run(
            _INSERT,
            change,
            before.mailbox,
            before.seq,
            before.id,
            "" if after is None else after.id,
            before.immutable_id,
            before.thread_id,
            before.created_change,
            before.received_ms,
            _written(before, labels),
            "" if after is None else _written(after, labels),
            self._clock(),
        )

    def since(self, mailbox: str, change: int) -> tuple[MailEvent, ...]:
        """Return the events after *change*, oldest first."""
        rows = self._db.rows(
            f"SELECT {_COLUMNS} FROM mail_event WHERE mailbox = ? AND change > ? ORDER BY change",
            mailbox,
            change,
        )
        return tuple(map(_event, rows))

    def reaches(self, mailbox: str, change: int) -> bool:
        """Whether every event after *change* is still kept."""
        row = self._db.row(
            "SELECT MAX(change) FROM mail_event WHERE mailbox = ? AND at < ?",
            mailbox,
            self._clock() - RETENTION_SECONDS,
        )
        expired = int(row[0] or 0) if row else 0
        return change >= max(expired, int(self._db.meta(_floor(mailbox)) or 0))

    def forget(self, mailbox: str, change: int) -> None:
        """Keep only the events after *change*, as a service may at any time."""
        self._db.set_meta(_floor(mailbox), str(change))


def _event(row: Row) -> MailEvent:
    change, seq, id_before, id_after, immutable_id, thread_id, born, received, *states = row
    before, after = map(str, states)
    return MailEvent(
        change=int(change or 0),
        seq=int(seq or 0),
        id_before=str(id_before),
        id_after=str(id_after),
        immutable_id=str(immutable_id),
        thread_id=str(thread_id),
        created_change=int(born or 0),
        received_ms=int(received or 0),
        before=_read(before),
        after=_read(after) if after else None,
    )


def _floor(mailbox: str) -> str:
    return f"mail-history:{mailbox}"


def _written(mail: StoredMail, labels: Mapping[str, str]) -> str:
    ids = [labels.get(name, name) for name in mail.labels]
    return json.dumps([mail.folder, ids, mail.is_read, mail.is_starred])


def _read(text: str) -> MailState:
    folder, labels, is_read, is_starred = json.loads(text)
    return MailState(folder, tuple(labels), is_read, is_starred)
