"""Structs that responses are decoded into; members that were not requested are None."""

import msgspec


class Named(msgspec.Struct, frozen=True):
    gid: str
    name: str | None = None
    email: str | None = None


class Option(msgspec.Struct, frozen=True):
    gid: str
    name: str = ""
    enabled: bool = True


class DateValue(msgspec.Struct, frozen=True):
    date: str | None = None
    date_time: str | None = None


class Field(msgspec.Struct, frozen=True):
    """A custom field: the definition of a project, or the value of a task."""

    gid: str
    name: str = ""
    type: str = "unknown"
    is_formula_field: bool = False
    is_value_read_only: bool = False
    enum_options: tuple[Option, ...] | None = None
    text_value: str | None = None
    number_value: float | None = None
    enum_value: Named | None = None
    multi_enum_values: tuple[Named, ...] | None = None
    date_value: DateValue | None = None
    people_value: tuple[Named, ...] | None = None


class Setting(msgspec.Struct, frozen=True):
    custom_field: Field


class Membership(msgspec.Struct, frozen=True):
    project: Named | None = None
    section: Named | None = None


class Task(msgspec.Struct, frozen=True):
    gid: str
    name: str | None = None
    notes: str | None = None
    completed: bool | None = None
    assignee: Named | None = None
    due_on: str | None = None
    due_at: str | None = None
    created_at: str | None = None
    modified_at: str | None = None
    permalink_url: str | None = None
    num_subtasks: int | None = None
    memberships: tuple[Membership, ...] = ()
    parent: Named | None = None
    tags: tuple[Named, ...] | None = None
    custom_fields: tuple[Field, ...] | None = None


class Project(msgspec.Struct, frozen=True):
    gid: str
    name: str | None = None
    notes: str | None = None
    archived: bool | None = None
    permalink_url: str | None = None
    workspace: Named | None = None
    team: Named | None = None


class Story(msgspec.Struct, frozen=True):
    gid: str
    type: str | None = None
    text: str | None = None
    created_at: str | None = None
    created_by: Named | None = None


class NextPage(msgspec.Struct, frozen=True):
    offset: str | None = None


class TaskPage(msgspec.Struct, frozen=True):
    data: tuple[Task, ...]
    next_page: NextPage | None = None


class ProjectPage(msgspec.Struct, frozen=True):
    data: tuple[Project, ...]
    next_page: NextPage | None = None


class NamedPage(msgspec.Struct, frozen=True):
    data: tuple[Named, ...]
    next_page: NextPage | None = None


class SettingPage(msgspec.Struct, frozen=True):
    data: tuple[Setting, ...]
    next_page: NextPage | None = None


class StoryPage(msgspec.Struct, frozen=True):
    data: tuple[Story, ...]
    next_page: NextPage | None = None


class TaskResponse(msgspec.Struct, frozen=True):
    data: Task


class ProjectResponse(msgspec.Struct, frozen=True):
    data: Project


class UserAddress(msgspec.Struct, frozen=True):
    email: str | None = None


class UserResponse(msgspec.Struct, frozen=True):
    data: UserAddress


class RecordResponse(msgspec.Struct, frozen=True):
    data: Named
