"""
Item fields that are derived from columns, and columns that reveal hidden fields.

The rules: docs/spec/tasks.md#derived-fields and docs/spec/masks.md#task-columns.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any

import msgspec

from providers.records.tasks import TaskColumn, TaskColumnValue

DERIVED = frozenset({"status", "priority", "assignees", "due_date", "labels", "description"})
# Attributes that a column may reveal when it is computed from other columns or items.
COMPUTED = DERIVED | {"name", "created_at", "updated_at", "sub_items"}


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """
    A column as a connector knows it.

    Attributes:
        native: Upstream's name of its type.
        type, writable, options: See `TaskColumn`.
        shows: Attributes of `TaskItem` that it reveals besides the field derived from it; a column
            computed from others may reveal any.
        settings: Upstream's description of it.
    """

    id: str
    title: str
    native: str
    type: str
    writable: bool
    options: tuple[str, ...] | None = None
    shows: frozenset[str] = frozenset()
    settings: Any = None

    @property
    def record(self) -> TaskColumn:
        return TaskColumn(
            id=self.id,
            title=self.title,
            type=self.type,
            writable=self.writable,
            options=self.options,
        )


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """
    Value of an item in a column, as a connector knows it.

    Attributes:
        text, value: See `TaskColumnValue`.
        parts: The names or labels of a column that holds several.
        moment: The date, or the end of the timeline.
    """

    column: Column
    text: str | None = None
    value: str | None = None
    parts: tuple[str, ...] = ()
    moment: datetime | None = None

    @property
    def record(self) -> TaskColumnValue:
        return TaskColumnValue(
            column_id=self.column.id,
            column_title=self.column.title,
            type=self.column.type,
            text=self.text,
            value=self.value,
        )


def source_columns(columns: Iterable[Column]) -> Mapping[str, tuple[Column, ...]]:
    """Return derived field -> the columns it is derived from."""
    columns = tuple(columns)
    statuses = [column for column in columns if column.type == "status"]
    dates = [column for column in columns if column.type == "date"]
    timelines = [column for column in columns if column.type == "timeline"]
    long_texts = [column for column in columns if column.type == "long_text"]
    descriptions = [column for column in long_texts if "description" in column.title.casefold()]
    return {
        "status": tuple(column for column in statuses if not _is_priority(column))[:1],
        "priority": tuple(column for column in statuses if _is_priority(column)),
        "assignees": tuple(column for column in columns if column.type == "people"),
        "due_date": tuple((dates or timelines)[:1]),
        "labels": tuple(column for column in columns if column.type in {"tags", "dropdown"}),
        "description": tuple((descriptions or long_texts)[:1]),
    }


def revealing_columns(columns: Iterable[Column], hidden: AbstractSet[str]) -> frozenset[str]:
    """Return the ids of the columns that reveal an attribute of *hidden*."""
    columns = tuple(columns)
    by_field = source_columns(columns)
    source_ids = {column.id for name in hidden & DERIVED for column in by_field[name]}
    return frozenset(source_ids | {column.id for column in columns if column.shows & hidden})


def derived_values(cells: Sequence[Cell], projection: AbstractSet[str]) -> dict[str, Any]:
    """Return attribute -> value for the derived fields among *projection*, from an item's cells."""
    cells_by_id = {cell.column.id: cell for cell in cells}
    by_field = source_columns(cell.column for cell in cells)
    return {
        name: _READ[name]([cells_by_id[column.id] for column in by_field[name]])
        for name in projection & DERIVED
    }


def _is_priority(column: Column) -> bool:
    return "priority" in column.title.casefold()


def _text(cells: Sequence[Cell]) -> str | None:
    return (cells[0].text or None) if cells else None


def _parts(cells: Sequence[Cell]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for cell in cells for part in cell.parts))


def _moment(cells: Sequence[Cell]) -> datetime | None:
    return cells[0].moment if cells else None


_READ = {
    "status": _text,
    "priority": _text,
    "assignees": _parts,
    "due_date": _moment,
    "labels": _parts,
    "description": _text,
}
