"""From the project provider's answers to records, and what to ask for (`opt_fields`)."""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any

import msgspec

from providers.connectors.projects import column_types, response_types
from providers.item_visibility import (
    DERIVED,
    Cell,
    Column,
    derived_values,
    revealing_columns,
    source_columns,
)
from providers.ports.tasks import ItemVisibility
from providers.records.tasks import TaskBoard, TaskComment, TaskItem
from providers.timestamps import parse_utc

# Attribute of `TaskBoard` -> what to ask for.
_BOARD: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "name": ("name",),
        "description": ("notes",),
        "workspace_id": ("workspace.gid",),
        "workspace_name": ("workspace.name",),
        "folder_id": ("team.gid",),
        "folder_name": ("team.name",),
        "web_url": ("permalink_url",),
    }
)
# Attribute of `TaskItem` -> what to ask for.
_ITEM: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "name": ("name",),
        "created_at": ("created_at",),
        "updated_at": ("modified_at",),
        "web_url": ("permalink_url",),
        "sub_items": ("num_subtasks",),
        "group_id": ("memberships.project.gid", "memberships.section.gid"),
        "group_name": ("memberships.project.gid", "memberships.section.name"),
    }
)
_OWN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        column_types.ASSIGNEE: ("assignee.name",),
        column_types.DUE: ("due_on", "due_at"),
        column_types.NOTES: ("notes",),
        column_types.DONE: ("completed",),
        column_types.TAGS: ("tags.name",),
    }
)


def board_fields(wanted: AbstractSet[str]) -> str:
    """Return what to ask for of a project."""
    asked = [path for name, paths in _BOARD.items() if name in wanted for path in paths]
    return ",".join(["gid", "archived", *asked])


def item_fields(visibility: ItemVisibility, columns: Iterable[Column]) -> str:
    """
    Return what to ask for of a task.

    Values of custom fields are asked for by kind: upstream knows no finer choice, so a hidden one
    comes along when another of its kind is wanted, and is dropped here.
    """
    asked = {path for name, paths in _ITEM.items() if name in visibility.wanted for path in paths}
    for column in _asked(visibility, tuple(columns)):
        if column.id in _OWN:
            asked.update(_OWN[column.id])
        else:
            asked.update(
                f"custom_fields.{name}"
                for name in ("gid", "type", *column_types.VALUES.get(column.native, ()))
            )
    return ",".join(sorted({"gid", *asked}))


def board(given: response_types.Project) -> TaskBoard:
    """Return a project as a board; a team is its folder."""
    return TaskBoard(
        id=given.gid,
        name=given.name,
        description=given.notes,
        state="archived" if given.archived else "active",
        workspace_id=given.workspace.gid if given.workspace else None,
        workspace_name=given.workspace.name if given.workspace else None,
        folder_id=given.team.gid if given.team else None,
        folder_name=given.team.name if given.team else None,
        web_url=given.permalink_url,
    )


def item(
    given: response_types.Task, board_id: str, visibility: ItemVisibility, columns: Iterable[Column]
) -> TaskItem:
    """Return a task of a project as an item, with the columns of that project."""
    several, wanted = tuple(columns), visibility.wanted
    opened = {one.id for one in _asked(visibility, several)}
    fields = {custom_field.gid: custom_field for custom_field in given.custom_fields or ()}
    cells = [_cell(one, given, fields) if one.id in opened else Cell(column=one) for one in several]
    section = _section(given, board_id)
    return TaskItem(
        id=given.gid,
        board_id=board_id,
        group_id=section.gid if section and "group_id" in wanted else None,
        group_name=section.name if section and "group_name" in wanted else None,
        name=given.name if "name" in wanted else None,
        created_at=parse_utc(given.created_at),
        updated_at=parse_utc(given.modified_at),
        web_url=given.permalink_url,
        sub_items=() if "sub_items" in wanted else None,
        column_values=tuple(cell.record for cell in cells) if "column_values" in wanted else None,
        **(derived_values(cells, wanted) if wanted & DERIVED else {}),
    )


def comment(given: response_types.Story) -> TaskComment:
    """Return a comment."""
    return TaskComment(
        id=given.gid,
        body=given.text,
        author_name=given.created_by.name if given.created_by else None,
        created_at=parse_utc(given.created_at),
    )


def _asked(visibility: ItemVisibility, columns: tuple[Column, ...]) -> list[Column]:
    """Return the columns whose values are wanted and may be seen."""
    closed = revealing_columns(columns, visibility.hidden)
    if "column_values" not in visibility.wanted:
        made_of = source_columns(columns)
        ids = {one.id for name in visibility.wanted & DERIVED for one in made_of[name]}
    else:
        ids = {column.id for column in columns}
    return [column for column in columns if column.id in ids - closed]


def _cell(
    column: Column, task: response_types.Task, fields: Mapping[str, response_types.Field]
) -> Cell:
    match column.id:
        case column_types.ASSIGNEE:
            return _person(column, task.assignee)
        case column_types.DUE:
            due = task.due_at or task.due_on
            return Cell(column=column, text=due, value=_json(due), moment=parse_utc(due))
        case column_types.NOTES:
            return Cell(column=column, text=task.notes, value=_json(task.notes))
        case column_types.DONE:
            done = task.completed
            text = None if done is None else str(done).lower()
            return Cell(column=column, text=text, value=_json(done))
        case column_types.TAGS:
            return _chosen(column, task.tags or ())
    field = fields.get(column.id)
    return Cell(column=column) if field is None else _custom(column, field)


def _custom(column: Column, field: response_types.Field) -> Cell:
    match column.native:
        case "text":
            return Cell(column=column, text=field.text_value, value=_json(field.text_value))
        case "number":
            number = field.number_value
            whole = number is not None and number.is_integer()
            shown = int(number) if number is not None and whole else number
            text = None if shown is None else str(shown)
            return Cell(column=column, text=text, value=_json(shown))
        case "enum":
            one = field.enum_value
            text, gid = (one.name, one.gid) if one else (None, None)
            return Cell(column=column, text=text, value=_json(gid))
        case "multi_enum":
            return _chosen(column, field.multi_enum_values or ())
        case "people":
            return _chosen(column, field.people_value or ())
        case "date":
            day = field.date_value
            text = (day.date_time or day.date) if day else None
            return Cell(
                column=column,
                text=text,
                value=_json(day) if day else None,
                moment=parse_utc(text),
            )
    return Cell(column=column)


def _person(column: Column, one: response_types.Named | None) -> Cell:
    if one is None:
        return Cell(column=column)
    parts = (one.name,) if one.name else ()
    return Cell(column=column, text=one.name, value=_json(one.gid), parts=parts)


def _chosen(column: Column, several: Iterable[response_types.Named]) -> Cell:
    found = tuple(several)
    names = tuple(one.name for one in found if one.name)
    return Cell(
        column=column,
        text=", ".join(names) or None,
        value=_json([one.gid for one in found]) if found else None,
        parts=names,
    )


def _section(task: response_types.Task, board_id: str) -> response_types.Named | None:
    for membership in task.memberships:
        if membership.project is not None and membership.project.gid == board_id:
            return membership.section
    return None


def _json(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
