"""What the body of a write says about a task: a reader per property."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from sandbox.projects import custom_field_values, errors, views
from sandbox.projects.context import CallContext
from sandbox.projects.records import Task


def parse_changes(context: CallContext, data: Mapping[str, Any], task: Task) -> dict[str, Any]:
    """
    Return the record's fields that a body changes of *task*.

    Raises:
        ApiError: It holds what the task cannot take.
    """
    if data.get("due_on") and data.get("due_at"):
        raise errors.bad_request("You may only provide one of due_on or due_at!")
    changed: dict[str, Any] = {}
    for name, given in data.items():
        reader = _READERS.get(name)
        if reader is not None:
            changed |= reader(context, given, task)
    return changed


def _name(_: CallContext, given: Any, __: Task) -> dict[str, Any]:
    if not isinstance(given, str):
        raise errors.bad_request("name: Not a string")
    return {"name": given}


def _notes(_: CallContext, given: Any, __: Task) -> dict[str, Any]:
    if not isinstance(given, str):
        raise errors.bad_request("notes: Not a string")
    return {"notes": given, "html_notes": None}


def _html_notes(_: CallContext, given: Any, __: Task) -> dict[str, Any]:
    if not isinstance(given, str) or not given.startswith("<body>"):
        raise errors.bad_request("html_notes: XML is invalid")
    return {"notes": views.strip_markup(given), "html_notes": given}


def _assignee(context: CallContext, given: Any, _: Task) -> dict[str, Any]:
    if given is None:
        return {"assignee": None}
    user = context.user(given)
    if user is None:
        raise errors.bad_request(f"assignee: Not a user in Organization: {given}")
    return {"assignee": user.id}


def _completed(context: CallContext, given: Any, task: Task) -> dict[str, Any]:
    if not isinstance(given, bool):
        raise errors.bad_request("completed: Not a boolean")
    if given is (task.completed_at is not None):
        return {}
    done = (context.store.now(), context.me.id) if given else (None, None)
    return {"completed_at": done[0], "completed_by": done[1]}


def _due_on(_: CallContext, given: Any, __: Task) -> dict[str, Any]:
    return {
        "due_on": None if given is None else custom_field_values.parse_date("due_on", given),
        "due_at": None,
    }


def _due_at(_: CallContext, given: Any, __: Task) -> dict[str, Any]:
    if given is None:
        return {"due_at": None, "due_on": None}
    moment = custom_field_values.parse_datetime("due_at", given)
    return {"due_at": moment, "due_on": moment[:10]}


def _start_on(_: CallContext, given: Any, __: Task) -> dict[str, Any]:
    return {
        "start_on": None if given is None else custom_field_values.parse_date("start_on", given)
    }


def _subtype(_: CallContext, given: Any, __: Task) -> dict[str, Any]:
    if given not in ("default_task", "milestone", "approval"):
        raise errors.bad_request(f"resource_subtype: Not a recognized subtype: {given}")
    return {"subtype": given}


def _custom_fields(context: CallContext, given: Any, task: Task) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise errors.bad_request(f"custom_fields: Value is not a JSON object: {given}")
    if given and context.store.is_free:
        raise errors.ApiError(402, "Custom Fields are not available for free users or guests.")
    known = {field.id: field for field in views.task_fields(context.store, task)}
    kept = dict(task.values)
    for gid, one in given.items():
        if gid not in known:
            raise errors.bad_request(f"Custom field with ID {gid} is not on given object")
        kept[gid] = custom_field_values.parse_value(context.store, known[gid], one, me=context.me)
    return {"values": {gid: one for gid, one in kept.items() if one is not None}}


_READERS: Mapping[str, Callable[[CallContext, Any, Task], dict[str, Any]]] = MappingProxyType(
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
