"""Root queries: `taskProviders`, `taskBoards`, `taskBoard`, `taskItems`, `taskItem`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

import strawberry

from graph import page_tokens
from graph.context import Context, Info
from graph.execution.requested_fields import projection
from graph.masking import masks
from graph.masking.guards import guarded
from graph.tasks import read_arguments, routing, types
from graph.warnings import warnings
from policy.caller import Caller
from policy.vocabulary import Surface, TaskField, TaskOp
from providers.catalogue.tables import NAMES
from providers.ports.tasks import BoardQuery, ItemQuery, TaskPosition
from providers.tasks.accounts import TaskAccount

MAX_LIMIT, DEFAULT_LIMIT = 200, 50

Argument = strawberry.argument
Provider = Annotated[
    str | None,
    Argument(description="The provider's code, in any case; `auto`: the default or only one."),
]
PageToken = Annotated[str | None, Argument(description="`nextPageToken` of the previous page.")]
Limit = Annotated[int | None, Argument(description="1 to 200; more is lowered to 200.")]
BoardId = Annotated[str, Argument(description="The provider's id of the board.")]
ItemId = Annotated[str, Argument(description="The provider's id of the item.")]

# Argument of a filter -> the fields that it would reveal.
_REVEALING: Mapping[str, tuple[TaskField, ...]] = MappingProxyType(
    {
        "q": (TaskField.NAME,),
        "status": (TaskField.STATUS,),
        "assignee": (TaskField.ASSIGNEES,),
        "assigneeEmail": (TaskField.ASSIGNEES,),
    }
)


@guarded(surface=Surface.TASKS)
async def task_providers(info: Info) -> list[types.TaskProvider]:
    """List the task accounts that the token reaches; needs no operation."""
    return [
        types.TaskProvider(
            provider_code=connection.provider,
            provider_display_name=NAMES.get(connection.provider, connection.provider),
            connection_id=connection.id,
            status=connection.status,
        )
        for connection in routing.connections(info.context)
    ]


@guarded(TaskOp.VIEW_BOARDS, max_limit=MAX_LIMIT)
async def task_boards(  # noqa: PLR0913 - the documented parameters, name by name
    info: Info,
    *,
    q: Annotated[str | None, Argument(description="Part of the name, in any letter case.")] = None,
    include_archived: Annotated[
        bool | None, Argument(description="True: include archived boards.")
    ] = False,
    limit: Limit = DEFAULT_LIMIT,
    page_token: PageToken = None,
    provider: Provider = "auto",
) -> types.TaskBoardPage:
    """List the boards that the token may see."""
    context = info.context
    code = routing.provider_code(provider, context)
    text = read_arguments.text(q)
    size = context.clamp_limit(limit, default=DEFAULT_LIMIT, maximum=MAX_LIMIT)
    account = routing.choose_account(code, context, TaskOp.VIEW_BOARDS)
    filters = {
        "q": text,
        "includeArchived": bool(include_archived),
        "connection": account.connection.id,
    }
    query = BoardQuery(
        text=text,
        only=routing.boards(context, account),
        archived=bool(include_archived),
        limit=size,
    )
    after = page_tokens.unseal(context, "taskBoards", filters, page_token, TaskPosition)
    hidden = _hidden_of_boards(context, account)
    shown = projection(info.raw, "TaskBoard") - hidden
    page = await routing.translate_failures(
        account.port.boards(query, after=after, projection=shown), what=None
    )
    return types.TaskBoardPage(
        provider=account.connection.provider,
        boards=tuple([account.board(board, hidden) for board in page.boards]),
        next_page_token=page_tokens.seal(context, "taskBoards", filters, page.position),
        has_more=page.position is not None,
        access_info=routing.caller_on(context, account).access_info(Surface.TASKS),
        auth_warnings=warnings(context, Surface.TASKS, ()),
    )


@guarded(TaskOp.VIEW_BOARDS)
async def task_board(
    info: Info, board_id: BoardId, *, provider: Provider = "auto"
) -> types.TaskBoardAnswer:
    """Read one board with its groups, columns and tags."""
    context = info.context
    code = routing.provider_code(provider, context)
    read_arguments.check_id(board_id, "boardId")
    account = routing.choose_account(code, context, TaskOp.VIEW_BOARDS)
    routing.require_board(context, account, board_id)
    hidden = _hidden_of_boards(context, account)
    shown = projection(info.raw, "TaskBoard") - hidden
    board = await routing.translate_failures(
        context.loaders.board(account, board_id, shown), what="board"
    )
    return types.TaskBoardAnswer(
        provider=account.connection.provider,
        board=account.board(board, hidden),
        access_info=routing.caller_on(context, account).access_info(Surface.TASKS),
    )


@guarded(TaskOp.VIEW_ITEMS, max_limit=MAX_LIMIT, revealing=_REVEALING)
async def task_items(  # noqa: PLR0913 - the documented parameters, name by name
    info: Info,
    board_id: BoardId,
    *,
    group_id: Annotated[str | None, Argument(description="Items of one group.")] = None,
    q: Annotated[str | None, Argument(description="Part of the name, in any letter case.")] = None,
    status: Annotated[str | None, Argument(description="The status, in any letter case.")] = None,
    assignee: Annotated[
        str | None, Argument(description="Part of an assignee's name, in any letter case.")
    ] = None,
    assignee_email: Annotated[
        str | None, Argument(description="The whole address of an assignee, in any letter case.")
    ] = None,
    limit: Limit = DEFAULT_LIMIT,
    page_token: PageToken = None,
    provider: Provider = "auto",
) -> types.TaskItemPage:
    """List the items of a board, in the board's order, without comments."""
    context = info.context
    code = routing.provider_code(provider, context)
    read_arguments.check_id(board_id, "boardId")
    query = ItemQuery(
        group_id=read_arguments.text(group_id),
        text=read_arguments.text(q),
        status=read_arguments.text(status),
        assignee=read_arguments.text(assignee),
        assignee_email=read_arguments.text(assignee_email),
        limit=context.clamp_limit(limit, default=DEFAULT_LIMIT, maximum=MAX_LIMIT),
    )
    account = routing.choose_account(code, context, TaskOp.VIEW_ITEMS)
    filters = {
        "boardId": board_id,
        "groupId": query.group_id,
        "q": query.text,
        "status": query.status,
        "assignee": query.assignee,
        "assigneeEmail": query.assignee_email,
        "connection": account.connection.id,
    }
    after = page_tokens.unseal(context, "taskItems", filters, page_token, TaskPosition)
    routing.require_board(context, account, board_id)
    _require_visible_filters(filters, routing.caller_on(context, account))
    visibility = read_arguments.visibility(info, account)
    page = await routing.translate_failures(
        account.port.items(board_id, query, after=after, visibility=visibility), what="board"
    )
    return types.TaskItemPage(
        provider=account.connection.provider,
        items=tuple([account.item(item, visibility.hidden) for item in page.items]),
        next_page_token=page_tokens.seal(context, "taskItems", filters, page.position),
        has_more=page.position is not None,
        total_count=page.total,
        access_info=routing.caller_on(context, account).access_info(Surface.TASKS),
    )


@guarded(TaskOp.VIEW_ITEMS)
async def task_item(
    info: Info, item_id: ItemId, *, provider: Provider = "auto"
) -> types.TaskItemAnswer:
    """Read one item; its comments need `view_comments` besides."""
    context = info.context
    code = routing.provider_code(provider, context)
    read_arguments.check_id(item_id, "itemId")
    account = routing.choose_account(code, context, TaskOp.VIEW_ITEMS)
    if routing.boards(context, account) is not None:
        await routing.read_target(context, account, item_id)
    visibility = read_arguments.visibility(info, account)
    item = await routing.translate_failures(
        context.loaders.task_item(account, item_id, visibility), what="item"
    )
    return types.TaskItemAnswer(
        provider=account.connection.provider,
        item=account.item(item, visibility.hidden),
        access_info=routing.caller_on(context, account).access_info(Surface.TASKS),
    )


def _hidden_of_boards(context: Context, account: TaskAccount) -> frozenset[str]:
    return masks.hidden_attributes("TaskBoard", routing.caller_on(context, account).grant)


def _require_visible_filters(filters: Mapping[str, object], caller: Caller) -> None:
    for name, fields in _REVEALING.items():
        if filters[name]:
            caller.require_visible(f"The filter '{name}'", *fields)
