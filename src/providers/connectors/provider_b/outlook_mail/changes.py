"""
The history of a mailbox by delta queries: docs/spec/upstream/outlook-mail.md#delta-queries.

Each folder has a delta of its own, and one more tells of folders; all are asked in one batch. A
message that a folder tells as removed may be in the listing all the same: it was moved, perhaps
back to where it was. So such messages are read.
"""

import time
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from providers.connectors.provider_b import batch
from providers.connectors.provider_b.account_cache import PREFER
from providers.connectors.provider_b.batch import Target
from providers.connectors.provider_b.graph_user import GraphUser
from providers.connectors.provider_b.outlook_mail.followed_folders import MEMBERS, Position, Stage
from providers.connectors.provider_b.outlook_mail.response_types import DeltaPage
from providers.failures import NOT_SHARED, Broken, Inaccessible, Missing, Refused
from providers.ids import is_provider_b_id
from providers.ports.changes import Change, ChangeSlice, Kind, PositionExpired

FOLLOWED_MS = 30 * 86_400_000  # received before a position, and followed from it on
MAX_PAGE = 250  # messages; larger pages of large mailboxes time out
MAX_ROUNDS = 25  # of one page of each folder: a filter returns 5,000 messages
# The clocks of gateway and service differ, and a message arrives some time after it was received.
ARRIVAL_MS = 60_000
_OUTSIDE = ("deleteditems", "junkemail")
_DRAFTS = "drafts"
_TREE = ""  # in place of the id of a folder
_EXPIRED = frozenset({"syncstatenotfound", "syncstateinvalid", "resyncrequired"})
_UNDIVIDED = frozenset({"is_read", "labels", "importance"})


class OutlookChanges:
    """Changes of one mailbox; implements `providers.ports.changes.ChangePort`."""

    undivided: AbstractSet[str] = _UNDIVIDED

    def __init__(self, user: GraphUser) -> None:
        self._user = user

    async def now(self) -> str:
        """Read the ids of all messages that are followed, which the service then knows as told."""
        now_ms = _now_ms()
        for oldest_ms in (now_ms - FOLLOWED_MS, now_ms):
            state = await self._begun(oldest_ms, now_ms)
            if state is not None:
                return state.encode()
        raise Broken

    async def since(self, position: str, *, limit: int) -> ChangeSlice:
        state = Position.decode(position)
        is_new_round, started = not state.is_open, _now_ms()
        asked = state.asked()
        pages = await self._pages(state, asked, -(-limit // len(asked)))
        changes = await self._changes(state, pages)
        if is_new_round and (changes or state.is_open):
            state.round_ms = started
        if not state.is_open:
            state.known_ms = state.round_ms
        return ChangeSlice(changes=changes, position=state.encode(), more=state.is_open)

    async def _begun(self, oldest_ms: int, now_ms: int) -> Position | None:
        """Read the first round of every folder; None: it has too many pages."""
        well_known = await batch.folders(self._user, (*_OUTSIDE, _DRAFTS))
        state = Position(
            outside=tuple(well_known[name].id for name in _OUTSIDE if name in well_known),
            drafts=well_known[_DRAFTS].id if _DRAFTS in well_known else "",
            oldest_ms=oldest_ms,
            known_ms=now_ms,
            round_ms=now_ms,
        )
        for _ in range(MAX_ROUNDS):
            try:
                pages = await self._pages(state, state.asked(), MAX_PAGE)
            except PositionExpired as failure:  # a folder is gone meanwhile, or the whole mailbox
                if not self._user.shared:
                    raise Missing from failure
                raise Inaccessible(NOT_SHARED, status=404) from failure
            _apply(state, pages)
            if not state.is_open:
                return state
        return None

    async def _pages(
        self, state: Position, names: Sequence[str], size: int
    ) -> Mapping[str, DeltaPage]:
        """
        Read the next page of each folder, the tree first.

        Raises:
            PositionExpired: The service does not know a folder, or what was told of it, any more.
        """
        most = min(max(size, 1), MAX_PAGE)
        headers = {"prefer": f"{PREFER['prefer']}, odata.maxpagesize={most}"}
        root = (*self._user.root, "mailFolders")
        targets = {
            name: Target(
                (*root, name, "messages", "delta") if name else (*root, "delta"),
                state.params(name),
                headers,
            )
            for name in names
        }
        try:
            pages = await batch.deltas(self._user, targets)
        except Refused as failure:
            if failure.word.casefold() not in _EXPIRED:
                raise
            raise PositionExpired from failure
        if pages.keys() != targets.keys():
            raise PositionExpired
        return {name: pages[name] for name in names}

    async def _changes(self, state: Position, pages: Mapping[str, DeltaPage]) -> Sequence[Change]:
        """Apply pages, and return what they tell."""
        times, doubtful = _apply(state, pages)
        if doubtful:
            hidden = state.hidden()
            read = await batch.messages(self._user, doubtful, MEMBERS)
            for name in doubtful:
                message = read.get(name)
                folder = message.parent_folder_id if message and not message.is_draft else None
                is_listed = folder in state.folders and folder not in hidden
                times[name] = message.received_ms if message and is_listed else None
        recent_ms = state.known_ms - ARRIVAL_MS
        return [_change(name, received_ms, recent_ms) for name, received_ms in times.items()]


def _apply(
    state: Position, pages: Mapping[str, DeltaPage]
) -> tuple[dict[str, int | None], Sequence[str]]:
    """
    Move *state* behind pages.

    Returns:
        The received times of messages in the listing by their ids, and the ids of messages that
        may have left it.
    """
    times: dict[str, int | None] = {}
    doubtful: dict[str, None] = {}
    for name, page in pages.items():
        if name == _TREE:
            state.grow(page)
            continue
        is_listed = state.folders[name].stage is Stage.IN_LISTING
        for entry in page.value:
            if not is_provider_b_id(entry.id):
                raise Broken
            if entry.removed is not None or not is_listed:
                doubtful[entry.id] = None
            elif not entry.is_draft:
                times[entry.id] = entry.received_ms
        state.advance(name, page)
    return times, list(doubtful)


def _change(name: str, received_ms: int | None, recent_ms: int) -> Change:
    if received_ms is None:
        return Change(id=name, kind=Kind.GONE)
    if received_ms >= recent_ms:
        return Change(id=name, kind=Kind.CREATED)
    return Change(id=name, kind=Kind.CHANGED, attributes=None)


def _now_ms() -> int:
    return int(time.time() * 1000)
