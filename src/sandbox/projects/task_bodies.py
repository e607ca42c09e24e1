"""Parsing of request bodies with the fields of a task: a parser per field."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from sandbox.projects import custom_field_values, errors
from sandbox.projects.context import CallContext
from sandbox.projects.records import Task
from sandbox.projects.resources import task_fields
from sandbox.projects.rich_text import strip_markup


def parse_changes(context: CallContext, data: Mapping[str, Any], task: Task) -> dict[str, Any]:
    """
    Return the changed fields of the record of *task*; unknown fields are ignored.

    Raises:
        ApiError: A value is invalid for the task.
    """
    if data.get("due_on") and data.get("due_at"):
        raise errors.bad_request("You may only provide one of due_on or due_at!")
    changes: dict[str, Any] = {}
    for name, value in data.items():
        parser = _PARSERS.get(name)
        if parser is not None:
            changes |= parser(context, value, task)
    return changes


def _name(_: CallContext, value: Any, __: Task) -> dict[str, Any]:
    if not isinstance(value, str):
        raise errors.bad_request("name: Not a string")
    return {"name": value}


def _notes(_: CallContext, value: Any, __: Task) -> dict[str, Any]:
    if not isinstance(value, str):
        raise errors.bad_request("notes: Not a string")
    return {"notes": value, "html_notes": None}


def _html_notes(_: CallContext, value: Any, __: Task) -> dict[str, Any]:
    if not isinstance(value, str) or not value.startswith("<body>"):
        raise errors.bad_request("html_notes: XML is invalid")
    return {"notes": strip_markup(value), "html_notes": value}


def _assignee(context: CallContext, value: Any, _: Task) -> dict[str, Any]:
    if value is None:
        return {"assignee": None}
    user = context.find_user(value)
    if user is None:
        raise errors.bad_request(f"assignee: Not a user in Organization: {value}")
    return {"assignee": user.id}


def _completed(context: CallContext, value: Any, task: Task) -> dict[str, Any]:
    if not isinstance(value, bool):
        raise errors.bad_request("completed: Not a boolean")
    if value is (task.completed_at is not None):
        return {}
    completed_at, user_id = (context.store.now(), context.user.id) if value else (None, None)
    return {"completed_at": completed_at, "completed_by": user_id}


def _due_on(_: CallContext, value: Any, __: Task) -> dict[str, Any]:
    return {
        "due_on": None if value is None else custom_field_values.parse_date("due_on", value),
        "due_at": None,
    }


def _due_at(_: CallContext, value: Any, __: Task) -> dict[str, Any]:
    if value is None:
        return {"due_at": None, "due_on": None}
    moment = custom_field_values.parse_datetime("due_at", value)
    return {"due_at": moment, "due_on": moment[:10]}


def _start_on(_: CallContext, value: Any, __: Task) -> dict[str, Any]:
    return {
        "start_on": None if value is None else custom_field_values.parse_date("start_on", value)
    }


def _subtype(_: CallContext, value: Any, __: Task) -> dict[str, Any]:
    if value not in ("default_task", "milestone", "approval"):
        raise errors.bad_request(f"resource_subtype: Not a recognized subtype: {value}")
    return {"subtype": value}


def _custom_fields(context: CallContext, value: Any, task: Task) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise errors.bad_request(f"custom_fields: Value is not a JSON object: {value}")
    if value and context.store.is_free:
        raise errors.ApiError(402, "Custom Fields are not available for free users or guests.")
    fields = {field.id: field for field in task_fields(context.store, task)}
    values = dict(task.values)
    for gid, field_value in value.items():
        if gid not in fields:
            raise errors.bad_request(f"Custom field with ID {gid} is not on given object")
        values[gid] = custom_field_values.parse_value(
            context.store, fields[gid], field_value, user=context.user
        )
    return {"values": {gid: stored for gid, stored in values.items() if stored is not None}}


_PARSERS: Mapping[str, Callable[[CallContext, Any, Task], dict[str, Any]]] = MappingProxyType(
    {
        "name": _name,
        "notes": _notes,
        "html_notes": _html_notes,
        "assignee": _assignee,
        "completed": _completed,
        "due_on": _due_on,
        "due_at": _due_at,
        "start_on": _start_on,
        "resource_subtype": _subtype,
        "custom_fields": _custom_fields,
    }
)
