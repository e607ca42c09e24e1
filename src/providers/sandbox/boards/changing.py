"""What the wire changes: a resolver per mutation. A call that is refused has changed nothing."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import orjson

from providers.sandbox.boards import refused
from providers.sandbox.boards.desk import Desk
from providers.sandbox.boards.labels import LabelBook
from providers.sandbox.boards.reading import Info, Resolver, desk_of
from providers.sandbox.boards.records import Board, Column, Group, Item, Tag, Update, Workspace
from providers.sandbox.boards.refused import BadColumnValue, Refused
from providers.sandbox.boards.settings import status_settings
from providers.sandbox.boards.store import GROUP_COLORS
from providers.sandbox.boards.writing import Writing, write
from providers.sandbox.store import Store

LONGEST_NAME = 255  # characters of an item's name
_HOLD = "boards:hold"  # meta key: seconds that a write holds its board
_BUSY = "Resource is currently locked"

_held: dict[tuple[int, str], int] = {}


def set_hold(store: Store, seconds: float) -> None:
    """
    Let every write hold its board for so long; another write meanwhile is refused as locked.

    0, as at first, lets writes follow each other at any pace.
    """
    store.set_meta(_HOLD, str(seconds))


def _writes_item(change: Callable[..., Item]) -> Resolver:
    """Make a resolver of *change(desk, **arguments)*: needs the scope, holds the board."""

    async def resolve(_: Any, info: Info, **arguments: Any) -> Item:
        desk = desk_of(info)
        desk.need_write("boards:write")
        board_id = str(arguments.get("board_id") or _board_of(desk, arguments))
        return await _holding(desk, board_id, lambda: change(desk, **arguments))

    return resolve


def _board_of(desk: Desk, arguments: Mapping[str, Any]) -> str:
    wanted = arguments.get("item_id") or arguments.get("parent_item_id")
    item = desk.store.items.find(str(wanted))
    return "" if item is None else item.owner


async def _holding(desk: Desk, board_id: str, run: Callable[[], Item]) -> Item:
    seconds = float(desk.store.db.meta(_HOLD) or 0)
    if not seconds:
        return run()
    key = (id(desk.store.db), board_id)
    if key in _held:
        raise Refused(_BUSY, "Resource is currently locked by another operation, please retry.")
    _held[key] = 1
    try:
        await asyncio.sleep(seconds)
        return run()
    finally:
        del _held[key]


# Items


def _create_item(
    desk: Desk,
    *,
    board_id: str,
    item_name: str,
    group_id: str | None = None,
    column_values: str | None = None,
    create_labels_if_missing: bool | None = None,
    position_relative_method: str | None = None,
    relative_to: str | None = None,
) -> Item:
    board = desk.board(board_id)
    group = _group(board, group_id)
    values, columns = _written(desk, board, {}, column_values, makes=create_labels_if_missing)
    name = _name(values.pop("name", item_name))
    with desk.store.db.transaction():
        desk.store.change_board(board, columns=columns)
        item = desk.store.add_item(
            board, name, group=group.id, creator_id=desk.me.id, values=values
        )
        if relative_to is None:
            return item
        return _moved(desk, item, relative_to, after=position_relative_method != "before_at")


def _moved(desk: Desk, item: Item, relative_to: str, *, after: bool) -> Item:
    other, _ = desk.item(relative_to)
    around = [one.position for one in desk.store.items.of(other.owner)]
    if after:
        edge = min((one for one in around if one > other.position), default=math.inf)
        place = other.position + 1 if math.isinf(edge) else (other.position + edge) / 2
    else:
        edge = max((one for one in around if one < other.position), default=-math.inf)
        place = other.position - 1 if math.isinf(edge) else (other.position + edge) / 2
    return desk.store.items.put(msgspec.structs.replace(item, position=place, group=other.group))


def _create_subitem(
    desk: Desk,
    *,
    parent_item_id: str,
    item_name: str,
    column_values: str | None = None,
    create_labels_if_missing: bool | None = None,
) -> Item:
    parent, board = desk.item(parent_item_id)
    below = desk.store.sub_board(board.id)
    if below is None:
        below = _sub_board(desk, board)
    values, columns = _written(desk, below, {}, column_values, makes=create_labels_if_missing)
    desk.store.change_board(below, columns=columns)
    return desk.store.add_item(
        below,
        _name(item_name),
        group=below.groups[0].id,
        creator_id=desk.me.id,
        values=values,
        parent=parent.id,
    )


def _sub_board(desk: Desk, board: Board) -> Board:
    below = desk.store.add_board(
        f"Subitems of {board.name}",
        creator_id=board.creator_id,
        type="sub_items_board",
        workspace_id=board.workspace_id,
        groups=(Group(id="topics", title="Subitems"),),
        columns=(
            Column(id="person", title="Owner", type="people"),
            Column(id="status", title="Status", type="status", settings=status_settings()),
            Column(id="date0", title="Date", type="date"),
        ),
    )
    column = Column(
        id="subitems", title="Subitems", type="subtasks", settings={"boardIds": [int(below.id)]}
    )
    desk.store.change_board(board, columns=(*board.columns, column))
    return below


def _change_many(
    desk: Desk,
    *,
    board_id: str,
    column_values: str,
    item_id: str | None = None,
    create_labels_if_missing: bool | None = None,
) -> Item:
    item, board = _item_on(desk, board_id, item_id)
    values, columns = _written(
        desk, board, item.values, column_values, makes=create_labels_if_missing
    )
    name = _name(values.pop("name", item.name))
    with desk.store.db.transaction():
        desk.store.change_board(board, columns=columns)
        return desk.store.change_item(item, by=desk.me.id, values=values, name=name)


def _change_one(
    desk: Desk,
    *,
    board_id: str,
    column_id: str,
    value: str,
    item_id: str | None = None,
    create_labels_if_missing: bool | None = None,
) -> Item:
    given = orjson.dumps({column_id: _json(value)}).decode()
    return _change_many(
        desk,
        board_id=board_id,
        column_values=given,
        item_id=item_id,
        create_labels_if_missing=create_labels_if_missing,
    )


def _change_simple(
    desk: Desk,
    *,
    board_id: str,
    column_id: str,
    value: str | None = None,
    item_id: str | None = None,
    create_labels_if_missing: bool | None = None,
) -> Item:
    return _change_many(
        desk,
        board_id=board_id,
        column_values=orjson.dumps({column_id: value or ""}).decode(),
        item_id=item_id,
        create_labels_if_missing=create_labels_if_missing,
    )


def _move_to_group(desk: Desk, *, group_id: str, item_id: str | None = None) -> Item:
    item, board = desk.item(item_id)
    return desk.store.change_item(item, by=desk.me.id, group=_group(board, group_id).id)


def _archive_item(desk: Desk, *, item_id: str | None = None) -> Item:
    item, _ = desk.item(item_id)
    return desk.store.change_item(item, by=desk.me.id, state="archived")


def _delete_item(desk: Desk, *, item_id: str | None = None) -> Item:
    item = desk.store.items.find(str(item_id))
    if item is None or item.state == "deleted":
        raise refused.no_item(item_id)
    desk.board(item.owner)
    for below in desk.store.sub_items(item):
        desk.store.change_item(below, by=desk.me.id, state="deleted")
    return desk.store.change_item(item, by=desk.me.id, state="deleted")


def _written(
    desk: Desk,
    board: Board,
    kept: Mapping[str, Any],
    column_values: str | None,
    *,
    makes: bool | None,
) -> tuple[dict[str, Any], tuple[Column, ...]]:
    """Return an item's values (the pseudo column ``name`` among them) and the board's columns."""
    given = _json(column_values) if column_values is not None else {}
    if not isinstance(given, dict):
        raise Refused("JsonParseException", "column_values must be a JSON object.")
    values, labels, at = dict(kept), LabelBook(makes=bool(makes)), desk.store.now()
    for column_id, value in given.items():
        column = board.column(str(column_id))
        if column is None or column.archived:
            raise refused.no_column(str(column_id))
        if column.type == "name":
            values["name"] = value
            continue
        writing = Writing(store=desk.store, column=column, labels=labels, at=at)
        written = write(writing, value)
        values.pop(column.id, None)
        if written is not None:
            values[column.id] = written
    columns = tuple(
        msgspec.structs.replace(one, settings=labels.settings(one)) for one in board.columns
    )
    return values, columns


def _json(text: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        raise Refused("JsonParseException", "The value is not valid JSON.") from None


def _name(given: Any) -> str:
    if not isinstance(given, str) or not given.strip():
        raise BadColumnValue("name", "the name of an item cannot be empty")
    if len(given) > LONGEST_NAME:
        raise Refused(
            "ItemNameTooLongException",
            f"Item name is too long, it has a maximum of {LONGEST_NAME} characters.",
            item_name=given[:80],
        )
    return given


def _group(board: Board, group_id: str | None) -> Group:
    if group_id is None:
        return next(one for one in board.groups if not one.deleted and not one.archived)
    group = board.group(group_id)
    if group is None:
        raise Refused("ResourceNotFoundException", "Group not found", group_id=group_id)
    return group


def _item_on(desk: Desk, board_id: str, item_id: str | None) -> tuple[Item, Board]:
    board = desk.board(board_id)
    item, _ = desk.item(item_id)
    if item.owner != board.id:
        raise refused.no_item(item_id)
    return item, board


# Updates


def _create_update(
    _: Any,
    info: Info,
    *,
    body: str,
    item_id: str | None = None,
    parent_id: str | None = None,
) -> Update:
    desk = desk_of(info)
    desk.need_write("updates:write")
    if not body.strip():
        raise Refused("InvalidArgumentException", "The body of an update cannot be empty.")
    if parent_id is not None:
        parent = _update(desk, parent_id)
        return desk.store.add_update(
            parent.owner, body, creator_id=desk.me.id, parent=parent.parent or parent.id
        )
    item, _board = desk.item(item_id)
    return desk.store.add_update(item.id, body, creator_id=desk.me.id)


def _edit_update(_: Any, info: Info, *, id: str, body: str) -> Update:  # noqa: A002 - the wire's
    desk = desk_of(info)
    desk.need_write("updates:write")
    update = _update(desk, id)
    if update.creator_id != desk.me.id:
        raise refused.not_allowed()
    changed = msgspec.structs.replace(update, body=body, updated_at=desk.store.now())
    return desk.store.updates.put(changed)


def _delete_update(_: Any, info: Info, *, id: str) -> Update:  # noqa: A002 - the wire's
    desk = desk_of(info)
    desk.need_write("updates:write")
    update = _update(desk, id)
    for reply in desk.store.replies(update):
        desk.store.updates.drop(reply.id)
    desk.store.updates.drop(update.id)
    return update


def _update(desk: Desk, update_id: str) -> Update:
    update = desk.store.updates.find(update_id)
    if update is None:
        raise Refused("ResourceNotFoundException", "Update not found", update_id=update_id)
    desk.item(update.owner)
    return update


# Boards


def _create_board(_: Any, info: Info, *, board_name: str, board_kind: str, **more: Any) -> Board:
    desk = desk_of(info)
    desk.need_write("boards:write")
    usual = (
        Column(id="person", title="Person", type="people"),
        Column(id="status", title="Status", type="status", settings=status_settings()),
        Column(id="date4", title="Date", type="date"),
    )
    return desk.store.add_board(
        board_name,
        creator_id=desk.me.id,
        kind=board_kind,
        description=more.get("description"),
        workspace_id=more.get("workspace_id"),
        folder_id=more.get("folder_id"),
        subscribers=tuple(more.get("board_subscriber_ids") or (desk.me.id,)),
        columns=() if more.get("empty") else usual,
    )


def _set_board_state(state: str) -> Resolver:
    def resolve(_: Any, info: Info, *, board_id: str) -> Board:
        desk = desk_of(info)
        desk.need_write("boards:write")
        return desk.store.change_board(desk.board(board_id), state=state)

    return resolve


def _create_group(
    _: Any, info: Info, *, board_id: str, group_name: str, group_color: str | None = None
) -> dict[str, Any]:
    desk = desk_of(info)
    desk.need_write("boards:write")
    board = desk.board(board_id)
    known = {one.id for one in board.groups}
    new_id = next(f"group_{n}" for n in range(10_000) if f"group_{n}" not in known)
    color = group_color or GROUP_COLORS[len(board.groups) % len(GROUP_COLORS)]
    group = Group(id=new_id, title=group_name, color=color)
    board = desk.store.change_board(board, groups=(group, *board.groups))
    return {"board": board, "group": group, "position": "1.0"}


def _set_group_state(**state: bool) -> Resolver:
    def resolve(_: Any, info: Info, *, board_id: str, group_id: str) -> dict[str, Any]:
        desk = desk_of(info)
        desk.need_write("boards:write")
        board = desk.board(board_id)
        old = _group(board, group_id)
        if sum(not one.deleted and not one.archived for one in board.groups) == 1:
            raise Refused("DeleteLastGroupException", "The last group cannot be removed.")
        new = msgspec.structs.replace(old, **state)
        groups = tuple(new if one.id == old.id else one for one in board.groups)
        board = desk.store.change_board(board, groups=groups)
        for item in desk.store.items.of(board.id):
            if item.group == old.id and item.state == "active":
                gone = "deleted" if new.deleted else "archived"
                desk.store.change_item(item, by=desk.me.id, state=gone)
        return {"board": board, "group": new, "position": "1.0"}

    return resolve


def _create_column(
    _: Any,
    info: Info,
    *,
    board_id: str,
    title: str,
    column_type: str,
    id: str | None = None,  # noqa: A002 - the wire's
    description: str | None = None,
    defaults: str | None = None,
    **_more: Any,
) -> Column:
    desk = desk_of(info)
    desk.need_write("boards:write")
    board = desk.board(board_id)
    settings = _json(defaults) if defaults else {}
    if column_type == "status" and "labels" not in settings:
        settings = status_settings()
    known = {one.id for one in board.columns}
    if id is not None and id in known:
        raise Refused("InvalidColumnIdException", "This column ID is taken", column_id=id)
    usual = (f"{column_type}_{n}" for n in range(10_000))
    column = Column(
        id=id or next(one for one in usual if one not in known),
        title=title,
        type=column_type,
        description=description,
        settings=settings,
    )
    desk.store.change_board(board, columns=(*board.columns, column))
    return column


def _create_or_get_tag(
    _: Any, info: Info, *, tag_name: str | None = None, board_id: str | None = None
) -> Tag:
    desk = desk_of(info)
    desk.need_write("boards:write")
    tag = desk.store.tag(tag_name or "")
    if board_id is not None:
        board = desk.board(board_id)
        desk.store.change_board(board, tags=tuple(dict.fromkeys((*board.tags, tag.id))))
    return tag


def _create_workspace(
    _: Any, info: Info, *, name: str, kind: str, description: str | None = None
) -> Workspace:
    desk = desk_of(info)
    desk.need_write("boards:write")
    new_id = desk.store.new_id("workspace")
    return desk.store.workspaces.put(
        Workspace(
            id=new_id,
            position=float(new_id),
            name=name,
            kind=kind,
            description=description,
            created_at=desk.store.now(),
        )
    )


Mutation = Callable[..., Any | Awaitable[Any]]

MUTATIONS: Mapping[str, Mutation] = MappingProxyType(
    {
        "archive_board": _set_board_state("archived"),
        "archive_group": _set_group_state(archived=True),
        "archive_item": _writes_item(_archive_item),
        "change_column_value": _writes_item(_change_one),
        "change_multiple_column_values": _writes_item(_change_many),
        "change_simple_column_value": _writes_item(_change_simple),
        "complexity": lambda _, info: desk_of(info).meter,
        "create_board": _create_board,
        "create_column": _create_column,
        "create_group": _create_group,
        "create_item": _writes_item(_create_item),
        "create_or_get_tag": _create_or_get_tag,
        "create_subitem": _writes_item(_create_subitem),
        "create_update": _create_update,
        "create_workspace": _create_workspace,
        "delete_board": _set_board_state("deleted"),
        "delete_group": _set_group_state(deleted=True),
        "delete_item": _writes_item(_delete_item),
        "delete_update": _delete_update,
        "edit_update": _edit_update,
        "move_item_to_group": _writes_item(_move_to_group),
    }
)
