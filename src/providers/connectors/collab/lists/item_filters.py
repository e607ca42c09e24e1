"""
The filter language of list items: parsed, checked against columns, decided on values.

    or    := and ("or" and)*
    and   := not ("and" not)*
    not   := ["not"] prim
    prim  := "(" or ")" | col op lit | fn "(" col "," string ")"
    op    := eq ne gt ge lt le
    fn    := startswith contains endswith
    col   := ["fields/"] Name
    lit   := 'string' ('' = quote) | number | true | false | null

Texts are compared without regard to case. A comparison with a missing value is false, except
``eq null`` and ``ne null``; on date columns, texts are ISO times. Source: decisions 8.10 and 16.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, TypeAlias

from providers.ports.collab import InvalidFilter
from providers.records import collab as records

MOST_TEXT = 2000  # characters
MOST_COMPARISONS = 20
_MOST_DEPTH = 20

Literal: TypeAlias = "str | float | bool | datetime | None"
OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {
        "eq": operator.eq,
        "ne": operator.ne,
        "gt": operator.gt,
        "ge": operator.ge,
        "lt": operator.lt,
        "le": operator.le,
    }
)
FUNCTIONS: Mapping[str, Callable[[str, str], bool]] = MappingProxyType(
    {
        "startswith": str.startswith,
        "contains": operator.contains,
        "endswith": str.endswith,
    }
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column held against a literal; *op* is an operator's or a function's word."""

    column: str
    op: str
    literal: Literal


@dataclass(frozen=True, slots=True)
class Both:
    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Either:
    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: "Node"


Node: TypeAlias = Comparison | Both | Either | Not


@dataclass(frozen=True, slots=True)
class Kind:
    """
    A column as filters see it.

    Attributes:
        sort: "text", "number", "date", "boolean" or "other" (compared with null alone).
        key: Where its value stands in `fields`.
        indexed: Whether upstream can look it up.
    """

    name: str
    sort: str
    key: str
    indexed: bool


_SORTS: Mapping[str, str] = MappingProxyType(
    {
        "text": "text",
        "note": "text",
        "choice": "text",
        "calculated": "text",
        "contentType": "text",
        "unknown": "text",
        "number": "number",
        "currency": "number",
        "dateTime": "date",
        "boolean": "boolean",
    }
)
_LOOKUPS = ("lookup", "person")


def kinds(columns: tuple[records.Column, ...]) -> Mapping[str, Kind]:
    """Return the columns that can be named: lookups by the number of what they point to, too."""
    found = {"id": Kind("id", "number", "id", indexed=True)}
    for one in columns:
        if not one.name:
            continue
        if one.column_type in _LOOKUPS:
            key = f"{one.name}LookupId"
            found[key] = Kind(key, "number", key, indexed=one.indexed)
            found[one.name] = Kind(one.name, "other", key, indexed=one.indexed)
        else:
            key = "id" if one.name == "ID" else one.name
            sort = _SORTS.get(one.column_type, "other")
            found[one.name] = Kind(one.name, sort, key, indexed=one.indexed or key == "id")
    return MappingProxyType(found)


# -- parsing

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<mark>[(),])
      | '(?P<text>(?:[^']|'')*)'
      | (?P<number>[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,2})?)(?![\w.])
      | (?P<name>(?:fields/)?[^\W\d]\w*)
    )""",
    re.VERBOSE,
)
_WORDS: Mapping[str, bool | None] = MappingProxyType({"true": True, "false": False, "null": None})
_KEYWORDS = frozenset({"and", "or", "not"})


def parse(text: str, columns: Mapping[str, Kind]) -> Node:
    """
    Read a filter.

    Raises:
        InvalidFilter: It does not parse, or does not fit the columns.
    """
    if len(text) > MOST_TEXT:
        raise InvalidFilter(f"A filter has at most {MOST_TEXT} characters.")
    reader = _Reader(text, columns)
    node = reader.alternatives()
    reader.end()
    return node


class _Reader:
    def __init__(self, text: str, columns: Mapping[str, Kind]) -> None:
        self._tokens = [*_tokens(text), ("end", "")]
        self._columns = columns
        self._at = 0
        self._depth = 0
        self._comparisons = 0

    def alternatives(self) -> Node:
        parts = [self._conjunction()]
        while self._word("or"):
            parts.append(self._conjunction())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def end(self) -> None:
        if self._tokens[self._at][0] != "end":
            raise InvalidFilter("The filter goes on where it should end.")

    def _conjunction(self) -> Node:
        parts = [self._negation()]
        while self._word("and"):
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def _negation(self) -> Node:
        if self._word("not"):
            return Not(self._primary())
        return self._primary()

    def _primary(self) -> Node:
        if self._mark("("):
            self._depth += 1
            if self._depth > _MOST_DEPTH:
                raise InvalidFilter("The filter is nested too deep.")
            node = self.alternatives()
            self._expect(")")
            self._depth -= 1
            return node
        sort, name = self._next()
        if sort != "name" or name in _KEYWORDS:
            raise InvalidFilter("A condition begins with a column, a function, or a parenthesis.")
        self._comparisons += 1
        if self._comparisons > MOST_COMPARISONS:
            raise InvalidFilter(f"A filter has at most {MOST_COMPARISONS} comparisons.")
        if name in FUNCTIONS and self._mark("("):
            return self._function(name)
        return self._comparison(self._column(name))

    def _function(self, name: str) -> Node:
        sort, column = self._next()
        if sort != "name":
            raise InvalidFilter(f"{name} takes a column first.")
        kind = self._column(column)
        self._expect(",")
        sort, text = self._next()
        if sort != "text":
            raise InvalidFilter(f"{name} takes a text in single quotes.")
        self._expect(")")
        if kind.sort != "text":
            raise InvalidFilter(f"{name} needs a column of text; {kind.name} is none.")
        return Comparison(kind.name, name, text)

    def _comparison(self, kind: Kind) -> Node:
        sort, op = self._next()
        if sort != "name" or op not in OPERATORS:
            raise InvalidFilter(f"After {kind.name} comes one of eq, ne, gt, ge, lt and le.")
        literal = self._literal()
        if literal is None:
            if op not in ("eq", "ne"):
                raise InvalidFilter("null is compared by eq and ne alone.")
            return Comparison(kind.name, op, None)
        return Comparison(kind.name, op, _fitting(kind, op, literal))

    def _literal(self) -> Literal:
        sort, text = self._next()
        if sort == "text":
            return text
        if sort == "number":
            return float(text)
        if sort == "name" and text in _WORDS:
            return _WORDS[text]
        raise InvalidFilter("A literal is a text in single quotes, a number, true, false or null.")

    def _column(self, name: str) -> Kind:
        kind = self._columns.get(name.removeprefix("fields/"))
        if kind is None:
            raise InvalidFilter("The filter names a column that the list does not have.")
        return kind

    def _next(self) -> tuple[str, str]:
        token = self._tokens[self._at]
        if token[0] == "end":
            raise InvalidFilter("The filter ends where it should go on.")
        self._at += 1
        return token

    def _word(self, word: str) -> bool:
        return self._accept(("name", word))

    def _mark(self, mark: str) -> bool:
        return self._accept(("mark", mark))

    def _accept(self, token: tuple[str, str]) -> bool:
        if self._tokens[self._at] != token:
            return False
        self._at += 1
        return True

    def _expect(self, mark: str) -> None:
        if not self._mark(mark):
            raise InvalidFilter(f"The filter lacks a {mark!r}.")


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at, end = 0, len(text.rstrip())
    if end == 0:
        raise InvalidFilter("The filter is empty.")
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise InvalidFilter("The filter holds something that does not belong there.")
        found = match[match.lastgroup]
        yield match.lastgroup, found.replace("''", "'") if match.lastgroup == "text" else found
        at = match.end()


def _fitting(kind: Kind, op: str, literal: Literal) -> Literal:
    """
    Return a literal as the column's values are compared.

    Raises:
        InvalidFilter: It is of another kind.
    """
    match kind.sort, literal:
        case "text", str():
            return literal
        case "date", str():
            return _time(kind, literal)
        case "boolean", bool() if op in ("eq", "ne"):
            return literal
        case "boolean", float() if op in ("eq", "ne") and literal in (0.0, 1.0):
            return bool(literal)
        case "number", float():
            return literal
    raise InvalidFilter(f"{kind.name} cannot be compared with this literal by {op}.")


def _time(kind: Kind, text: str) -> datetime:
    found = moment(text)
    if found is None:
        raise InvalidFilter(f"{kind.name} holds times; the literal is no ISO time.")
    return found


def moment(text: str) -> datetime | None:
    """Read an ISO time as UTC; None when it is none. Without an offset it is UTC already."""
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return None
    try:
        return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except OverflowError:
        return None


# -- deciding


def matches(node: Node, fields: Mapping[str, Any], columns: Mapping[str, Kind]) -> bool:
    """Say whether a list item with these values passes."""
    match node:
        case Both(parts):
            return all(matches(part, fields, columns) for part in parts)
        case Either(parts):
            return any(matches(part, fields, columns) for part in parts)
        case Not(part):
            return not matches(part, fields, columns)
        case Comparison(column, op, literal):
            return _holds(columns[column], op, literal, fields)


def _holds(kind: Kind, op: str, literal: Literal, fields: Mapping[str, Any]) -> bool:
    found = fields.get(kind.key)
    absent = found is None or found in ("", [])
    if literal is None:
        return absent if op == "eq" else not absent
    if absent:
        return False
    value = comparable(kind, found)
    if value is None:
        return False
    wanted = literal.casefold() if isinstance(literal, str) else literal
    if op in FUNCTIONS:
        return FUNCTIONS[op](value, wanted)  # type: ignore[arg-type]  # functions compare texts
    return OPERATORS[op](value, wanted)


def comparable(kind: Kind, found: Any) -> Any:
    """Return a value as it is compared and ordered; None when it is not of the column's kind."""
    match kind.sort:
        case "text":
            return found.casefold() if isinstance(found, str) else str(found).casefold()
        case "date":
            return moment(found) if isinstance(found, str) else None
        case "boolean":
            return found if isinstance(found, bool) else None
        case "number":
            try:
                return None if isinstance(found, bool) else float(found)
            except (TypeError, ValueError):
                return None
    return None


def columns_of(node: Node) -> Iterator[str]:
    """Yield the names of the columns that a filter looks at, each as often as it does."""
    match node:
        case Both(parts) | Either(parts):
            for part in parts:
                yield from columns_of(part)
        case Not(part):
            yield from columns_of(part)
        case Comparison(column):
            yield column
