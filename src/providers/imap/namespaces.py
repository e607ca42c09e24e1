"""
The folders of one mailbox among those that a login sees (RFC 2342).

A login sees the person's own folders, and those of others that are opened to the person. An own
mailbox leaves out what belongs to others; a shared mailbox is one place below their namespaces.
"""

from collections.abc import Iterator
from typing import NamedTuple

from providers.failures import NOT_SHARED, Inaccessible
from providers.imap import parsing
from providers.imap.parsing import Value
from providers.imap.replies import MailboxRoot, Reply
from providers.imap.session import Rejected, Session, astring

_UNSELECTABLE = frozenset({"\\NOSELECT", "\\NONEXISTENT"})
_LIST_VALUES = 3  # flags, separator, name


class Namespace(NamedTuple):
    """Folders whose names begin with *prefix*; *separator* is between their levels."""

    prefix: bytes
    separator: bytes


class Namespaces(NamedTuple):
    """Those of the person, of other users, and what is shared with all."""

    personal: tuple[Namespace, ...] = ()
    others: tuple[Namespace, ...] = ()
    shared: tuple[Namespace, ...] = ()


async def own_mailbox(session: Session) -> MailboxRoot:
    """Return the mailbox of the login itself."""
    namespaces = await read_namespaces(session)
    own = [each.prefix for each in namespaces.personal]
    foreign = {each.prefix for each in (*namespaces.others, *namespaces.shared)}
    # A prefix of the person's own folders, or none, tells nothing.
    return MailboxRoot(
        foreign=tuple(
            sorted(
                prefix
                for prefix in foreign
                if prefix and not any(name.startswith(prefix) for name in own)
            )
        )
    )


async def shared_mailbox(session: Session, address: str, username: str) -> MailboxRoot:
    """
    Return the mailbox of *address* that is shared with the login *username*.

    Raises:
        Inaccessible: There is none, or the login has no right in it.
    """
    namespaces = await read_namespaces(session)
    below = [each for each in (*namespaces.others, *namespaces.shared) if each.separator]
    for namespace in below:
        for name in _names(address, username, namespace.separator):
            root = await _root(session, namespace.prefix + name, namespace.separator)
            if root is not None:
                return root
    raise Inaccessible(NOT_SHARED, status=404)


async def read_namespaces(session: Session) -> Namespaces:
    """Return the namespaces of the server; none where it knows no NAMESPACE, or answers it not."""
    if "NAMESPACE" not in session.capabilities:
        return Namespaces()
    try:
        reply = await session.command("NAMESPACE")
    except Rejected:  # some servers announce what they do not know
        return Namespaces()
    for content in _answers(reply, b"* NAMESPACE "):
        kinds = [tuple(_entries(value)) for value in content[:3]]
        return Namespaces(*kinds) if len(kinds) == 3 else Namespaces()
    return Namespaces()


def _entries(value: Value) -> Iterator[Namespace]:
    for entry in value if isinstance(value, list) else ():
        if isinstance(entry, list) and entry and isinstance(entry[0], bytes):
            separator = entry[1] if len(entry) > 1 else None
            yield Namespace(
                bytes(entry[0]), bytes(separator) if isinstance(separator, bytes) else b""
            )


def _names(address: str, username: str, separator: bytes) -> Iterator[bytes]:
    """Yield how servers name the folder of a user: by the address, or by its local part."""
    local, _, domain = address.partition("@")
    own_domain = username.partition("@")[2]
    is_of_server = own_domain.casefold() in {"", domain.casefold()}
    for name in (address, *((local,) if is_of_server else ())):
        written = name.encode("ascii", "ignore")
        if not name.isascii() or not written or {*b"*%"} & {*written}:
            continue
        yield written
        if separator in written:
            yield written.replace(separator, b"^")  # as Cyrus writes it


async def _root(session: Session, name: bytes, separator: bytes) -> MailboxRoot | None:
    """Return the mailbox below a name, if the login sees one of its folders."""
    prefix = name + separator
    folders = await _list(session, name)
    children = await _list(session, prefix + b"%")
    below = {child for child in children if child.startswith(prefix) and child != prefix}
    inboxes = [child for child in below if child[len(prefix) :].upper() == b"INBOX"]
    if not folders.get(name, False) and not below:
        return None
    # Dovecot shows the inbox below the name, Cyrus by the name itself.
    return MailboxRoot(inbox=inboxes[0] if inboxes else name, prefix=prefix)


async def _list(session: Session, pattern: bytes) -> dict[bytes, bool]:
    """Return the folders of a pattern, and whether each can be opened."""
    try:
        reply = await session.command('LIST ""', astring(pattern))
    except Rejected:
        return {}
    listed = {}
    for values in _answers(reply, b"* LIST "):
        if len(values) >= _LIST_VALUES and isinstance(values[0], list):
            flags = {parsing.text(flag).upper() for flag in values[0]}
            if isinstance(values[2], bytes):
                listed[bytes(values[2])] = not flags & _UNSELECTABLE
    return listed


def _answers(reply: Reply, head: bytes) -> Iterator[list[Value]]:
    for pieces in reply.untagged:
        if pieces[0][: len(head)].upper() == head:
            yield parsing.parse([pieces[0][len(head) :], *pieces[1:]])
