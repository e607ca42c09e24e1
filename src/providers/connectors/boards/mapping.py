"""From the board provider's answers to records."""

import html
import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any

import msgspec

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

_STATES = frozenset({"active", "archived", "deleted"})
_BREAK = re.compile(r"<br\s*/?>|</p>", re.IGNORECASE)
_MARKUP = re.compile(r"<[^>]*>")


def board(given: response_types.Board, wanted: AbstractSet[str]) -> TaskBoard:
    """Return a board; its groups, columns and tags are None unless wanted."""
    return TaskBoard(
        id=given.id,
        name=given.name,
        description=given.description,
        state=given.state if given.state in _STATES else None,
        workspace_id=given.workspace_id,
        workspace_name=given.workspace.name if given.workspace else None,
        folder_id=given.board_folder_id,
        folder_name=given.folder.name if given.folder else None,
        web_url=given.url,
        groups=groups(given) if "groups" in wanted else None,
        columns=(
            tuple(column.record for column in column_types.columns(given.columns or ()))
            if "columns" in wanted
            else None
        ),
        tags=tuple(
            TaskTag(id=tag.id, name=tag.name, color=tag.color)
            for tag in given.tags or ()
            if tag is not None
        )
        if "tags" in wanted
        else None,
    )


def groups(given: response_types.Board) -> tuple[TaskGroup, ...]:
    """Return the groups that can be used."""
    return tuple(
        TaskGroup(id=group.id, title=group.title, color=group.color)
        for group in given.groups or ()
        if group is not None and not group.archived and not group.deleted
    )


def item(
    given: response_types.Item,
    board_id: str,
    visibility: ItemVisibility,
    *,
    own: Iterable[Column] | None = None,
    below: Iterable[Column] | None = None,
) -> TaskItem:
    """
    Return an item of *board_id*.

    *own* and *below* are the columns of its board and of its sub-items'; None: those of its values.
    """
    wanted = visibility.wanted
    cells = [_cell(column_value, visibility) for column_value in given.column_values or ()]
    return TaskItem(
        id=given.id,
        board_id=board_id,
        group_id=given.group.id if given.group and "group_id" in wanted else None,
        group_name=given.group.title if given.group and "group_name" in wanted else None,
        name=given.name,
        created_at=parse_utc(given.created_at),
        updated_at=parse_utc(given.updated_at),
        web_url=given.url,
        comments=_comments(given) if "comments" in wanted else None,
        sub_items=tuple(
            item(subitem, board_id, _one_level(visibility), own=below)
            for subitem in given.subitems or ()
            if subitem is not None and subitem.state in {None, "active"}
        )
        if "sub_items" in wanted
        else None,
        column_values=_values(cells, own) if "column_values" in wanted else None,
        **(derived_values(cells, wanted) if wanted & DERIVED else {}),
    )


def _one_level(visibility: ItemVisibility) -> ItemVisibility:
    return ItemVisibility(
        wanted=visibility.wanted - {"sub_items", "comments"},
        hidden=visibility.hidden,
        boards=visibility.boards,
    )


def _values(cells: Iterable[Cell], columns: Iterable[Column] | None) -> tuple[TaskColumnValue, ...]:
    """Return the values in the board's order; of columns not asked for, the names alone."""
    known = {cell.column.id: cell for cell in cells}
    if columns is None:
        return tuple(one.record for one in known.values())
    return tuple(known.get(column.id, Cell(column=column)).record for column in columns)


def _cell(given: response_types.ColumnValue, visibility: ItemVisibility) -> Cell:
    named = given.column or response_types.Column(id=given.id, type=given.type)
    column = column_types.column(msgspec.structs.replace(named, id=given.id, type=given.type))
    decoded = _decoded(given.value)
    return Cell(
        column=column,
        text=given.display_value if given.text is None else given.text,
        value=_told(given.value, decoded, visibility),
        parts=_parts(given, column),
        moment=_due(column, decoded),
    )


def _told(value: str | None, decoded: Any, visibility: ItemVisibility) -> str | None:
    """Return a value, without when it was set where that may not be seen."""
    if "updated_at" not in visibility.hidden or not isinstance(decoded, Mapping):
        return value
    kept = {name: one for name, one in decoded.items() if name != "changed_at"}
    return msgspec.json.encode(kept).decode()


def _parts(given: response_types.ColumnValue, column: Column) -> tuple[str, ...]:
    """Return names and labels one by one; people come as one text, parted by commas."""
    several = given.tags if column.native == "tags" else given.values
    if several is not None:
        return tuple(text for one in several if (text := one.name or one.label))
    if column.type in {"people", "tags", "dropdown"} and given.text:
        return tuple(part for text in given.text.split(", ") if (part := text.strip()))
    return ()


def _due(column: Column, value: Any) -> datetime | None:
    if not isinstance(value, Mapping):
        return None
    if column.type == "date":
        clock = value.get("time") or "00:00:00"
        return parse_utc(f"{value.get('date')}T{clock}") if value.get("date") else None
    return parse_utc(str(value.get("to"))) if column.type == "timeline" else None


def _comments(given: response_types.Item) -> tuple[TaskComment, ...]:
    newest = sorted(
        given.updates or (), key=lambda update: (update.created_at or "", update.id), reverse=True
    )
    return tuple(
        TaskComment(
            id=one.id,
            body=one.text_body if one.text_body is not None else _plain(one.body or ""),
            author_name=one.creator.name if one.creator else None,
            created_at=parse_utc(one.created_at),
        )
        for one in newest[:MAX_COMMENTS]
    )


def _plain(markup: str) -> str:
    return html.unescape(_MARKUP.sub("", _BREAK.sub("\n", markup))).strip()


def _decoded(text: str | None) -> Any:
    try:
        return msgspec.json.decode(text) if text else None
    except (msgspec.DecodeError, RecursionError):
        return None
