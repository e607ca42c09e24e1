"""
Records as an answer shows them: compact inside others and in listings, full when asked for alone,
and with exactly the fields (and the id) that ``opt_fields`` names otherwise.
"""

from typing import Any

from sandbox.projects.opt_fields import FieldTree
from sandbox.projects.records import Option
from sandbox.projects.store import ProjectStore
from sandbox.projects.views import VIEWS, FieldValue, RecordRef


def render_full(store: ProjectStore, ref: RecordRef, tree: FieldTree | None) -> dict[str, Any]:
    """Show one record: full, or as *tree* asks."""
    view = VIEWS[ref.kind]
    if tree is not None:
        return _asked(store, ref, tree)
    shown: dict[str, Any] = {"gid": ref.record.id, "resource_type": ref.kind}
    for name, show in view.fields.items():
        if name not in view.opt_in:
            shown[name] = _nested(store, show(store, ref.record))
    return shown


def render_listed(store: ProjectStore, ref: RecordRef, tree: FieldTree | None) -> dict[str, Any]:
    """Show one record of a listing: compact, or as *tree* asks."""
    return _compact(store, ref) if tree is None else _asked(store, ref, tree)


def _compact(store: ProjectStore, ref: RecordRef) -> dict[str, Any]:
    view = VIEWS[ref.kind]
    shown: dict[str, Any] = {"gid": ref.record.id, "resource_type": ref.kind}
    for name in view.compact:
        shown[name] = _nested(store, view.fields[name](store, ref.record))
    return shown


def _nested(store: ProjectStore, value: Any) -> Any:
    if isinstance(value, RecordRef):
        # A task's custom fields come whole, everything else compact.
        valued = isinstance(value.record, FieldValue)
        return render_full(store, value, None) if valued else _compact(store, value)
    if isinstance(value, list):
        return [_nested(store, one) for one in value]
    if isinstance(value, dict):
        return {name: _nested(store, one) for name, one in value.items()}
    return value


def _asked(store: ProjectStore, ref: RecordRef, tree: FieldTree) -> dict[str, Any]:
    shown: dict[str, Any] = {"gid": ref.record.id}
    if "resource_type" in tree:
        shown["resource_type"] = ref.kind
    fields = VIEWS[ref.kind].fields
    for name, below in tree.items():
        if name in fields:
            shown[name] = _chosen(store, fields[name](store, ref.record), below)
    return shown


def _chosen(store: ProjectStore, value: Any, tree: FieldTree) -> Any:
    if isinstance(value, list):
        return [_chosen(store, one, tree) for one in value]
    if isinstance(value, RecordRef):
        if tree:
            return _asked(store, value, tree)
        if isinstance(value.record, FieldValue | Option):
            return render_full(store, value, None)
        return {"gid": value.record.id, "resource_type": value.kind}
    if isinstance(value, dict):
        kept = {name: one for name, one in value.items() if not tree or name in tree}
        return {name: _chosen(store, one, tree.get(name, {})) for name, one in kept.items()}
    return value
