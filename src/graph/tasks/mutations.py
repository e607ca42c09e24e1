"""Root mutations: `createTaskItem`, `updateTaskItem`, `deleteTaskItem`, `addTaskComment`."""

from collections.abc import Mapping
from typing import Annotated

import strawberry

from graph.context import Context, Info
from graph.masking.guards import guarded
from graph.scalars import JSON
from graph.tasks import previews, read_arguments, routing, write_arguments
from graph.tasks.queries import BoardId, ItemId, Provider
from graph.tasks.types import TaskCommentResult, TaskItemResult, TaskOperationResult
from policy.refusals import Detail, InvalidInput, NotFound, NoWritableFields
from policy.vocabulary import Code, TaskOp
from providers.failures import ProviderFailure
from providers.ports.tasks import NAME_COLUMN, NewItem, TaskTarget
from providers.records.tasks import TaskBoard, TaskItem
from providers.tasks.accounts import TaskAccount

_FIELDS = (
    "Column id to the provider's JSON as a text, or to plain text; other JSON values are written "
    "as JSON first. At most 200 entries."
)


@strawberry.input(description="A new item.")
class CreateTaskItemInput:
    name: str = strawberry.field(description="Not blank; at most 1,000 characters.")
    group_id: str | None = strawberry.field(
        default=None, description="The group of the new item; default: the provider's choice."
    )
    fields: JSON | None = strawberry.field(default=None, description=_FIELDS)


@strawberry.input(description="The fields of an item to change.")
class UpdateTaskItemInput:
    fields: JSON = strawberry.field(
        description=f"At least one entry. {_FIELDS} `name` renames the item."
    )


@strawberry.input(description="A comment.")
class AddTaskCommentInput:
    body: str = strawberry.field(description="Plain text, not blank; at most 20,000 characters.")


Argument = strawberry.argument

_BOARD = frozenset({"columns", "groups"})


@guarded(TaskOp.CREATE_ITEMS)
async def create_task_item(
    info: Info,
    board_id: BoardId,
    written: Annotated[CreateTaskItemInput, Argument(name="input", description="The item.")],
    *,
    provider: Provider = "auto",
) -> TaskItemResult:
    """Create an item; columns that cannot be set are named and left out."""
    context = info.context
    code = routing.provider_code(provider, context)
    read_arguments.check_id(board_id, "boardId")
    name = write_arguments.check_name(written.name)
    fields = write_arguments.read_fields(written.fields, required=False)
    account = routing.choose_account(code, context, TaskOp.CREATE_ITEMS, writing=True)
    routing.require_writable(account)
    routing.require_creation(context, account, board_id)
    write_arguments.check_name_for(name, account.port.max_item_name)
    context.refuse_uncertain_retry()
    board = await _board(account, board_id)
    group = _group(written.group_id, board)
    columns = write_arguments.confined(board.columns or (), routing.boards(context, account))
    caller = routing.caller_on(context, account)
    settable = write_arguments.settable(fields, columns, caller, renames=False)
    settable = write_arguments.without_odd_numbers(settable, columns)
    accepted = write_arguments.name_people(settable, columns)
    await routing.translate_failures(
        write_arguments.require_recipients(accepted, columns, account, caller), what=None
    )
    new = NewItem(board_id=board_id, name=name, group_id=group, fields=accepted)
    previews.describe_new_item(account, new, write_arguments.rejected(fields, accepted, ()))
    created = await routing.translate_failures(account.port.create(new), what="board", change=True)
    return TaskItemResult(
        provider=account.connection.provider,
        success=True,
        item_id=created.item_id,
        item=await _item(info, account, created.item_id),
        rejected_fields=write_arguments.rejected(fields, accepted, created.rejected),
    )


@guarded(TaskOp.UPDATE_ITEMS)
async def update_task_item(
    info: Info,
    item_id: ItemId,
    written: Annotated[UpdateTaskItemInput, Argument(name="input", description="What to change.")],
    *,
    provider: Provider = "auto",
) -> TaskItemResult:
    """Set columns of an item; columns that cannot be set are named, the others are set."""
    context = info.context
    code = routing.provider_code(provider, context)
    read_arguments.check_id(item_id, "itemId")
    fields = write_arguments.read_fields(written.fields, required=True)
    if fields.get(NAME_COLUMN, "").strip():
        write_arguments.check_name(fields[NAME_COLUMN], "fields.name")
    account, target = await _target(context, code, TaskOp.UPDATE_ITEMS, item_id, columns=True)
    caller = routing.caller_on(context, account)
    confined = write_arguments.confined(target.columns, routing.boards(context, account))
    accepted = write_arguments.settable(fields, confined, caller, renames=True)
    if not accepted:
        settable = write_arguments.writable(fields, confined)
        raise NoWritableFields(settable, rejected=fields)
    accepted = write_arguments.without_odd_numbers(accepted, confined)
    if not accepted:
        return _nothing_set(account, target, fields)
    accepted = write_arguments.name_people(accepted, confined)
    await routing.translate_failures(
        write_arguments.require_recipients(accepted, confined, account, caller), what=None
    )
    rejected = write_arguments.rejected(fields, accepted, ())
    await previews.describe_update(info, account, target, accepted, rejected)
    refused = await routing.translate_failures(
        account.port.update(target, accepted), what="item", change=True
    )
    success = len(refused) < len(accepted)
    return TaskItemResult(
        provider=account.connection.provider,
        success=success,
        item_id=target.item_id,
        item=await _item(info, account, target.item_id) if success else None,
        rejected_fields=write_arguments.rejected(fields, accepted, refused),
    )


def _nothing_set(
    account: TaskAccount, target: TaskTarget, fields: Mapping[str, str]
) -> TaskItemResult:
    """Return the result of an update none of whose values can be a value of its column."""
    return TaskItemResult(
        provider=account.connection.provider,
        success=False,
        item_id=target.item_id,
        item=None,
        rejected_fields=tuple(fields),
    )


@guarded(TaskOp.DELETE_ITEMS)
async def delete_task_item(
    info: Info, item_id: ItemId, *, provider: Provider = "auto"
) -> TaskOperationResult:
    """Delete an item; the provider does not keep it."""
    code = routing.provider_code(provider, info.context)
    read_arguments.check_id(item_id, "itemId")
    account, target = await _target(info.context, code, TaskOp.DELETE_ITEMS, item_id)
    previews.describe_deletion(account, target)
    await routing.translate_failures(account.port.delete(target), what="item", change=True)
    return TaskOperationResult(provider=account.connection.provider)


@guarded(TaskOp.ADD_COMMENTS)
async def add_task_comment(
    info: Info,
    item_id: ItemId,
    written: Annotated[AddTaskCommentInput, Argument(name="input", description="The comment.")],
    *,
    provider: Provider = "auto",
) -> TaskCommentResult:
    """Add a comment to an item."""
    context = info.context
    code = routing.provider_code(provider, context)
    read_arguments.check_id(item_id, "itemId")
    body = write_arguments.check_comment(written.body)
    context.refuse_uncertain_retry()
    account, target = await _target(context, code, TaskOp.ADD_COMMENTS, item_id)
    previews.describe_comment(account, target, body)
    comment_id = await routing.translate_failures(
        account.port.comment(target, body), what="item", change=True
    )
    return TaskCommentResult(provider=account.connection.provider, comment_id=comment_id)


async def _target(
    context: Context, code: str, operation: TaskOp, item_id: str, *, columns: bool = False
) -> tuple[TaskAccount, TaskTarget]:
    """Return the account and the item to change, after checking the board scope."""
    account = routing.choose_account(code, context, operation, writing=True)
    routing.require_writable(account)
    target = await routing.read_target(context, account, item_id, columns=columns, change=True)
    return account, target


async def _board(account: TaskAccount, board_id: str) -> TaskBoard:
    """Read the board of a new item; a missing board gets the refusal of a hidden one."""
    try:
        return await routing.translate_failures(
            account.port.board(board_id, projection=_BOARD), what="board"
        )
    except NotFound as missing:
        raise routing.outside(account) from missing


def _group(group_id: str | None, board: TaskBoard) -> str | None:
    if group_id is None or not group_id.strip():
        return None
    if not any(group.id == group_id for group in board.groups or ()):
        why = "The board has no group with this id."
        raise InvalidInput(
            f"groupId: {why}", code=Code.VALIDATION_ERROR, details=[Detail("input.groupId", why)]
        )
    return group_id


async def _item(info: Info, account: TaskAccount, item_id: str) -> TaskItem | None:
    """Read the written item as a query would show it; None if that fails or is not allowed."""
    visibility = read_arguments.visibility(info, account)
    caller = routing.caller_on(info.context, account)
    if not visibility.projection or not caller.allows(TaskOp.VIEW_ITEMS):
        return None
    try:
        item = await account.port.item(item_id, visibility=visibility)
        return account.item(item, visibility.hidden)
    except ProviderFailure:
        return None
