"""What a field's text is to the project provider, and writing field by field."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from providers.connectors.projects import column_types
from providers.connectors.projects.rest_client import ProjectClient
from providers.failures import ProviderFailure, Refused
from providers.item_visibility import Column
from providers.ports.tasks import NAME_COLUMN, CreatedTask, NewItem, TaskTarget

_REFUSALS = frozenset({400, 402, 403})  # a value, a paid feature, a field locked to others


class Writer:
    """Changes tasks."""

    def __init__(self, client: ProjectClient) -> None:
        self._client = client

    async def create(self, item: NewItem, columns: Iterable[Column]) -> CreatedTask:
        """Create a task; see `TaskPort.create`."""
        place: dict[str, object] = {"project": item.board_id}
        if item.group_id is not None:
            place["section"] = item.group_id
        bare = {"name": item.name, "memberships": [place], "projects": [item.board_id]}
        parts = _parts(item.fields, columns)
        try:
            made = await self._client.make("tasks", data={**bare, **_joined(parts.values())})
        except Refused as refusal:
            if not parts or refusal.status not in _REFUSALS:
                raise
        else:
            return CreatedTask(made, ())
        made = await self._client.make("tasks", data=bare)
        try:
            refused = await self._one_by_one(made, parts)
        except ProviderFailure:  # the task is there; what it lacks is said
            return CreatedTask(made, tuple(parts))
        return CreatedTask(made, tuple(refused))

    async def update(
        self, target: TaskTarget, fields: Mapping[str, str], columns: Iterable[Column]
    ) -> tuple[str, ...]:
        """Set fields; see `TaskPort.update`."""
        parts = _parts(fields, columns)
        try:
            await self._client.write("PUT", "tasks", target.item_id, data=_joined(parts.values()))
        except Refused as refusal:
            if refusal.status not in _REFUSALS:
                raise
        else:
            return ()
        refused = await self._one_by_one(target.item_id, parts)
        if len(refused) == len(parts) and all(one.status == 403 for one in refused.values()):
            raise next(iter(refused.values()))
        return tuple(refused)

    async def _one_by_one(
        self, task_id: str, parts: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, Refused]:
        """Set each field by itself; return what was refused."""
        refused = {}
        for column, part in parts.items():
            try:
                await self._client.write("PUT", "tasks", task_id, data=part)
            except Refused as refusal:
                if refusal.status not in _REFUSALS:
                    raise
                refused[column] = refusal
        return refused


def _parts(fields: Mapping[str, str], columns: Iterable[Column]) -> dict[str, Mapping[str, Any]]:
    """Return what each field is in the body of a task."""
    known = {one.id: one for one in columns}
    return {column: _part(column, text, known.get(column)) for column, text in fields.items()}


def _joined(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    joined: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            known = joined.get(name)
            joined[name] = {**known, **value} if name == "custom_fields" and known else value
    return joined


def _part(column_id: str, text: str, column: Column | None) -> Mapping[str, Any]:
    value = _decoded(text)
    match column_id:
        case _ if column_id == NAME_COLUMN:
            return {NAME_COLUMN: value if isinstance(value, str) else text}
        case column_types.ASSIGNEE:
            return {column_types.ASSIGNEE: value or None}
        case column_types.DUE:
            return _due(value)
        case column_types.NOTES:
            return {column_types.NOTES: "" if value is None else _as_text(value, text)}
        case column_types.DONE:
            return {column_types.DONE: value}
    read = _CUSTOM.get(column.native) if column else None
    taken = value if read is None or column is None or value is None else read(value, text, column)
    return {"custom_fields": {column_id: taken}}


def _due(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        value = value.get("date_time") or value.get("date")
    if isinstance(value, str) and "T" in value:
        return {"due_at": value}
    return {column_types.DUE: value or None}


def _as_text(value: Any, text: str) -> str:
    return value if isinstance(value, str) else text


def _number(value: Any, text: str, _: Column) -> Any:
    try:
        return float(text) if isinstance(value, str) else value
    except ValueError:
        return value


def _choice(value: Any, _: str, column: Column) -> Any:
    """Return the id of a choice that is given by id or by name."""
    for gid, name in column_types.options(column):
        if value == gid or (isinstance(value, str) and value.casefold() == name.casefold()):
            return gid
    return str(value) if isinstance(value, int) else value


def _choices(value: Any, text: str, column: Column) -> Any:
    several = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(several, list):
        return value
    return [_choice(one, text, column) for one in several if one != ""]


def _people(value: Any, _: str, __: Column) -> Any:
    several = value.split(",") if isinstance(value, str) else value
    if not isinstance(several, list):
        several = [several]
    return [str(one).strip() for one in several if str(one).strip()]


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


def _decoded(text: str) -> Any:
    """Read a field's text as JSON; else take it as it is. Long numbers are ids: they stay texts."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
    return (
        text if isinstance(value, int) and not isinstance(value, bool) and len(text) > 9 else value
    )
