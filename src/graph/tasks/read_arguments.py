"""Checks of the arguments of the task queries, and the visible part of an item."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType

from graph.context import Info
from graph.execution.requested_fields import projection
from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code, TaskField, TaskOp
from providers.ports.tasks import ItemVisibility

MAX_ID = 255  # characters

# Mask word -> the attribute of `TaskItem` that it hides.
_ATTRIBUTES: Mapping[TaskField, str] = MappingProxyType(
    {
        TaskField.NAME: "name",
        TaskField.STATUS: "status",
        TaskField.ASSIGNEES: "assignees",
        TaskField.DUE_DATE: "due_date",
        TaskField.PRIORITY: "priority",
        TaskField.LABELS: "labels",
        TaskField.DESCRIPTION: "description",
        TaskField.COMMENTS: "comments",
        TaskField.COLUMN_VALUES: "column_values",
        TaskField.SUB_ITEMS: "sub_items",
        TaskField.CREATED_TIME: "created_at",
        TaskField.MODIFIED_TIME: "updated_at",
        TaskField.WEB_LINK: "web_url",
    }
)


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


def visibility(info: Info, boards: AbstractSet[str] | None) -> ItemVisibility:
    """Return the selected and visible part of items; *boards* None means all boards."""
    caller = info.context.caller
    seen = projection(info.raw, "TaskItem")
    if not caller.allows(TaskOp.VIEW_COMMENTS):
        seen -= {"comments"}
    hidden = frozenset(name for word, name in _ATTRIBUTES.items() if caller.hides(word))
    return ItemVisibility(projection=seen, hidden=hidden, boards=boards)
