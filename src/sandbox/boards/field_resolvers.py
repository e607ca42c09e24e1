"""Resolvers of the fields of each type, where the field is not an attribute of the record."""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from zlib import crc32

import orjson

from sandbox.boards import paging
from sandbox.boards.column_values import Cell
from sandbox.boards.errors import ApiError
from sandbox.boards.queries import account_fields
from sandbox.boards.records import Board, Column, Group, Item, Tag, Update, User, Workspace
from sandbox.boards.resolver_helpers import Info, Resolver, context_of, filter_by_ids, paginate
from sandbox.boards.store import ACCOUNT_ID

_LINE_BREAKS = re.compile(r"<br\s*/?>|</p>")
_MARKUP = re.compile(r"<[^<>]*>")


# Board


def _groups(board: Board, _: Info, *, ids: Sequence[str] | None = None) -> list[dict[str, Any]]:
    return [
        {"board": board, "group": group, "position": f"{number * 65536}.0"}
        for number, group in enumerate(board.groups, 1)
        if not group.deleted and not group.archived and (ids is None or group.id in ids)
    ]


def _group_of(source: dict[str, Any]) -> Group:
    group: Group = source["group"]
    return group


def _columns(
    board: Board, _: Info, *, ids: Sequence[str] | None = None, types: Sequence[str] | None = None
) -> list[Column]:
    return [
        column
        for column in board.columns
        if not column.archived
        and (ids is None or column.id in ids)
        and (types is None or column.type in types)
    ]


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
        raise ApiError(
            "InvalidArgumentException", "cursor and query_params cannot be used together."
        )
    if cursor:
        return paging.next_page(context_of(info), cursor, limit)
    return paging.first_page(
        context_of(info), board.id, group=group, query=query or {}, limit=limit
    )


def _workspace(board: Board, info: Info) -> Workspace | None:
    return context_of(info).store.workspaces.find(board.workspace_id or "")


def _board_tags(board: Board, info: Info) -> list[Tag]:
    return filter_by_ids(context_of(info).store.tags.all(), board.tags)


def _board_updates(
    board: Board, info: Info, *, limit: int = 25, page: int = 1, **_more: Any
) -> list[Update]:
    context_of(info).require_scope("updates:read")
    store = context_of(info).store
    comments = [comment for item in store.items.of(board.id) for comment in store.comments(item.id)]
    comments.sort(key=lambda comment: (comment.created_at, comment.id), reverse=True)
    return paginate(comments, limit, page)


# Item


def _item_board(item: Item, info: Info) -> Board | None:
    return context_of(info).store.boards.find(item.owner)


def _item_group(item: Item, info: Info) -> dict[str, Any] | None:
    board = context_of(info).store.boards.find(item.owner)
    groups = [] if board is None else _groups(board, info, ids=[item.group])
    return groups[0] if groups else None


def _column_values(
    item: Item, info: Info, *, ids: Sequence[str] | None = None, types: Sequence[str] | None = None
) -> list[Cell]:
    store = context_of(info).store
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
    context_of(info).require_scope("updates:read")
    return paginate(filter_by_ids(context_of(info).store.comments(item.id), ids), limit, page)


def _parent(item: Item, info: Info) -> Item | None:
    return context_of(info).store.items.find(item.parent or "")


def _item_url(item: Item, info: Info) -> str:
    return f"{context_of(info).web_url}/boards/{item.owner}/pulses/{item.id}"


# Column, Update, User


def _settings(column: Column, _: Info) -> str:
    return orjson.dumps(column.settings).decode()


def _text_body(update: Update, _: Info) -> str:
    return html.unescape(_MARKUP.sub("", _LINE_BREAKS.sub("\n", update.body))).strip()


def _creator(record: Board | Item | Update, info: Info) -> User | None:
    return context_of(info).store.users.find(record.creator_id)


def _users_by_id(ids: Iterable[str], info: Info) -> list[User]:
    return filter_by_ids(context_of(info).store.users.all(), list(ids))


def _none(_: Any, __: Info) -> None:
    return None


def _empty_list(_: Any, __: Info) -> list[Any]:
    return []


RESOLVERS: Mapping[str, Mapping[str, Resolver]] = MappingProxyType(
    {
        "Board": {
            "board_folder_id": lambda board, _: board.folder_id,
            "board_kind": lambda board, _: board.kind,
            "columns": _columns,
            "creator": _creator,
            "folder": lambda board, info: context_of(info).store.folders.find(
                board.folder_id or ""
            ),
            "groups": _groups,
            "item_terminology": lambda *_: "item",
            "items_count": lambda board, info: len(context_of(info).store.board_items(board)),
            "items_limit": lambda *_: 10_000,
            "items_page": _board_items_page,
            "owner": _creator,
            "owners": lambda board, info: _users_by_id([board.creator_id], info),
            "permissions": lambda *_: "everyone",
            "subscribers": lambda board, info: _users_by_id(board.subscribers, info),
            "tags": _board_tags,
            "top_group": lambda board, info: _groups(board, info)[0],
            "updates": _board_updates,
            "url": lambda board, info: f"{context_of(info).web_url}/boards/{board.id}",
            "workspace": _workspace,
        },
        "Column": {
            "revision": lambda column, _: f"{crc32(column.id.encode()):08x}",
            "settings": _settings,
            "settings_str": _settings,
            "width": _none,
        },
        "Group": {
            "archived": lambda source, _: _group_of(source).archived,
            "color": lambda source, _: _group_of(source).color,
            "deleted": lambda source, _: _group_of(source).deleted,
            "id": lambda source, _: _group_of(source).id,
            "items_page": _group_items_page,
            "title": lambda source, _: _group_of(source).title,
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
            "subitems": lambda item, info: list(context_of(info).store.subitems(item)),
            "subscribers": lambda item, info: _users_by_id([item.creator_id], info),
            "updates": _item_updates,
            "url": _item_url,
        },
        "Update": {
            "assets": _empty_list,
            "creator": _creator,
            "edited_at": lambda update, _: update.updated_at,
            "item": lambda update, info: context_of(info).store.items.find(update.owner),
            "item_id": lambda update, _: update.owner,
            "original_creation_date": _none,
            "replies": lambda update, info: list(context_of(info).store.replies(update)),
            "text_body": _text_body,
        },
        "Reply": {
            "assets": _empty_list,
            "creator": _creator,
            "edited_at": lambda update, _: update.updated_at,
            "kind": lambda *_: "reply",
            "text_body": _text_body,
        },
        "User": {
            "account": lambda *_: account_fields(),
            "account_id": lambda *_: str(ACCOUNT_ID),
            "country_code": lambda *_: "SE",
            "is_deleted": lambda *_: False,
            "is_email_confirmed": lambda *_: True,
            "mobile_phone": lambda user, _: user.phone,
            "teams": lambda user, info, **_: filter_by_ids(
                context_of(info).store.teams.all(), list(user.teams)
            ),
            "time_zone_identifier": lambda user, _: user.time_zone,
            "url": lambda user, info: f"{context_of(info).web_url}/users/{user.id}",
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
                user for user in context_of(info).store.users.all() if team.id in user.teams
            ],
        },
        "Folder": {
            "children": lambda folder, info: [
                board
                for board in context_of(info).store.boards.all()
                if board.folder_id == folder.id
            ],
            "owner_id": _none,
            "parent": _none,
            "workspace": lambda folder, info: context_of(info).store.workspaces.find(folder.owner),
        },
        "Workspace": {
            "is_default_workspace": lambda workspace, _: workspace.position == 0,
            "state": lambda *_: "active",
        },
    }
)
