"""What the wire shows of each type: a resolver per field that is not simply a record's own."""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from zlib import crc32

import orjson

from sandbox.boards import paging
from sandbox.boards.column_values import Cell
from sandbox.boards.errors import Refused
from sandbox.boards.queries import account_shown
from sandbox.boards.records import Board, Column, Group, Item, Tag, Update, User, Workspace
from sandbox.boards.resolver_helpers import Info, Resolver, by_ids, desk_of, paged
from sandbox.boards.store import ACCOUNT_ID

_TAGS = re.compile(r"<br\s*/?>|</p>")
_MARKUP = re.compile(r"<[^>]*>")


# Board


def _groups(board: Board, _: Info, *, ids: Sequence[str] | None = None) -> list[dict[str, Any]]:
    shown = [
        {"board": board, "group": group, "position": f"{place * 65536}.0"}
        for place, group in enumerate(board.groups, 1)
        if not group.deleted and not group.archived
    ]
    if ids is None:
        return shown
    return [one for one in shown if _group_of(one).id in set(ids)]


def _group_of(source: dict[str, Any]) -> Group:
    group: Group = source["group"]
    return group


def _columns(
    board: Board, _: Info, *, ids: Sequence[str] | None = None, types: Sequence[str] | None = None
) -> list[Column]:
    found = [column for column in board.columns if not column.archived]
    if ids is not None:
        found = [column for column in found if column.id in set(ids)]
    return found if types is None else [one for one in found if one.type in set(types)]


def _board_items_page(
    board: Board,
    info: Info,
    *,
    limit: int = 25,
    cursor: str | None = None,
    query_params: Mapping[str, Any] | None = None,
    **_more: Any,
) -> dict[str, Any]:
    return _items_page(info, board, limit=limit, cursor=cursor, query=query_params)


def _group_items_page(
    source: dict[str, Any],
    info: Info,
    *,
    limit: int = 25,
    cursor: str | None = None,
    query_params: Mapping[str, Any] | None = None,
    **_more: Any,
) -> dict[str, Any]:
    group = _group_of(source).id
    return _items_page(
        info, source["board"], group=group, limit=limit, cursor=cursor, query=query_params
    )


def _items_page(
    info: Info,
    board: Board,
    *,
    limit: int,
    cursor: str | None,
    query: Mapping[str, Any] | None,
    group: str | None = None,
) -> dict[str, Any]:
    if cursor and query:
        raise Refused(
            "InvalidArgumentException", "cursor and query_params cannot be used together."
        )
    if cursor:
        return paging.next_page(desk_of(info), cursor, limit)
    return paging.first_page(desk_of(info), board.id, group=group, query=query or {}, limit=limit)


def _workspace(board: Board, info: Info) -> Workspace | None:
    return desk_of(info).store.workspaces.find(board.workspace_id or "")


def _board_tags(board: Board, info: Info) -> list[Tag]:
    return by_ids(desk_of(info).store.tags.all(), board.tags)


def _board_updates(
    board: Board, info: Info, *, limit: int = 25, page: int = 1, **_more: Any
) -> list[Update]:
    desk_of(info).need("updates:read")
    store = desk_of(info).store
    every = [comment for item in store.items.of(board.id) for comment in store.comments(item.id)]
    every.sort(key=lambda one: (one.created_at, one.id), reverse=True)
    return paged(every, limit, page)


# Item


def _item_board(item: Item, info: Info) -> Board | None:
    return desk_of(info).store.boards.find(item.owner)


def _item_group(item: Item, info: Info) -> dict[str, Any] | None:
    board = desk_of(info).store.boards.find(item.owner)
    found = [] if board is None else _groups(board, info, ids=[item.group])
    return found[0] if found else None


def _column_values(
    item: Item, info: Info, *, ids: Sequence[str] | None = None, types: Sequence[str] | None = None
) -> list[Cell]:
    store = desk_of(info).store
    board = store.boards.find(item.owner)
    if board is None:
        return []
    columns = [
        column for column in _columns(board, info, ids=ids, types=types) if column.type != "name"
    ]
    return [Cell(store=store, board=board, item=item, column=column) for column in columns]


def _item_updates(
    item: Item, info: Info, *, limit: int = 25, page: int = 1, ids: Sequence[str] | None = None
) -> list[Update]:
    desk_of(info).need("updates:read")
    return paged(by_ids(desk_of(info).store.comments(item.id), ids), limit, page)


def _parent(item: Item, info: Info) -> Item | None:
    return desk_of(info).store.items.find(item.parent or "")


def _item_url(item: Item, info: Info) -> str:
    return f"{desk_of(info).places}/boards/{item.owner}/pulses/{item.id}"


# Column, Update, User


def _settings(column: Column, _: Info) -> str:
    return orjson.dumps(column.settings).decode()


def _text_body(update: Update, _: Info) -> str:
    return html.unescape(_MARKUP.sub("", _TAGS.sub("\n", update.body))).strip()


def _creator(record: Board | Item | Update, info: Info) -> User | None:
    return desk_of(info).store.users.find(record.creator_id)


def _user_of(ids: Iterable[str], info: Info) -> list[User]:
    return by_ids(desk_of(info).store.users.all(), list(ids))


def _null(_: Any, __: Info) -> None:
    return None


def _none(_: Any, __: Info) -> list[Any]:
    return []


RESOLVERS: Mapping[str, Mapping[str, Resolver]] = MappingProxyType(
    {
        "Board": {
            "board_folder_id": lambda board, _: board.folder_id,
            "board_kind": lambda board, _: board.kind,
            "columns": _columns,
            "creator": _creator,
            "folder": lambda board, info: desk_of(info).store.folders.find(board.folder_id or ""),
            "groups": _groups,
            "item_terminology": lambda *_: "item",
            "items_count": lambda board, info: len(desk_of(info).store.board_items(board)),
            "items_limit": lambda *_: 10_000,
            "items_page": _board_items_page,
            "owner": _creator,
            "owners": lambda board, info: _user_of([board.creator_id], info),
            "permissions": lambda *_: "everyone",
            "subscribers": lambda board, info: _user_of(board.subscribers, info),
            "tags": _board_tags,
            "top_group": lambda board, info: _groups(board, info)[0],
            "updates": _board_updates,
            "url": lambda board, info: f"{desk_of(info).places}/boards/{board.id}",
            "workspace": _workspace,
        },
        "Column": {
            "revision": lambda column, _: f"{crc32(column.id.encode()):08x}",
            "settings": _settings,
            "settings_str": _settings,
            "width": _null,
        },
        "Group": {
            "archived": lambda one, _: _group_of(one).archived,
            "color": lambda one, _: _group_of(one).color,
            "deleted": lambda one, _: _group_of(one).deleted,
            "id": lambda one, _: _group_of(one).id,
            "items_page": _group_items_page,
            "title": lambda one, _: _group_of(one).title,
        },
        "Item": {
            "assets": lambda *_, **__: [],
            "board": _item_board,
            "column_values": _column_values,
            "creator": _creator,
            "email": lambda item, _: f"pulse-{item.id}@use1.boards.example",
            "group": _item_group,
            "parent_item": _parent,
            "relative_link": lambda item, _: f"/boards/{item.owner}/pulses/{item.id}",
            "subitems": lambda item, info: list(desk_of(info).store.sub_items(item)),
            "subscribers": lambda item, info: _user_of([item.creator_id], info),
            "updates": _item_updates,
            "url": _item_url,
        },
        "Update": {
            "assets": _none,
            "creator": _creator,
            "edited_at": lambda update, _: update.updated_at,
            "item": lambda update, info: desk_of(info).store.items.find(update.owner),
            "item_id": lambda update, _: update.owner,
            "original_creation_date": _null,
            "replies": lambda update, info: list(desk_of(info).store.replies(update)),
            "text_body": _text_body,
        },
        "Reply": {
            "assets": _none,
            "creator": _creator,
            "edited_at": lambda update, _: update.updated_at,
            "kind": lambda *_: "reply",
            "text_body": _text_body,
        },
        "User": {
            "account": lambda _, info: account_shown(info),
            "account_id": lambda *_: str(ACCOUNT_ID),
            "country_code": lambda *_: "SE",
            "is_deleted": lambda *_: False,
            "is_email_confirmed": lambda *_: True,
            "mobile_phone": lambda user, _: user.phone,
            "teams": lambda user, info, **_: by_ids(
                desk_of(info).store.teams.all(), list(user.teams)
            ),
            "time_zone_identifier": lambda user, _: user.time_zone,
            "url": lambda user, info: f"{desk_of(info).places}/users/{user.id}",
            "utc_hours_diff": lambda *_: 1.0,
            "enabled": lambda user, _: user.status == "ACTIVE",
            "is_admin": lambda user, _: user.kind == "admin",
            "is_guest": lambda user, _: user.kind == "guest",
            "is_pending": lambda user, _: user.status == "PENDING",
            "is_view_only": lambda user, _: user.kind == "view_only",
        },
        "Team": {
            "is_guest": lambda *_: False,
            "users": lambda team, info, **_: [
                one for one in desk_of(info).store.users.all() if team.id in one.teams
            ],
        },
        "Folder": {
            "children": lambda folder, info: [
                one for one in desk_of(info).store.boards.all() if one.folder_id == folder.id
            ],
            "owner_id": _null,
            "parent": _null,
            "workspace": lambda folder, info: desk_of(info).store.workspaces.find(folder.owner),
        },
        "Workspace": {
            "is_default_workspace": lambda workspace, _: workspace.position == 0,
            "state": lambda *_: "active",
        },
    }
)
