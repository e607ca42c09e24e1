"""The fields to request (`opt_fields`), and from response structs to records."""

from collections.abc import Iterable, Mapping, Sequence
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

PROVIDER = "PROJECTS"

# Attribute of `TaskBoard` -> field.
_BOARD: Mapping[str, str] = MappingProxyType(
    {
        "name": "name",
        "description": "notes",
        "workspace_id": "workspace.gid",
        "workspace_name": "workspace.name",
        "folder_id": "team.gid",
        "folder_name": "team.name",
        "web_url": "permalink_url",
    }
)
# Attribute of `TaskItem` -> fields.
_ITEM: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "name": ("name",),
        "created_at": ("created_at",),
        "updated_at": ("modified_at",),
        "web_url": ("permalink_url",),
        "sub_items": ("num_subtasks",),
        "parent_id": ("parent.gid",),
        "group_id": ("memberships.project.gid", "memberships.section.gid"),
        "group_name": ("memberships.project.gid", "memberships.section.name"),
    }
)
# Column that every task has -> fields.
_COLUMN: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        column_types.ASSIGNEE: ("assignee.name",),
        column_types.DUE: ("due_on", "due_at"),
        column_types.NOTES: ("notes",),
        column_types.DONE: ("completed",),
        column_types.TAGS: ("tags.name",),
    }
)


def board_fields(projection: AbstractSet[str]) -> str:
    """Return the `opt_fields` of a project."""
    return ",".join(["gid", "archived", *(_BOARD[name] for name in _BOARD if name in projection)])


def item_fields(visibility: ItemVisibility, columns: Iterable[Column]) -> str:
    """
    Return the `opt_fields` of a task.

    Values of custom fields can be requested by type only, so a hidden value may come along;
    `item` drops it.
    """
    fields = {
        path for name, paths in _ITEM.items() if name in visibility.projection for path in paths
    }
    for column in _visible_columns(visibility, tuple(columns)):
        if column.id in _COLUMN:
            fields.update(_COLUMN[column.id])
        else:
            fields |= {"custom_fields.gid", "custom_fields.type"}
            if column.native in column_types.CUSTOM_FIELDS:
                fields.add(f"custom_fields.{column_types.CUSTOM_FIELDS[column.native][1]}")
    return ",".join(sorted({"gid", *fields}))


def board(project: response_types.Project) -> TaskBoard:
    """Return a project as a board; a team is its folder."""
    return TaskBoard(
        provider=PROVIDER,
        id=project.gid,
        name=project.name,
        description=project.notes,
        state="archived" if project.archived else "active",
        workspace_id=project.workspace.gid if project.workspace else None,
        workspace_name=project.workspace.name if project.workspace else None,
        folder_id=project.team.gid if project.team else None,
        folder_name=project.team.name if project.team else None,
        web_url=project.permalink_url,
    )


def item(
    task: response_types.Task,
    board_id: str,
    visibility: ItemVisibility,
    columns: Iterable[Column],
    *,
    parent_id: str | None = None,
) -> TaskItem:
    """Return a task of a project as an item, with the columns of that project."""
    columns, projection = tuple(columns), visibility.projection
    visible_ids = {column.id for column in _visible_columns(visibility, columns)}
    fields = {field.gid: field for field in task.custom_fields or ()}
    cells = [
        _cell(column, task, fields) if column.id in visible_ids else Cell(column=column)
        for column in columns
    ]
    section = _section(task, board_id)
    return TaskItem(
        provider=PROVIDER,
        id=task.gid,
        board_id=board_id,
        parent_id=parent_id,
        group_id=section.gid if section and "group_id" in projection else None,
        group_name=section.name if section and "group_name" in projection else None,
        name=task.name if "name" in projection else None,
        created_at=parse_utc(task.created_at),
        updated_at=parse_utc(task.modified_at),
        web_url=task.permalink_url,
        sub_items=() if "sub_items" in projection else None,
        column_values=tuple(cell.record for cell in cells)
        if "column_values" in projection
        else None,
        **(derived_values(cells, projection) if projection & DERIVED else {}),
    )


def comment(story: response_types.Story) -> TaskComment:
    """Return a story as a comment."""
    return TaskComment(
        id=story.gid,
        body=story.text,
        author_name=story.created_by.name if story.created_by else None,
        created_at=parse_utc(story.created_at),
    )


def _visible_columns(visibility: ItemVisibility, columns: tuple[Column, ...]) -> list[Column]:
    """Return the columns whose values are wanted and visible."""
    hidden_ids = revealing_columns(columns, visibility.hidden)
    if "column_values" not in visibility.projection:
        sources = source_columns(columns)
        ids = {column.id for name in visibility.projection & DERIVED for column in sources[name]}
    else:
        ids = {column.id for column in columns}
    return [column for column in columns if column.id in ids - hidden_ids]


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
            return _named_cell(column, task.tags or ())
    field = fields.get(column.id)
    return Cell(column=column) if field is None else _custom_field(column, field)


def _custom_field(column: Column, field: response_types.Field) -> Cell:
    match column.native:
        case "text":
            return Cell(column=column, text=field.text_value, value=_json(field.text_value))
        case "number":
            number = field.number_value
            if number is not None and number.is_integer():
                number = int(number)
            text = None if number is None else str(number)
            return Cell(column=column, text=text, value=_json(number))
        case "enum":
            option = field.enum_value
            text, gid = (option.name, option.gid) if option else (None, None)
            return Cell(column=column, text=text, value=_json(gid))
        case "multi_enum":
            return _named_cell(column, field.multi_enum_values or ())
        case "people":
            return _named_cell(column, field.people_value or ())
        case "date":
            day = field.date_value
            text = (day.date_time or day.date) if day else None
            return Cell(
                column=column, text=text, value=_json(day) if day else None, moment=parse_utc(text)
            )
    return Cell(column=column)


def _person(column: Column, person: response_types.Named | None) -> Cell:
    if person is None:
        return Cell(column=column)
    parts = (person.name,) if person.name else ()
    return Cell(column=column, text=person.name, value=_json(person.gid), parts=parts)


def _named_cell(column: Column, options: Sequence[response_types.Named]) -> Cell:
    names = tuple(option.name for option in options if option.name)
    return Cell(
        column=column,
        text=", ".join(names) or None,
        value=_json([option.gid for option in options]) if options else None,
        parts=names,
    )


def _section(task: response_types.Task, board_id: str) -> response_types.Named | None:
    for membership in task.memberships:
        if membership.project is not None and membership.project.gid == board_id:
            return membership.section
    return None


def _json(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
