"""
What the task connectors return; see `records`.

Ids are upstream's own. A board is whatever the provider groups its items in. Source: contract,
"Task result objects"; decisions 7.2 and 16.
"""

from datetime import datetime

from providers.records.base import Record


class TaskGroup(Record, frozen=True):
    """A part of a board; *color* is as upstream writes it."""

    id: str
    title: str
    color: str | None = None


class TaskColumn(Record, frozen=True):
    """
    A column of a board.

    Attributes:
        type: One of the words of decisions 7.2, whatever upstream calls it.
        writable: Whether upstream lets it be set at all.
        options: What may be chosen, in upstream's order; None where nothing is chosen.
    """

    id: str
    title: str
    type: str
    writable: bool
    options: tuple[str, ...] | None = None


class TaskTag(Record, frozen=True):
    id: str
    name: str
    color: str | None = None


class TaskBoard(Record, frozen=True):
    """One board; *state* is "active", "archived" or "deleted"."""

    id: str
    name: str | None = None
    description: str | None = None
    state: str | None = None
    workspace_id: str | None = None
    workspace_name: str | None = None
    folder_id: str | None = None
    folder_name: str | None = None
    web_url: str | None = None
    groups: tuple[TaskGroup, ...] | None = None
    columns: tuple[TaskColumn, ...] | None = None
    tags: tuple[TaskTag, ...] | None = None


class TaskColumnValue(Record, frozen=True):
    """
    What an item has in a column.

    Attributes:
        text: For people to read.
        value: The provider's JSON as a text: the form that a write takes.
    """

    column_id: str
    column_title: str
    type: str
    text: str | None = None
    value: str | None = None


class TaskComment(Record, frozen=True):
    """A comment; *body* is plain text."""

    id: str
    body: str | None = None
    author_name: str | None = None
    created_at: datetime | None = None


class TaskItem(Record, frozen=True):
    """
    One item.

    Attributes:
        board_id: The board it is reached by; of a sub-item, that of the item above it.
        comments: Newest first, 25 at most.
        sub_items: One level: theirs are None.
    """

    id: str
    board_id: str
    group_id: str | None = None
    group_name: str | None = None
    name: str | None = None
    status: str | None = None
    assignees: tuple[str, ...] | None = None
    due_date: datetime | None = None
    priority: str | None = None
    labels: tuple[str, ...] | None = None
    description: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    web_url: str | None = None
    comments: tuple[TaskComment, ...] | None = None
    sub_items: "tuple[TaskItem, ...] | None" = None
    column_values: tuple[TaskColumnValue, ...] | None = None
