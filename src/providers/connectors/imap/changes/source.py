"""The port of changes of one account: docs/spec/upstream/imap.md#what-has-changed."""

from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet

from providers.connectors.imap.changes import folder_changes, positions, waiting
from providers.connectors.imap.changes.positions import Begun, FolderState, Position
from providers.connectors.imap.folders import Folder, default_folders, read_folders
from providers.connectors.imap.message_ids import Location, MessageIds
from providers.connectors.imap.sign_in import Connection
from providers.failures import Inaccessible, TooMuch
from providers.imap.session import Session
from providers.ports.changes import Change, ChangeSlice, Kind, PositionExpired

MAX_OPENED = 100  # folders that are opened for a position


class ImapChanges:
    """
    The history of one account; implements `providers.ports.changes.ChangePort`.

    It is that of the listing without filters. A message that is moved to another folder has
    another id there: one is gone and one created.
    """

    undivided: AbstractSet[str] = frozenset({"is_read", "labels"})  # what flags tell

    def __init__(self, connect: Callable[[], Awaitable[Connection]]) -> None:
        self._connect = connect

    async def now(self) -> str:
        connection = await self._connect()
        return await connection.read(_now, pool=connection.memory.feed)

    async def since(self, position: str, *, limit: int) -> ChangeSlice:
        before = positions.read(position)
        connection = await self._connect()

        async def run(session: Session) -> ChangeSlice:
            return await _Slice(connection.ids, before, limit).read(session)

        return await connection.read(run, pool=connection.memory.feed)

    async def wait_for_change(self, seconds: float) -> bool:
        """
        Wait until the inbox changes; return False when *seconds* have passed without a change.

        The first call returns True at once, and so does a call after the connection was lost: what
        came before is not known. Calls for one account run one after another. Other folders are
        not waited for.

        Raises:
            ProviderFailure: The server cannot be reached, refuses, or has no IDLE.
        """
        connection = await self._connect()
        return await connection.read(
            lambda session: waiting.wait(session, seconds), pool=connection.memory.idle
        )


async def _now(session: Session) -> str:
    folders = await _listed(session)
    states = [
        FolderState(
            name=positions.digest(folder.name),
            uid_validity=folder.uid_validity,
            uid_next=folder.uid_next,
            messages=folder.messages,
            mod_seq=folder.mod_seq,
        )
        for folder in folders
    ]
    if not await folder_changes.tells_vanished(session):
        if sum(folder.messages > 0 for folder in folders) > MAX_OPENED:
            raise TooMuch
        states = [await _with_uids(session, folder) for folder in folders]
        await folder_changes.leave(session)
    return await positions.write(Position(folders=tuple(states)))


async def _with_uids(session: Session, folder: Folder) -> FolderState:
    empty = _empty(folder)
    if not folder.messages:
        return FolderState(
            name=empty.name,
            uid_validity=empty.uid_validity,
            uid_next=folder.uid_next,
            mod_seq=folder.mod_seq,
            uids=(),
        )
    return (await folder_changes.read(session, folder, empty))[0]


async def _listed(session: Session) -> list[Folder]:
    """
    Return the folders of the listing.

    Raises:
        Inaccessible: The server does not tell what has changed.
    """
    if not {"CONDSTORE", "QRESYNC"} & session.capabilities:  # HIGHESTMODSEQ alone says nothing
        raise Inaccessible(folder_changes.NOT_TOLD, status=501)
    await folder_changes.leave(session)
    folders = default_folders(await read_folders(session, mod_seqs=True))
    for folder in folders:
        folder_changes.require(folder)
    return folders


def _empty(folder: Folder) -> FolderState:
    """Return the state of a folder of which nothing has been told."""
    return FolderState(name=positions.digest(folder.name), uid_validity=folder.uid_validity)


class _Slice:
    """The changes since a position that are read at once."""

    def __init__(self, ids: MessageIds, before: Position, limit: int) -> None:
        self._ids = ids
        self._begun = before.begun
        self._states = {state.name: state for state in before.folders}
        self._limit = limit
        self._changes: list[Change] = []
        self._after: list[FolderState] = []
        self._more = False

    async def read(self, session: Session) -> ChangeSlice:
        begun, self._begun = self._begun, None
        folders = await _listed(session)
        left = self._states.keys() - {positions.digest(folder.name) for folder in folders}
        is_begun_left = begun is not None and begun.then.name in left
        if is_begun_left or any(self._states[name].messages for name in left):
            raise PositionExpired  # the folder is gone, renamed, or trash by now
        for folder in folders:
            empty = _empty(folder)
            before = self._states.get(empty.name, empty)
            its_begun = begun if begun and begun.then.name == before.name else None
            if its_begun is None and folder_changes.is_unchanged(before, folder):
                self._after.append(before)
            elif len(self._changes) < self._limit:
                await self._read_folder(session, folder, before, its_begun)
            else:
                self._more = True
                self._after.append(before)
                self._begun = its_begun or self._begun
        await folder_changes.leave(session)
        position = Position(folders=tuple(self._after), begun=self._begun)
        return ChangeSlice(
            changes=self._changes, position=await positions.write(position), more=self._more
        )

    async def _read_folder(
        self, session: Session, folder: Folder, before: FolderState, begun: Begun | None
    ) -> None:
        after, events = await folder_changes.read(session, folder, before)
        if begun is not None:
            after = begun.then
            self._more = self._more or not folder_changes.is_unchanged(after, folder)
            events = [event for event in events if event.uid > begun.last_uid]
        room = self._limit - len(self._changes)
        for event in events[:room]:
            location = Location(folder.name, before.uid_validity, event.uid)
            attributes = None if event.kind is Kind.CHANGED else frozenset[str]()
            self._changes.append(
                Change(id=self._ids.message_id(location), kind=event.kind, attributes=attributes)
            )
        if len(events) > room:
            self._more = True
            self._begun = Begun(last_uid=events[room - 1].uid, then=after)
            after = before
        self._after.append(after)
