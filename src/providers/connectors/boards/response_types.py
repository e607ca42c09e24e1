"""Structs that responses are decoded into; members that were not selected are None."""

import msgspec


class Named(msgspec.Struct, frozen=True):
    id: str | None = None
    name: str | None = None


class Group(msgspec.Struct, frozen=True):
    id: str
    title: str = ""
    color: str | None = None
    archived: bool | None = None
    deleted: bool | None = None


class Column(msgspec.Struct, frozen=True):
    id: str
    title: str = ""
    type: str = "unsupported"
    settings_str: str | None = None
    archived: bool | None = None


class Tag(msgspec.Struct, frozen=True):
    id: str
    name: str = ""
    color: str | None = None


class Board(msgspec.Struct, frozen=True):
    id: str
    name: str | None = None
    description: str | None = None
    state: str | None = None
    type: str | None = None
    workspace_id: str | None = None
    workspace: Named | None = None
    board_folder_id: str | None = None
    folder: Named | None = None
    url: str | None = None
    items_count: int | None = None
    groups: tuple[Group | None, ...] | None = None
    columns: tuple[Column | None, ...] | None = None
    tags: tuple[Tag | None, ...] | None = None
    items_page: "ItemPage | None" = None


class Option(msgspec.Struct, frozen=True):
    label: str | None = None
    name: str | None = None


class ColumnValue(msgspec.Struct, frozen=True):
    id: str
    type: str = "unsupported"
    text: str | None = None
    value: str | None = None
    display_value: str | None = None
    column: Column | None = None
    values: tuple[Option, ...] | None = None
    tags: tuple[Option, ...] | None = None


class Update(msgspec.Struct, frozen=True):
    id: str
    body: str | None = None
    text_body: str | None = None
    created_at: str | None = None
    creator: Named | None = None


class Item(msgspec.Struct, frozen=True):
    id: str
    name: str | None = None
    state: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    url: str | None = None
    board: Board | None = None
    group: Group | None = None
    parent_item: "Item | None" = None
    column_values: tuple[ColumnValue, ...] | None = None
    updates: tuple[Update, ...] | None = None
    subitems: "tuple[Item | None, ...] | None" = None


class ItemPage(msgspec.Struct, frozen=True):
    cursor: str | None = None
    items: tuple[Item, ...] = ()


class User(msgspec.Struct, frozen=True):
    id: str
    name: str | None = None
    email: str | None = None


class BoardsData(msgspec.Struct, frozen=True):
    boards: tuple[Board | None, ...] | None = None
    users: tuple[User | None, ...] | None = None


class UsersData(msgspec.Struct, frozen=True):
    users: tuple[User | None, ...] | None = None


class ItemsData(msgspec.Struct, frozen=True):
    items: tuple[Item | None, ...] | None = None


class NextItemsData(msgspec.Struct, frozen=True):
    next_items_page: ItemPage | None = None
    boards: tuple[Board | None, ...] | None = None
