"""All records of the account, and the creation of new ones with id, position and time."""

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

# First id of each kind of record, in the ranges of real ids.
_FIRST_IDS = {"board": 4_210_400_000, "item": 9_120_330_000, "update": 2_870_140_000}
_FIRST_OTHER_ID = 51_300_000


class BoardStore:
    """
    The boards of one account.

    Attributes:
        boards, items, updates, users, teams, tags, workspaces, folders: Tables of the records.
    """

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        """*clock* returns seconds since the epoch."""
        self.database = database
        self._clock = clock
        self.boards = DocumentTable(database, "boards.board", Board)
        self.items = DocumentTable(database, "boards.item", Item)
        self.updates = DocumentTable(database, "boards.update", Update)
        self.users = DocumentTable(database, "boards.user", User)
        self.teams = DocumentTable(database, "boards.team", Team)
        self.tags = DocumentTable(database, "boards.tag", Tag)
        self.workspaces = DocumentTable(database, "boards.workspace", Workspace)
        self.folders = DocumentTable(database, "boards.folder", Folder)

    def seconds(self) -> float:
        """Return the current time, in seconds since the epoch."""
        return self._clock()

    def now(self) -> str:
        """Return the current time in the API's format."""
        return format_time(self._clock())

    def new_id(self, kind: str) -> str:
        """Return a new id for a record of *kind*: "board", "item", "update", "user", …."""
        return str(
            _FIRST_IDS.get(kind, _FIRST_OTHER_ID) + self.database.next(f"boards.{kind}") * 17
        )

    # Changes

    def add_board(self, name: str, *, creator_id: str, **fields: Any) -> Board:
        """Add a board with a name column and at least one group; *fields* are others of `Board`."""
        created_at = fields.pop("created_at", None) or self.now()
        board_id = self.new_id("board")
        name_column = Column(id="name", title="Name", type="name")
        board = Board(
            id=board_id,
            position=float(board_id),
            name=name,
            creator_id=creator_id,
            created_at=created_at,
            updated_at=fields.pop("updated_at", None) or created_at,
            columns=(name_column, *fields.pop("columns", ())),
            groups=fields.pop("groups", ()) or (Group(id="topics", title="Group Title"),),
            subscribers=fields.pop("subscribers", ()) or (creator_id,),
            **fields,
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
        """Add an item at the end of its group; as a sub-item when *parent* is the id of an item."""
        item_id, created_at = self.new_id("item"), created_at or self.now()
        item = Item(
            id=item_id,
            owner=board.id,
            position=float(item_id),
            name=name,
            group=group,
            creator_id=creator_id,
            updater_id=creator_id,
            created_at=created_at,
            updated_at=updated_at or created_at,
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
        update_id, created_at = self.new_id("update"), created_at or self.now()
        update = Update(
            id=update_id,
            owner=item_id,
            position=float(update_id),
            body=body,
            creator_id=creator_id,
            created_at=created_at,
            updated_at=created_at,
            parent=parent,
        )
        return self.updates.put(update)

    def change_item(self, item: Item, *, by: str, **fields: Any) -> Item:
        """Store *item* with changed fields; *by* is the id of the user who changed it now."""
        changes = {"updated_at": self.now(), "updater_id": by, **fields}
        return self.items.put(msgspec.structs.replace(item, **changes))

    def change_board(self, board: Board, **fields: Any) -> Board:
        """Store *board* with changed fields, changed now."""
        return self.boards.put(msgspec.structs.replace(board, updated_at=self.now(), **fields))

    def get_or_create_tag(self, name: str) -> Tag:
        """Return the tag of this name (any case); create it when there is none."""
        for tag in self.tags.all():
            if tag.name.casefold() == name.casefold():
                return tag
        tag_id = self.new_id("tag")
        color = GROUP_COLORS[int(tag_id) % len(GROUP_COLORS)]
        return self.tags.put(Tag(id=tag_id, position=float(tag_id), name=name, color=color))

    # Queries

    def user_by_email(self, email: str) -> User | None:
        """Return the user with this address, else the first user; None without any users."""
        users = self.users.all()
        return next((user for user in users if user.email == email), users[0] if users else None)

    def board_items(self, board: Board) -> tuple[Item, ...]:
        """Return a board's active items by group and position."""
        positions = {group.id: position for position, group in enumerate(board.groups)}
        active = [item for item in self.items.of(board.id) if item.state == "active"]
        return tuple(sorted(active, key=lambda item: positions.get(item.group, len(positions))))

    def subitems(self, item: Item) -> tuple[Item, ...]:
        """Return an item's active sub-items by position."""
        board = self.subitems_board(item.owner)
        if board is None:
            return ()
        return tuple(subitem for subitem in self.board_items(board) if subitem.parent == item.id)

    def subitems_board(self, board_id: str) -> Board | None:
        """Return the board that holds the sub-items of a board."""
        board = self.boards.find(board_id)
        columns = () if board is None else board.columns
        subitems_column = next((column for column in columns if column.type == "subtasks"), None)
        if subitems_column is None:
            return None
        ids = subitems_column.settings.get("boardIds") or [None]
        return self.boards.find(str(ids[0]))

    def comments(self, item_id: str) -> tuple[Update, ...]:
        """Return an item's comments without replies, newest first."""
        comments = [update for update in self.updates.of(item_id) if update.parent is None]
        return tuple(sorted(comments, key=_creation, reverse=True))

    def replies(self, update: Update) -> tuple[Update, ...]:
        """Return the replies to a comment, oldest first."""
        replies = [reply for reply in self.updates.of(update.owner) if reply.parent == update.id]
        return tuple(sorted(replies, key=_creation))


def format_time(seconds: float) -> str:
    """Format seconds since the epoch as the API does: ISO 8601, UTC, whole seconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _creation(update: Update) -> tuple[str, str]:
    return (update.created_at, update.id)
