"""Resources of the API: references to records, and the values and settings of custom fields."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.projects.records import CustomField, Project, Task
from sandbox.projects.store import ProjectStore


@dataclass(frozen=True, slots=True)
class RecordRef:
    """A record and its ``resource_type``, to be rendered by the view of that type."""

    kind: str
    record: Any


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A custom field with its value on a task."""

    field: CustomField
    task: Task

    @property
    def id(self) -> str:
        """The id of the field, which is also that of the value."""
        return self.field.id


@dataclass(frozen=True, slots=True)
class FieldSetting:
    """The setting of a custom field on a project."""

    id: str
    field: CustomField
    project: Project


Getter = Callable[[ProjectStore, Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceView:
    """
    The fields of one type.

    Attributes:
        fields: Name to getter, of all fields.
        compact: Fields that a list contains.
        opt_in: Fields that are returned only on request.
    """

    fields: Mapping[str, Getter]
    compact: tuple[str, ...] = ("name",)
    opt_in: frozenset[str] = frozenset()


def task_fields(store: ProjectStore, task: Task) -> list[CustomField]:
    """Return the custom fields of a task's projects, each once."""
    projects = (store.projects.find(membership.project) for membership in task.memberships)
    ids = [field_id for project in projects if project is not None for field_id in project.fields]
    fields = (store.fields.find(field_id) for field_id in dict.fromkeys(ids))
    return [field for field in fields if field is not None]


def field_settings(store: ProjectStore, project: Project) -> list[FieldSetting]:
    """Return the settings of a project's custom fields, in their order."""
    fields = (store.fields.find(field_id) for field_id in project.fields)
    return [
        FieldSetting(f"{int(project.id) + int(field.id) % 1_000_000}", field, project)
        for field in fields
        if field is not None
    ]
