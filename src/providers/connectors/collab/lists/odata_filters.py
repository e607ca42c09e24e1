"""
What of a filter upstream may be asked: never less than passes, so what comes is looked at again.

Conditions that upstream decides otherwise than we do (null, ``not``, substrings, texts by order)
stay with us. Of what is joined by ``and`` the rest is asked, indexed columns first, because
upstream looks at the first one only. Source: wire report 1D.5; decisions 8.10.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from providers.connectors.collab.lists.item_filters import (
    Both,
    Comparison,
    Either,
    Kind,
    Node,
    columns_of,
)

HONOR = {"prefer": "HonorNonIndexedQueriesWarningMayFailRandomly"}


@dataclass(frozen=True, slots=True)
class Pushed:
    """
    A filter in upstream's words.

    Attributes:
        indexed: Whether every column in it is.
        narrow: Whether its first condition is on indexed columns alone.
    """

    text: str
    indexed: bool
    narrow: bool


def push(node: Node, columns: Mapping[str, Kind]) -> Pushed | None:
    """Return what upstream may be asked of *node*; None when it is nothing."""
    parts = node.parts if isinstance(node, Both) else (node,)
    asked = [(part, text) for part in parts if (text := _written(part, columns)) is not None]
    if not asked:
        return None
    asked.sort(key=lambda pair: not _is_indexed(pair[0], columns))
    several = len(asked) > 1
    texts = [f"({text})" if several and isinstance(one, Either) else text for one, text in asked]
    return Pushed(
        text=" and ".join(texts),
        indexed=all(_is_indexed(part, columns) for part, _ in asked),
        narrow=_is_indexed(asked[0][0], columns),
    )


def _is_indexed(node: Node, columns: Mapping[str, Kind]) -> bool:
    return all(columns[name].indexed for name in columns_of(node))


def _written(node: Node, columns: Mapping[str, Kind]) -> str | None:
    match node:
        case Comparison():
            return _comparison(node, columns[node.column])
        case Both(parts) | Either(parts):
            texts = [_written(part, columns) for part in parts]
            if any(text is None for text in texts):
                return None
            word = " and " if isinstance(node, Both) else " or "
            return word.join(f"({text})" for text in texts)
    return None


def _comparison(node: Comparison, kind: Kind) -> str | None:
    if kind.key == "id" or kind.key.endswith("LookupId") or node.literal is None:
        return None
    column = f"fields/{kind.key}"
    literal = node.literal
    if node.op == "startswith":
        return f"startswith({column},{_quoted(str(literal))})" if literal else None
    if node.op in ("contains", "endswith"):
        return None
    match literal:
        case bool():
            # Upstream may keep an empty one apart from "no"; so do we.
            return f"{column} {node.op} {'true' if literal else 'false'}"
        case datetime():
            return _time(column, node.op, literal)
        case float():
            return f"{column} {node.op} {_number(literal)}"
        case str():
            # Which text comes first is a matter of collation, and ours is not upstream's.
            return f"{column} eq {_quoted(literal)}" if node.op == "eq" and literal else None
    return None


def _time(column: str, op: str, literal: datetime) -> str | None:
    """Write a time in whole seconds, as upstream keeps them."""
    if literal.microsecond:
        if op in ("eq", "ne"):
            return None
        literal = literal.replace(microsecond=0)
        if op in ("lt", "le"):
            op, literal = "le", literal + timedelta(seconds=1)
        else:
            op = "ge"
    return f"{column} {op} '{literal.strftime('%Y-%m-%dT%H:%M:%SZ')}'"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _number(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
