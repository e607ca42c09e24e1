"""Output types of the tasks surface (docs/spec/tasks.md#objects)."""

from datetime import datetime

import strawberry

from graph.scalars import Long

_ACCESS_INFO = "The active restrictions of the access token in words; null when there are none."
_PROVIDER = "The provider's code."
_NEXT = "Pass it as `pageToken` to get the next page; null on the last one."


@strawberry.type(description="A connected account of a task provider.")
class TaskProvider:
    provider_code: str = strawberry.field(description="What `provider` takes.")
    provider_display_name: str = strawberry.field(description="The provider's name.")
    connection_id: Long = strawberry.field(description="The connection's id.")
    status: str = strawberry.field(description="`active`, `needs_reauth`, `disabled` or `error`.")


@strawberry.type(description="A part of a board.")
class TaskGroup:
    id: str = strawberry.field(description="`groupId` of items.")
    title: str = strawberry.field(description="The title.")
    color: str | None = strawberry.field(description="As the provider writes it.")


@strawberry.type(description="A column of a board: what its items have values in.")
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
    writable: bool = strawberry.field(description="Whether the provider lets it be set.")
    options: list[str] | None = strawberry.field(
        description="What may be chosen; null where nothing is chosen."
    )


@strawberry.type(description="A tag that a board uses.")
class TaskTag:
    id: str = strawberry.field(description="The tag's id.")
    name: str = strawberry.field(description="The tag.")
    color: str | None = strawberry.field(description="As the provider writes it.")


@strawberry.type(description="One board.")
class TaskBoard:
    id: str = strawberry.field(description="The provider's id of the board.")
    name: str | None = strawberry.field(description="The name.")
    description: str | None = strawberry.field(description="The description.")
    state: str | None = strawberry.field(description="`active`, `archived` or `deleted`.")
    workspace_id: str | None = strawberry.field(description="The workspace it belongs to.")
    workspace_name: str | None = strawberry.field(description="The workspace's name.")
    folder_id: str | None = strawberry.field(description="The folder it lies in.")
    folder_name: str | None = strawberry.field(description="The folder's name.")
    web_url: str | None = strawberry.field(description="Where it opens in a browser.")
    groups: list[TaskGroup] | None = strawberry.field(description="Null in lists.")
    columns: list[TaskColumn] | None = strawberry.field(description="Null in lists.")
    tags: list[TaskTag] | None = strawberry.field(description="Null in lists.")


@strawberry.type(description="What an item has in a column.")
class TaskColumnValue:
    column_id: str = strawberry.field(description="The column's id.")
    column_title: str = strawberry.field(description="The column's title.")
    type: str = strawberry.field(description="The column's type.")
    text: str | None = strawberry.field(description="For people to read.")
    value: str | None = strawberry.field(
        description="The provider's JSON as a text: the form that `fields` takes."
    )


@strawberry.type(description="A comment on an item.")
class TaskComment:
    id: str = strawberry.field(description="The comment's id.")
    body: str | None = strawberry.field(description="Plain text.")
    author_name: str | None = strawberry.field(description="Who wrote it.")
    created_at: datetime | None = strawberry.field(description="When it was written.")


@strawberry.type(description="One item of a board.")
class TaskItem:
    id: str = strawberry.field(description="The provider's id of the item.")
    board_id: str = strawberry.field(
        description="The board it is reached by; of a sub-item, that of the item above it."
    )
    group_id: str | None = strawberry.field(description="The group it stands in.")
    group_name: str | None = strawberry.field(description="The group's title.")
    name: str | None = strawberry.field(description="The name.")
    status: str | None = strawberry.field(
        description="The first status column that is not titled like priority."
    )
    assignees: list[str] | None = strawberry.field(description="Names, of all people columns.")
    due_date: datetime | None = strawberry.field(
        description="The first date column, else the end of the first timeline."
    )
    priority: str | None = strawberry.field(description="A status column titled like priority.")
    labels: list[str] | None = strawberry.field(description="Of all tag and dropdown columns.")
    description: str | None = strawberry.field(
        description="A long-text column titled like description, else the first one."
    )
    created_at: datetime | None = strawberry.field(description="When it was created.")
    updated_at: datetime | None = strawberry.field(description="When it was last changed.")
    web_url: str | None = strawberry.field(description="Where it opens in a browser.")
    comments: list[TaskComment] | None = strawberry.field(
        description="The newest 25, newest first. Null in lists and without `view_comments`."
    )
    sub_items: "list[TaskItem] | None" = strawberry.field(description="One level: theirs are null.")
    column_values: list[TaskColumnValue] | None = strawberry.field(
        description="One per column, in the board's order."
    )


@strawberry.type(description="A page of boards.")
class TaskBoardPage:
    provider: str = strawberry.field(description=_PROVIDER)
    boards: list[TaskBoard] = strawberry.field(description="The boards of this page.")
    next_page_token: str | None = strawberry.field(description=_NEXT)
    has_more: bool = strawberry.field(description="Whether another page follows.")
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)
    auth_warnings: list[str] | None = strawberry.field(
        description="One sentence per account that is out of order; null when none is."
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
    has_more: bool = strawberry.field(description="Whether another page follows.")
    total_count: int | None = strawberry.field(
        description="How many items the board has; null when that is unknown, or with a filter."
    )
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)


@strawberry.type(description="One item, and the provider that holds it.")
class TaskItemAnswer:
    provider: str = strawberry.field(description=_PROVIDER)
    item: TaskItem = strawberry.field(description="The item.")
    access_info: str | None = strawberry.field(description=_ACCESS_INFO)


@strawberry.type(description="What creating or updating an item did.")
class TaskItemResult:
    provider: str | None = strawberry.field(description=_PROVIDER)
    success: bool = strawberry.field(description="Whether anything was done.")
    item_id: str | None = strawberry.field(description="The item's id.")
    item: TaskItem | None = strawberry.field(
        description="As a read would show it; null without `view_items`."
    )
    error_code: str | None = strawberry.field(description="Null on success.")
    error_message: str | None = strawberry.field(description="Null on success.")
    rejected_fields: list[str] | None = strawberry.field(
        description="Columns that were not set; null when all were."
    )


@strawberry.type(description="What deleting an item did.")
class TaskOperationResult:
    provider: str | None = strawberry.field(description=_PROVIDER)
    success: bool = strawberry.field(description="Whether it was done.")
    error_code: str | None = strawberry.field(description="Null on success.")
    error_message: str | None = strawberry.field(description="Null on success.")


@strawberry.type(description="What adding a comment did.")
class TaskCommentResult:
    provider: str | None = strawberry.field(description=_PROVIDER)
    success: bool = strawberry.field(description="Whether it was done.")
    comment_id: str | None = strawberry.field(description="The comment's id.")
    error_code: str | None = strawberry.field(description="Null on success.")
    error_message: str | None = strawberry.field(description="Null on success.")
