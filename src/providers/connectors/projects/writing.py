"""Writes, all fields together or one by one: docs/spec/upstream/asana.md#write-task-fields."""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from providers.connectors.projects import column_types
from providers.connectors.projects.rest_client import ProjectClient
from providers.failures import ProviderFailure, Refused, without_frames
from providers.item_visibility import Column
from providers.ports.tasks import NAME_COLUMN, CreatedTask, NewItem, TaskTarget
from providers.records.finite_numbers import finite_number

_REFUSALS = frozenset({400, 402, 403})  # invalid value, paid feature, locked field


class Writer:
    """Changes tasks."""

    def __init__(self, client: ProjectClient) -> None:
        self._client = client

    async def create(self, item: NewItem, columns: Iterable[Column]) -> CreatedTask:
        membership: dict[str, object] = {"project": item.board_id}
        if item.group_id is not None:
            membership["section"] = item.group_id
        task = {"name": item.name, "memberships": [membership], "projects": [item.board_id]}
        parts, invalid = _body_parts(item.fields, columns)
        try:
            task_id = await self._client.create("tasks", data={**task, **_merge(parts.values())})
        except Refused as refusal:
            if not parts or refusal.status not in _REFUSALS:
                raise
        else:
            return CreatedTask(task_id, invalid)
        task_id = await self._client.create("tasks", data=task)
        try:
            refused = await self._set_one_by_one(task_id, parts)
        except ProviderFailure:  # the task exists; all its fields are reported as refused
            return CreatedTask(task_id, (*invalid, *parts))
        return CreatedTask(task_id, (*invalid, *refused))

    async def update(
        self, target: TaskTarget, fields: Mapping[str, str], columns: Iterable[Column]
    ) -> tuple[str, ...]:
        parts, invalid = _body_parts(fields, columns)
        if not parts:
            return invalid
        try:
            await self._client.write("PUT", "tasks", target.item_id, data=_merge(parts.values()))
        except Refused as refusal:
            if refusal.status not in _REFUSALS:
                raise
        else:
            return invalid
        refused = await self._set_one_by_one(target.item_id, parts)
        refusals = list(refused.values())
        if len(refused) == len(parts) and all(refusal.status == 403 for refusal in refusals):
            raise refusals[0]
        return (*invalid, *refused)

    async def _set_one_by_one(
        self, task_id: str, parts: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, Refused]:
        """Set each field by a request of its own; return the refusals by column."""
        refused = {}
        for column, part in parts.items():
            try:
                await self._client.write("PUT", "tasks", task_id, data=part)
            except Refused as refusal:
                if refusal.status not in _REFUSALS:
                    raise
                refused[column] = without_frames(refusal)
        return refused


class _Invalid(Exception):
    """A text that cannot be a value of its column; sent all the same it would clear the column."""


def _body_parts(
    fields: Mapping[str, str], columns: Iterable[Column]
) -> tuple[dict[str, Mapping[str, Any]], tuple[str, ...]]:
    """
    Return the members that set each field, in the body of a task, by column id.

    Returns:
        Also the ids of the columns whose texts cannot be values of theirs.
    """
    by_id = {column.id: column for column in columns}
    parts: dict[str, Mapping[str, Any]] = {}
    invalid = []
    for name, text in fields.items():
        try:
            parts[name] = _body_part(name, text, by_id.get(name))
        except _Invalid:
            invalid.append(name)
    return parts, tuple(invalid)


def _merge(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            body[name] = {**body.get(name, {}), **value} if name == "custom_fields" else value
    return body


def _body_part(column_id: str, text: str, column: Column | None) -> Mapping[str, Any]:
    value = _decode(text)
    match column_id:
        case _ if column_id == NAME_COLUMN:
            return {NAME_COLUMN: value if isinstance(value, str) else text}
        case column_types.ASSIGNEE:
            return {column_types.ASSIGNEE: _assignee(value, text)}
        case column_types.DUE:
            return _due(value)
        case column_types.NOTES:
            return {column_types.NOTES: "" if value is None else _as_text(value, text)}
        case column_types.DONE:
            return {column_types.DONE: value}
    convert = _CUSTOM.get(column.native) if column else None
    if convert is not None and column is not None and value is not None:
        value = convert(value, text, column)
    return {"custom_fields": {column_id: value}}


def _assignee(value: Any, text: str) -> str | None:
    """Return whom a text names: by an id, an address or "me"; None clears."""
    if value is None or value == "":
        return None
    name = (value if isinstance(value, str) else text).strip()
    if name != "me" and "@" not in name and not (_ID.fullmatch(name) and int(name)):
        raise _Invalid
    return name


_ID = re.compile(r"[0-9]{1,32}")


def _due(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping) and value.keys() & {"date_time", "date"}:
        value = value.get("date_time") or value.get("date")
    if value is None or value == "":
        return {column_types.DUE: None}
    if not isinstance(value, str):
        raise _Invalid
    return {"due_at" if "T" in value else column_types.DUE: value}


def _as_text(value: Any, text: str) -> str:
    return value if isinstance(value, str) else text


def _number(value: Any, text: str, _: Column) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    number = value if is_number else finite_number(value if isinstance(value, str) else text)
    if number is None:
        raise _Invalid
    return number


def _choice(value: Any, _: str, column: Column) -> Any:
    """Return the id of an option, which *value* names by its id or its name."""
    for gid, name in column_types.options(column):
        if value == gid or (isinstance(value, str) and value.casefold() == name.casefold()):
            return gid
    return str(value) if isinstance(value, int) else value


def _choices(value: Any, text: str, column: Column) -> Any:
    names = {name.casefold() for option in column_types.options(column) for name in option}
    if isinstance(value, str):  # a name may have commas
        is_name = value.casefold() in names
        choices: Any = [value] if is_name else [part.strip() for part in value.split(",")]
    else:
        choices = value
    if not isinstance(choices, list):
        return value
    return [_choice(choice, text, column) for choice in choices if choice != ""]


def _people(value: Any, _: str, __: Column) -> Any:
    people = value.split(",") if isinstance(value, str) else value
    if not isinstance(people, list):
        people = [people]
    return [name for person in people if (name := str(person).strip())]


def _date(value: Any, _: str, __: Column) -> Any:
    if not isinstance(value, str):
        return value
    return {"date_time": value} if "T" in value else {"date": value} if value else None


_CUSTOM: Mapping[str, Callable[[Any, str, Column], Any]] = MappingProxyType(
    {
        "text": lambda value, text, _: _as_text(value, text),
        "number": _number,
        "enum": _choice,
        "multi_enum": _choices,
        "people": _people,
        "date": _date,
    }
)


def _decode(text: str) -> Any:
    """Decode a field's text as JSON; other texts, and long numbers, which are ids, stay texts."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    is_id = isinstance(value, int) and not isinstance(value, bool) and len(text) > 9
    return text if is_id else value
