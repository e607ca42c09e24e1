"""The order of list items: by columns, null first, then by id."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from providers.connectors.collab import response_types
from providers.connectors.collab.lists.item_filters import FilterColumn, to_comparable
from providers.ports.collab import InvalidFilter

MAX_COLUMNS = 3
_DIRECTIONS = {"asc": False, "desc": True}


@dataclass(frozen=True, slots=True)
class ColumnOrder:
    column: str
    descending: bool


def parse(text: str | None, columns: Mapping[str, FilterColumn]) -> tuple[ColumnOrder, ...]:
    """
    Parse an order; empty for the order by id, which lists have anyway.

    Raises:
        InvalidFilter: It does not parse, or names no column.
    """
    if text is None:
        return ()
    orders = []
    for part in text.split(","):
        name, *direction = part.split() or [""]
        if len(direction) > 1 or (direction and direction[0].lower() not in _DIRECTIONS):
            raise InvalidFilter("A column may be followed by asc or desc only.")
        column = columns.get(name.removeprefix("fields/"))
        if column is None:
            raise InvalidFilter("The order names a column that the list does not have.")
        orders.append(
            ColumnOrder(column.name, _DIRECTIONS[direction[0].lower()] if direction else False)
        )
    if len(orders) > MAX_COLUMNS:
        raise InvalidFilter(f"Items are ordered by {MAX_COLUMNS} columns at most.")
    first = orders[0]
    by_id = len(orders) == 1 and columns[first.column].key == "id" and not first.descending
    return () if by_id else tuple(orders)


def sort(
    list_items: Iterable[response_types.ListItem],
    orders: Sequence[ColumnOrder],
    columns: Mapping[str, FilterColumn],
) -> list[response_types.ListItem]:
    """Return list items in order."""
    ordered = sorted(list_items, key=_id_rank)
    for order in reversed(orders):
        rank = partial(_rank, column=columns[order.column])
        ordered.sort(key=rank, reverse=order.descending)
    return ordered


def _rank(list_item: response_types.ListItem, column: FilterColumn) -> tuple[int, Any]:
    """Rank missing values first, then incomparable ones, then the rest."""
    value = list_item.id if column.key == "id" else (list_item.fields or {}).get(column.key)
    if value is None or value in ("", []):
        return (0, 0)
    comparable = to_comparable(column, value)
    return (1, str(value)) if comparable is None else (2, comparable)


def _id_rank(list_item: response_types.ListItem) -> tuple[int, str]:
    return (
        int(list_item.id) if list_item.id.isascii() and list_item.id.isdigit() else 0,
        list_item.id,
    )
