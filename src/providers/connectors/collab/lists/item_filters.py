"""
The filter language of list items: parsed, checked against columns, evaluated on values.

    or    := and ("or" and)*
    and   := not ("and" not)*
    not   := ["not"] prim
    prim  := "(" or ")" | col op lit | fn "(" col "," string ")"
    op    := eq ne gt ge lt le
    fn    := startswith contains endswith
    col   := ["fields/"] Name
    lit   := 'string' ('' = quote) | number | true | false | null

Texts are compared without regard to case. A comparison with a missing value is false, except
``eq null`` and ``ne null``; on date columns, texts are ISO times. The language is documented in
docs/spec/collab.md#filter-language.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from providers.ports.collab import InvalidFilter
from providers.records import collab as records
from providers.timestamps import parse_utc

if TYPE_CHECKING:
    from datetime import datetime

MAX_LENGTH = 2000  # characters
MAX_COMPARISONS = 20
_MAX_DEPTH = 20

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
    {"startswith": str.startswith, "contains": operator.contains, "endswith": str.endswith}
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of a column with a literal; *op* is an operator or the name of a function."""

    column: str
    op: str
    literal: Literal


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: "Node"


Node: TypeAlias = Comparison | And | Or | Not


@dataclass(frozen=True, slots=True)
class FilterColumn:
    """
    A column as filters see it.

    Attributes:
        kind: "text", "number", "date", "boolean" or "other" (compared with null alone).
        key: The key of its value in `fields`.
        indexed: Whether upstream has an index on it.
    """

    name: str
    kind: str
    key: str
    indexed: bool


_KINDS: Mapping[str, str] = MappingProxyType(
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


def filter_columns(columns: tuple[records.Column, ...]) -> Mapping[str, FilterColumn]:
    """Return the columns that a filter can name; look-ups also by the number of their target."""
    by_name = {"id": FilterColumn("id", "number", "id", indexed=True)}
    for column in columns:
        if not column.name:
            continue
        if column.column_type in _LOOKUPS:
            key = f"{column.name}LookupId"
            by_name[key] = FilterColumn(key, "number", key, indexed=column.indexed)
            by_name[column.name] = FilterColumn(column.name, "other", key, indexed=column.indexed)
        else:
            key = "id" if column.name == "ID" else column.name
            kind = _KINDS.get(column.column_type, "other")
            by_name[column.name] = FilterColumn(
                column.name, kind, key, indexed=column.indexed or key == "id"
            )
    return MappingProxyType(by_name)


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


def parse(text: str, columns: Mapping[str, FilterColumn]) -> Node:
    """
    Parse a filter.

    Raises:
        InvalidFilter: It does not parse, or does not fit the columns.
    """
    if len(text) > MAX_LENGTH:
        raise InvalidFilter(f"A filter has at most {MAX_LENGTH} characters.")
    parser = _Parser(text, columns)
    node = parser.alternatives()
    parser.end()
    return node


class _Parser:
    def __init__(self, text: str, columns: Mapping[str, FilterColumn]) -> None:
        self._tokens = [*_tokens(text), ("end", "")]
        self._columns = columns
        self._position = 0
        self._depth = 0
        self._comparisons = 0

    def alternatives(self) -> Node:
        parts = [self._conjunction()]
        while self._word("or"):
            parts.append(self._conjunction())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def end(self) -> None:
        if self._tokens[self._position][0] != "end":
            raise InvalidFilter("The filter has text after its end.")

    def _conjunction(self) -> Node:
        parts = [self._negation()]
        while self._word("and"):
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _negation(self) -> Node:
        if self._word("not"):
            return Not(self._primary())
        return self._primary()

    def _primary(self) -> Node:
        if self._mark("("):
            self._depth += 1
            if self._depth > _MAX_DEPTH:
                raise InvalidFilter("The filter is nested too deep.")
            node = self.alternatives()
            self._expect(")")
            self._depth -= 1
            return node
        group, name = self._next()
        if group != "name" or name in _KEYWORDS:
            raise InvalidFilter("A condition begins with a column, a function, or a parenthesis.")
        self._comparisons += 1
        if self._comparisons > MAX_COMPARISONS:
            raise InvalidFilter(f"A filter has at most {MAX_COMPARISONS} comparisons.")
        if name in FUNCTIONS and self._mark("("):
            return self._function(name)
        return self._comparison(self._column(name))

    def _function(self, function: str) -> Node:
        group, name = self._next()
        if group != "name":
            raise InvalidFilter(f"{function} takes a column first.")
        column = self._column(name)
        self._expect(",")
        group, text = self._next()
        if group != "text":
            raise InvalidFilter(f"{function} takes a string in single quotes.")
        self._expect(")")
        if column.kind != "text":
            raise InvalidFilter(f"{function} needs a text column; {column.name} is not one.")
        return Comparison(column.name, function, text)

    def _comparison(self, column: FilterColumn) -> Node:
        group, op = self._next()
        if group != "name" or op not in OPERATORS:
            raise InvalidFilter(f"After {column.name} comes one of eq, ne, gt, ge, lt and le.")
        literal = self._literal()
        if literal is None:
            if op not in ("eq", "ne"):
                raise InvalidFilter("null can be compared with eq and ne only.")
            return Comparison(column.name, op, None)
        return Comparison(column.name, op, _convert(column, op, literal))

    def _literal(self) -> Literal:
        group, text = self._next()
        if group == "text":
            return text
        if group == "number":
            return float(text)
        if group == "name" and text in _WORDS:
            return _WORDS[text]
        raise InvalidFilter(
            "A literal is a string in single quotes, a number, true, false or null."
        )

    def _column(self, name: str) -> FilterColumn:
        column = self._columns.get(name.removeprefix("fields/"))
        if column is None:
            raise InvalidFilter("The filter names a column that the list does not have.")
        return column

    def _next(self) -> tuple[str, str]:
        token = self._tokens[self._position]
        if token[0] == "end":
            raise InvalidFilter("The filter is incomplete.")
        self._position += 1
        return token

    def _word(self, word: str) -> bool:
        return self._accept(("name", word))

    def _mark(self, mark: str) -> bool:
        return self._accept(("mark", mark))

    def _accept(self, token: tuple[str, str]) -> bool:
        if self._tokens[self._position] != token:
            return False
        self._position += 1
        return True

    def _expect(self, mark: str) -> None:
        if not self._mark(mark):
            raise InvalidFilter(f"The filter lacks a {mark!r}.")


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    position, end = 0, len(text.rstrip())
    if end == 0:
        raise InvalidFilter("The filter is empty.")
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise InvalidFilter("The filter contains an unexpected character.")
        token = match[match.lastgroup]
        yield match.lastgroup, token.replace("''", "'") if match.lastgroup == "text" else token
        position = match.end()


def _convert(column: FilterColumn, op: str, literal: Literal) -> Literal:
    """
    Convert a literal to the type of the column's values.

    Raises:
        InvalidFilter: It is of another kind.
    """
    match column.kind, literal:
        case "text", str():
            return literal
        case "date", str():
            time = parse_utc(literal)
            if time is None:
                raise InvalidFilter(
                    f"{column.name} holds times; the literal is not an ISO 8601 time."
                )
            return time
        case "boolean", bool() if op in ("eq", "ne"):
            return literal
        case "boolean", float() if op in ("eq", "ne") and literal in (0.0, 1.0):
            return bool(literal)
        case "number", float():
            return literal
    raise InvalidFilter(f"{column.name} cannot be compared with this literal by {op}.")


# -- evaluation


def matches(node: Node, fields: Mapping[str, Any], columns: Mapping[str, FilterColumn]) -> bool:
    """Return whether a list item with these values passes."""
    match node:
        case And(parts):
            return all(matches(part, fields, columns) for part in parts)
        case Or(parts):
            return any(matches(part, fields, columns) for part in parts)
        case Not(part):
            return not matches(part, fields, columns)
        case Comparison(name, op, literal):
            return _compare(columns[name], op, literal, fields)


def _compare(column: FilterColumn, op: str, literal: Literal, fields: Mapping[str, Any]) -> bool:
    value = fields.get(column.key)
    absent = value is None or value in ("", [])
    if literal is None:
        return absent if op == "eq" else not absent
    comparable = None if absent else to_comparable(column, value)
    if comparable is None:
        return False
    operand = literal.casefold() if isinstance(literal, str) else literal
    if op in FUNCTIONS:
        return FUNCTIONS[op](comparable, operand)  # type: ignore[arg-type]  # functions compare texts
    return OPERATORS[op](comparable, operand)


def to_comparable(column: FilterColumn, value: Any) -> Any:
    """Convert a value for comparing and ordering; None when it is not of the column's kind."""
    match column.kind:
        case "text":
            return value.casefold() if isinstance(value, str) else str(value).casefold()
        case "date":
            return parse_utc(value) if isinstance(value, str) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "number":
            try:
                return None if isinstance(value, bool) else float(value)
            except (TypeError, ValueError):
                return None
    return None


def columns_of(node: Node) -> Iterator[str]:
    """Yield the name of the column of every comparison; names may repeat."""
    match node:
        case And(parts) | Or(parts):
            for part in parts:
                yield from columns_of(part)
        case Not(part):
            yield from columns_of(part)
        case Comparison(column):
            yield column
