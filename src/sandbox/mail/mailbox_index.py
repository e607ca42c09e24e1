"""One mailbox in memory, indexed by id, time and thread."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox.mail.records import Label, StoredMail


@dataclass(slots=True)
class MailboxIndex:
    """
    One mailbox in memory.

    Attributes:
        by_id: Under both the id and the immutable id.
        ordered, threads, labels: Caches, None until the next use.
    """

    by_seq: dict[int, StoredMail] = field(default_factory=dict)
    by_id: dict[str, StoredMail] = field(default_factory=dict)
    ordered: tuple[StoredMail, ...] | None = None
    threads: dict[str, tuple[StoredMail, ...]] | None = None
    labels: tuple[Label, ...] | None = None

    def put(self, mail: StoredMail) -> None:
        """Add a message, replacing the one with its number."""
        self.remove(mail.seq)
        self.by_seq[mail.seq] = mail
        self.by_id[mail.id] = self.by_id[mail.immutable_id] = mail

    def remove(self, seq: int) -> None:
        """Remove a message if it is there."""
        self.ordered = self.threads = None
        old = self.by_seq.pop(seq, None)
        if old is not None:
            self.by_id.pop(old.id, None)
            self.by_id.pop(old.immutable_id, None)

    def newest_first(self) -> tuple[StoredMail, ...]:
        """Return all messages, newest first, then by immutable id."""
        if self.ordered is None:
            mails = self.by_seq.values()
            self.ordered = tuple(sorted(mails, key=lambda m: (-m.received_ms, m.immutable_id)))
        return self.ordered

    def by_thread(self) -> Mapping[str, tuple[StoredMail, ...]]:
        """Return every thread by its id, most recent thread first, oldest message first."""
        if self.threads is None:
            by_thread: dict[str, list[StoredMail]] = {}
            for mail in self.newest_first():
                by_thread.setdefault(mail.thread_id, []).append(mail)
            self.threads = {name: tuple(reversed(mails)) for name, mails in by_thread.items()}
        return self.threads
