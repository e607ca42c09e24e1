"""
Fields of each type of resource: a table of getters per type.

A getter returns a scalar, a `RecordRef` to another record, a list of these, or a dictionary;
`rendering` selects the fields of a response and renders the references.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sandbox.projects import custom_field_values
from sandbox.projects.records import CustomField, Project, Story, Task, User
from sandbox.projects.resources import (
    FieldValue,
    Getter,
    RecordRef,
    ResourceView,
    field_settings,
    task_fields,
)
from sandbox.projects.rich_text import to_rich_text
from sandbox.projects.store import ProjectStore

if TYPE_CHECKING:
    from sandbox.storage.documents import Document


def _attribute(name: str) -> Getter:
    return lambda _, record: getattr(record, name)


def _constant(value: Any) -> Getter:
    return lambda *_: value


def _reference(kind: str, table: str, name: str) -> Getter:
    """Build the getter of the record whose id is in attribute *name*; None without an id."""

    def get(store: ProjectStore, record: Any) -> RecordRef | None:
        record_id = getattr(record, name)
        target: Document | None = getattr(store, table).find(record_id) if record_id else None
        return None if target is None else RecordRef(kind, target)

    return get


def _references(kind: str, table: str, name: str) -> Getter:
    def get(store: ProjectStore, record: Any) -> list[RecordRef]:
        targets = (getattr(store, table).find(record_id) for record_id in getattr(record, name))
        return [RecordRef(kind, target) for target in targets if target is not None]

    return get


_workspace = _reference("workspace", "workspaces", "owner")


# Tasks


def _memberships(store: ProjectStore, task: Task) -> list[dict[str, Any]]:
    pairs = [
        (store.projects.find(membership.project), store.sections.find(membership.section))
        for membership in task.memberships
    ]
    return [
        {"project": RecordRef("project", project), "section": RecordRef("section", section)}
        for project, section in pairs
        if project is not None and section is not None
    ]


def _task_projects(store: ProjectStore, task: Task) -> list[RecordRef]:
    return [membership["project"] for membership in _memberships(store, task)]


def _custom_fields(store: ProjectStore, task: Task) -> list[RecordRef]:
    return [
        RecordRef("custom_field", FieldValue(field, task)) for field in task_fields(store, task)
    ]


def _permalink(kind: str) -> Getter:
    def get(_: ProjectStore, record: Any) -> str:
        return f"https://app.projects.example/1/{record.owner}/{kind}/{record.id}"

    return get


_TASK = ResourceView(
    compact=("name", "resource_subtype"),
    opt_in=frozenset({"html_notes", "num_subtasks", "is_rendered_as_separator"}),
    fields=MappingProxyType(
        {
            "name": _attribute("name"),
            "resource_subtype": _attribute("subtype"),
            "actual_time_minutes": _constant(None),
            "assignee": _reference("user", "users", "assignee"),
            "assignee_status": _constant("upcoming"),
            "completed": lambda _, task: task.completed_at is not None,
            "completed_at": _attribute("completed_at"),
            "completed_by": _reference("user", "users", "completed_by"),
            "created_at": _attribute("created_at"),
            "created_by": _reference("user", "users", "creator"),
            "custom_fields": _custom_fields,
            "due_at": _attribute("due_at"),
            "due_on": _attribute("due_on"),
            "followers": _references("user", "users", "followers"),
            "hearted": _constant(False),
            "hearts": lambda *_: [],
            "html_notes": lambda _, task: task.html_notes or to_rich_text(task.notes),
            "is_rendered_as_separator": _constant(False),
            "liked": _constant(False),
            "likes": lambda *_: [],
            "memberships": _memberships,
            "modified_at": _attribute("modified_at"),
            "notes": _attribute("notes"),
            "num_hearts": _constant(0),
            "num_likes": _constant(0),
            "num_subtasks": lambda store, task: len(store.subtasks(task.id)),
            "parent": _reference("task", "tasks", "parent"),
            "permalink_url": _permalink("task"),
            "projects": _task_projects,
            "start_at": _constant(None),
            "start_on": _attribute("start_on"),
            "tags": _references("tag", "tags", "tags"),
            "workspace": _workspace,
        }
    ),
)


# Custom fields: of a workspace, or with a value on a task


def _field(resource: CustomField | FieldValue) -> CustomField:
    return resource.field if isinstance(resource, FieldValue) else resource


def _typed_value(kind: str, get: Callable[[ProjectStore, FieldValue], Any]) -> Getter:
    def get_value(store: ProjectStore, resource: Any) -> Any:
        if not isinstance(resource, FieldValue) or resource.field.kind != kind:
            return None
        return get(store, resource)

    return get_value


def _enum_value(_: ProjectStore, value: FieldValue) -> RecordRef | None:
    options = custom_field_values.selected_options(value.task, value.field)
    return RecordRef("enum_option", options[0]) if options else None


def _options(_: ProjectStore, resource: CustomField | FieldValue) -> list[RecordRef]:
    return [RecordRef("enum_option", option) for option in _field(resource).options]


def _display(store: ProjectStore, resource: CustomField | FieldValue) -> str | None:
    if not isinstance(resource, FieldValue):
        return None
    return custom_field_values.display_value(store, resource.task, resource.field)


_creator = _reference("user", "users", "creator")

_CUSTOM_FIELD = ResourceView(
    compact=("name", "resource_subtype", "type"),
    fields=MappingProxyType(
        {
            "name": lambda _, resource: _field(resource).name,
            "resource_subtype": lambda _, resource: _field(resource).kind,
            "type": lambda _, resource: _field(resource).kind,
            "representation_type": lambda _, resource: (
                "formula" if _field(resource).formula else _field(resource).kind
            ),
            "description": lambda _, resource: _field(resource).description,
            "enabled": _constant(True),
            "precision": lambda _, resource: (
                _field(resource).precision if _field(resource).kind == "number" else None
            ),
            "enum_options": _options,
            "format": _constant("none"),
            "is_formula_field": lambda _, resource: _field(resource).formula is not None,
            "is_value_read_only": lambda _, resource: _field(resource).formula is not None,
            "is_global_to_workspace": _constant(True),
            "has_notifications_enabled": _constant(False),
            "created_by": lambda store, resource: _creator(store, _field(resource)),
            "display_value": _display,
            "text_value": _typed_value("text", lambda _, value: value.task.values.get(value.id)),
            "number_value": _typed_value(
                "number",
                lambda store, value: custom_field_values.number_value(
                    store, value.task, value.field
                ),
            ),
            "enum_value": _typed_value("enum", _enum_value),
            "multi_enum_values": _typed_value(
                "multi_enum",
                lambda _, value: [
                    RecordRef("enum_option", option)
                    for option in custom_field_values.selected_options(value.task, value.field)
                ],
            ),
            "date_value": _typed_value("date", lambda _, value: value.task.values.get(value.id)),
            "people_value": _typed_value(
                "people",
                lambda store, value: [
                    RecordRef("user", user)
                    for user in custom_field_values.selected_users(store, value.task, value.field)
                ],
            ),
        }
    ),
)


# Other types


def _story_text(_: ProjectStore, story: Story) -> str:
    return story.html_text or to_rich_text(story.text)


def _field_settings(store: ProjectStore, project: Project) -> list[RecordRef]:
    return [
        RecordRef("custom_field_setting", setting) for setting in field_settings(store, project)
    ]


def _photo(_: ProjectStore, user: User) -> dict[str, str]:
    sizes = (21, 27, 36, 60, 128)
    return {f"image_{n}x{n}": f"https://photos.projects.example/{user.id}/{n}.png" for n in sizes}


VIEWS: Mapping[str, ResourceView] = MappingProxyType(
    {
        "task": _TASK,
        "custom_field": _CUSTOM_FIELD,
        "enum_option": ResourceView(
            compact=("name", "color", "enabled"),
            fields=MappingProxyType(
                {
                    "name": _attribute("name"),
                    "color": _attribute("color"),
                    "enabled": _attribute("enabled"),
                }
            ),
        ),
        "custom_field_setting": ResourceView(
            compact=(),
            fields=MappingProxyType(
                {
                    "custom_field": lambda _, setting: RecordRef("custom_field", setting.field),
                    "is_important": _constant(True),
                    "parent": lambda _, setting: RecordRef("project", setting.project),
                    "project": lambda _, setting: RecordRef("project", setting.project),
                }
            ),
        ),
        "project": ResourceView(
            opt_in=frozenset({"html_notes"}),
            fields=MappingProxyType(
                {
                    "name": _attribute("name"),
                    "archived": _attribute("archived"),
                    "color": _attribute("color"),
                    "completed": _constant(False),
                    "created_at": _attribute("created_at"),
                    "current_status": _constant(None),
                    "current_status_update": _constant(None),
                    "custom_field_settings": _field_settings,
                    "custom_fields": lambda *_: [],
                    "default_access_level": _constant("editor"),
                    "default_view": _attribute("default_view"),
                    "due_date": _attribute("due_on"),
                    "due_on": _attribute("due_on"),
                    "followers": _references("user", "users", "members"),
                    "html_notes": lambda _, project: to_rich_text(project.notes),
                    "icon": _constant("list"),
                    "members": _references("user", "users", "members"),
                    "minimum_access_level_for_customization": _constant("editor"),
                    "minimum_access_level_for_sharing": _constant("editor"),
                    "modified_at": _attribute("modified_at"),
                    "notes": _attribute("notes"),
                    "owner": _reference("user", "users", "creator"),
                    "permalink_url": _permalink("project"),
                    "privacy_setting": _attribute("privacy"),
                    "public": lambda _, project: project.privacy == "public_to_workspace",
                    "start_on": _attribute("start_on"),
                    "team": _reference("team", "teams", "team"),
                    "workspace": _workspace,
                }
            ),
        ),
        "section": ResourceView(
            fields=MappingProxyType(
                {
                    "name": _attribute("name"),
                    "created_at": _attribute("created_at"),
                    "project": _reference("project", "projects", "owner"),
                    "projects": lambda store, section: [
                        RecordRef("project", project)
                        for project in [store.projects.find(section.owner)]
                        if project is not None
                    ],
                }
            )
        ),
        "story": ResourceView(
            compact=("created_at", "created_by", "resource_subtype", "text", "type"),
            opt_in=frozenset({"html_text"}),
            fields=MappingProxyType(
                {
                    "created_at": _attribute("created_at"),
                    "created_by": _reference("user", "users", "creator"),
                    "resource_subtype": _attribute("subtype"),
                    "text": _attribute("text"),
                    "type": _attribute("kind"),
                    "html_text": _story_text,
                    "is_editable": lambda _, story: story.kind == "comment",
                    "is_edited": _attribute("is_edited"),
                    "is_pinned": _attribute("is_pinned"),
                    "liked": _constant(False),
                    "likes": lambda *_: [],
                    "num_likes": _constant(0),
                    "source": _constant("web"),
                    "target": _reference("task", "tasks", "owner"),
                }
            ),
        ),
        "tag": ResourceView(
            fields=MappingProxyType(
                {
                    "name": _attribute("name"),
                    "color": _attribute("color"),
                    "created_at": _attribute("created_at"),
                    "followers": lambda *_: [],
                    "notes": _attribute("notes"),
                    "permalink_url": _permalink("tag"),
                    "workspace": _workspace,
                }
            )
        ),
        "team": ResourceView(
            fields=MappingProxyType({"name": _attribute("name"), "organization": _workspace})
        ),
        "user": ResourceView(
            fields=MappingProxyType(
                {
                    "name": _attribute("name"),
                    "email": _attribute("email"),
                    "photo": _photo,
                    "workspaces": lambda store, user: [
                        RecordRef("workspace", workspace)
                        for workspace in [store.workspaces.find(user.owner)]
                        if workspace is not None
                    ],
                }
            )
        ),
        "workspace": ResourceView(
            fields=MappingProxyType(
                {
                    "name": _attribute("name"),
                    "is_organization": _attribute("is_organization"),
                    "email_domains": lambda _, workspace: list(workspace.email_domains),
                }
            )
        ),
    }
)
