"""Changes of one folder since a state of it (RFC 7162)."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import NamedTuple

from providers.connectors.imap.changes import positions
from providers.connectors.imap.changes.positions import FolderState
from providers.connectors.imap.folder_index import search
from providers.connectors.imap.folders import GMAIL, Folder, FolderStatus, examine_status
from providers.failures import Broken, Inaccessible
from providers.imap import sequence_sets
from providers.imap.session import OpenFolder, Rejected, Session
from providers.ports.changes import Kind, PositionExpired
from providers.turns import in_thread

NOT_TOLD = "is with a mail server that does not tell what has changed"
_QRESYNC = "QRESYNC"
_MANY = 10_000  # numbers; a millisecond of work
_MAX_SET = 7_000  # characters: RFC 7162, 4 asks servers to take lines of 8192
_MAX_VANISHED = 1_000_000
_MAX_ROWS = 50_000
_MAX_OTHERS = 10_000  # UIDs that were gone before, and are told as well


class Event(NamedTuple):
    """Change of one message of a folder."""

    uid: int
    kind: Kind


class _View(NamedTuple):
    """
    Messages of a folder by their UIDs.

    Attributes:
        present: All that are there.
        changed: Those that are newer than the state, or whose flags are.
        hidden: Drafts that the listing leaves out.
    """

    present: AbstractSet[int]
    changed: AbstractSet[int]
    hidden: AbstractSet[int]


def require(folder: Folder | FolderStatus) -> None:
    """
    Check that the server tells the changes of a folder.

    Raises:
        Inaccessible: It does not; HIGHESTMODSEQ 0 of an empty folder is usual.
    """
    if not folder.uid_validity or not folder.uid_next or (folder.messages and not folder.mod_seq):
        raise Inaccessible(NOT_TOLD, status=501)


def is_unchanged(state: FolderState, folder: Folder) -> bool:
    """Return whether a folder is as it was."""
    before = state.messages, state.uid_next, state.uid_validity, state.mod_seq
    return before == (folder.messages, folder.uid_next, folder.uid_validity, folder.mod_seq)


async def tells_vanished(session: Session) -> bool:
    """Return whether the server tells the UIDs of messages that are gone; switch that on once."""
    if session.enabled is None:
        session.enabled = frozenset()
        if _QRESYNC in session.capabilities:
            with suppress(Rejected):
                reply = await session.command(f"ENABLE {_QRESYNC}")
                words = b" ".join(reply.texts("ENABLED")).decode("ascii", "replace")
                session.enabled = frozenset(words.upper().split())
    return _QRESYNC in session.enabled


async def read(
    session: Session, folder: Folder, before: FolderState
) -> tuple[FolderState, list[Event]]:
    """
    Return the state of a folder and its changes since *before*, by UID.

    What happens while the folder is read is told now or later, some of it twice.

    Raises:
        PositionExpired: The folder was made anew or restored, or the server does not tell which of
            its messages are gone.
        ProviderFailure: As `Session.command` and `require`.
    """
    has_vanished = await tells_vanished(session)  # before a folder is opened: RFC 5161, 3.1
    opened = await examine_status(session, folder.name)
    if opened is None:
        raise Broken
    session.selected = OpenFolder(folder.name, is_writable=False, uid_validity=opened.uid_validity)
    require(opened)
    is_emptied = not opened.messages and not opened.mod_seq  # some forget the number then
    is_older = opened.uid_next < before.uid_next or opened.mod_seq < before.mod_seq
    if opened.uid_validity != before.uid_validity or (is_older and not is_emptied):
        raise PositionExpired
    view = await _view(session, folder, before)
    gone = frozenset[int]()
    if before.uids is None:
        gone = await _vanished(session, before, view, is_told=has_vanished)
    is_long = len(view.present) + before.messages > _MANY

    def compare() -> tuple[FolderState, list[Event]]:
        listed = view.present - view.hidden
        state = FolderState(
            name=before.name,
            uid_validity=opened.uid_validity,
            uid_next=opened.uid_next,
            messages=sum(uid < opened.uid_next for uid in view.present),
            mod_seq=opened.mod_seq,
            uids=None if has_vanished else positions.pack(listed),
        )
        return state, sorted(_events(before, view, listed, gone))

    return await in_thread(compare, is_long=is_long)


async def leave(session: Session) -> None:
    """Close the open folder: the numbers of an open one stay as they were when it was opened."""
    if session.selected is not None:
        # Opened for reading, a folder loses nothing by CLOSE: RFC 3501, 6.4.2.
        await session.command("UNSELECT" if "UNSELECT" in session.capabilities else "CLOSE")
        session.selected = None


async def _view(session: Session, folder: Folder, before: FolderState) -> _View:
    changed: list[int] = []
    if before.mod_seq:
        try:
            changed = await search(session, [f"MODSEQ {before.mod_seq + 1}"])
        except Rejected as failure:
            raise Inaccessible(NOT_TOLD, status=501) from failure
    present = await search(session, ["ALL"])
    has_hidden = folder.is_store and GMAIL in session.capabilities
    hidden = await search(session, ["DRAFT"]) if has_hidden else []
    return _View(frozenset(present), frozenset(changed), frozenset(hidden))


def _events(
    before: FolderState, view: _View, listed: AbstractSet[int], gone: AbstractSet[int]
) -> Iterator[Event]:
    if before.uids is None:
        created = {uid for uid in listed if uid >= before.uid_next}
        gone |= {uid for uid in view.changed & view.hidden if uid < before.uid_next}
    else:
        old = positions.unpack(before.uids)
        created = {*listed - old}
        gone = old - listed
    for kind, uids in (
        (Kind.CREATED, created),
        (Kind.CHANGED, (view.changed & listed) - created),
        (Kind.GONE, gone),
    ):
        for uid in uids:
            yield Event(uid, kind)


async def _vanished(
    session: Session, before: FolderState, view: _View, *, is_told: bool
) -> frozenset[int]:
    """
    Return the messages of *before* that are gone.

    A server may tell UIDs that were gone before (RFC 7162, 3.2.6); fewer than are missing, or very
    many others, mean that it has forgotten which.
    """
    missing = before.messages - sum(uid < before.uid_next for uid in view.present)
    if missing == 0:
        return frozenset()
    if missing < 0 or not is_told:
        raise PositionExpired
    asked = _asked(before.uid_next - 1, view.changed)
    try:
        reply = await session.command(
            f"UID FETCH {asked} (UID) (CHANGEDSINCE {before.mod_seq} VANISHED)"
        )
    except Rejected as failure:  # some proxies do not know what the server behind them announces
        session.enabled = frozenset()
        raise PositionExpired from failure
    vanished: set[int] = set()
    for line in reply.texts("VANISHED"):
        try:
            text = line.rpartition(b" ")[2].decode("ascii")
            for part in sequence_sets.read(text, most=_MAX_VANISHED):
                vanished.update(range(part.start, min(part.stop, before.uid_next)))
        except ValueError as failure:
            raise PositionExpired from failure
    gone = vanished - view.present  # some servers tell messages that are there
    if not missing <= len(gone) <= missing + _MAX_OTHERS:
        raise PositionExpired
    return frozenset(gone)


def _asked(last: int, changed: AbstractSet[int]) -> str:
    """
    Return the UIDs of which those that are gone are asked for.

    Messages that have changed would be told as well. `*` would end at the last message that is
    there, and leave out what is gone behind it.

    Raises:
        PositionExpired: Too many have changed.
    """
    low, parts = 1, list[str]()
    for first, end in sequence_sets.ranges(uid for uid in changed if uid <= last):
        parts += [f"{low}:{first - 1}"] * (low < first)
        low = end + 1
    text = ",".join([*parts, *[f"{low}:{last}"] * (low <= last)])
    if 0 < len(text) <= _MAX_SET:
        return text
    if len(changed) > _MAX_ROWS:
        raise PositionExpired
    return f"1:{last}"
