"""
Entries of a delta query of a folder: messages that came, changed and left since a change.

The order is not that of the changes. A message that left is told whether or not it was told before.
With immutable ids, one that left and came back is told as removed alone, as users report
(microsoftgraph/microsoft-graph-docs#21752).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from sandbox.mail.history import MailEvent
from sandbox.mail.store import MailStore, StoredMail


@dataclass(frozen=True, slots=True)
class Entry:
    """
    One entry of a delta.

    Attributes:
        kind: "created", "updated" or "deleted".
        id, immutable_id: Of the message; a removal has its plain id of then.
        reason: Of a removal: "changed" for a move, "deleted" for good; "" for a message.
    """

    kind: str
    id: str
    immutable_id: str
    received_ms: int
    reason: str = ""


def entries(
    mails: MailStore, mailbox: str, folder: str, since: int | None, *, immutable: bool
) -> Sequence[Entry]:
    """Return the entries of a folder since a change; None: all its messages, newest first."""
    if since is None:
        return [_message(mail, "created") for mail in mails.all(mailbox) if mail.folder == folder]
    events: dict[int, list[MailEvent]] = {}
    for event in mails.history.since(mailbox, since):
        events.setdefault(event.seq, []).append(event)
    live = {mail.seq: mail for mail in mails.all(mailbox) if mail.change > since}
    read = [
        entry
        for seq in live.keys() | events.keys()
        for entry in _of_message(live.get(seq), events.get(seq, ()), folder, since, immutable)
    ]
    return sorted(read, key=_scattered)


def _of_message(
    mail: StoredMail | None,
    events: Sequence[MailEvent],
    folder: str,
    since: int,
    immutable: bool,  # noqa: FBT001 - private
) -> Iterator[Entry]:
    if not events:
        if mail is not None and mail.folder == folder:
            yield _message(mail, "created")
        return
    first = events[0]
    was_inside = first.created_change <= since and first.before.folder == folder
    left = [event for event in events if event.before.folder == folder and _moves(event)]
    is_inside = mail is not None and mail.folder == folder
    if left:
        last = left[-1]
        reason = "deleted" if last.after is None else "changed"
        yield Entry("deleted", last.id_before, last.immutable_id, last.received_ms, reason)
    if mail is None or not is_inside:
        return
    if not left:
        yield _message(mail, "updated" if was_inside else "created")
    elif not immutable or not was_inside or not _moves(events[-1]):
        yield _message(mail, "created")


def _moves(event: MailEvent) -> bool:
    return event.after is None or event.after.folder != event.before.folder


def _message(mail: StoredMail, kind: str) -> Entry:
    return Entry(kind, mail.id, mail.immutable_id, mail.received_ms)


def _scattered(entry: Entry) -> bytes:
    return sha256(f"{entry.immutable_id}{entry.reason}".encode()).digest()


def written(entry: Entry) -> Sequence[object]:
    """Return an entry as JSON."""
    return [entry.kind, entry.id, entry.immutable_id, entry.received_ms, entry.reason]


def read(values: Sequence[object]) -> Entry:
    """Return the entry that `written` wrote."""
    kind, plain, immutable, received, reason = values
    return Entry(str(kind), str(plain), str(immutable), int(str(received)), str(reason))


def removed(entry: Entry, reason: str, *, immutable: bool) -> Mapping[str, object]:
    """Return the resource of a message that has left the folder."""
    return {
        "@odata.type": "#microsoft.graph.message",
        "id": entry.immutable_id if immutable else entry.id,
        "@removed": {"reason": reason},
    }
