"""Item queries as monday.com's item rules: docs/spec/upstream/monday.md#item-rules."""

from collections.abc import Iterator, Sequence
from typing import Any

from providers.connectors.boards import column_types
from providers.item_visibility import Column, source_columns
from providers.ports.tasks import ItemQuery

Rule = dict[str, Any]


def needs_columns(query: ItemQuery) -> bool:
    """Whether the rules of *query* name columns of the board."""
    return bool(query.status or query.assignee or query.assignee_email)


def rules(
    query: ItemQuery, columns: Sequence[Column], assignees: Sequence[str] = ()
) -> Rule | None:
    """
    Return the `query_params` of *query*; empty when it restricts nothing.

    *assignees* are the ids of the people with the address that it names.

    Returns:
        None when nothing can match: the board has no column or no label for the query.
    """
    all_of: list[Rule] = []
    groups: list[Rule] = []
    if query.group_id:
        all_of.append(_rule("group", [query.group_id], "any_of"))
    if query.text:
        all_of.append(_rule("name", [query.text], "contains_text"))
    if query.status:
        status = _status(query.status, columns)
        if status is None:
            return None
        all_of.append(status)
    for compared, operator in _people(query, assignees):
        any_column = [
            _rule(column.id, compared, operator) for column in source_columns(columns)["assignees"]
        ]
        if not any_column or not compared:
            return None
        is_alone = len(any_column) == 1
        (all_of if is_alone else groups).append(
            any_column[0] if is_alone else {"rules": any_column, "operator": "or"}
        )
    params: Rule = {}
    if all_of:
        params["rules"] = all_of
    if groups:
        params["groups"] = groups
    return params


def _people(query: ItemQuery, assignees: Sequence[str]) -> Iterator[tuple[Sequence[str], str]]:
    """Yield what people columns are compared with, and the operator."""
    if query.assignee:
        yield [query.assignee], "contains_text"
    if query.assignee_email:
        yield [f"person-{user_id}" for user_id in assignees], "any_of"


def _status(projection: str, columns: Sequence[Column]) -> Rule | None:
    folded = projection.casefold()
    for column in source_columns(columns)["status"]:
        indexes = [
            int(index)
            for index, text in column_types.labels(column.settings)
            if text.casefold() == folded and index.isdecimal()
        ]
        if indexes:
            return _rule(column.id, indexes, "any_of")
    return None


def _rule(column_id: str, compared: Sequence[str | int], operator: str) -> Rule:
    return {"column_id": column_id, "compare_value": list(compared), "operator": operator}
