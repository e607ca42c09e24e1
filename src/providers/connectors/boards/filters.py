"""Item queries as monday.com's item rules: docs/spec/upstream/monday.md#item-rules."""

from collections.abc import Sequence
from typing import Any

from providers.connectors.boards import column_types
from providers.item_visibility import Column, source_columns
from providers.ports.tasks import ItemQuery

Rule = dict[str, Any]


def needs_columns(query: ItemQuery) -> bool:
    """Whether the rules of *query* name columns of the board."""
    return bool(query.status or query.assignee)


def rules(query: ItemQuery, columns: Sequence[Column]) -> Rule | None:
    """
    Return the `query_params` of *query*; empty when it restricts nothing.

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
    if query.assignee:
        people = [
            _rule(column.id, [query.assignee], "contains_text")
            for column in source_columns(columns)["assignees"]
        ]
        if not people:
            return None
        if len(people) == 1:
            all_of.append(people[0])
        else:
            groups.append({"rules": people, "operator": "or"})
    params: Rule = {}
    if all_of:
        params["rules"] = all_of
    if groups:
        params["groups"] = groups
    return params


def _status(wanted: str, columns: Sequence[Column]) -> Rule | None:
    for column in source_columns(columns)["status"]:
        indexes = [
            int(index)
            for index, text in column_types.labels(column.settings)
            if text.casefold() == wanted.casefold() and index.isdecimal()
        ]
        if indexes:
            return _rule(column.id, indexes, "any_of")
    return None


def _rule(column_id: str, compared: Sequence[str | int], operator: str) -> Rule:
    return {"column_id": column_id, "compare_value": list(compared), "operator": operator}
