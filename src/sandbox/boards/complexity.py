"""The complexity budget of an account: what a document costs, and how much is left this minute."""

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

from sandbox.boards.errors import Refused
from sandbox.storage.database import Database

MINUTE = 60  # seconds: how long a budget lasts
MOST_A_QUERY = 5_000_000  # points; reference/wire.md 2.3
USUAL = 10_000_000  # points a minute of a paid account; told, and not enforced unless set

_WRITE = 10_000  # points of a mutation
_PAGED = {"boards": 25, "items": 25, "items_page": 25, "next_items_page": 25, "updates": 25}
_SETTING = "boards:budget"  # meta key: points a minute


def set_budget(store: Database, points: int | None) -> None:
    """Hold the account to *points* a minute; None tells the usual number and holds to none."""
    store.set_meta(_SETTING, "" if points is None else str(points))


class Budget:
    """
    The account's points, full again every minute.

    An account that no budget was set for never runs out: its points are full again when they are
    spent. What a suite of tests asks for in a minute is not what a throttle is there for.
    """

    def __init__(self, store: Database, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._spent = 0
        self._until = 0.0

    @property
    def limit(self) -> int:
        """Points a minute."""
        return int(self._store.meta(_SETTING) or USUAL)

    def charge(self, cost: int, version: str) -> "Meter":
        """
        Take *cost* points.

        Raises:
            Refused: There are fewer left, or no document may cost so much.
        """
        now = self._clock()
        if now >= self._until:
            self._spent, self._until = 0, now + MINUTE
        limit, before = self.limit, self.limit - self._spent
        reset = max(1, round(self._until - now))
        if cost > MOST_A_QUERY:
            raise Refused(
                "maxComplexityExceeded",
                f"Query has complexity of {cost}, which exceeds max complexity of {MOST_A_QUERY}",
            )
        if cost > before and not self._store.meta(_SETTING):
            self._spent, self._until = 0, now + MINUTE
            before, reset = limit, MINUTE
        if cost > before:
            raise exhausted(cost=cost, left=before, limit=limit, seconds=reset, version=version)
        self._spent += cost
        return Meter(before, cost, reset)


class Meter:
    """What one document cost, as the wire's ``complexity`` shows it."""

    def __init__(self, before: int, cost: int, reset: int) -> None:
        self.before = before
        self.query = cost
        self.after = before - cost
        self.reset_in_x_seconds = reset


def exhausted(*, cost: int, left: int, limit: int, seconds: int, version: str) -> Refused:
    """Word an empty budget as the API version does: legacy, 2025-01 or since 2025-07."""
    if version < "2025-01":
        return Refused(
            "ComplexityException",
            f"Complexity budget exhausted, query cost {cost} budget remaining {left}"
            f" out of {limit} reset in {seconds} seconds",
        )
    refusal = Refused("COMPLEXITY_BUDGET_EXHAUSTED", "Complexity budget exhausted")
    extensions = refusal.extensions or {}
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
    return refusal


def cost_of(document: DocumentNode, variables: Mapping[str, Any]) -> int:
    """Return the points of a document: a field costs one, a list its length times its fields."""
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
            _WRITE * len(operation.selection_set.selections)
            if operation.operation.value == "mutation"
            else 0
        )
        for operation in operations
    )


def _cost(
    chosen: SelectionSetNode | None,
    fragments: Mapping[str, FragmentDefinitionNode],
    variables: Mapping[str, Any],
    depth: int,
) -> int:
    if chosen is None or depth > 30:
        return 0
    total = 0
    for selection in chosen.selections:
        if isinstance(selection, FieldNode):
            below = _cost(selection.selection_set, fragments, variables, depth + 1)
            total += 1 + below * _times(selection, variables)
        elif isinstance(selection, InlineFragmentNode):
            total += _cost(selection.selection_set, fragments, variables, depth + 1)
        elif isinstance(selection, FragmentSpreadNode) and selection.name.value in fragments:
            named = fragments[selection.name.value]
            total += _cost(named.selection_set, fragments, variables, depth + 1)
    return total


def _times(node: FieldNode, variables: Mapping[str, Any]) -> int:
    given = {argument.name.value: argument.value for argument in node.arguments or ()}
    limit, ids = (_literal(given.get(name), variables) for name in ("limit", "ids"))
    if isinstance(limit, int):
        return max(1, limit)
    if ids is not None:
        return max(1, len(ids)) if isinstance(ids, list) else 1
    return _PAGED.get(node.name.value, 1)


def _literal(value: ValueNode | None, variables: Mapping[str, Any]) -> Any:
    if isinstance(value, VariableNode):
        return variables.get(value.name.value)
    if isinstance(value, IntValueNode):
        return int(value.value)
    return list(value.values) if isinstance(value, ListValueNode) else value
