"""
Which items a listing holds and in what order: the wire's ``query_params``.

A rule names a column (or ``name``, ``group``, ``__last_updated__``, ``__creation_log__``), an
operator and what to compare with. A column's value is known by several texts: its own text, and
the ids that the wire's rules use (a status index, ``person-7``, a label id).
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
from sandbox.boards.errors import Refused
from sandbox.boards.records import Board, Column, Item
from sandbox.boards.store import BoardStore

EMPTY_STATUS = "5"  # the index of a status that was never set
_DAYS = {"TODAY": 0, "TOMORROW": 1, "YESTERDAY": -1}
_LOGS = {"__last_updated__": "last_updated", "__creation_log__": "creation_log"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A board's items under some rules; *today* is what relative days count from."""

    store: BoardStore
    board: Board
    today: date
    me: str

    def chosen(self, items: Iterable[Item], query: Mapping[str, Any]) -> list[Item]:
        """
        Return the items that *query* asks for, in its order.

        Raises:
            Refused: A rule names no column, or compares what cannot be compared.
        """
        ids = query.get("ids")
        if ids:
            wanted = {str(id_) for id_ in ids}
            items = [item for item in items if item.id in wanted]
        kept = [item for item in items if self._fits(item, query)]
        for order in reversed(query.get("order_by") or ()):
            column = self._column(str(order["column_id"]))
            keys = [(self._sort_key(item, column), item) for item in kept]
            filled = [(key, item) for key, item in keys if key is not None]
            filled.sort(key=itemgetter(0), reverse=order.get("direction") == "desc")
            kept = [item for _, item in filled] + [item for key, item in keys if key is None]
        return kept

    def _fits(self, item: Item, group: Mapping[str, Any]) -> bool:
        found = [self._follows(item, rule) for rule in group.get("rules") or ()]
        found += [self._fits(item, one) for one in group.get("groups") or ()]
        if not found:
            return True
        return any(found) if group.get("operator") == "or" else all(found)

    def _follows(self, item: Item, rule: Mapping[str, Any]) -> bool:
        column = self._column(str(rule["column_id"]))
        operator = OPERATORS.get(str(rule.get("operator") or "any_of"))
        if operator is None:
            raise Refused("InvalidArgumentException", "This operator is not supported.")
        return operator(self._subject(item, column), self._compared(rule.get("compare_value")))

    def _column(self, column_id: str) -> Column:
        if column_id == "group":
            return Column(id="group", title="Group", type="group")
        if column_id in _LOGS:
            return Column(id=column_id, title=column_id, type=_LOGS[column_id])
        column = self.board.column(column_id)
        if column is None:
            raise errors.no_column(column_id)
        return column

    def _subject(self, item: Item, column: Column) -> "Subject":
        if column.type == "name":
            return Subject(item.name, (item.name,))
        if column.type == "group":
            group = self.board.group(item.group)
            return Subject(group.title if group else "", (item.group,))
        cell = Cell(store=self.store, board=self.board, item=item, column=column)
        return Subject(cell.shown, tuple(_known_as(cell)))

    def _compared(self, given: Any) -> list[str]:
        several = given if isinstance(given, list) else [given]
        words = [str(one) for one in several if one is not None]
        if words[:1] == ["EXACT"]:
            words = words[1:]
        mine = f"person-{self.me}"
        return [mine if word == "assigned_to_me" else self._dated(word) for word in words]

    def _dated(self, word: str) -> str:
        if word not in _DAYS:
            return word
        return (self.today + timedelta(days=_DAYS[word])).isoformat()

    def _sort_key(self, item: Item, column: Column) -> tuple[float, str] | None:
        subject = self._subject(item, column)
        if subject.is_empty:
            return None
        if column.type == "status":
            return (float(str((item.values.get(column.id) or {}).get("index", 5))), "")
        number = _number(subject.text)
        return (math.inf if number is None else number, subject.text.casefold())


@dataclass(frozen=True, slots=True)
class Subject:
    """What a rule looks at: a text, and everything else that its value is known by."""

    text: str
    known_as: Sequence[str]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing."""
        return not self.text

    @property
    def day(self) -> str:
        """The first ten characters, which of a date are its day."""
        return self.text[:10]


def _known_as(cell: Cell) -> Iterable[str]:
    kept = cell.kept
    yield cell.shown
    if cell.type in {"date", "last_updated", "creation_log"}:
        yield cell.shown[:10]
    if cell.type == "status":
        yield EMPTY_STATUS if kept is None else str(kept["index"])
    if not isinstance(kept, dict):
        return
    for member in kept.get("personsAndTeams", ()):
        yield f"{member['kind']}-{member['id']}"
        yield str(member["id"])
    for name in ("ids", "tag_ids"):
        yield from map(str, kept.get(name, ()))
    for name in ("email", "phone", "url"):
        if name in kept:
            yield str(kept[name])
    yield from (
        str(linked_pulse_id["linkedPulseId"]) for linked_pulse_id in kept.get("linkedPulseIds", ())
    )


def _any_of(subject: Subject, wanted: list[str]) -> bool:
    if not wanted:
        return True
    return any(one in wanted for one in subject.known_as) or ("" in wanted and subject.is_empty)


def _contains(subject: Subject, wanted: list[str]) -> bool:
    return " ".join(wanted).casefold() in subject.text.casefold()


def _terms(subject: Subject, wanted: list[str]) -> bool:
    text = subject.text.casefold()
    return all(term in text for one in wanted for term in one.casefold().split())


def _compare(test: Callable[[Any, Any], bool]) -> "Operator":
    def follows(subject: Subject, wanted: list[str]) -> bool:
        if subject.is_empty or not wanted:
            return False
        left, right = _number(subject.text), _number(wanted[0])
        if left is not None and right is not None:
            return test(left, right)
        return test(subject.day, wanted[0])

    return follows


def _between(subject: Subject, wanted: list[str]) -> bool:
    if subject.is_empty or len(wanted) != 2:
        return False
    number, low, high = _number(subject.text), _number(wanted[0]), _number(wanted[1])
    if number is not None and low is not None and high is not None:
        return low <= number <= high
    return wanted[0] <= subject.day <= wanted[1]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


Operator = Callable[[Subject, list[str]], bool]

OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {
        "any_of": _any_of,
        "not_any_of": lambda subject, wanted: not wanted or not _any_of(subject, wanted),
        "is_empty": lambda subject, _: subject.is_empty,
        "is_not_empty": lambda subject, _: not subject.is_empty,
        "contains_text": _contains,
        "not_contains_text": lambda subject, wanted: not _contains(subject, wanted),
        "contains_terms": _terms,
        "starts_with": lambda subject, wanted: subject.text.casefold().startswith(
            " ".join(wanted).casefold()
        ),
        "ends_with": lambda subject, wanted: subject.text.casefold().endswith(
            " ".join(wanted).casefold()
        ),
        "greater_than": _compare(lambda left, right: left > right),
        "greater_than_or_equals": _compare(lambda left, right: left >= right),
        "lower_than": _compare(lambda left, right: left < right),
        "lower_than_or_equal": _compare(lambda left, right: left <= right),
        "between": _between,
    }
)
