"""
The part of a filter that upstream evaluates.

It never excludes an item that passes, and every item is checked again here. Conditions that
upstream evaluates differently (null, ``not``, substrings, order of texts) are left out. Indexed
columns come first, because upstream looks at the first condition only. See
docs/spec/upstream/microsoft-files.md#filters.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from providers.connectors.collab.lists.item_filters import (
    And,
    Comparison,
    FilterColumn,
    Node,
    Or,
    columns_of,
)

ALLOW_UNINDEXED = {"prefer": "HonorNonIndexedQueriesWarningMayFailRandomly"}


@dataclass(frozen=True, slots=True)
class UpstreamFilter:
    """
    A filter in upstream's language.

    Attributes:
        indexed: Whether every column in it is indexed.
    """

    text: str
    indexed: bool


def to_upstream(node: Node, columns: Mapping[str, FilterColumn]) -> UpstreamFilter | None:
    """Return the part of *node* that upstream may evaluate; None when there is none."""
    parts = node.parts if isinstance(node, And) else (node,)
    conditions = [(part, text) for part in parts if (text := _to_text(part, columns)) is not None]
    if not conditions:
        return None
    conditions.sort(key=lambda pair: not _is_indexed(pair[0], columns))
    several = len(conditions) > 1
    texts = [f"({text})" if several and isinstance(part, Or) else text for part, text in conditions]
    return UpstreamFilter(
        text=" and ".join(texts), indexed=all(_is_indexed(part, columns) for part, _ in conditions)
    )


def _is_indexed(node: Node, columns: Mapping[str, FilterColumn]) -> bool:
    return all(columns[name].indexed for name in columns_of(node))


def _to_text(node: Node, columns: Mapping[str, FilterColumn]) -> str | None:
    match node:
        case Comparison():
            return _comparison(node, columns[node.column])
        case And(parts) | Or(parts):
            texts = [_to_text(part, columns) for part in parts]
            if any(text is None for text in texts):
                return None
            word = " and " if isinstance(node, And) else " or "
            return word.join(f"({text})" for text in texts)
    return None


def _comparison(node: Comparison, column: FilterColumn) -> str | None:
    if column.key == "id" or column.key.endswith("LookupId") or node.literal is None:
        return None
    member = f"fields/{column.key}"
    literal = node.literal
    if node.op == "startswith":
        return f"startswith({member},{quote_literal(str(literal))})" if literal else None
    if node.op in ("contains", "endswith"):
        return None
    match literal:
        case bool():
            # Upstream may tell an empty value from "no"; so does the evaluation here.
            return f"{member} {node.op} {'true' if literal else 'false'}"
        case datetime():
            return _time(member, node.op, literal)
        case float():
            return f"{member} {node.op} {_number(literal)}"
        case str():
            # The order of texts depends on the collation, which differs from upstream's.
            return f"{member} eq {quote_literal(literal)}" if node.op == "eq" and literal else None
    return None


def _time(member: str, op: str, literal: datetime) -> str | None:
    """Write a time in whole seconds, as upstream keeps them."""
    if literal.microsecond:
        if op in ("eq", "ne"):
            return None
        literal = literal.replace(microsecond=0)
        if op in ("lt", "le"):
            op, literal = "le", literal + timedelta(seconds=int(literal.year < 9999))
        else:
            op = "ge"
    return f"{member} {op} '{literal.year:04}{literal:-%m-%dT%H:%M:%SZ}'"


def quote_literal(text: str) -> str:
    """Return a text as an OData literal."""
    return "'" + text.replace("'", "''") + "'"


def _number(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
