"""Mutations of items. A mutation that fails has changed nothing."""

import asyncio
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import orjson

from sandbox.boards import errors
from sandbox.boards.column_parsers import parse_value
from sandbox.boards.context import ExecutionContext
from sandbox.boards.errors import ApiError, BadColumnValue
from sandbox.boards.labels import ColumnWrite, LabelResolver
from sandbox.boards.records import Board, Column, Group, Item
from sandbox.boards.resolver_helpers import Info, Resolver, context_of
from sandbox.boards.settings import status_settings
from sandbox.storage.database import Database

MAX_NAME_LENGTH = 255  # characters of an item's name
_LOCK_SECONDS = "boards:hold"  # meta key: seconds that a write locks its board
_LOCKED_CODE = "Resource is currently locked"

_locked_boards: set[tuple[int, str]] = set()  # (id() of the database, board id)


def set_board_lock(store: Database, seconds: float) -> None:
    """
    Make every write lock its board for *seconds*; another write fails during that time.

    0, the default, disables the lock.
    """
    store.set_meta(_LOCK_SECONDS, str(seconds))


def _item_mutation(change: Callable[..., Item]) -> Resolver:
    """Make a resolver of ``change(context, **arguments)``: check the scope, lock the board."""

    async def resolve(_: Any, info: Info, **arguments: Any) -> Item:
        context = context_of(info)
        context.require_write_scope("boards:write")
        board_id = str(arguments.get("board_id") or _board_id(context, arguments))
        return await _run_locked(context, board_id, lambda: change(context, **arguments))

    return resolve


def _board_id(context: ExecutionContext, arguments: Mapping[str, Any]) -> str:
    item_id = arguments.get("item_id") or arguments.get("parent_item_id")
    item = context.store.items.find(str(item_id))
    return "" if item is None else item.owner


async def _run_locked(context: ExecutionContext, board_id: str, run: Callable[[], Item]) -> Item:
    seconds = float(context.store.database.meta(_LOCK_SECONDS) or 0)
    if not seconds:
        return run()
    key = (id(context.store.database), board_id)
    if key in _locked_boards:
        raise ApiError(
            _LOCKED_CODE, "Resource is currently locked by another operation, please retry."
        )
    _locked_boards.add(key)
    try:
        await asyncio.sleep(seconds)
        return run()
    finally:
        _locked_boards.remove(key)


def _create_item(
    context: ExecutionContext,
    *,
    board_id: str,
    item_name: str,
    group_id: str | None = None,
    column_values: str | None = None,
    create_labels_if_missing: bool | None = None,
    position_relative_method: str | None = None,
    relative_to: str | None = None,
) -> Item:
    board = context.get_board(board_id)
    group = get_group(board, group_id)
    values, columns = _apply_values(
        context, board, {}, column_values, create_labels=create_labels_if_missing
    )
    name = _validate_name(values.pop("name", item_name))
    with context.store.database.transaction():
        context.store.change_board(board, columns=columns)
        item = context.store.add_item(
            board, name, group=group.id, creator_id=context.user.id, values=values
        )
        if relative_to is None:
            return item
        return _move_next_to(
            context, item, relative_to, after=position_relative_method != "before_at"
        )


def _move_next_to(context: ExecutionContext, item: Item, relative_to: str, *, after: bool) -> Item:
    other, _ = context.get_item(relative_to)
    positions = [sibling.position for sibling in context.store.items.of(other.owner)]
    if after:
        following = (position for position in positions if position > other.position)
        neighbor = min(following, default=other.position + 2)
    else:
        preceding = (position for position in positions if position < other.position)
        neighbor = max(preceding, default=other.position - 2)
    position = (other.position + neighbor) / 2
    moved = msgspec.structs.replace(item, position=position, group=other.group)
    return context.store.items.put(moved)


def _create_subitem(
    context: ExecutionContext,
    *,
    parent_item_id: str,
    item_name: str,
    column_values: str | None = None,
    create_labels_if_missing: bool | None = None,
) -> Item:
    parent, board = context.get_item(parent_item_id)
    subitems_board = context.store.subitems_board(board.id)
    if subitems_board is None:
        subitems_board = _create_subitems_board(context, board)
    values, columns = _apply_values(
        context, subitems_board, {}, column_values, create_labels=create_labels_if_missing
    )
    context.store.change_board(subitems_board, columns=columns)
    return context.store.add_item(
        subitems_board,
        _validate_name(item_name),
        group=subitems_board.groups[0].id,
        creator_id=context.user.id,
        values=values,
        parent=parent.id,
    )


def _create_subitems_board(context: ExecutionContext, board: Board) -> Board:
    subitems_board = context.store.add_board(
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
        id="subitems",
        title="Subitems",
        type="subtasks",
        settings={"boardIds": [int(subitems_board.id)]},
    )
    context.store.change_board(board, columns=(*board.columns, column))
    return subitems_board


def _change_values(
    context: ExecutionContext,
    *,
    board_id: str,
    column_values: str,
    item_id: str | None = None,
    create_labels_if_missing: bool | None = None,
) -> Item:
    item, board = _get_item_of_board(context, board_id, item_id)
    values, columns = _apply_values(
        context, board, item.values, column_values, create_labels=create_labels_if_missing
    )
    name = _validate_name(values.pop("name", item.name))
    with context.store.database.transaction():
        context.store.change_board(board, columns=columns)
        return context.store.change_item(item, by=context.user.id, values=values, name=name)


def _change_value(
    context: ExecutionContext,
    *,
    board_id: str,
    column_id: str,
    value: str,
    item_id: str | None = None,
    create_labels_if_missing: bool | None = None,
) -> Item:
    column_values = orjson.dumps({column_id: parse_json(value)}).decode()
    return _change_values(
        context,
        board_id=board_id,
        column_values=column_values,
        item_id=item_id,
        create_labels_if_missing=create_labels_if_missing,
    )


def _change_simple_value(
    context: ExecutionContext,
    *,
    board_id: str,
    column_id: str,
    value: str | None = None,
    item_id: str | None = None,
    create_labels_if_missing: bool | None = None,
) -> Item:
    return _change_values(
        context,
        board_id=board_id,
        column_values=orjson.dumps({column_id: value or ""}).decode(),
        item_id=item_id,
        create_labels_if_missing=create_labels_if_missing,
    )


def _move_to_group(context: ExecutionContext, *, group_id: str, item_id: str | None = None) -> Item:
    item, board = context.get_item(item_id)
    return context.store.change_item(item, by=context.user.id, group=get_group(board, group_id).id)


def _archive_item(context: ExecutionContext, *, item_id: str | None = None) -> Item:
    item, _ = context.get_item(item_id)
    return context.store.change_item(item, by=context.user.id, state="archived")


def _delete_item(context: ExecutionContext, *, item_id: str | None = None) -> Item:
    item = context.store.items.find(str(item_id))
    if item is None or item.state == "deleted":
        raise errors.item_not_found(item_id)
    context.get_board(item.owner)
    for subitem in context.store.subitems(item):
        context.store.change_item(subitem, by=context.user.id, state="deleted")
    return context.store.change_item(item, by=context.user.id, state="deleted")


def _apply_values(
    context: ExecutionContext,
    board: Board,
    current: Mapping[str, Any],
    column_values: str | None,
    *,
    create_labels: bool | None,
) -> tuple[dict[str, Any], tuple[Column, ...]]:
    """
    Apply the JSON object *column_values* to the *current* values of an item.

    Returns:
        The new values, with the name under ``name`` when it is written, and the columns of the
        board with new labels.
    """
    changes = parse_json(column_values) if column_values is not None else {}
    if not isinstance(changes, dict):
        raise ApiError("JsonParseException", "column_values must be a JSON object.")
    values, labels = dict(current), LabelResolver(create_missing=bool(create_labels))
    timestamp = context.store.now()
    for column_id, value in changes.items():
        column = board.column(str(column_id))
        if column is None or column.archived:
            raise errors.column_not_found(str(column_id))
        if column.type == "name":
            values["name"] = value
            continue
        write = ColumnWrite(store=context.store, column=column, labels=labels, timestamp=timestamp)
        stored = parse_value(write, value)
        values.pop(column.id, None)
        if stored is not None:
            values[column.id] = stored
    columns = tuple(
        msgspec.structs.replace(column, settings=labels.current_settings(column))
        for column in board.columns
    )
    return values, columns


def parse_json(text: str) -> Any:
    """
    Return the decoded value of a string that contains JSON.

    Raises:
        ApiError: *text* is not JSON.
    """
    try:
        return orjson.loads(text)
    except ValueError:
        raise ApiError("JsonParseException", "The value is not valid JSON.") from None


def _validate_name(name: Any) -> str:
    if not isinstance(name, str) or not name.strip():
        raise BadColumnValue("name", "the name of an item cannot be empty")
    if len(name) > MAX_NAME_LENGTH:
        raise ApiError(
            "ItemNameTooLongException",
            f"Item name is too long, it has a maximum of {MAX_NAME_LENGTH} characters.",
            item_name=name[:80],
        )
    return name


def get_group(board: Board, group_id: str | None) -> Group:
    """
    Return a group of a board; its first active group when *group_id* is None.

    Raises:
        ApiError: The board has no such group.
    """
    if group_id is None:
        return next(group for group in board.groups if not group.deleted and not group.archived)
    group = board.group(group_id)
    if group is None:
        raise ApiError("ResourceNotFoundException", "Group not found", group_id=group_id)
    return group


def _get_item_of_board(
    context: ExecutionContext, board_id: str, item_id: str | None
) -> tuple[Item, Board]:
    board = context.get_board(board_id)
    item, _ = context.get_item(item_id)
    if item.owner != board.id:
        raise errors.item_not_found(item_id)
    return item, board


ITEM_MUTATIONS: Mapping[str, Resolver] = MappingProxyType(
    {
        "archive_item": _item_mutation(_archive_item),
        "change_column_value": _item_mutation(_change_value),
        "change_multiple_column_values": _item_mutation(_change_values),
        "change_simple_column_value": _item_mutation(_change_simple_value),
        "create_item": _item_mutation(_create_item),
        "create_subitem": _item_mutation(_create_subitem),
        "delete_item": _item_mutation(_delete_item),
        "move_item_to_group": _item_mutation(_move_to_group),
    }
)
