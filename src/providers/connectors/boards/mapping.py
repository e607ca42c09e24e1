"""From response structs to records."""

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any

import msgspec

from providers import search_text
from providers.connectors.boards import column_types, response_types
from providers.item_visibility import DERIVED, Cell, Column, derived_values
from providers.ports.tasks import MAX_COMMENTS, ItemVisibility
from providers.records.tasks import (
    TaskBoard,
    TaskColumnValue,
    TaskComment,
    TaskGroup,
    TaskItem,
    TaskTag,
)
from providers.timestamps import parse_utc

PROVIDER = "BOARDS"
_STATES = frozenset({"active", "archived", "deleted"})
_BREAK = re.compile(r"<br\s*/?>|</p>", re.IGNORECASE)
_MARKUP = re.compile(r"<[^<>]*>")


def board(native: response_types.Board, projection: AbstractSet[str]) -> TaskBoard:
    """Return a board; its groups, columns and tags are None unless they are wanted."""
    return TaskBoard(
        provider=PROVIDER,
        id=native.id,
        name=native.name,
        description=native.description,
        state=native.state if native.state in _STATES else None,
        workspace_id=native.workspace_id,
        workspace_name=native.workspace.name if native.workspace else None,
        folder_id=native.board_folder_id,
        folder_name=native.folder.name if native.folder else None,
        web_url=native.url,
        groups=groups(native) if "groups" in projection else None,
        columns=(
            tuple(column.record for column in column_types.columns(native.columns or ()))
            if "columns" in projection
            else None
        ),
        tags=tuple(
            TaskTag(id=tag.id, name=tag.name, color=tag.color)
            for tag in native.tags or ()
            if tag is not None
        )
        if "tags" in projection
        else None,
    )


def groups(native: response_types.Board) -> tuple[TaskGroup, ...]:
    """Return the groups that are neither archived nor deleted."""
    return tuple(
        TaskGroup(id=group.id, title=group.title, color=group.color)
        for group in native.groups or ()
        if group is not None and not group.archived and not group.deleted
    )


def item(
    native: response_types.Item,
    board_id: str,
    visibility: ItemVisibility,
    *,
    own: Iterable[Column] | None = None,
    below: Iterable[Column] | None = None,
) -> TaskItem:
    """
    Return an item of *board_id*.

    *own* and *below* are the columns of its board and of its sub-items' board; None: those of its
    values.
    """
    projection = visibility.projection
    cells = [_cell(column_value, visibility) for column_value in native.column_values or ()]
    return TaskItem(
        provider=PROVIDER,
        id=native.id,
        board_id=board_id,
        parent_id=native.parent_item.id if native.parent_item else None,
        group_id=native.group.id if native.group and "group_id" in projection else None,
        group_name=native.group.title if native.group and "group_name" in projection else None,
        name=native.name,
        created_at=parse_utc(native.created_at),
        updated_at=parse_utc(native.updated_at),
        web_url=native.url,
        comments=_comments(native) if "comments" in projection else None,
        sub_items=tuple(
            msgspec.structs.replace(
                item(subitem, board_id, _for_sub_items(visibility), own=below), parent_id=native.id
            )
            for subitem in native.subitems or ()
            if subitem is not None and subitem.state in {None, "active"}
        )
        if "sub_items" in projection
        else None,
        column_values=_values(cells, own) if "column_values" in projection else None,
        **(derived_values(cells, projection) if projection & DERIVED else {}),
    )


def _for_sub_items(visibility: ItemVisibility) -> ItemVisibility:
    return ItemVisibility(
        projection=visibility.projection - {"sub_items", "comments"},
        hidden=visibility.hidden,
        boards=visibility.boards,
    )


def _values(cells: Iterable[Cell], columns: Iterable[Column] | None) -> tuple[TaskColumnValue, ...]:
    """Return the values in the board's order; columns that were not selected have no value."""
    by_column = {cell.column.id: cell for cell in cells}
    if columns is None:
        return tuple(cell.record for cell in by_column.values())
    return tuple(by_column.get(column.id, Cell(column=column)).record for column in columns)


def _cell(native: response_types.ColumnValue, visibility: ItemVisibility) -> Cell:
    named = native.column or response_types.Column(id=native.id, type=native.type)
    column = column_types.column(msgspec.structs.replace(named, id=native.id, type=native.type))
    decoded = _decoded(native.value)
    return Cell(
        column=column,
        text=native.display_value if native.text is None else native.text,
        value=_visible_value(native.value, decoded, visibility),
        parts=_parts(native, column),
        moment=_due(column, decoded),
    )


def _visible_value(value: str | None, decoded: Any, visibility: ItemVisibility) -> str | None:
    """Return a value, without the time of its change when `updated_at` is hidden."""
    if "updated_at" not in visibility.hidden or not isinstance(decoded, Mapping):
        return value
    visible = {name: member for name, member in decoded.items() if name != "changed_at"}
    return msgspec.json.encode(visible).decode()


def _parts(native: response_types.ColumnValue, column: Column) -> tuple[str, ...]:
    """Return the names or labels; people come as one text, separated by commas."""
    options = native.tags if column.native == "tags" else native.values
    if options is not None:
        return tuple(text for option in options if (text := option.name or option.label))
    if column.type in {"people", "tags", "dropdown"} and native.text:
        return tuple(part for text in native.text.split(", ") if (part := text.strip()))
    return ()


def _due(column: Column, value: Any) -> datetime | None:
    if not isinstance(value, Mapping):
        return None
    if column.type == "date":
        clock = value.get("time") or "00:00:00"
        return parse_utc(f"{value.get('date')}T{clock}") if value.get("date") else None
    return parse_utc(str(value.get("to"))) if column.type == "timeline" else None


def _comments(native: response_types.Item) -> tuple[TaskComment, ...]:
    newest = sorted(
        native.updates or (), key=lambda update: (update.created_at or "", update.id), reverse=True
    )
    return tuple(
        TaskComment(
            id=update.id,
            body=_plain_text(update.body or "") if update.text_body is None else update.text_body,
            author_name=update.creator.name if update.creator else None,
            created_at=parse_utc(update.created_at),
        )
        for update in newest[:MAX_COMMENTS]
    )


def _plain_text(markup: str) -> str:
    return search_text.unescape(_MARKUP.sub("", _BREAK.sub("\n", markup))).strip()


def _decoded(text: str | None) -> Any:
    try:
        return msgspec.json.decode(text) if text else None
    except (msgspec.DecodeError, RecursionError):
        return None
