"""What the task queries take, checked; and what of an item is to be seen."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType

from graph.context import Info
from graph.execution.requested_fields import wanted
from policy.refusals import Detail, InvalidInput
from policy.vocabulary import Code, TaskField, TaskOp
from providers.ports.tasks import ItemVisibility

MAX_TEXT = 500  # characters of a filter
MAX_ID = 255  # characters; decisions 7.4

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


def text(given: str | None, name: str) -> str | None:
    """
    Read a filter; a blank one is none.

    Raises:
        InvalidInput: It is too long.
    """
    if given is not None and len(given) > MAX_TEXT:
        raise InvalidInput(f"{name} may have at most {MAX_TEXT} characters.")
    return (given or "").strip() or None


def known_id(given: str, name: str) -> str:
    """
    Return an id that may be one.

    Raises:
        InvalidInput: `VALIDATION_ERROR`: it is empty or longer than any id.
    """
    if not given or len(given) > MAX_ID:
        why = f"It has 1 to {MAX_ID} characters."
        raise InvalidInput(
            f"{name}: {why}", code=Code.VALIDATION_ERROR, details=[Detail(name, why)]
        )
    return given


def sight(info: Info, boards: AbstractSet[str] | None) -> ItemVisibility:
    """Return what of items was selected and may be seen; *boards* None: on all boards."""
    caller = info.context.caller
    seen = wanted(info.raw, "TaskItem")
    if not caller.allows(TaskOp.VIEW_COMMENTS):
        seen -= {"comments"}
    hidden = frozenset(name for word, name in _ATTRIBUTES.items() if caller.hides(word))
    return ItemVisibility(wanted=seen, hidden=hidden, boards=boards)
