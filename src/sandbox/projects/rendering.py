"""
Rendering of records as JSON.

A record is complete when it is requested alone and compact inside other records and in lists;
with ``opt_fields`` it has exactly the requested fields and its id.
"""

from typing import Any

from sandbox.projects.opt_fields import FieldTree
from sandbox.projects.records import Option
from sandbox.projects.resources import FieldValue, RecordRef
from sandbox.projects.store import ProjectStore
from sandbox.projects.views import VIEWS


def render_full(store: ProjectStore, ref: RecordRef, tree: FieldTree | None) -> dict[str, Any]:
    """Render one record: complete, or with the fields of *tree*."""
    view = VIEWS[ref.kind]
    if tree is not None:
        return _render_fields(store, ref, tree)
    body: dict[str, Any] = {"gid": ref.record.id, "resource_type": ref.kind}
    for name, get in view.fields.items():
        if name not in view.opt_in:
            body[name] = _render_value(store, get(store, ref.record))
    return body


def render_listed(store: ProjectStore, ref: RecordRef, tree: FieldTree | None) -> dict[str, Any]:
    """Render one record of a list: compact, or with the fields of *tree*."""
    return _render_compact(store, ref) if tree is None else _render_fields(store, ref, tree)


def _render_compact(store: ProjectStore, ref: RecordRef) -> dict[str, Any]:
    view = VIEWS[ref.kind]
    body: dict[str, Any] = {"gid": ref.record.id, "resource_type": ref.kind}
    for name in view.compact:
        body[name] = _render_value(store, view.fields[name](store, ref.record))
    return body


def _render_value(store: ProjectStore, value: Any) -> Any:
    if isinstance(value, RecordRef):
        # The custom fields of a task are complete, other nested records compact.
        is_complete = isinstance(value.record, FieldValue)
        return render_full(store, value, None) if is_complete else _render_compact(store, value)
    if isinstance(value, list):
        return [_render_value(store, element) for element in value]
    if isinstance(value, dict):
        return {name: _render_value(store, member) for name, member in value.items()}
    return value


def _render_fields(store: ProjectStore, ref: RecordRef, tree: FieldTree) -> dict[str, Any]:
    body: dict[str, Any] = {"gid": ref.record.id}
    if "resource_type" in tree:
        body["resource_type"] = ref.kind
    fields = VIEWS[ref.kind].fields
    for name, subtree in tree.items():
        if name in fields:
            body[name] = _render_selected(store, fields[name](store, ref.record), subtree)
    return body


def _render_selected(store: ProjectStore, value: Any, tree: FieldTree) -> Any:
    if isinstance(value, list):
        return [_render_selected(store, element, tree) for element in value]
    if isinstance(value, RecordRef):
        if tree:
            return _render_fields(store, value, tree)
        if isinstance(value.record, FieldValue | Option):
            return render_full(store, value, None)
        return {"gid": value.record.id, "resource_type": value.kind}
    if isinstance(value, dict):
        return {
            name: _render_selected(store, member, tree.get(name, {}))
            for name, member in value.items()
            if not tree or name in tree
        }
    return value
