"""Filters over tasks, which upstream does not have: applied to what was read."""

from collections.abc import Callable, Sequence

from providers.connectors.projects import mapping, response_types
from providers.item_visibility import Column
from providers.ports.tasks import ItemQuery, ItemVisibility


def looked_at(query: ItemQuery) -> frozenset[str]:
    """Return the attributes of `TaskItem` that the filters of *query* look at."""
    given = {"name": query.text, "status": query.status, "assignees": query.assignee}
    return frozenset(name for name, value in given.items() if value)


def matcher(
    query: ItemQuery, board_id: str, visibility: ItemVisibility, columns: Sequence[Column]
) -> Callable[[response_types.Task], bool] | None:
    """Return what tells whether a task matches; None when all do. The group is no matter here."""
    if not looked_at(query):
        return None

    def matches(task: response_types.Task) -> bool:
        item = mapping.item(task, board_id, visibility, columns)
        people = " \n".join(item.assignees or ()).casefold()
        return (
            (query.text or "").casefold() in (item.name or "").casefold()
            and (query.status is None or query.status.casefold() == (item.status or "").casefold())
            and (query.assignee or "").casefold() in people
        )

    return matches
