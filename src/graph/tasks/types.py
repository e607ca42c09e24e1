"""Output types of the tasks surface (docs/spec/tasks.md#objects)."""

from typing import Annotated

from graph.output_types import (
    AccessInfo,
    ErrorText,
    HasMore,
    NextPageToken,
    Success,
    masked,
    output,
    output_of,
    visible,
)
from graph.scalars import Long
from policy.vocabulary import TaskField
from providers.records import tasks as records
from providers.records.base import Record

_PROVIDER = visible("The provider's code.")
Provider = Annotated[str, _PROVIDER]


@output
class TaskProvider(Record, frozen=True, kw_only=True):
    """A connected account of a task provider."""

    provider_code: Annotated[str, visible("The code that the parameter `provider` takes.")]
    provider_display_name: Annotated[str, visible("The provider's name.")]
    connection_id: Annotated[int, visible("The connection's id.", graphql_type=Long)]
    status: Annotated[str, visible("`active`, `needs_reauth`, `disabled` or `error`.")]


@output_of(records.TaskGroup)
class TaskGroup:
    """A group of a board."""

    id = visible("`groupId` of items.")
    title = visible("The title.")
    color = visible("As the provider writes it.")


@output_of(records.TaskColumn)
class TaskColumn:
    """A column of a board."""

    id = visible("The key in `fields`.")
    title = visible("The title.")
    type = visible(
        "`text`, `long_text`, `number`, `status`, `date`, `timeline`, `people`, `tags`, "
        "`dropdown`, `checkbox`, `link`, `email`, `phone`, `file`, `relation`, `formula` or "
        "`other`; more may come."
    )
    writable = visible("Whether the column can be written.")
    options = visible("The possible values; null for columns without a list of values.")


@output_of(records.TaskTag)
class TaskTag:
    """A tag that a board uses."""

    id = visible("The tag's id.")
    name = visible("The tag.")
    color = visible("As the provider writes it.")


@output_of(records.TaskBoard)
class TaskBoard:
    """A board."""

    id = visible("The provider's id of the board.")
    name = visible("The name.")
    description = masked(TaskField.DESCRIPTION, "The description.")
    state = visible("`active`, `archived` or `deleted`.")
    workspace_id = visible("The workspace it belongs to.")
    workspace_name = visible("The workspace's name.")
    folder_id = visible("The id of the parent folder.")
    folder_name = visible("The folder's name.")
    web_url = masked(TaskField.WEB_LINK, "The address of its page in a browser.")
    groups = visible("Null in lists.")
    columns = visible("Null in lists.")
    tags = visible("Null in lists.")
    connection_id = masked(
        TaskField.CONNECTION_ID, "The connection of its account.", graphql_type=Long | None
    )


@output_of(records.TaskColumnValue)
class TaskColumnValue:
    """The value of a column of an item."""

    column_id = visible("The column's id.")
    column_title = visible("The column's title.")
    type = visible("The column's type.")
    text = visible("A sentence for people.")
    value = visible("The provider's JSON as a text: the form that `fields` takes.")


@output_of(records.TaskComment)
class TaskComment:
    """A comment on an item."""

    id = visible("The comment's id.")
    body = visible("Plain text.")
    author_name = visible("The author.")
    created_at = visible("The time at which the comment was written.")


@output_of(records.TaskItem)
class TaskItem:
    """One item of a board."""

    id = visible("The provider's id of the item.")
    board_id = visible("The id of the board; for a sub-item, that of its parent item.")
    group_id = visible("The id of the group.")
    group_name = visible("The group's title.")
    name = masked(TaskField.NAME, "The name.")
    status = masked(TaskField.STATUS, "The first status column that is not titled like priority.")
    assignees = masked(
        TaskField.ASSIGNEES, "The names of the assigned people, from all people columns."
    )
    due_date = masked(
        TaskField.DUE_DATE, "The first date column, else the end of the first timeline."
    )
    priority = masked(
        TaskField.PRIORITY, "The value of the first status column whose title is like `priority`."
    )
    labels = masked(TaskField.LABELS, "The labels of all tag and dropdown columns.")
    description = masked(
        TaskField.DESCRIPTION, "A long-text column titled like description, else the first one."
    )
    created_at = masked(TaskField.CREATED_TIME, "The time of creation.")
    updated_at = masked(TaskField.MODIFIED_TIME, "The time of the last change.")
    web_url = masked(TaskField.WEB_LINK, "The address of its page in a browser.")
    comments = masked(
        TaskField.COMMENTS,
        "The newest 25, newest first. Null in lists and without `view_comments`.",
    )
    sub_items = masked(TaskField.SUB_ITEMS, "The sub-items; their own sub-items are null.")
    column_values = masked(TaskField.COLUMN_VALUES, "One per column, in the board's order.")
    connection_id = masked(
        TaskField.CONNECTION_ID, "The connection of its account.", graphql_type=Long | None
    )


@output
class TaskBoardPage(Record, frozen=True, kw_only=True):
    """A page of boards."""

    provider: Provider
    boards: Annotated[tuple[records.TaskBoard, ...], visible("The boards of this page.")]
    next_page_token: NextPageToken
    has_more: HasMore
    access_info: AccessInfo
    auth_warnings: Annotated[
        tuple[str, ...] | None,
        visible("One sentence per account that does not work; null when all work."),
    ]


@output
class TaskBoardAnswer(Record, frozen=True, kw_only=True):
    """One board, and the provider that holds it."""

    provider: Provider
    board: Annotated[records.TaskBoard, visible("The board.")]
    access_info: AccessInfo


@output
class TaskItemPage(Record, frozen=True, kw_only=True):
    """A page of items, in the board's order."""

    provider: Provider
    items: Annotated[tuple[records.TaskItem, ...], visible("The items of this page.")]
    next_page_token: NextPageToken
    has_more: HasMore
    total_count: Annotated[
        int | None,
        visible("How many items the board has; null when that is unknown, or with a filter."),
    ]
    access_info: AccessInfo


@output
class TaskItemAnswer(Record, frozen=True, kw_only=True):
    """One item, and the provider that holds it."""

    provider: Provider
    item: Annotated[records.TaskItem, visible("The item.")]
    access_info: AccessInfo


@output
class TaskItemResult(Record, frozen=True, kw_only=True):
    """The result of creating or updating an item."""

    provider: Annotated[str | None, _PROVIDER] = None
    success: Success
    item_id: Annotated[str | None, visible("The item's id.")] = None
    item: Annotated[
        records.TaskItem | None,
        visible("The item as a read returns it; null without `view_items`."),
    ] = None
    error_code: ErrorText = None
    error_message: ErrorText = None
    rejected_fields: Annotated[
        tuple[str, ...] | None,
        visible("The columns that could not be set; null when all were set."),
    ] = None


@output
class TaskOperationResult(Record, frozen=True, kw_only=True):
    """The result of deleting an item."""

    provider: Annotated[str | None, _PROVIDER] = None
    success: Success = True
    error_code: ErrorText = None
    error_message: ErrorText = None


@output
class TaskCommentResult(Record, frozen=True, kw_only=True):
    """The result of adding a comment."""

    provider: Annotated[str | None, _PROVIDER] = None
    success: Success = True
    comment_id: Annotated[str | None, visible("The comment's id.")] = None
    error_code: ErrorText = None
    error_message: ErrorText = None
