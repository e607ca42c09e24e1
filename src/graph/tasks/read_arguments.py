"""Checks of the arguments of the task queries, and the visible part of an item."""

from graph.context import Info
from graph.execution.requested_fields import projection
from graph.masking import masks
from graph.tasks import routing
from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code, TaskOp
from providers.ports.tasks import ItemVisibility
from providers.tasks.accounts import TaskAccount

MAX_ID = 255  # characters


def text(value: str | None) -> str | None:
    """Trim a filter; None when it is blank."""
    return (value or "").strip() or None


def check_id(value: str, name: str) -> None:
    """
    Check the length of an id.

    Raises:
        InvalidInput: `VALIDATION_ERROR`: the id is empty or longer than any id.
    """
    if not value or len(value) > MAX_ID:
        why = f"It has 1 to {MAX_ID} characters."
        raise InvalidInput(
            f"{name}: {why}", code=Code.VALIDATION_ERROR, details=[Detail(name, why)]
        )


def visibility(info: Info, account: TaskAccount) -> ItemVisibility:
    """Return the selected and visible part of the items of *account*."""
    caller = routing.caller_on(info.context, account)
    hidden = masks.hidden_attributes("TaskItem", caller.grant)
    seen = projection(info.raw, "TaskItem") - hidden
    if not caller.allows(TaskOp.VIEW_COMMENTS):
        seen -= {"comments"}
    boards = routing.boards(info.context, account)
    return ItemVisibility(projection=seen, hidden=hidden, boards=boards)
