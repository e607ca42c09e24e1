"""The complexity budget of an account, in points a minute, and the cost of a document."""

from collections.abc import Callable, Mapping
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    IntValueNode,
    ListValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    ValueNode,
    VariableNode,
)

from sandbox.boards.errors import ApiError
from sandbox.storage.database import Database

WINDOW_SECONDS = 60  # the budget is restored after each window
# Points; see docs/spec/upstream/errors-and-throttling.md#monday-limits.
MAX_QUERY_COST = 5_000_000
DEFAULT_LIMIT = 10_000_000  # a minute, of a paid account; reported but not enforced

_MUTATION_COST = 10_000  # points
_DEFAULT_PAGE_SIZES = {
    "boards": 25,
    "items": 25,
    "items_page": 25,
    "next_items_page": 25,
    "updates": 25,
}
_LIMIT_KEY = "boards:budget"  # meta key: points a minute


def set_budget(store: Database, points: int | None) -> None:
    """Enforce a budget of *points* a minute; None reports the default and enforces nothing."""
    store.set_meta(_LIMIT_KEY, "" if points is None else str(points))


class ComplexityBudget:
    """
    The account's points, restored every minute.

    An account without a set budget never runs out: its points are restored when they are spent,
    so that a test suite is not throttled by the number of its calls.
    """

    def __init__(self, store: Database, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._spent = 0
        self._window_end = 0.0

    @property
    def limit(self) -> int:
        """Points a minute."""
        return int(self._store.meta(_LIMIT_KEY) or DEFAULT_LIMIT)

    def charge(self, cost: int, version: str) -> "QueryComplexity":
        """
        Take *cost* points from the budget.

        Raises:
            ApiError: Fewer points are left, or *cost* is more than `MAX_QUERY_COST`.
        """
        now = self._clock()
        if now >= self._window_end:
            self._spent, self._window_end = 0, now + WINDOW_SECONDS
        limit, before = self.limit, self.limit - self._spent
        reset = max(1, round(self._window_end - now))
        if cost > MAX_QUERY_COST:
            raise ApiError(
                "maxComplexityExceeded",
                f"Query has complexity of {cost}, which exceeds max complexity of {MAX_QUERY_COST}",
            )
        if cost > before and not self._store.meta(_LIMIT_KEY):
            self._spent, self._window_end = 0, now + WINDOW_SECONDS
            before, reset = limit, WINDOW_SECONDS
        if cost > before:
            raise budget_exhausted(
                cost=cost, left=before, limit=limit, seconds=reset, version=version
            )
        self._spent += cost
        return QueryComplexity(before, cost, reset)


class QueryComplexity:
    """The cost of one document, with the fields of the API's ``Complexity`` type."""

    def __init__(self, before: int, cost: int, reset: int) -> None:
        self.before = before
        self.query = cost
        self.after = before - cost
        self.reset_in_x_seconds = reset


def budget_exhausted(*, cost: int, left: int, limit: int, seconds: int, version: str) -> ApiError:
    """Build the error of an empty budget: legacy, of 2025-01, or since 2025-07."""
    if version < "2025-01":
        return ApiError(
            "ComplexityException",
            f"Complexity budget exhausted, query cost {cost} budget remaining {left}"
            f" out of {limit} reset in {seconds} seconds",
        )
    error = ApiError("COMPLEXITY_BUDGET_EXHAUSTED", "Complexity budget exhausted")
    extensions = error.extensions or {}
    extensions["retry_in_seconds"] = seconds
    del extensions["error_data"]
    if version >= "2025-07":
        del extensions["status_code"]
    else:
        extensions |= {
            "complexity": cost,
            "complexity_budget_left": left,
            "complexity_budget_limit": limit,
        }
    return error


def query_cost(document: DocumentNode, variables: Mapping[str, Any]) -> int:
    """Return the points of a document: one a field, times the page size below a list."""
    fragments = {
        definition.name.value: definition
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }
    operations = [
        definition
        for definition in document.definitions
        if isinstance(definition, OperationDefinitionNode)
    ]
    return sum(
        _cost(operation.selection_set, fragments, variables, 0)
        + (
            _MUTATION_COST * len(operation.selection_set.selections)
            if operation.operation.value == "mutation"
            else 0
        )
        for operation in operations
    )


def _cost(
    selection_set: SelectionSetNode | None,
    fragments: Mapping[str, FragmentDefinitionNode],
    variables: Mapping[str, Any],
    depth: int,
) -> int:
    if selection_set is None or depth > 30:
        return 0
    total = 0
    for selection in selection_set.selections:
        if isinstance(selection, FieldNode):
            nested_cost = _cost(selection.selection_set, fragments, variables, depth + 1)
            total += 1 + nested_cost * _list_size(selection, variables)
        elif isinstance(selection, InlineFragmentNode):
            total += _cost(selection.selection_set, fragments, variables, depth + 1)
        elif isinstance(selection, FragmentSpreadNode) and selection.name.value in fragments:
            fragment = fragments[selection.name.value]
            total += _cost(fragment.selection_set, fragments, variables, depth + 1)
    return total


def _list_size(node: FieldNode, variables: Mapping[str, Any]) -> int:
    arguments = {argument.name.value: argument.value for argument in node.arguments or ()}
    limit, ids = (_argument_value(arguments.get(name), variables) for name in ("limit", "ids"))
    if isinstance(limit, int):
        return max(1, limit)
    if ids is not None:
        return max(1, len(ids)) if isinstance(ids, list) else 1
    return _DEFAULT_PAGE_SIZES.get(node.name.value, 1)


def _argument_value(value: ValueNode | None, variables: Mapping[str, Any]) -> Any:
    if isinstance(value, VariableNode):
        return variables.get(value.name.value)
    if isinstance(value, IntValueNode):
        return int(value.value)
    return list(value.values) if isinstance(value, ListValueNode) else value
