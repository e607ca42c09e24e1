"""
The folders of an account, their roles, and how many messages they hold.

A server that announces SPECIAL-USE (RFC 6154) names the roles; on another one they follow from the
usual names. Names stay as the server spells them, in modified UTF-7.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from providers.connectors.imap import modified_utf7
from providers.failures import ProviderFailure
from providers.imap import parsing
from providers.imap.parsing import Value
from providers.imap.session import Reply, Session, astring
from providers.search_text import fold_label

MAX_FOLDERS = 1000


class Role(StrEnum):
    """The use of a folder; the values are the words of `MailQuery.label`."""

    INBOX = "INBOX"
    SENT = "SENT"
    DRAFTS = "DRAFT"
    TRASH = "TRASH"
    JUNK = "SPAM"
    ALL = "ALL"  # a view of all folders, in which every message stands again


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """
    A folder with messages.

    Attributes:
        name: In the server's spelling.
        role: None for a folder of the owner's own.
        messages, uid_next, uid_validity: Its STATUS.
    """

    name: bytes
    role: Role | None
    messages: int
    uid_next: int
    uid_validity: int

    @property
    def label(self) -> str:
        """The label that messages in the folder have."""
        return self.role.value if self.role is not None else modified_utf7.decode(self.name)

    @property
    def is_searched(self) -> bool:
        """Whether a listing without a label covers the folder."""
        return self.role not in _LEFT_OUT


_LEFT_OUT = frozenset({Role.DRAFTS, Role.TRASH, Role.JUNK, Role.ALL})
_SPECIAL_USE = MappingProxyType(
    {
        "\\SENT": Role.SENT,
        "\\DRAFTS": Role.DRAFTS,
        "\\TRASH": Role.TRASH,
        "\\JUNK": Role.JUNK,
        "\\ALL": Role.ALL,
    }
)
_USUAL_NAMES = MappingProxyType(
    {
        "sent": Role.SENT,
        "sent items": Role.SENT,
        "sent messages": Role.SENT,
        "drafts": Role.DRAFTS,
        "trash": Role.TRASH,
        "deleted items": Role.TRASH,
        "deleted messages": Role.TRASH,
        "junk": Role.JUNK,
        "junk e-mail": Role.JUNK,
        "spam": Role.JUNK,
    }
)
_UNSELECTABLE = frozenset({"\\NOSELECT", "\\NONEXISTENT"})
_STATUS = "MESSAGES UIDNEXT UIDVALIDITY"


async def read_folders(session: Session) -> list[Folder]:
    """
    Return the folders that can be opened, by name; one command where the server knows LIST-STATUS.

    Raises:
        ProviderFailure: As `Session.command`.
    """
    if session.selected is not None:
        await session.command("NOOP")  # else the open folder counts what it held before
    options = []
    if "SPECIAL-USE" in session.capabilities:
        options.append("SPECIAL-USE")
    has_status = "LIST-STATUS" in session.capabilities
    if has_status:
        options.append(f"STATUS ({_STATUS})")
    suffix = [f"RETURN ({' '.join(options)})"] if options else []
    reply = await session.command('LIST "" "*"', *suffix)
    listed, states = await reply.parsed(lambda reply: (_listed(reply), _states(reply)))
    if not has_status:
        for name in listed:
            states |= await _state(session, name)
    knows_roles = any(role not in (None, Role.INBOX) for role in listed.values())
    folders = []
    for name in listed:
        state = states.get(name)
        if state is None:
            continue
        role = listed[name]
        if role is None and not knows_roles:
            role = _USUAL_NAMES.get(fold_label(_last_part(modified_utf7.decode(name))))
        messages, uid_next, uid_validity = state
        folders.append(
            Folder(
                name=name,
                role=role,
                messages=messages,
                uid_next=uid_next,
                uid_validity=uid_validity,
            )
        )
    return folders


def _listed(reply: Reply) -> dict[bytes, Role | None]:
    listed: dict[bytes, Role | None] = {}
    for pieces in reply.untagged:
        if not pieces[0].upper().startswith(b"* LIST "):
            continue
        values = parsing.parse([pieces[0][len(b"* LIST ") :], *pieces[1:]])
        if len(values) < _LIST_VALUES or not isinstance(values[0], list):
            continue
        name = values[2]
        flags = {parsing.text(flag).upper() for flag in values[0]}
        if not isinstance(name, bytes) or flags & _UNSELECTABLE:
            continue
        role = next((_SPECIAL_USE[flag] for flag in flags if flag in _SPECIAL_USE), None)
        listed[bytes(name)] = Role.INBOX if name.upper() == b"INBOX" else role
    return {name: listed[name] for name in sorted(listed)[:MAX_FOLDERS]}


_LIST_VALUES = 3  # flags, separator, name


def _states(reply: Reply) -> dict[bytes, tuple[int, int, int]]:
    states = {}
    for pieces in reply.untagged:
        if not pieces[0].upper().startswith(b"* STATUS "):
            continue
        values = parsing.parse([pieces[0][len(b"* STATUS ") :], *pieces[1:]])
        if len(values) > 1 and isinstance(values[0], bytes) and isinstance(values[1], list):
            states[bytes(values[0])] = _numbers(values[1])
    return states


def _numbers(items: list[Value]) -> tuple[int, int, int]:
    by_name = {
        parsing.text(name).upper(): parsing.number(value)
        for name, value in zip(items[::2], items[1::2], strict=False)
    }
    return by_name.get("MESSAGES", 0), by_name.get("UIDNEXT", 0), by_name.get("UIDVALIDITY", 0)


async def _state(session: Session, name: bytes) -> dict[bytes, tuple[int, int, int]]:
    try:
        return _states(await session.command("STATUS", astring(name), f"({_STATUS})"))
    except ProviderFailure:
        if not session.is_open:
            raise
        return {}  # listed, and may not be opened


def _last_part(name: str) -> str:
    return re.split(r"[./]", name)[-1]
