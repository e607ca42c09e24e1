"""Records of the projects API. Ids have 16 digits; times are ISO 8601 with ``Z``."""

from typing import Any

import msgspec

from sandbox.storage.documents import Document


class Workspace(Document, frozen=True, kw_only=True):
    """A workspace, an organization by default."""

    name: str
    is_organization: bool = True
    email_domains: tuple[str, ...] = ()


class Team(Document, frozen=True, kw_only=True):
    """A team of a workspace (its owner)."""

    name: str
    members: tuple[str, ...] = ()


class User(Document, frozen=True, kw_only=True):
    """A user of a workspace (its owner)."""

    name: str
    email: str
    is_guest: bool = False


class Project(Document, frozen=True, kw_only=True):
    """
    A project of a workspace (its owner).

    Attributes:
        fields: The ids of its custom fields, in their order.
        members: Ids of the users that can see it when *privacy* is "private".
    """

    name: str
    notes: str = ""
    archived: bool = False
    color: str | None = None
    team: str | None = None
    creator: str
    members: tuple[str, ...] = ()
    privacy: str = "public_to_workspace"
    fields: tuple[str, ...] = ()
    due_on: str | None = None
    start_on: str | None = None
    default_view: str = "list"
    created_at: str
    modified_at: str


class Section(Document, frozen=True, kw_only=True):
    """A section of a project (its owner)."""

    name: str
    created_at: str


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """An option of an enum field."""

    id: str
    name: str
    color: str = "none"
    enabled: bool = True


class CustomField(Document, frozen=True, kw_only=True):
    """
    A custom field of a workspace (its owner).

    Attributes:
        kind: "text", "number", "enum", "multi_enum", "date" or "people".
        formula: Ids of two number fields that are multiplied; the field is read-only.
        locked_by: Id of the only user who may set values.
    """

    name: str
    kind: str
    description: str = ""
    precision: int = 0
    options: tuple[Option, ...] = ()
    formula: tuple[str, str] | None = None
    locked_by: str | None = None
    creator: str | None = None


class Membership(msgspec.Struct, frozen=True, kw_only=True):
    """The membership of a task in a section of a project; both are ids."""

    project: str
    section: str


class Task(Document, frozen=True, kw_only=True):
    """
    A task of a workspace (its owner).

    Attributes:
        values: Custom field id to its value: text, number, option id, option ids, user ids, or
            ``{"date", "date_time"}``.
        due_at: Time; *due_on* is then its date.
    """

    name: str
    notes: str = ""
    html_notes: str | None = None
    subtype: str = "default_task"
    assignee: str | None = None
    completed_at: str | None = None
    completed_by: str | None = None
    due_on: str | None = None
    due_at: str | None = None
    start_on: str | None = None
    parent: str | None = None
    memberships: tuple[Membership, ...] = msgspec.field(default=(), name="places")
    tags: tuple[str, ...] = ()
    followers: tuple[str, ...] = ()
    values: dict[str, Any] = msgspec.field(default_factory=dict)
    creator: str
    created_at: str
    modified_at: str


class Story(Document, frozen=True, kw_only=True):
    """A comment on a task (its owner), or an event of its history when *kind* is "system"."""

    text: str
    html_text: str | None = None
    kind: str = "comment"
    subtype: str = "comment_added"
    creator: str | None
    created_at: str
    is_edited: bool = False
    is_pinned: bool = False


class Tag(Document, frozen=True, kw_only=True):
    """A tag of a workspace (its owner)."""

    name: str
    color: str | None = None
    notes: str = ""
    created_at: str
