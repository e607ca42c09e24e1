"""Filters over tasks, applied after reading: Asana does not filter a project's tasks."""

from collections.abc import Callable, Sequence

from providers.connectors.projects import mapping, response_types
from providers.item_visibility import Column
from providers.ports.tasks import ItemQuery, ItemVisibility


def compared_attributes(query: ItemQuery) -> frozenset[str]:
    """Return the attributes of `TaskItem` that the filters of *query* compare."""
    people = query.assignee or query.assignee_email
    filters = {"name": query.text, "status": query.status, "assignees": people}
    return frozenset(name for name, value in filters.items() if value)


def matcher(
    query: ItemQuery, board_id: str, visibility: ItemVisibility, columns: Sequence[Column]
) -> Callable[[response_types.Task], bool] | None:
    """Return a predicate over tasks, which ignores the query's group; None when all tasks match."""
    if not compared_attributes(query):
        return None

    text, assignee = (query.text or "").casefold(), (query.assignee or "").casefold()
    status = None if query.status is None else query.status.casefold()
    address = None if query.assignee_email is None else query.assignee_email.casefold()

    def matches(task: response_types.Task) -> bool:
        item = mapping.item(task, board_id, visibility, columns)
        people = " \n".join(item.assignees or ()).casefold()
        return (
            text in (item.name or "").casefold()
            and (status is None or status == (item.status or "").casefold())
            and assignee in people
            and (address is None or _is_assigned(task, address))
        )

    return matches


def _is_assigned(task: response_types.Task, address: str) -> bool:
    """Return whether the assignee, or a person in a people field, has the casefolded address."""
    fields = (field.people_value or () for field in task.custom_fields or ())
    people = (*filter(None, [task.assignee]), *(person for field in fields for person in field))
    return any((person.email or "").casefold() == address for person in people)
