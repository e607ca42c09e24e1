"""
The folders of an account, their roles, and how many messages they hold.

A server that announces SPECIAL-USE (RFC 6154) names roles; those that no folder has by that follow
from the usual names. Names stay as the server spells them, in modified UTF-7.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from providers.connectors.imap import modified_utf7
from providers.failures import Broken
from providers.imap import parsing
from providers.imap.folder_names import GMAIL_ROOTS, Role, role_of
from providers.imap.parsing import Value
from providers.imap.replies import MailboxRoot
from providers.imap.session import Rejected, Reply, Session, astring
from providers.search_text import fold_label

__all__ = ["GMAIL", "Folder", "Role", "default_folders", "read_folders"]

MAX_FOLDERS = 1000
GMAIL = "X-GM-EXT-1"  # the extension by which a server of Gmail tells labels
GMAIL_LABELS = "X-GM-LABELS"  # the labels of a message there, as an item of FETCH and STORE


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """
    A folder with messages.

    Attributes:
        name: In the server's spelling.
        role: None for a folder of the owner's own.
        messages, uid_next, uid_validity: Its STATUS.
        mod_seq: Its HIGHESTMODSEQ (RFC 7162); 0: not asked for, or the server does not keep it.
        prefix: What the names of the folders of its mailbox begin with.
        is_store: Whether every message is in it that is neither deleted nor junk, so that the other
            folders show some of them again: "All Mail" of Gmail.
    """

    name: bytes
    role: Role | None
    messages: int
    uid_next: int
    uid_validity: int
    mod_seq: int = 0
    prefix: bytes = b""
    is_store: bool = False

    @property
    def label(self) -> str:
        """The label that messages in the folder have."""
        if self.role is not None:
            return self.role.value
        return modified_utf7.decode(self.name.removeprefix(self.prefix))

    @property
    def is_searched(self) -> bool:
        """Whether a listing without a label covers the folder."""
        return self.role not in _LEFT_OUT


_VIEWS = frozenset({Role.ALL, Role.FLAGGED, Role.IMPORTANT})
_LEFT_OUT = frozenset({Role.DRAFTS, Role.TRASH, Role.JUNK}) | _VIEWS
_SPECIAL_USE = MappingProxyType(
    {
        "\\SENT": Role.SENT,
        "\\DRAFTS": Role.DRAFTS,
        "\\TRASH": Role.TRASH,
        "\\JUNK": Role.JUNK,
        "\\SPAM": Role.JUNK,  # of XLIST, the forerunner
        "\\ALL": Role.ALL,
        "\\ALLMAIL": Role.ALL,
        "\\FLAGGED": Role.FLAGGED,
        "\\STARRED": Role.FLAGGED,
        "\\IMPORTANT": Role.IMPORTANT,  # RFC 8457
    }
)
_UNSELECTABLE = frozenset({"\\NOSELECT", "\\NONEXISTENT"})
_STATUS = "MESSAGES UIDNEXT UIDVALIDITY"
_MOD_SEQ = "HIGHESTMODSEQ"
_INBOX = b"INBOX"


class FolderStatus(NamedTuple):
    """The numbers of `Folder`, 0 where the server does not tell them."""

    messages: int
    uid_next: int
    uid_validity: int
    mod_seq: int


async def read_folders(session: Session, *, mod_seqs: bool = False) -> list[Folder]:
    """
    Return the folders that can be opened, by name; one command where the server knows LIST-STATUS.

    *mod_seqs*: with their `mod_seq`, which the server must know (CONDSTORE).

    Raises:
        ProviderFailure: As `Session.command`; also when the inbox cannot be read.
    """
    if session.selected is not None:
        await session.command("NOOP")  # else the open folder counts what it held before
    items = f"{_STATUS} {_MOD_SEQ}" if mod_seqs else _STATUS
    options = []
    if "SPECIAL-USE" in session.capabilities:
        options.append("SPECIAL-USE")
    has_status = "LIST-STATUS" in session.capabilities
    if has_status:
        options.append(f"STATUS ({items})")
    suffix = [f"RETURN ({' '.join(options)})"] if options else []
    root = session.root or MailboxRoot()
    # The inbox of a shared mailbox may be what the others are below.
    pattern = root.prefix[:-1] + b"*" if root.is_shared else b"*"
    reply = await session.command('LIST ""', astring(pattern), *suffix)
    listed, states = await reply.parsed(lambda reply: (_listed(reply, root), _states(reply)))
    for name in listed:
        if name not in states and (not has_status or name == root.inbox):
            state = await _state(session, name, items)
            states |= {} if state is None else {name: state}
    roles = _roles(listed)
    has_labels = GMAIL in session.capabilities
    return [
        Folder(
            name=name,
            role=roles[name],
            prefix=root.prefix,
            is_store=roles[name] is Role.ALL and (has_labels or listed[name].is_below_gmail),
            **states[name]._asdict(),
        )
        for name in listed
        if name in states
    ]


def default_folders(folders: Sequence[Folder]) -> list[Folder]:
    """Return the folders that a listing without a label covers: each message is in one of them."""
    stores = [folder for folder in folders if folder.is_store]
    return stores or [folder for folder in folders if folder.is_searched]


class _Listed(NamedTuple):
    """A folder as LIST shows it: the role that a flag names, and the names from the top down."""

    role: Role | None
    path: tuple[str, ...]

    @property
    def is_below_gmail(self) -> bool:
        return len(self.path) > 1 and fold_label(self.path[0]) in GMAIL_ROOTS


def _roles(listed: Mapping[bytes, _Listed]) -> dict[bytes, Role | None]:
    """Return the roles of folders by name; usual names count for roles that no flag names."""
    flagged = {folder.role for folder in listed.values()}
    roles = {}
    for name, folder in listed.items():
        usual = role_of(folder.path) if folder.role is None else None
        roles[name] = folder.role if usual in flagged else usual or folder.role
    return roles


def _listed(reply: Reply, root: MailboxRoot) -> dict[bytes, _Listed]:
    listed: dict[bytes, _Listed] = {}
    for pieces in reply.untagged:
        if not pieces[0].upper().startswith(b"* LIST "):
            continue
        values = parsing.parse([pieces[0][len(b"* LIST ") :], *pieces[1:]])
        if len(values) < _LIST_VALUES or not isinstance(values[0], list):
            continue
        separator, name = values[1:3]
        flags = {parsing.text(flag).upper() for flag in values[0]}
        if not isinstance(name, bytes) or flags & _UNSELECTABLE:
            continue
        role = next((_SPECIAL_USE[flag] for flag in flags if flag in _SPECIAL_USE), None)
        name = _canonical(name)
        if not root.holds(name):
            continue
        path = modified_utf7.decode(root.relative(name)).split(parsing.text(separator) or "\0")
        listed[name] = _Listed(Role.INBOX if name == root.inbox else role, tuple(path))
    return {name: listed[name] for name in sorted(listed)[:MAX_FOLDERS]}


_LIST_VALUES = 3  # flags, separator, name


def _canonical(name: bytes) -> bytes:
    """Return a name as it is compared: that of the inbox in any letter case (RFC 3501, 5.1)."""
    return _INBOX if name.upper() == _INBOX else bytes(name)


def _states(reply: Reply) -> dict[bytes, FolderStatus]:
    states = {}
    for pieces in reply.untagged:
        if not pieces[0].upper().startswith(b"* STATUS "):
            continue
        values = parsing.parse([pieces[0][len(b"* STATUS ") :], *pieces[1:]])
        if len(values) > 1 and isinstance(values[0], bytes) and isinstance(values[1], list):
            states[_canonical(values[0])] = _numbers(values[1])
    return states


def _numbers(items: list[Value]) -> FolderStatus:
    by_name = {
        parsing.text(name).upper(): parsing.number(value)
        for name, value in zip(items[::2], items[1::2], strict=False)
    }
    return FolderStatus(*(by_name.get(name, 0) for name in (*_STATUS.split(), _MOD_SEQ)))


async def _state(session: Session, name: bytes, items: str) -> FolderStatus | None:
    """
    Return the state of a folder; None where it is listed, and may not be opened.

    Raises:
        Broken: It is the inbox.
    """
    try:
        states = _states(await session.command("STATUS", astring(name), f"({items})"))
    except Rejected:
        states = {}
    state = states.get(name) or await examine_status(session, name)  # some have no STATUS
    if state is None and name == _INBOX:
        raise Broken(_NO_INBOX, failed=True)
    return state


_NO_INBOX = "The mail server does not open the inbox."


async def examine_status(session: Session, name: bytes) -> FolderStatus | None:
    """Open a folder for reading, and return its state at that moment; None where it is refused."""
    session.selected = None
    try:
        reply = await session.command("EXAMINE", astring(name))
    except Rejected:
        return None
    lines = [pieces[0] for pieces in reply.untagged]
    numbers = (
        next((int(match[1]) for line in lines if (match := pattern.match(line))), 0)
        for pattern in _OPENED
    )
    return FolderStatus(*numbers)


_OPENED = (
    re.compile(rb"\* (\d{1,10}) EXISTS", re.IGNORECASE),
    re.compile(rb"\* OK \[UIDNEXT (\d{1,10})\]", re.IGNORECASE),
    re.compile(rb"\* OK \[UIDVALIDITY (\d{1,10})\]", re.IGNORECASE),
    re.compile(rb"\* OK \[HIGHESTMODSEQ (\d{1,19})\]", re.IGNORECASE),
)
