"""
Task records: docs/spec/tasks.md#objects.

Ids are native. A board is whatever the provider groups its items in.
"""

from datetime import datetime

from providers.records.base import Long, Mark, Record


class TaskGroup(Record, frozen=True):
    """A section of a board; *color* is as upstream writes it."""

    id: str
    title: str
    color: str | None = None


class TaskColumn(Record, frozen=True):
    """
    A column of a board.

    Attributes:
        type: One of the types of docs/spec/tasks.md#column.
        writable: Whether upstream allows it to be set at all.
        options: The choices, in upstream's order; None for a column without choices.
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
    """
    One board.

    Attributes:
        provider: The code of its provider.
        state: "active", "archived" or "deleted".
    """

    id: str
    provider: str
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
    connection_id: Long | None = None


class TaskColumnValueMark(Mark):
    __slots__ = ()


class TaskColumnValue(Record, TaskColumnValueMark, frozen=True, rename="camel"):
    """
    Value of an item in a column.

    Attributes:
        text: For people to read.
        value: The provider's JSON, as text: the form that writes take.
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
        provider: The code of its provider.
        board_id: Its board; of a sub-item, that of its parent.
        parent_id: Of a sub-item, its parent; None also where a caller may not see the parent.
        comments: Newest first, at most 25.
        sub_items: One level deep: theirs are None.
        connection_id: The connection that it was read from; None in a connector's records.
    """

    id: str
    provider: str
    board_id: str
    parent_id: str | None = None
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
    connection_id: Long | None = None
