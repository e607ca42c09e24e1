"""How list items are ordered: by columns, null first, and by id in the end. Decisions 8.10."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from providers.connectors.collab import response_types
from providers.connectors.collab.lists.item_filters import Kind, comparable
from providers.ports.collab import InvalidFilter

MOST_ORDERS = 3
_WAYS = {"asc": False, "desc": True}


@dataclass(frozen=True, slots=True)
class Order:
    column: str
    descending: bool


def parse(text: str | None, columns: Mapping[str, Kind]) -> tuple[Order, ...]:
    """
    Read an order; none for the order that lists have anyway.

    Raises:
        InvalidFilter: It does not parse, or names no column.
    """
    if text is None:
        return ()
    found = []
    for part in text.split(","):
        name, *way = part.split() or [""]
        if len(way) > 1 or (way and way[0].lower() not in _WAYS):
            raise InvalidFilter("After a column comes asc or desc, or nothing.")
        kind = columns.get(name.removeprefix("fields/"))
        if kind is None:
            raise InvalidFilter("The order names a column that the list does not have.")
        found.append(Order(kind.name, _WAYS[way[0].lower()] if way else False))
    if len(found) > MOST_ORDERS:
        raise InvalidFilter(f"Items are ordered by {MOST_ORDERS} columns at most.")
    by_id = len(found) == 1 and columns[found[0].column].key == "id" and not found[0].descending
    return () if by_id else tuple(found)


def sort(
    rows: Sequence[response_types.ListItem], orders: Sequence[Order], columns: Mapping[str, Kind]
) -> list[response_types.ListItem]:
    """Return list items in order."""
    found = sorted(rows, key=_number)
    for one in reversed(orders):
        kind = columns[one.column]
        found.sort(key=lambda row, kind=kind: _rank(row, kind), reverse=one.descending)  # type: ignore[misc]  # mypy cannot type a lambda's default
    return found


def _rank(row: response_types.ListItem, kind: Kind) -> tuple[int, Any]:
    """Sort what is missing first, then what cannot be compared, then the rest."""
    found = row.id if kind.key == "id" else (row.fields or {}).get(kind.key)
    if found is None or found in ("", []):
        return (0, 0)
    value = comparable(kind, found)
    if value is None:
        return (1, str(found))
    return (2, value)


def _number(row: response_types.ListItem) -> tuple[int, str]:
    return (int(row.id) if row.id.isascii() and row.id.isdigit() else 0, row.id)
