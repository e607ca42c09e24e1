"""What the wire changes of items. A call that is refused has changed nothing."""

import asyncio
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import orjson

from sandbox.boards import errors
from sandbox.boards.column_writers import Writing, write
from sandbox.boards.context import Desk
from sandbox.boards.errors import BadColumnValue, Refused
from sandbox.boards.labels import LabelBook
from sandbox.boards.records import Board, Column, Group, Item
from sandbox.boards.resolver_helpers import Info, Resolver, desk_of
from sandbox.boards.settings import status_settings
from sandbox.storage.database import Database

LONGEST_NAME = 255  # characters of an item's name
_HOLD = "boards:hold"  # meta key: seconds that a write holds its board
_BUSY = "Resource is currently locked"

_held: dict[tuple[int, str], int] = {}


def set_hold(store: Database, seconds: float) -> None:
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
    group = group_named(board, group_id)
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
    given = orjson.dumps({column_id: read_json(value)}).decode()
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
    return desk.store.change_item(item, by=desk.me.id, group=group_named(board, group_id).id)


def _archive_item(desk: Desk, *, item_id: str | None = None) -> Item:
    item, _ = desk.item(item_id)
    return desk.store.change_item(item, by=desk.me.id, state="archived")


def _delete_item(desk: Desk, *, item_id: str | None = None) -> Item:
    item = desk.store.items.find(str(item_id))
    if item is None or item.state == "deleted":
        raise errors.no_item(item_id)
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
    given = read_json(column_values) if column_values is not None else {}
    if not isinstance(given, dict):
        raise Refused("JsonParseException", "column_values must be a JSON object.")
    values, labels, at = dict(kept), LabelBook(makes=bool(makes)), desk.store.now()
    for column_id, value in given.items():
        column = board.column(str(column_id))
        if column is None or column.archived:
            raise errors.no_column(str(column_id))
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


def read_json(text: str) -> Any:
    """
    Return the JSON that a text holds.

    Raises:
        Refused: It holds none.
    """
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


def group_named(board: Board, group_id: str | None) -> Group:
    """
    Return a board's group, its first when none is named.

    Raises:
        Refused: There is no such group.
    """
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
        raise errors.no_item(item_id)
    return item, board


ITEM_MUTATIONS: Mapping[str, Resolver] = MappingProxyType(
    {
        "archive_item": _writes_item(_archive_item),
        "change_column_value": _writes_item(_change_one),
        "change_multiple_column_values": _writes_item(_change_many),
        "change_simple_column_value": _writes_item(_change_simple),
        "create_item": _writes_item(_create_item),
        "create_subitem": _writes_item(_create_subitem),
        "delete_item": _writes_item(_delete_item),
        "move_item_to_group": _writes_item(_move_to_group),
    }
)
