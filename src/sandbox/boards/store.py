"""Everything the board provider keeps, and what makes a new record: its id, its place, its time."""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from sandbox.boards.records import (
    Board,
    Column,
    Folder,
    Group,
    Item,
    Tag,
    Team,
    Update,
    User,
    Workspace,
)
from sandbox.storage.database import Database
from sandbox.storage.documents import DocumentTable

ACCOUNT_ID = 7_310_442
GROUP_COLORS = ("#579bfc", "#00c875", "#fdab3d", "#a25ddc", "#e2445c", "#0086c0", "#9d50dd")

# Where the ids of each kind begin; the wire's ids tell nothing but look like this.
_FIRST = {"board": 4_210_400_000, "item": 9_120_330_000, "update": 2_870_140_000}
_OTHER = 51_300_000


class BoardStore:
    """
    The boards of one account.

    Attributes:
        boards, items, updates, users, teams, tags, workspaces, folders: Their records.
    """

    def __init__(self, db: Database, *, clock: Callable[[], float] = time.time) -> None:
        """*clock* tells seconds since the epoch."""
        self._db = db
        self._clock = clock
        self.boards = DocumentTable(db, "boards.board", Board)
        self.items = DocumentTable(db, "boards.item", Item)
        self.updates = DocumentTable(db, "boards.update", Update)
        self.users = DocumentTable(db, "boards.user", User)
        self.teams = DocumentTable(db, "boards.team", Team)
        self.tags = DocumentTable(db, "boards.tag", Tag)
        self.workspaces = DocumentTable(db, "boards.workspace", Workspace)
        self.folders = DocumentTable(db, "boards.folder", Folder)

    @property
    def db(self) -> Database:
        """The store behind."""
        return self._db

    def seconds(self) -> float:
        """Return the time, in seconds since the epoch."""
        return self._clock()

    def now(self) -> str:
        """Return the time as the wire writes it."""
        return wire_time(self._clock())

    def new_id(self, kind: str) -> str:
        """Return a new id; kinds are those of the records."""
        return str(_FIRST.get(kind, _OTHER) + self._db.next(f"boards.{kind}") * 17)

    # What is kept together

    def add_board(self, name: str, *, creator_id: str, **rest: Any) -> Board:
        """Add a board with a name column and at least one group; *rest* are fields of `Board`."""
        at = rest.pop("created_at", None) or self.now()
        board_id = self.new_id("board")
        columns = rest.pop("columns", ())
        named = (Column(id="name", title="Name", type="name"), *columns)
        board = Board(
            id=board_id,
            position=float(board_id),
            name=name,
            creator_id=creator_id,
            created_at=at,
            updated_at=rest.pop("updated_at", None) or at,
            columns=named,
            groups=rest.pop("groups", ()) or (Group(id="topics", title="Group Title"),),
            subscribers=rest.pop("subscribers", ()) or (creator_id,),
            **rest,
        )
        return self.boards.put(board)

    def add_item(
        self,
        board: Board,
        name: str,
        *,
        group: str,
        creator_id: str,
        values: Mapping[str, Any] | None = None,
        parent: str | None = None,
        created_at: str | None = None,
        updated_at: str | None = None,
    ) -> Item:
        """Add an item at the end of its group, and to the sub-items of *parent* if it has one."""
        item_id, at = self.new_id("item"), created_at or self.now()
        item = Item(
            id=item_id,
            owner=board.id,
            position=float(item_id),
            name=name,
            group=group,
            creator_id=creator_id,
            updater_id=creator_id,
            created_at=at,
            updated_at=updated_at or at,
            values=dict(values or {}),
            parent=parent,
        )
        return self.items.put(item)

    def add_update(
        self,
        item_id: str,
        body: str,
        *,
        creator_id: str,
        parent: str | None = None,
        created_at: str | None = None,
    ) -> Update:
        """Add a comment to an item, or a reply to one of its comments."""
        update_id, at = self.new_id("update"), created_at or self.now()
        update = Update(
            id=update_id,
            owner=item_id,
            position=float(update_id),
            body=body,
            creator_id=creator_id,
            created_at=at,
            updated_at=at,
            parent=parent,
        )
        return self.updates.put(update)

    def change_item(self, item: Item, *, by: str, **changed: Any) -> Item:
        """Keep *item* with these fields changed, by a user, now."""
        new = msgspec.structs.replace(item, updated_at=self.now(), updater_id=by, **changed)
        return self.items.put(new)

    def change_board(self, board: Board, **changed: Any) -> Board:
        """Keep *board* with these fields changed, now."""
        return self.boards.put(msgspec.structs.replace(board, updated_at=self.now(), **changed))

    def tag(self, name: str) -> Tag:
        """Return the tag of this name, making it when there is none."""
        for tag in self.tags.all():
            if tag.name.casefold() == name.casefold():
                return tag
        tag_id = self.new_id("tag")
        color = GROUP_COLORS[int(tag_id) % len(GROUP_COLORS)]
        return self.tags.put(Tag(id=tag_id, position=float(tag_id), name=name, color=color))

    # What is asked for together

    def user_named(self, email: str) -> User | None:
        """Return the user with this address, or the account's first."""
        users = self.users.all()
        return next((user for user in users if user.email == email), users[0] if users else None)

    def board_items(self, board: Board) -> tuple[Item, ...]:
        """Return a board's active items, group by group, each in its order."""
        places = {group.id: place for place, group in enumerate(board.groups)}
        active = [item for item in self.items.of(board.id) if item.state == "active"]
        return tuple(sorted(active, key=lambda item: places.get(item.group, len(places))))

    def sub_items(self, item: Item) -> tuple[Item, ...]:
        """Return an item's active sub-items, in their order."""
        below = self.sub_board(item.owner)
        if below is None:
            return ()
        return tuple(
            board_item for board_item in self.board_items(below) if board_item.parent == item.id
        )

    def sub_board(self, board_id: str) -> Board | None:
        """Return the board that holds the sub-items of a board."""
        board = self.boards.find(board_id)
        column = None if board is None else _first(board, "subtasks")
        if column is None:
            return None
        ids = column.settings.get("boardIds") or [None]
        return self.boards.find(str(ids[0]))

    def comments(self, item_id: str) -> tuple[Update, ...]:
        """Return an item's comments without their replies, newest first."""
        ours = [one for one in self.updates.of(item_id) if one.parent is None]
        return tuple(sorted(ours, key=lambda our: (our.created_at, our.id), reverse=True))

    def replies(self, update: Update) -> tuple[Update, ...]:
        """Return the replies to a comment, oldest first."""
        ours = [one for one in self.updates.of(update.owner) if one.parent == update.id]
        return tuple(sorted(ours, key=lambda our: (our.created_at, our.id)))


def wire_time(seconds: float) -> str:
    """Write seconds since the epoch as the wire does."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _first(board: Board, kind: str) -> Column | None:
    return next((column for column in board.columns if column.type == kind), None)
