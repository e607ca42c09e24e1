"""Records of the boards API. Ids are numbers written as text; times are ISO 8601 with ``Z``."""

from typing import Any

import msgspec

from sandbox.storage.documents import Document


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A column; *settings* is the decoded ``settings_str``."""

    id: str
    title: str
    type: str
    description: str | None = None
    settings: dict[str, Any] = {}
    archived: bool = False


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """A group of a board; its position is that in `Board.groups`."""

    id: str
    title: str
    color: str = "#579bfc"
    archived: bool = False
    deleted: bool = False


class Board(Document, frozen=True, kw_only=True):
    """
    A board.

    Attributes:
        kind: "public", "private" (visible to its subscribers only) or "share".
        type: "board", "document", or "sub_items_board" for the sub-items of another board.
    """

    name: str
    description: str | None = None
    state: str = "active"
    kind: str = "public"
    type: str = "board"
    workspace_id: str | None = None
    folder_id: str | None = None
    creator_id: str
    subscribers: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    groups: tuple[Group, ...] = ()
    tags: tuple[str, ...] = ()
    created_at: str
    updated_at: str

    def column(self, column_id: str) -> Column | None:
        """Return the column with this id."""
        return next((column for column in self.columns if column.id == column_id), None)

    def group(self, group_id: str) -> Group | None:
        """Return the group with this id, unless it was deleted."""
        return next(
            (group for group in self.groups if group.id == group_id and not group.deleted), None
        )


class Item(Document, frozen=True, kw_only=True):
    """
    An item; its owner is its board.

    Attributes:
        values: Column id to the decoded ``value``, for columns that are not empty.
        parent: Id of the item that this one is a sub-item of.
    """

    name: str
    group: str
    state: str = "active"
    creator_id: str
    created_at: str
    updated_at: str
    updater_id: str
    values: dict[str, Any] = msgspec.field(default_factory=dict)
    parent: str | None = None


class Update(Document, frozen=True, kw_only=True):
    """A comment on an item (its owner), or a reply to the comment *parent*; *body* is HTML."""

    body: str
    creator_id: str
    created_at: str
    updated_at: str
    parent: str | None = None


class User(Document, frozen=True, kw_only=True):
    """A user of the account."""

    name: str
    email: str
    title: str = ""
    phone: str | None = None
    location: str | None = None
    time_zone: str = "Europe/Stockholm"
    kind: str = "member"  # "admin", "member", "guest" or "view_only"
    status: str = "ACTIVE"
    teams: tuple[str, ...] = ()
    created_at: str


class Team(Document, frozen=True, kw_only=True):
    """A team; its members are the users that name it in `User.teams`."""

    name: str


class Tag(Document, frozen=True, kw_only=True):
    """A tag of the account."""

    name: str
    color: str


class Workspace(Document, frozen=True, kw_only=True):
    """A workspace; *kind* is "open" or "closed"."""

    name: str
    description: str | None = None
    kind: str = "open"
    created_at: str


class Folder(Document, frozen=True, kw_only=True):
    """A folder of a workspace (its owner)."""

    name: str
    created_at: str
