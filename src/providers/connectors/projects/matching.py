"""Filters over tasks, applied after reading: Asana does not filter a project's tasks."""

from collections.abc import Callable, Sequence

from providers.connectors.projects import mapping, response_types
from providers.item_visibility import Column
from providers.ports.tasks import ItemQuery, ItemVisibility


def compared_attributes(query: ItemQuery) -> frozenset[str]:
    """Return the attributes of `TaskItem` that the filters of *query* compare."""
    filters = {"name": query.text, "status": query.status, "assignees": query.assignee}
    return frozenset(name for name, value in filters.items() if value)


def matcher(
    query: ItemQuery, board_id: str, visibility: ItemVisibility, columns: Sequence[Column]
) -> Callable[[response_types.Task], bool] | None:
    """Return a predicate over tasks, which ignores the query's group; None when all tasks match."""
    if not compared_attributes(query):
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
