"""What the wire shows of each type: a resolver per field that is not simply a record's own."""

import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar
from zlib import crc32

import orjson
from graphql import GraphQLResolveInfo

from providers.sandbox.boards import paging
from providers.sandbox.boards.cells import Cell
from providers.sandbox.boards.desk import Desk
from providers.sandbox.boards.records import (
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
from providers.sandbox.boards.refused import Refused
from providers.sandbox.boards.store import ACCOUNT_ID
from providers.sandbox.shelf import Kept

VERSIONS: Mapping[str, str] = MappingProxyType(
    {"2026-07": "maintenance", "2026-10": "current", "2027-01": "release_candidate"}
)
MOST_IDS = 100  # items asked for by their ids
_TAGS = re.compile(r"<br\s*/?>|</p>")
_MARKUP = re.compile(r"<[^>]*>")

Info = GraphQLResolveInfo
Resolver = Callable[..., Any]
_K = TypeVar("_K", bound=Kept)
_T = TypeVar("_T")


def desk_of(info: Info) -> Desk:
    """Return the context of this execution."""
    desk: Desk = info.context
    return desk


# Query


def _boards(
    _: Any,
    info: Info,
    *,
    ids: Sequence[str] | None = None,
    state: str = "active",
    limit: int | None = None,
    page: int | None = None,
    **more: Any,
) -> list[Board]:
    desk = desk_of(info)
    desk.need("boards:read")
    found = [board for board in desk.store.boards.all() if desk.sees(board)]
    found.sort(key=_used if more.get("order_by") == "used_at" else _created, reverse=True)
    if ids is not None:
        found = [board for board in found if board.id in set(ids)]
    # Boards asked for by id come whatever their state, unless a state is named.
    if state != "all" and not (ids is not None and state == "active"):
        found = [board for board in found if board.state == state]
    if more.get("board_kind"):
        found = [board for board in found if board.kind == more["board_kind"]]
    if more.get("workspace_ids"):
        found = [board for board in found if board.workspace_id in more["workspace_ids"]]
    return _paged(found, limit, page)


def _created(board: Board) -> tuple[str, str]:
    return (board.created_at, board.id)


def _used(board: Board) -> tuple[str, str]:
    return (board.updated_at, board.id)


def _items(
    _: Any,
    info: Info,
    *,
    ids: Sequence[str] | None = None,
    limit: int | None = None,
    page: int | None = None,
    exclude_nonactive: bool | None = None,
    newest_first: bool | None = None,
) -> list[Item]:
    desk = desk_of(info)
    desk.need("boards:read")
    if ids is not None and len(ids) > MOST_IDS:
        raise Refused("InvalidArgumentException", f"At most {MOST_IDS} ids may be asked for.")
    every = (
        desk.store.items.all()
        if ids is None
        else [item for one in dict.fromkeys(ids) if (item := desk.store.items.find(one))]
    )
    seen = {board.id for board in desk.store.boards.all() if desk.sees(board)}
    found = [item for item in every if item.owner in seen]
    if exclude_nonactive or ids is None:
        found = [item for item in found if item.state == "active"]
    if newest_first:
        found.sort(key=lambda item: item.created_at, reverse=True)
    return _paged(found, limit, page)


def _next_items_page(_: Any, info: Info, *, cursor: str, limit: int = 25) -> dict[str, Any]:
    desk_of(info).need("boards:read")
    return paging.next_page(desk_of(info), cursor, limit)


def _by_column_values(
    _: Any,
    info: Info,
    *,
    board_id: str,
    limit: int = 25,
    columns: Sequence[Mapping[str, Any]] | None = None,
    cursor: str | None = None,
    **_more: Any,
) -> dict[str, Any]:
    desk = desk_of(info)
    desk.need("boards:read")
    if cursor:
        return paging.next_page(desk, cursor, limit)
    rules = [
        {"column_id": one["column_id"], "compare_value": list(one["column_values"])}
        for one in columns or ()
    ]
    board = desk.board(board_id)
    return paging.first_page(desk, board.id, group=None, query={"rules": rules}, limit=limit)


def _me(_: Any, info: Info) -> User:
    desk_of(info).need("me:read")
    return desk_of(info).me


def _users(
    _: Any,
    info: Info,
    *,
    ids: Sequence[str] | None = None,
    emails: Sequence[str] | None = None,
    name: str | None = None,
    **more: Any,
) -> list[User]:
    desk_of(info).need("users:read")
    found = _by_ids(desk_of(info).store.users.all(), ids)
    if emails is not None:
        wanted = {one.casefold() for one in emails}
        found = [user for user in found if user.email.casefold() in wanted]
    if name is not None:
        found = [user for user in found if name.casefold() in user.name.casefold()]
    if more.get("kind") in {"guests", "non_guests"}:
        found = [one for one in found if (one.kind == "guest") is (more["kind"] == "guests")]
    return _paged(found, more.get("limit"), more.get("page"))


def _updates(
    _: Any,
    info: Info,
    *,
    limit: int = 25,
    page: int = 1,
    ids: Sequence[str] | None = None,
    **_more: Any,
) -> list[Update]:
    desk_of(info).need("updates:read")
    every = [one for one in desk_of(info).store.updates.all() if one.parent is None]
    found = sorted(_by_ids(every, ids), key=lambda one: (one.created_at, one.id), reverse=True)
    return _paged(found, limit, page)


def _account(_: Any, info: Info) -> dict[str, Any]:
    desk_of(info).need("account:read")
    return _account_shown(info)


def _account_shown(_: Info) -> dict[str, Any]:
    return {
        "id": str(ACCOUNT_ID),
        "name": "Harbourlight",
        "slug": "harbourlight",
        "tier": "pro",
        "country_code": "SE",
        "created_at": "2021-03-02T07:30:00Z",
        "plan": {"max_users": 40, "period": "yearly", "tier": "pro", "version": 8},
    }


def _version(_: Any, info: Info) -> dict[str, str]:
    value = desk_of(info).version
    return {"value": value, "display_name": value, "kind": VERSIONS.get(value, "deprecated")}


def _versions(_: Any, _info: Info) -> list[dict[str, str]]:
    return [{"value": one, "display_name": one, "kind": VERSIONS[one]} for one in VERSIONS]


def _workspaces(
    _: Any, info: Info, *, ids: Sequence[str] | None = None, **more: Any
) -> list[Workspace]:
    found = _by_ids(desk_of(info).store.workspaces.all(), ids)
    return _paged(found, more.get("limit"), more.get("page"))


def _folders(_: Any, info: Info, *, ids: Sequence[str] | None = None, **more: Any) -> list[Folder]:
    found = _by_ids(desk_of(info).store.folders.all(), ids)
    if more.get("workspace_ids"):
        found = [one for one in found if one.owner in more["workspace_ids"]]
    return _paged(found, more.get("limit"), more.get("page"))


def _tags(_: Any, info: Info, *, ids: Sequence[str] | None = None) -> list[Tag]:
    return _by_ids(desk_of(info).store.tags.all(), ids or None)


def _teams(_: Any, info: Info, *, ids: Sequence[str] | None = None) -> list[Team]:
    return _by_ids(desk_of(info).store.teams.all(), ids)


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
    return _by_ids(desk_of(info).store.tags.all(), board.tags)


def _board_updates(
    board: Board, info: Info, *, limit: int = 25, page: int = 1, **_more: Any
) -> list[Update]:
    desk_of(info).need("updates:read")
    store = desk_of(info).store
    every = [one for item in store.items.of(board.id) for one in store.comments(item.id)]
    every.sort(key=lambda one: (one.created_at, one.id), reverse=True)
    return _paged(every, limit, page)


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
    columns = [one for one in _columns(board, info, ids=ids, types=types) if one.type != "name"]
    return [Cell(store=store, board=board, item=item, column=one) for one in columns]


def _item_updates(
    item: Item, info: Info, *, limit: int = 25, page: int = 1, ids: Sequence[str] | None = None
) -> list[Update]:
    desk_of(info).need("updates:read")
    return _paged(_by_ids(desk_of(info).store.comments(item.id), ids), limit, page)


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
    return _by_ids(desk_of(info).store.users.all(), list(ids))


def _by_ids(records: Iterable[_K], ids: Sequence[str] | None) -> list[_K]:
    if ids is None:
        return list(records)
    wanted = {str(one) for one in ids}
    return [one for one in records if one.id in wanted]


def _paged(found: Sequence[_T], limit: int | None, page: int | None) -> list[_T]:
    size = 25 if limit is None else limit
    number = 1 if page is None else page
    if size < 1 or number < 1:
        raise Refused("InvalidArgumentException", "limit and page start at 1.")
    return list(found[(number - 1) * size : number * size])


def _null(_: Any, __: Info) -> None:
    return None


def _none(_: Any, __: Info) -> list[Any]:
    return []


RESOLVERS: Mapping[str, Mapping[str, Resolver]] = MappingProxyType(
    {
        "Query": {
            "account": _account,
            "boards": _boards,
            "complexity": lambda _, info: desk_of(info).meter,
            "folders": _folders,
            "items": _items,
            "items_page_by_column_values": _by_column_values,
            "me": _me,
            "next_items_page": _next_items_page,
            "tags": _tags,
            "teams": _teams,
            "updates": _updates,
            "users": _users,
            "version": _version,
            "versions": _versions,
            "workspaces": _workspaces,
        },
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
            "account": lambda _, info: _account_shown(info),
            "account_id": lambda *_: str(ACCOUNT_ID),
            "country_code": lambda *_: "SE",
            "is_deleted": lambda *_: False,
            "is_email_confirmed": lambda *_: True,
            "mobile_phone": lambda user, _: user.phone,
            "teams": lambda user, info, **_: _by_ids(
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
