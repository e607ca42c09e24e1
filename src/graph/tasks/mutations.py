"""Root mutations: `createTaskItem`, `updateTaskItem`, `deleteTaskItem`, `addTaskComment`."""

from typing import Annotated

import strawberry

from graph.context import Context, Info
from graph.masking.guards import guarded
from graph.tasks import read_arguments, routing, write_arguments
from graph.tasks.inputs import AddTaskCommentInput, CreateTaskItemInput, UpdateTaskItemInput
from graph.tasks.queries import BoardId, ItemId, Provider
from graph.tasks.types import TaskCommentResult, TaskItemResult, TaskOperationResult
from graph.tasks.views import TaskCommentView, TaskItemResultView, TaskOperationView
from policy.refusals import Detail, InvalidInput, NotFound, NoWritableFields
from policy.vocabulary import Code, TaskOp
from providers.failures import ProviderFailure
from providers.ports.tasks import NAME_COLUMN, NewItem, TaskTarget
from providers.records.tasks import TaskBoard, TaskItem
from providers.tasks.accounts import TaskAccount

Argument = strawberry.argument

_BOARD = frozenset({"columns", "groups"})


@guarded(TaskOp.CREATE_ITEMS, returns=TaskItemResult)
async def create_task_item(
    info: Info,
    board_id: BoardId,
    written: Annotated[CreateTaskItemInput, Argument(name="input", description="The item.")],
    *,
    provider: Provider = "auto",
) -> TaskItemResultView:
    """Create an item, once; columns that cannot be set do not prevent it."""
    context = info.context
    code = routing.code(provider, context)
    known = read_arguments.known_id(board_id, "boardId")
    name = write_arguments.name(written.name)
    given = write_arguments.fields(written.fields, required=False)
    seat = routing.seat(code, context)
    routing.require_writable(seat)
    routing.require_creation(context, seat, known)
    context.refuse_uncertain_retry()
    board = await _board(seat, known)
    group = _group(written.group_id, board)
    accepted = write_arguments.settable(given, board.columns or (), context, renames=False)
    new = NewItem(board_id=known, name=name, group_id=group, fields=accepted)
    created = await routing.told(seat.port.create(new), what="board")
    return TaskItemResultView(
        provider=seat.connection.provider,
        success=True,
        item_id=created.item_id,
        item=await _item(info, seat, created.item_id),
        rejected_fields=write_arguments.rejected(given, accepted, created.rejected),
    )


@guarded(TaskOp.UPDATE_ITEMS, returns=TaskItemResult)
async def update_task_item(
    info: Info,
    item_id: ItemId,
    written: Annotated[UpdateTaskItemInput, Argument(name="input", description="What to change.")],
    *,
    provider: Provider = "auto",
) -> TaskItemResultView:
    """Set columns of an item; what cannot be set is named, the rest is done."""
    context = info.context
    code = routing.code(provider, context)
    known = read_arguments.known_id(item_id, "itemId")
    given = write_arguments.fields(written.fields, required=True)
    if given.get(NAME_COLUMN, "").strip():
        write_arguments.name(given[NAME_COLUMN], "fields.name")
    seat, target = await _target(context, code, known, columns=True)
    accepted = write_arguments.settable(given, target.columns, context, renames=True)
    if not accepted:
        raise NoWritableFields(write_arguments.known(given, target.columns))
    refused = await routing.told(seat.port.update(target, accepted), what="item")
    success = len(refused) < len(accepted)
    return TaskItemResultView(
        provider=seat.connection.provider,
        success=success,
        item_id=target.item_id,
        item=await _item(info, seat, target.item_id) if success else None,
        rejected_fields=write_arguments.rejected(given, accepted, refused),
    )


@guarded(TaskOp.DELETE_ITEMS, returns=TaskOperationResult)
async def delete_task_item(
    info: Info, item_id: ItemId, *, provider: Provider = "auto"
) -> TaskOperationView:
    """Delete an item; the provider does not keep it."""
    code = routing.code(provider, info.context)
    known = read_arguments.known_id(item_id, "itemId")
    seat, target = await _target(info.context, code, known)
    await routing.told(seat.port.delete(target), what="item")
    return TaskOperationView(provider=seat.connection.provider)


@guarded(TaskOp.ADD_COMMENTS, returns=TaskCommentResult)
async def add_task_comment(
    info: Info,
    item_id: ItemId,
    written: Annotated[AddTaskCommentInput, Argument(name="input", description="The comment.")],
    *,
    provider: Provider = "auto",
) -> TaskCommentView:
    """Add a comment to an item, once."""
    context = info.context
    code = routing.code(provider, context)
    known = read_arguments.known_id(item_id, "itemId")
    body = write_arguments.comment(written.body)
    context.refuse_uncertain_retry()
    seat, target = await _target(context, code, known)
    made = await routing.told(seat.port.comment(target, body), what="item")
    return TaskCommentView(provider=seat.connection.provider, comment_id=made)


async def _target(
    context: Context, code: str, item_id: str, *, columns: bool = False
) -> tuple[TaskAccount, TaskTarget]:
    """Find the item that is to be changed, and see that the token may."""
    seat = routing.seat(code, context)
    routing.require_writable(seat)
    target = await routing.told(seat.port.target(item_id, columns=columns), what="item")
    routing.require_any(context, seat, target.boards)
    return seat, target


async def _board(seat: TaskAccount, board_id: str) -> TaskBoard:
    """Read the board of a new item; one that is not there is as one that may not be seen."""
    try:
        return await routing.told(seat.port.board(board_id, wanted=_BOARD), what="board")
    except NotFound as missing:
        raise routing.outside(seat) from missing


def _group(group_id: str | None, board: TaskBoard) -> str | None:
    if group_id is None or not group_id.strip():
        return None
    if not any(one.id == group_id for one in board.groups or ()):
        why = "The board has no group with this id."
        raise InvalidInput(
            f"groupId: {why}",
            code=Code.VALIDATION_ERROR,
            details=[Detail("input.groupId", why)],
        )
    return group_id


async def _item(info: Info, seat: TaskAccount, item_id: str) -> TaskItem | None:
    """Read back what was written, as a read would show it; the write stands whatever comes."""
    context = info.context
    sight = read_arguments.sight(info, routing.boards(context, seat))
    if not sight.wanted or not context.caller.allows(TaskOp.VIEW_ITEMS):
        return None
    try:
        return await seat.port.item(item_id, sight=sight)
    except ProviderFailure:
        return None
