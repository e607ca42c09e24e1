"""
Filters and order of item pages: the API's ``query_params``.

A rule names a column (or ``name``, ``group``, ``__last_updated__``, ``__creation_log__``), an
operator and values to compare with. A value of a column matches by its text and by ids: a status
index, ``person-7``, a label id. See docs/spec/upstream/monday.md#item-rules.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from operator import itemgetter
from types import MappingProxyType
from typing import Any

from sandbox.boards import errors
from sandbox.boards.column_values import Cell
from sandbox.boards.errors import ApiError
from sandbox.boards.records import Board, Column, Item
from sandbox.boards.settings import EMPTY_STATUS_INDEX
from sandbox.boards.store import BoardStore

_RELATIVE_DAYS = {"TODAY": 0, "TOMORROW": 1, "YESTERDAY": -1}
_LOG_TYPES = {"__last_updated__": "last_updated", "__creation_log__": "creation_log"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFilter:
    """Filter of one board's items for one user; relative days count from *today* (UTC)."""

    store: BoardStore
    board: Board
    today: date
    user_id: str

    def apply(self, items: Iterable[Item], query: Mapping[str, Any]) -> list[Item]:
        """
        Return the items that match *query*, in the order of its ``order_by``.

        Items without a value in a column of ``order_by`` come last.

        Raises:
            ApiError: A rule names an unknown column or operator.
        """
        if ids := query.get("ids"):
            item_ids = set(map(str, ids))
            items = [item for item in items if item.id in item_ids]
        matching = [item for item in items if self._matches_group(item, query)]
        for order in reversed(query.get("order_by") or ()):
            column = self._column(str(order["column_id"]))
            keyed = [(self._sort_key(item, column), item) for item in matching]
            filled = [(key, item) for key, item in keyed if key is not None]
            filled.sort(key=itemgetter(0), reverse=order.get("direction") == "desc")
            empty = [item for key, item in keyed if key is None]
            matching = [item for _, item in filled] + empty
        return matching

    def _matches_group(self, item: Item, group: Mapping[str, Any]) -> bool:
        results = [self._matches_rule(item, rule) for rule in group.get("rules") or ()]
        results += [self._matches_group(item, nested) for nested in group.get("groups") or ()]
        if not results:
            return True
        return any(results) if group.get("operator") == "or" else all(results)

    def _matches_rule(self, item: Item, rule: Mapping[str, Any]) -> bool:
        column = self._column(str(rule["column_id"]))
        operator = OPERATORS.get(str(rule.get("operator") or "any_of"))
        if operator is None:
            raise ApiError("InvalidArgumentException", "This operator is not supported.")
        return operator(self._operand(item, column), self._values(rule.get("compare_value")))

    def _column(self, column_id: str) -> Column:
        if column_id == "group":
            return Column(id="group", title="Group", type="group")
        if column_id in _LOG_TYPES:
            return Column(id=column_id, title=column_id, type=_LOG_TYPES[column_id])
        column = self.board.column(column_id)
        if column is None:
            raise errors.column_not_found(column_id)
        return column

    def _operand(self, item: Item, column: Column) -> "Operand":
        if column.type == "name":
            return Operand(item.name, (item.name,))
        if column.type == "group":
            group = self.board.group(item.group)
            return Operand(group.title if group else "", (item.group,))
        cell = Cell(store=self.store, board=self.board, item=item, column=column)
        return Operand(cell.display_text, tuple(_aliases(cell)))

    def _values(self, compare_value: Any) -> list[str]:
        values = compare_value if isinstance(compare_value, list) else [compare_value]
        words = [str(value) for value in values if value is not None]
        if words[:1] == ["EXACT"]:
            words = words[1:]
        user = f"person-{self.user_id}"
        return [user if word == "assigned_to_me" else self._resolve_day(word) for word in words]

    def _resolve_day(self, word: str) -> str:
        if word not in _RELATIVE_DAYS:
            return word
        return (self.today + timedelta(days=_RELATIVE_DAYS[word])).isoformat()

    def _sort_key(self, item: Item, column: Column) -> tuple[float, str] | None:
        operand = self._operand(item, column)
        if operand.is_empty:
            return None
        if column.type == "status":
            return (
                float(str((item.values.get(column.id) or {}).get("index", EMPTY_STATUS_INDEX))),
                "",
            )
        number = _to_number(operand.text)
        return (math.inf if number is None else number, operand.text.casefold())


@dataclass(frozen=True, slots=True)
class Operand:
    """The value that a rule compares: its text, and all texts and ids that name it."""

    text: str
    aliases: Sequence[str]

    @property
    def is_empty(self) -> bool:
        """Whether the column is empty."""
        return not self.text

    @property
    def day(self) -> str:
        """The first ten characters: the day, when the value is a date."""
        return self.text[:10]


def _aliases(cell: Cell) -> Iterable[str]:
    stored = cell.stored
    yield cell.display_text
    if cell.type in {"date", "last_updated", "creation_log"}:
        yield cell.display_text[:10]
    if cell.type == "status":
        yield str(EMPTY_STATUS_INDEX if stored is None else stored["index"])
    if not isinstance(stored, dict):
        return
    for member in stored.get("personsAndTeams", ()):
        yield f"{member['kind']}-{member['id']}"
        yield str(member["id"])
    for name in ("ids", "tag_ids"):
        yield from map(str, stored.get(name, ()))
    for name in ("email", "phone", "url"):
        if name in stored:
            yield str(stored[name])
    for link in stored.get("linkedPulseIds", ()):
        yield str(link["linkedPulseId"])


def _any_of(operand: Operand, values: list[str]) -> bool:
    if not values:
        return True
    return any(alias in values for alias in operand.aliases) or ("" in values and operand.is_empty)


def _contains(operand: Operand, values: list[str]) -> bool:
    return " ".join(values).casefold() in operand.text.casefold()


def _contains_terms(operand: Operand, values: list[str]) -> bool:
    text = operand.text.casefold()
    return all(term in text for value in values for term in value.casefold().split())


def _comparison(test: Callable[[Any, Any], bool]) -> "Operator":
    def compare(operand: Operand, values: list[str]) -> bool:
        if operand.is_empty or not values:
            return False
        left, right = _to_number(operand.text), _to_number(values[0])
        if left is not None and right is not None:
            return test(left, right)
        return test(operand.day, values[0])

    return compare


def _between(operand: Operand, values: list[str]) -> bool:
    if operand.is_empty or len(values) != 2:
        return False
    number, low, high = _to_number(operand.text), _to_number(values[0]), _to_number(values[1])
    if number is not None and low is not None and high is not None:
        return low <= number <= high
    return values[0] <= operand.day <= values[1]


def _to_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


Operator = Callable[[Operand, list[str]], bool]

OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {
        "any_of": _any_of,
        "not_any_of": lambda operand, values: not values or not _any_of(operand, values),
        "is_empty": lambda operand, _: operand.is_empty,
        "is_not_empty": lambda operand, _: not operand.is_empty,
        "contains_text": _contains,
        "not_contains_text": lambda operand, values: not _contains(operand, values),
        "contains_terms": _contains_terms,
        "starts_with": lambda operand, values: operand.text.casefold().startswith(
            " ".join(values).casefold()
        ),
        "ends_with": lambda operand, values: operand.text.casefold().endswith(
            " ".join(values).casefold()
        ),
        "greater_than": _comparison(lambda left, right: left > right),
        "greater_than_or_equals": _comparison(lambda left, right: left >= right),
        "lower_than": _comparison(lambda left, right: left < right),
        "lower_than_or_equal": _comparison(lambda left, right: left <= right),
        "between": _between,
    }
)
