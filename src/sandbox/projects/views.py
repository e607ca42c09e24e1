"""
What the wire shows of each record: a table of fields per type.

A field is a scalar, a `RecordRef` to another record, a list of these, or a dictionary. `showing`
says which of them an answer holds.
"""

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sandbox.projects import custom_field_values
from sandbox.projects.records import CustomField, Project, Story, Task, User
from sandbox.projects.store import ProjectStore

if TYPE_CHECKING:
    from sandbox.storage.documents import Document

_MARKUP = re.compile(r"<[^>]*>")
_BREAKS = re.compile(r"<br\s*/?>|</li>|</h\d>")


@dataclass(frozen=True, slots=True)
class RecordRef:
    """Another record, by its type on the wire."""

    kind: str
    record: Any


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A custom field with the value that a task gives it."""

    field: CustomField
    task: Task

    @property
    def id(self) -> str:
        """The field's id, which is the value's too."""
        return self.field.id


@dataclass(frozen=True, slots=True)
class FieldSetting:
    """A custom field standing on a project."""

    id: str
    field: CustomField
    project: Project


Getter = Callable[[ProjectStore, Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceView:
    """
    How one type is shown.

    Attributes:
        fields: Every field that can be asked for.
        compact: Those of a listing. *opt_in* are shown only when named.
    """

    fields: Mapping[str, Getter]
    compact: tuple[str, ...] = ("name",)
    opt_in: frozenset[str] = frozenset()


def strip_markup(markup: str) -> str:
    """Return rich text without its marks."""
    return html.unescape(_MARKUP.sub("", _BREAKS.sub("\n", markup))).strip()


def to_markup(text: str) -> str:
    """Return plain text as rich text."""
    return f"<body>{html.escape(text, quote=False)}</body>"


def _own(name: str) -> Getter:
    return lambda _, record: getattr(record, name)


def _const(value: Any) -> Getter:
    return lambda *_: value


def _ref(kind: str, table: str, name: str) -> Getter:
    """Show the record that a field names, None when it names none."""

    def show(store: ProjectStore, record: Any) -> RecordRef | None:
        wanted = getattr(record, name)
        found: Document | None = getattr(store, table).find(wanted) if wanted else None
        return None if found is None else RecordRef(kind, found)

    return show


def _refs(kind: str, table: str, name: str) -> Getter:
    def show(store: ProjectStore, record: Any) -> list[RecordRef]:
        found = (getattr(store, table).find(one) for one in getattr(record, name))
        return [RecordRef(kind, one) for one in found if one is not None]

    return show


_workspace = _ref("workspace", "workspaces", "owner")


# Tasks


def _memberships(store: ProjectStore, task: Task) -> list[dict[str, Any]]:
    found = [
        (store.projects.find(membership.project), store.sections.find(membership.section))
        for membership in task.memberships
    ]
    return [
        {"project": RecordRef("project", project), "section": RecordRef("section", section)}
        for project, section in found
        if project is not None and section is not None
    ]


def _task_projects(store: ProjectStore, task: Task) -> list[RecordRef]:
    return [membership["project"] for membership in _memberships(store, task)]


def _custom_fields(store: ProjectStore, task: Task) -> list[RecordRef]:
    return [
        RecordRef("custom_field", FieldValue(field, task)) for field in task_fields(store, task)
    ]


def task_fields(store: ProjectStore, task: Task) -> list[CustomField]:
    """Return the custom fields that a task's projects give it, each once."""
    projects = (store.projects.find(membership.project) for membership in task.memberships)
    ids = [one for project in projects if project is not None for one in project.fields]
    found = (store.fields.find(key) for key in dict.fromkeys(ids))
    return [field for field in found if field is not None]


def _link(kind: str) -> Getter:
    def show(_: ProjectStore, record: Any) -> str:
        return f"https://app.projects.example/1/{record.owner}/{kind}/{record.id}"

    return show


_TASK = ResourceView(
    compact=("name", "resource_subtype"),
    opt_in=frozenset({"html_notes", "num_subtasks", "is_rendered_as_separator"}),
    fields=MappingProxyType(
        {
            "name": _own("name"),
            "resource_subtype": _own("subtype"),
            "actual_time_minutes": _const(None),
            "assignee": _ref("user", "users", "assignee"),
            "assignee_status": _const("upcoming"),
            "completed": lambda _, task: task.completed_at is not None,
            "completed_at": _own("completed_at"),
            "completed_by": _ref("user", "users", "completed_by"),
            "created_at": _own("created_at"),
            "created_by": _ref("user", "users", "creator"),
            "custom_fields": _custom_fields,
            "due_at": _own("due_at"),
            "due_on": _own("due_on"),
            "followers": _refs("user", "users", "followers"),
            "hearted": _const(False),
            "hearts": lambda *_: [],
            "html_notes": lambda _, task: task.html_notes or to_markup(task.notes),
            "is_rendered_as_separator": _const(False),
            "liked": _const(False),
            "likes": lambda *_: [],
            "memberships": _memberships,
            "modified_at": _own("modified_at"),
            "notes": _own("notes"),
            "num_hearts": _const(0),
            "num_likes": _const(0),
            "num_subtasks": lambda store, task: len(store.subtasks(task.id)),
            "parent": _ref("task", "tasks", "parent"),
            "permalink_url": _link("task"),
            "projects": _task_projects,
            "start_at": _const(None),
            "start_on": _own("start_on"),
            "tags": _refs("tag", "tags", "tags"),
            "workspace": _workspace,
        }
    ),
)


# Custom fields


def _field(one: CustomField | FieldValue) -> CustomField:
    return one.field if isinstance(one, FieldValue) else one


def _valued(kind: str, show: Callable[[ProjectStore, FieldValue], Any]) -> Getter:
    def read(store: ProjectStore, one: Any) -> Any:
        if not isinstance(one, FieldValue) or one.field.kind != kind:
            return None
        return show(store, one)

    return read


def _enum_value(_: ProjectStore, one: FieldValue) -> RecordRef | None:
    options = custom_field_values.selected_options(one.task, one.field)
    return RecordRef("enum_option", options[0]) if options else None


def _options(_: ProjectStore, one: CustomField | FieldValue) -> list[RecordRef]:
    return [RecordRef("enum_option", option) for option in _field(one).options]


def _display(store: ProjectStore, one: CustomField | FieldValue) -> str | None:
    return (
        custom_field_values.display_value(store, one.task, one.field)
        if isinstance(one, FieldValue)
        else None
    )


_CUSTOM_FIELD = ResourceView(
    compact=("name", "resource_subtype", "type"),
    fields=MappingProxyType(
        {
            "name": lambda _, one: _field(one).name,
            "resource_subtype": lambda _, one: _field(one).kind,
            "type": lambda _, one: _field(one).kind,
            "representation_type": lambda _, one: (
                "formula" if _field(one).formula else _field(one).kind
            ),
            "description": lambda _, one: _field(one).description,
            "enabled": _const(True),
            "precision": lambda _, one: (
                _field(one).precision if _field(one).kind == "number" else None
            ),
            "enum_options": _options,
            "format": _const("none"),
            "is_formula_field": lambda _, one: _field(one).formula is not None,
            "is_value_read_only": lambda _, one: _field(one).formula is not None,
            "is_global_to_workspace": _const(True),
            "has_notifications_enabled": _const(False),
            "created_by": lambda store, one: _ref("user", "users", "creator")(store, _field(one)),
            "display_value": _display,
            "text_value": _valued("text", lambda _, one: one.task.values.get(one.id)),
            "number_value": _valued(
                "number",
                lambda store, one: custom_field_values.number_value(store, one.task, one.field),
            ),
            "enum_value": _valued("enum", _enum_value),
            "multi_enum_values": _valued(
                "multi_enum",
                lambda _, one: [
                    RecordRef("enum_option", o)
                    for o in custom_field_values.selected_options(one.task, one.field)
                ],
            ),
            "date_value": _valued("date", lambda _, one: one.task.values.get(one.id)),
            "people_value": _valued(
                "people",
                lambda store, one: [
                    RecordRef("user", u)
                    for u in custom_field_values.selected_users(store, one.task, one.field)
                ],
            ),
        }
    ),
)


# The others


def _story_text(_: ProjectStore, story: Story) -> str:
    return story.html_text or to_markup(story.text)


def _current_settings(store: ProjectStore, project: Project) -> list[RecordRef]:
    return [RecordRef("custom_field_setting", one) for one in field_settings(store, project)]


def field_settings(store: ProjectStore, project: Project) -> list[FieldSetting]:
    """Return how a project's custom fields stand on it, in their order."""
    found = (store.fields.find(one) for one in project.fields)
    return [
        FieldSetting(f"{int(project.id) + int(field.id) % 1_000_000}", field, project)
        for field in found
        if field is not None
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
                {"name": _own("name"), "color": _own("color"), "enabled": _own("enabled")}
            ),
        ),
        "custom_field_setting": ResourceView(
            compact=(),
            fields=MappingProxyType(
                {
                    "custom_field": lambda _, one: RecordRef("custom_field", one.field),
                    "is_important": _const(True),
                    "parent": lambda _, one: RecordRef("project", one.project),
                    "project": lambda _, one: RecordRef("project", one.project),
                }
            ),
        ),
        "project": ResourceView(
            opt_in=frozenset({"html_notes"}),
            fields=MappingProxyType(
                {
                    "name": _own("name"),
                    "archived": _own("archived"),
                    "color": _own("color"),
                    "completed": _const(False),
                    "created_at": _own("created_at"),
                    "current_status": _const(None),
                    "current_status_update": _const(None),
                    "custom_field_settings": _current_settings,
                    "custom_fields": lambda *_: [],
                    "default_access_level": _const("editor"),
                    "default_view": _own("default_view"),
                    "due_date": _own("due_on"),
                    "due_on": _own("due_on"),
                    "followers": _refs("user", "users", "members"),
                    "html_notes": lambda _, project: to_markup(project.notes),
                    "icon": _const("list"),
                    "members": _refs("user", "users", "members"),
                    "minimum_access_level_for_customization": _const("editor"),
                    "minimum_access_level_for_sharing": _const("editor"),
                    "modified_at": _own("modified_at"),
                    "notes": _own("notes"),
                    "owner": _ref("user", "users", "creator"),
                    "permalink_url": _link("project"),
                    "privacy_setting": _own("privacy"),
                    "public": lambda _, project: project.privacy == "public_to_workspace",
                    "start_on": _own("start_on"),
                    "team": _ref("team", "teams", "team"),
                    "workspace": _workspace,
                }
            ),
        ),
        "section": ResourceView(
            fields=MappingProxyType(
                {
                    "name": _own("name"),
                    "created_at": _own("created_at"),
                    "project": _ref("project", "projects", "owner"),
                    "projects": lambda store, one: [
                        RecordRef("project", project)
                        for project in [store.projects.find(one.owner)]
                        if project is not None
                    ],
                }
            ),
        ),
        "story": ResourceView(
            compact=("created_at", "created_by", "resource_subtype", "text", "type"),
            opt_in=frozenset({"html_text"}),
            fields=MappingProxyType(
                {
                    "created_at": _own("created_at"),
                    "created_by": _ref("user", "users", "creator"),
                    "resource_subtype": _own("subtype"),
                    "text": _own("text"),
                    "type": _own("kind"),
                    "html_text": _story_text,
                    "is_editable": lambda _, story: story.kind == "comment",
                    "is_edited": _own("is_edited"),
                    "is_pinned": _own("is_pinned"),
                    "liked": _const(False),
                    "likes": lambda *_: [],
                    "num_likes": _const(0),
                    "source": _const("web"),
                    "target": _ref("task", "tasks", "owner"),
                }
            ),
        ),
        "tag": ResourceView(
            fields=MappingProxyType(
                {
                    "name": _own("name"),
                    "color": _own("color"),
                    "created_at": _own("created_at"),
                    "followers": lambda *_: [],
                    "notes": _own("notes"),
                    "permalink_url": _link("tag"),
                    "workspace": _workspace,
                }
            ),
        ),
        "team": ResourceView(
            fields=MappingProxyType({"name": _own("name"), "organization": _workspace}),
        ),
        "user": ResourceView(
            fields=MappingProxyType(
                {
                    "name": _own("name"),
                    "email": _own("email"),
                    "photo": _photo,
                    "workspaces": lambda store, user: [
                        RecordRef("workspace", one)
                        for one in [store.workspaces.find(user.owner)]
                        if one is not None
                    ],
                }
            ),
        ),
        "workspace": ResourceView(
            fields=MappingProxyType(
                {
                    "name": _own("name"),
                    "is_organization": _own("is_organization"),
                    "email_domains": lambda _, one: list(one.email_domains),
                }
            ),
        ),
    }
)
