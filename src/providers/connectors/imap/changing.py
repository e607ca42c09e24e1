"""Changes of a message: read state, labels, deletion (docs/spec/upstream/imap.md#changes)."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from providers.connectors.imap import filing, mapping, modified_utf7
from providers.connectors.imap.folders import GMAIL, GMAIL_LABELS, Folder, Role
from providers.connectors.imap.message_ids import Location, MessageIds
from providers.dry_run import confirm_write
from providers.failures import Impossible, Missing
from providers.imap import parsing
from providers.imap.parsing import Value
from providers.imap.session import Rejected, Session, astring
from providers.mail import change_previews
from providers.mail.delivery import IN_TRASH, STATE_LABEL
from providers.ports.mail import MailChange
from providers.records import mail as mail_records
from providers.search_text import fold_label
from providers.write_previews import Change, current_preview

_SEEN = "\\Seen"
_THREAD = "BODY[HEADER.FIELDS (IN-REPLY-TO MESSAGE-ID REFERENCES)]"
# Labels that say where a message is, or in which state; folded.
_STATES = frozenset(fold_label(word) for word in ("UNREAD", *Role))
# What they are of Gmail, as by provider A.
_GMAIL_STATES = frozenset(map(fold_label, ("UNREAD", "TRASH", "SPAM", "DRAFT", "SENT", "CHAT")))
_NO_LABELS = "The mail server does not keep this label."
_NO_READ_STATE = "The mail server does not keep the read state in this folder."


async def trash(session: Session, location: Location, *, connection: int) -> None:
    """
    Move a message to the trash.

    Raises:
        Missing: It is gone.
        ReadOnlyGrant: The account lacks a right in a folder of a shared mailbox.
        Impossible: It is in the trash already, or the server cannot move it.
    """
    folders, _ = await _untrashed(session, location)
    await _flags(session, location)
    await filing.require_rights(session, location.folder, "te")
    trash = folders.of(Role.TRASH)
    if trash is not None:
        await filing.require_rights(session, trash.name, "i")
    await confirm_write(connection)
    target = await filing.for_role(session, folders, Role.TRASH)
    await filing.open_synchronized(session, location)
    await filing.move(session, location.uid, target)


async def change(
    session: Session, ids: MessageIds, location: Location, change: MailChange, *, connection: int
) -> mail_records.SentMessage:
    """
    Change the read state and labels; return the message's ids.

    Raises:
        Missing: It is gone.
        Impossible: It is in the trash, or the server does not keep such a label or the read state.
    """
    _, folder = await _untrashed(session, location)
    has_labels = GMAIL in session.capabilities
    items = (_GmailLabels.item,) if has_labels else ()
    row = await _flags(session, location, *items, _THREAD.replace("BODY", "BODY.PEEK", 1))
    await filing.require_rights(session, location.folder, _needed(change))
    flags = frozenset(map(parsing.text, _list(row.get("FLAGS"))))
    keywords = _Keywords(folder, flags, _permanent(session))
    labels: _Keywords | _GmailLabels = keywords
    if has_labels:
        labels = _GmailLabels(list(map(parsing.text, _list(row.get(_GmailLabels.item)))))
    stores = {
        f"+{labels.item}": labels.to_add(change.add_labels),
        f"-{labels.item}": labels.to_remove(change.remove_labels),
    }
    if change.read is not None:
        if not keywords.can_store(_SEEN):
            raise Impossible(_NO_READ_STATE)
        stores.setdefault("+FLAGS" if change.read else "-FLAGS", []).append(_SEEN)
    preview = current_preview()
    if preview is not None:
        preview.changes = change_previews.read_state(keywords.is_read, change)
        if change.add_labels or change.remove_labels:
            hidden = "labels" in preview.hidden
            changed = change_previews.HIDDEN_LABELS if hidden else labels.preview(change)
            preview.changes = (*preview.changes, changed)
    await confirm_write(connection)
    try:
        for item, names in stores.items():
            if names:
                await session.command(f"UID STORE {location.uid} {item}.SILENT ({' '.join(names)})")
    except Rejected as failure:
        raise Impossible(_NO_LABELS) from failure
    block = row.get(_THREAD)
    root = mapping.thread_root(mapping.parse_headers(block if isinstance(block, bytes) else b""))
    return mail_records.SentMessage(
        email_id=ids.message_id(location), thread_id=None if root is None else ids.thread_id(root)
    )


def _needed(change: MailChange) -> str:
    """Return the rights that a change needs in the folder of a shared mailbox."""
    labels = change.add_labels or change.remove_labels
    return ("" if change.read is None else "s") + ("w" if labels else "")


class _Keywords:
    """
    The labels of one message as keywords.

    Attributes:
        item: The item of STORE that changes them.
        is_read: Whether the message is read.
    """

    item = "FLAGS"

    def __init__(
        self, folder: Folder, flags: AbstractSet[str], permanent: Sequence[str] | None
    ) -> None:
        self._folder = folder
        self.is_read = _SEEN.lower() in map(str.lower, flags)
        self._permanent = permanent
        self._present = _by_label(flags)

    def can_store(self, flag: str) -> bool:
        """Whether the folder keeps a flag; a server that does not say so keeps all."""
        if self._permanent is None:
            return True
        flags = {name.lower() for name in self._permanent}
        return flag.lower() in flags or (not flag.startswith("\\") and "\\*" in flags)

    def to_add(self, labels: Sequence[str]) -> list[str]:
        known = _by_label(self._permanent or ())
        added = []
        for label in labels:
            folded = fold_label(label)
            if folded in _STATES:
                raise Impossible(STATE_LABEL)
            if folded in self._present or folded == fold_label(self._folder.label):
                continue
            keyword = known.get(folded) or modified_utf7.encode_keyword(label)
            if keyword.startswith("$") or not self.can_store(keyword):
                raise Impossible(_NO_LABELS)
            added.append(keyword)
        return added

    def to_remove(self, labels: Sequence[str]) -> list[str]:
        folded = [fold_label(label) for label in labels]
        if fold_label(self._folder.label) in folded:
            raise Impossible(STATE_LABEL)
        return [self._present[label] for label in folded if label in self._present]

    def preview(self, change: MailChange) -> Change:
        """Return what the change changes of the labels."""
        present = sorted(self._present.values())
        removed = self.to_remove(change.remove_labels)
        after = sorted({*present, *self.to_add(change.add_labels)} - {*removed})
        before_labels, after_labels = (
            [self._folder.label, *map(modified_utf7.decode, keywords)]
            for keywords in (present, after)
        )
        return change_previews.labels(before_labels, after_labels)


class _GmailLabels:
    """
    The labels of one message.

    Attributes:
        item: The item of STORE that changes them.
    """

    item = GMAIL_LABELS

    def __init__(self, labels: Sequence[str]) -> None:
        """*labels* as the server spells them."""
        self._shown = mapping.gmail_label_names(labels)
        self._present = {
            fold_label(shown): label for shown, label in zip(self._shown, labels, strict=True)
        }

    def to_add(self, labels: Sequence[str]) -> list[str]:
        """
        Return how STORE writes the labels that the message lacks.

        Raises:
            Impossible: One of them is a state.
        """
        if any(fold_label(label) in _GMAIL_STATES for label in labels):
            raise Impossible(STATE_LABEL)
        lacking = (label for label in labels if fold_label(label) not in self._present)
        system = mapping.GMAIL_SYSTEM_LABELS
        return [
            _written(system.get(label.upper()) or modified_utf7.encode(label)) for label in lacking
        ]

    def to_remove(self, labels: Sequence[str]) -> list[str]:
        """Return how STORE writes the labels that the message has, without its states."""
        folded = [fold_label(label) for label in labels]
        return [
            _written(self._present[label])
            for label in folded
            if label in self._present and label not in _GMAIL_STATES
        ]

    def preview(self, change: MailChange) -> Change:
        """Return what the change changes of the labels."""
        removed = set(map(fold_label, change.remove_labels)) - _GMAIL_STATES
        after = [label for label in self._shown if fold_label(label) not in removed]
        after += [label for label in change.add_labels if fold_label(label) not in self._present]
        return change_previews.labels(self._shown, after)


def _written(label: str) -> str:
    """Write a label for STORE: a system label is an atom, all others are quoted."""
    return label if label.startswith("\\") else str(astring(label))


async def _untrashed(session: Session, location: Location) -> tuple[filing.Folders, Folder]:
    """Return the folders, and the one that the message is in."""
    folders = await filing.folders(session)
    folder = folders.named(location.folder)
    if folder is None:
        raise Missing
    if folder.role is Role.TRASH:
        raise Impossible(IN_TRASH)
    await filing.open_synchronized(session, location)
    return folders, folder


async def _flags(session: Session, location: Location, *items: str) -> dict[str, Value]:
    rows = await session.fetch(str(location.uid), " ".join(("UID FLAGS", *items)))
    if location.uid not in rows:
        raise Missing
    return rows[location.uid]


def _permanent(session: Session) -> Sequence[str] | None:
    return None if session.selected is None else session.selected.permanent_flags


def _by_label(flags: AbstractSet[str] | Sequence[str]) -> dict[str, str]:
    """Return the keywords among flags by their label, folded."""
    return {
        fold_label(modified_utf7.decode(flag)): flag
        for flag in flags
        if not flag.startswith(("\\", "$"))
    }


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []
