"""Messages that the gateway puts into folders: copies of sent mail, drafts, what is deleted."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from providers.connectors.imap import reading
from providers.connectors.imap.folder_index import search
from providers.connectors.imap.folders import Folder, Role, read_folders
from providers.connectors.imap.message_ids import Location
from providers.failures import Impossible, Missing, ReadOnlyGrant, Stale
from providers.imap import parsing
from providers.imap.parsing import Row
from providers.imap.rights import MEANINGS, read_rights
from providers.imap.session import Literal, Rejected, Reply, Session, astring
from providers.mail.compose import SerializedMessage

_COPIED = re.compile(rb"\[COPYUID (\d{1,10}) \d{1,10} (\d{1,10})\]", re.IGNORECASE)
_APPENDED = re.compile(rb"\[APPENDUID (\d{1,10}) (\d{1,10})\]", re.IGNORECASE)
_NEW_NAMES = {Role.SENT: b"Sent", Role.DRAFTS: b"Drafts", Role.TRASH: b"Trash"}
_APPEND_SECONDS = 30.0
_BYTES_PER_SECOND = 500_000  # of a message that is stored; so much longer it may last
_NO_EXPUNGE = "The mail server can neither move nor expunge a single message."


@dataclass(frozen=True, slots=True)
class Folders:
    """The folders of an account at one moment."""

    all: Sequence[Folder]

    def of(self, role: Role) -> Folder | None:
        """Return the folder with a role."""
        return next((folder for folder in self.all if folder.role is role), None)

    def named(self, name: bytes) -> Folder | None:
        """Return the folder with a name, in the server's spelling."""
        return next((folder for folder in self.all if folder.name == name), None)


async def folders(session: Session) -> Folders:
    """Read the folders of the account."""
    return Folders(await read_folders(session))


async def require_rights(session: Session, folder: bytes, letters: str) -> None:
    """
    Check the rights of the account in a folder of a shared mailbox, where the server tells them.

    Raises:
        ReadOnlyGrant: One is missing; nothing was written.
    """
    if session.root is None or not session.root.is_shared:
        return
    rights = await read_rights(session, folder)
    missing = [letter for letter in letters if rights is not None and letter not in rights]
    if missing:
        named = ", ".join(f'"{letter}" ({MEANINGS[letter]})' for letter in missing)
        noun = "right" if len(missing) == 1 else "rights"
        raise ReadOnlyGrant(
            f"The account lacks the {noun} {named} in this folder of the shared mailbox.",
            status=403,
        )


async def may_move_copy(session: Session, inbox: Folder | None, sent: Folder | None) -> bool:
    """Return whether the account may move a copy of sent mail from the inbox to the sent mail."""
    try:
        for folder, letters in ((inbox, "rte"), (sent, "i")):
            if folder is not None:
                await require_rights(session, folder.name, letters)
    except ReadOnlyGrant:
        return False
    return inbox is not None


async def for_role(session: Session, known: Folders, role: Role) -> bytes:
    """
    Return the name of the folder for sent mail, drafts or trash, which is made where it is missing.

    Raises:
        Impossible: There is none, and the server makes none.
    """
    folder = known.of(role)
    if folder is not None:
        return folder.name
    name = (session.root.prefix if session.root else b"") + _NEW_NAMES[role]
    try:
        await session.command("CREATE", astring(name))
    except Rejected as failure:
        raise Impossible(f"The mailbox has no folder for {_USES[role]}.") from failure
    return name


_USES = {Role.SENT: "sent mail", Role.DRAFTS: "drafts", Role.TRASH: "trash"}


async def find(
    session: Session, folder: bytes, message_id: str, *, from_uid: int = 1
) -> Location | None:
    """
    Return the newest message in a folder with a Message-ID; None without one.

    *from_uid* is the least UID to look at, which makes large folders cheap.
    """
    opened = await _synchronized(session, folder)
    header = astring(f"<{message_id}>")
    criteria = [f"UID {from_uid}:*", "HEADER", "MESSAGE-ID", header]
    uids = [uid for uid in await search(session, criteria) if uid >= from_uid]
    return Location(folder, opened, max(uids)) if uids else None


async def append(
    session: Session, folder: bytes, message: SerializedMessage, flags: str
) -> Location | None:
    """Store a message in a folder; None: the server does not report its location."""
    seconds = _APPEND_SECONDS + message.size / _BYTES_PER_SECOND
    literal = Literal(message.size, message.chunks)
    reply = await session.command("APPEND", astring(folder), flags, literal, seconds=seconds)
    return _location(reply, _APPENDED, folder)


async def replace_draft(
    session: Session, location: Location, message: SerializedMessage
) -> Location:
    """
    Store a message in place of a draft; return its location.

    Raises:
        ReadOnlyGrant: The account lacks a right in the folder of drafts.
        Stale: The draft was changed or removed meanwhile; then only the other version stays.
        Impossible: The server cannot remove one message without touching others, or does not tell
            where the new one is.
    """
    if "UIDPLUS" not in session.capabilities:
        raise Impossible(_NO_EXPUNGE)
    try:
        await reading.fetch_message(session, location, "UID FLAGS")
    except Missing as failure:
        raise Stale(status=412) from failure
    await require_rights(session, location.folder, "ite")
    appended = await append(session, location.folder, message, "(\\Draft \\Seen)")
    if appended is None:
        raise Impossible("The mail server does not tell where it stored the draft.")
    await open_synchronized(session, location)
    if not await set_once(session, location.uid, DELETED):
        await expunge(session, appended.uid)
        raise Stale(status=412)
    await session.command(f"UID EXPUNGE {location.uid}")
    return appended


async def set_once(session: Session, uid: int, flag: str) -> bool:
    """
    Set a flag of a message of the open folder; False: it had the flag or `DELETED`, or is gone.

    Where the server announces CONDSTORE (RFC 7162), nothing comes between the look and the change.
    """
    is_atomic = "CONDSTORE" in session.capabilities
    for _ in range(_SET_ATTEMPTS):
        row = (await session.fetch(str(uid), "UID FLAGS MODSEQ" if is_atomic else "UID FLAGS")).get(
            uid, Row()
        )
        flags = row.get("FLAGS")
        names = {parsing.text(name).lower() for name in flags} if isinstance(flags, list) else None
        if names is None or not names.isdisjoint({flag.lower(), DELETED.lower()}):
            return False
        mod_sequence = row.get("MODSEQ")
        if not is_atomic or not isinstance(mod_sequence, list):
            await session.command(f"UID STORE {uid} +FLAGS.SILENT ({flag})")
            return True
        unchanged = f"(UNCHANGEDSINCE {parsing.number(mod_sequence[0])})"
        reply = await session.command(f"UID STORE {uid} {unchanged} +FLAGS.SILENT ({flag})")
        if uid in reply.rows() and b"[MODIFIED" not in reply.status.upper():
            return True
    return False


DELETED = "\\Deleted"
_SET_ATTEMPTS = 3  # another flag such as \Seen may change in between


async def move(session: Session, uid: int, target: bytes) -> Location | None:
    """
    Move a message of the folder that is open; None: the server does not report the new location.

    Raises:
        Missing: It is gone.
        Impossible: The server cannot move one message without touching others.
    """
    if "MOVE" in session.capabilities:
        reply = await session.command(f"UID MOVE {uid}", astring(target))
        location = _location(reply, _COPIED, target)
        if location is None and "UIDPLUS" in session.capabilities:
            raise Missing
        return location
    if "UIDPLUS" not in session.capabilities:
        raise Impossible(_NO_EXPUNGE)
    location = await copy(session, uid, target)
    if location is None:
        raise Missing
    await expunge(session, uid)
    return location


async def copy(session: Session, uid: int, target: bytes) -> Location | None:
    """Copy a message of the open folder; None: the server does not report the new location."""
    reply = await session.command(f"UID COPY {uid}", astring(target))
    return _location(reply, _COPIED, target)


async def expunge(session: Session, uid: int) -> None:
    """
    Remove a message of the folder that is open, for good.

    Raises:
        Impossible: The server cannot remove one message without touching others.
    """
    if "UIDPLUS" not in session.capabilities:
        raise Impossible(_NO_EXPUNGE)
    await session.command(f"UID STORE {uid} +FLAGS.SILENT (\\Deleted)")
    await session.command(f"UID EXPUNGE {uid}")


async def mark_read(session: Session, location: Location) -> None:
    """Mark a message as read."""
    await reading.open_folder_of(session, location, writable=True)
    await session.command(f"UID STORE {location.uid} +FLAGS.SILENT (\\Seen)")


async def open_synchronized(session: Session, location: Location) -> None:
    """
    Open the folder of a location for writing, as it is now.

    Raises:
        Missing: The folder is gone, or its UIDs mean other messages now.
    """
    if await _synchronized(session, location.folder) != location.uid_validity:
        raise Missing


async def _synchronized(session: Session, folder: bytes) -> int:
    """Open a folder for writing; return its UIDVALIDITY."""
    selected = session.selected
    opened = await reading.open_folder(session, folder, writable=True)
    if opened is selected:
        await session.command("NOOP")  # else it shows what others have removed
    return opened.uid_validity


def _location(reply: Reply, pattern: re.Pattern[bytes], folder: bytes) -> Location | None:
    for line in (reply.status, *reply.texts("OK")):
        code = pattern.search(line)
        if code is not None:
            return Location(folder, int(code[1]), int(code[2]))
    return None
