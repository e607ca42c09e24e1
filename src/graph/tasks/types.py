"""Output types of the tasks surface (docs/spec/tasks.md#objects)."""

from datetime import datetime

import strawberry

from graph.scalars import Long

_ACCESS_INFO = "The active restrictions of the access token in words; null when there are none."
_PROVIDER = "The provider's code."
_NEXT = "Pass it as `pageToken` to get the next page; null on the last one."


@strawberry.type(description="A connected account of a task provider.")
class TaskProvider:
    provider_code: str = strawberry.field(
        description=("The code that the parameter `provider` takes.")
    )
    provider_display_name: str = strawberry.field(description="The provider's name.")
    connection_id: Long = strawberry.field(description="The connection's id.")
    status: str = strawberry.field(description="`active`, `needs_reauth`, `disabled` or `error`.")


@strawberry.type(description="A group of a board.")
class TaskGroup:
    id: str = strawberry.field(description="`groupId` of items.")
    title: str = strawberry.field(description="The title.")
    color: str | None = strawberry.field(description="As the provider writes it.")


@strawberry.type(description="A column of a board.")
class TaskColumn:
    id: str = strawberry.field(description="The key in `fields`.")
    title: str = strawberry.field(description="The title.")
    type: str = strawberry.field(
        description=(
            "`text`, `long_text`, `number`, `status`, `date`, `timeline`, `people`, `tags`, "
            "`dropdown`, `checkbox`, `link`, `email`, `phone`, `file`, `relation`, `formula` or "
            "`other`; more may come."
        )
    )
    writable: bool = strawberry.field(description="Whether the column can be written.")
    options: list[str] | None = strawberry.field(
        description="The possible values; null for columns without a list of values."
    )


@strawberry.type(description="A tag that a board uses.")
class TaskTag:
    id: str = strawberry.field(description="The tag's id.")
    name: str = strawberry.field(description="The tag.")
    color: str | None = strawberry.field(description="As the provider writes it.")


@strawberry.type(description="A board.")
class TaskBoard:
    id: str = strawberry.field(description="The provider's id of the board.")
    name: str | None = strawberry.field(description="The name.")
    description: str | None = strawberry.field(description="The description.")
    state: str | None = strawberry.field(description="`active`, `archived` or `deleted`.")
    workspace_id: str | None = strawberry.field(description="The workspace it belongs to.")
    workspace_name: str | None = strawberry.field(description="The workspace's name.")
    folder_id: str | None = strawberry.field(description="The id of the parent folder.")
    folder_name: str | None = strawberry.field(description="The folder's name.")
    web_url: str | None = strawberry.field(description="The address of its page in a browser.")
    groups: list[TaskGroup] | None = strawberry.field(description="Null in lists.")
    columns: list[TaskColumn] | None = strawberry.field(description="Null in lists.")
    tags: list[TaskTag] | None = strawberry.field(description="Null in lists.")


@strawberry.type(description="The value of a column of an item.")
class TaskColumnValue:
    column_id: str = strawberry.field(description="The column's id.")
    column_title: str = strawberry.field(description="The column's title.")
    type: str = strawberry.field(description="The column's type.")
    text: str | None = strawberry.field(description="A sentence for people.")
    value: str | None = strawberry.field(
        description="The provider's JSON as a text: the form that `fields` takes."
    )


@strawberry.type(description="A comment on an item.")
class TaskComment:
    id: str = strawberry.field(description="The comment's id.")
    body: str | None = strawberry.field(description="Plain text.")
    author_name: str | None = strawberry.field(description="The author.")
    created_at: datetime | None = strawberry.field(
        description=("The time at which the comment was written.")
    )


@strawberry.type(description="One item of a board.")
class TaskItem:
    id: str = strawberry.field(description="The provider's id of the item.")
    board_id: str = strawberry.field(
        description="The id of the board; for a sub-item, that of its parent item."
    )
    group_id: str | None = strawberry.field(description="The id of the group.")
    group_name: str | None = strawberry.field(description="The group's title.")
    name: str | None = strawberry.field(description="The name.")
    status: str | None = strawberry.field(
        description="The first status column that is not titled like priority."
    )
    assignees: list[str] | None = strawberry.field(
        description=("The names of the assigned people, from all people columns.")
    )
    due_date: datetime | None = strawberry.field(
        description="The first date column, else the end of the first timeline."
    )
    priority: str | None = strawberry.field(
        description="The value of the first status column whose title is like `priority`."
    )
    labels: list[str] | None = strawberry.field(
        description=("The labels of all tag and dropdown columns.")
    )
    description: str | None = strawberry.field(
        description="A long-text column titled like description, else the first one."
    )
    created_at: datetime | None = strawberry.field(description="The time of creation.")
    updated_at: datetime | None = strawberry.field(description="The time of the last change.")
    web_url: str | None = strawberry.field(description="The address of its page in a browser.")
    comments: list[TaskComment] | None = strawberry.field(
        description="The newest 25, newest first. Null in lists and without `view_comments`."
    )
    sub_items: "list[TaskItem] | None" = strawberry.field(
        description="The sub-items; their own sub-items are null."
    )
    column_values: list[TaskColumnValue] | None = strawberry.field(
        description="One per column, in the board's order."
    )


@strawberry.type(description="A page of boards.")
class TaskBoardPage:
    provider: str = strawberry.field(description=_PROVIDER)
    boards: list[TaskBoard] = strawberry.field(description="The boards of this page.")
    next_page_token: str | None = strawberry.field(description=_NEXT)
    has_more: bool = strawberry.field(description="Whether there is another page.")
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)
    auth_warnings: list[str] | None = strawberry.field(
        description="One sentence per account that does not work; null when all work."
    )


@strawberry.type(description="One board, and the provider that holds it.")
class TaskBoardAnswer:
    provider: str = strawberry.field(description=_PROVIDER)
    board: TaskBoard = strawberry.field(description="The board.")
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)


@strawberry.type(description="A page of items, in the board's order.")
class TaskItemPage:
    provider: str = strawberry.field(description=_PROVIDER)
    items: list[TaskItem] = strawberry.field(description="The items of this page.")
    next_page_token: str | None = strawberry.field(description=_NEXT)
    has_more: bool = strawberry.field(description="Whether there is another page.")
    total_count: int | None = strawberry.field(
        description="How many items the board has; null when that is unknown, or with a filter."
    )
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)


@strawberry.type(description="One item, and the provider that holds it.")
class TaskItemAnswer:
    provider: str = strawberry.field(description=_PROVIDER)
    item: TaskItem = strawberry.field(description="The item.")
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)


@strawberry.type(description="The result of creating or updating an item.")
class TaskItemResult:
    provider: str | None = strawberry.field(description=_PROVIDER)
    success: bool = strawberry.field(description="Whether the operation was carried out.")
    item_id: str | None = strawberry.field(description="The item's id.")
    item: TaskItem | None = strawberry.field(
        description="The item as a read returns it; null without `view_items`."
    )
    error_code: str | None = strawberry.field(description="Null on success.")
    error_message: str | None = strawberry.field(description="Null on success.")
    rejected_fields: list[str] | None = strawberry.field(
        description="The columns that could not be set; null when all were set."
    )


@strawberry.type(description="The result of deleting an item.")
class TaskOperationResult:
    provider: str | None = strawberry.field(description=_PROVIDER)
    success: bool = strawberry.field(description="Whether the operation was carried out.")
    error_code: str | None = strawberry.field(description="Null on success.")
    error_message: str | None = strawberry.field(description="Null on success.")


@strawberry.type(description="The result of adding a comment.")
class TaskCommentResult:
    provider: str | None = strawberry.field(description=_PROVIDER)
    success: bool = strawberry.field(description="Whether the operation was carried out.")
    comment_id: str | None = strawberry.field(description="The comment's id.")
    error_code: str | None = strawberry.field(description="Null on success.")
    error_message: str | None = strawberry.field(description="Null on success.")
