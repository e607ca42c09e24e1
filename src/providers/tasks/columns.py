"""
What of an item its columns tell: the derived fields, and which columns tell what is hidden.

By the board's columns in their order: `status` is the first status column not titled like
priority, `priority` a status column that is, `assignees` all people columns, `due_date` the first
date, else the end of the first timeline, `labels` tags and dropdowns, `description` a long text
titled so, else the first. Source: decisions 16, "Tasks".
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from providers.records.tasks import TaskColumn, TaskColumnValue

DERIVED = frozenset({"status", "priority", "assignees", "due_date", "labels", "description"})
# What a column may show that is computed from other columns, or from those of other items.
COMPUTED = DERIVED | {"name", "created_at", "updated_at", "sub_items"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """
    A column as a connector knows it.

    Attributes:
        native: Upstream's word for its type.
        type, writable, options: See `TaskColumn`.
        shows: Attributes of `TaskItem` that it shows besides the one it is the source of; a column
            computed from others may show any.
        settings: What upstream tells of it.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """
    What an item has in a column.

    Attributes:
        text, value: See `TaskColumnValue`.
        parts: The names or labels one by one, of a column that holds several.
        moment: Of a date, or the end of a timeline.
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
    """Return the columns that each derived field is made of: its value is of the first or all."""
    columns = tuple(columns)
    statuses = [one for one in columns if one.type == "status"]
    dates = [one for one in columns if one.type == "date"]
    timelines = [one for one in columns if one.type == "timeline"]
    longs = [one for one in columns if one.type == "long_text"]
    described = [one for one in longs if "description" in one.title.casefold()]
    return {
        "status": tuple(one for one in statuses if not _is_priority(one))[:1],
        "priority": tuple(one for one in statuses if _is_priority(one)),
        "assignees": tuple(one for one in columns if one.type == "people"),
        "due_date": tuple((dates or timelines)[:1]),
        "labels": tuple(one for one in columns if one.type in {"tags", "dropdown"}),
        "description": tuple((described or longs)[:1]),
    }


def revealing_columns(columns: Iterable[Column], hidden: AbstractSet[str]) -> frozenset[str]:
    """Return the ids of the columns that would show something of *hidden*."""
    columns = tuple(columns)
    made_of = source_columns(columns)
    told = {one.id for name in hidden & DERIVED for one in made_of[name]}
    return frozenset(told | {one.id for one in columns if one.shows & hidden})


def derived_values(cells: Sequence[Cell], wanted: AbstractSet[str]) -> dict[str, Any]:
    """Return the derived fields of *wanted*, by attribute, from the cells of an item."""
    by_id = {one.column.id: one for one in cells}
    made_of = source_columns(one.column for one in cells)
    found = {name: [by_id[one.id] for one in made_of[name]] for name in wanted & DERIVED}
    return {name: _READ[name](of) for name, of in found.items()}


def _is_priority(column: Column) -> bool:
    return "priority" in column.title.casefold()


def _text(cells: Sequence[Cell]) -> str | None:
    return (cells[0].text or None) if cells else None


def _parts(cells: Sequence[Cell]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for one in cells for part in one.parts))


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
