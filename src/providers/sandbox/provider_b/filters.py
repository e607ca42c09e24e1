"""
`$filter`: text to a tree, and a tree to a yes-or-no question about a JSON record.

The language is OData 4's, as far as the upstream speaks it: comparisons, `in`, `and`/`or`/`not`,
`any`/`all`, string functions. Names and types are checked against a `Shape`, because upstream
refuses a quoted date or a misspelt property rather than matching nothing.
Source: wire report 1A.2, 1D.5.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Any, Protocol


class QueryError(Exception):
    """
    A query option that upstream refuses with 400.

    Attributes:
        code: The word of the error body; None where each workload has its own for bad queries.
    """

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Kind(StrEnum):
    """The type of a value, spelt as error messages spell it."""

    STRING = "Edm.String"
    BOOLEAN = "Edm.Boolean"
    NUMBER = "Edm.Int32"
    INSTANT = "Edm.DateTimeOffset"
    DATE = "Edm.Date"
    NULL = "Null"
    UNKNOWN = "Edm.Untyped"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shape:
    """
    What can be asked of one record type.

    Attributes:
        name: The type's full name, for error messages.
        members: Property name to its kind, or to the shape of a complex value.
        collections: The properties that hold several values of their kind or shape.
        exact: Properties whose texts are compared with case; all others ignore it.
        open: Whether unlisted properties may be named too (of unknown kind).
    """

    name: str
    members: Mapping[str, "Kind | Shape"]
    collections: frozenset[str] = frozenset()
    exact: frozenset[str] = frozenset()
    open: bool = False

    def member(self, name: str) -> "Kind | Shape":
        """
        Return what *name* holds.

        Raises:
            QueryError: There is no such property.
        """
        found = self.members.get(name)
        if found is not None:
            return found
        if self.open:
            return Kind.UNKNOWN
        raise QueryError(f"Could not find a property named '{name}' on type '{self.name}'.")


class Record(Protocol):
    """What a filter asks: a JSON object, or a view that makes its members when they are asked."""

    def get(self, name: str, /) -> Any: ...


Value = Callable[[Record], Any]


@dataclass(frozen=True, slots=True)
class Term:
    """
    A parsed part: its kind and how to compute it.

    Attributes:
        exact: Whether texts are compared with their case.
        constant: Whether *value* needs no record.
        many: Whether the value is a collection, which does not compare.
    """

    kind: "Kind | Shape"
    value: Value
    exact: bool = False
    constant: bool = False
    many: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """
    A parsed `$filter`.

    Attributes:
        matches: Whether a record passes.
        properties: The property paths in the order they stand in the text, each once.
        clauses: How many comparisons and functions there are.
    """

    matches: Callable[[Record], bool]
    properties: tuple[str, ...]
    clauses: int


_TOKEN = re.compile(
    r"""\s*(?:
      (?P<text>'(?:[^']|'')*')
    | (?P<instant>\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))
    | (?P<date>\d{4}-\d\d-\d\d)(?![\w-])
    | (?P<guid>[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12})
    | (?P<number>-?\d+(?:\.\d+)?)(?![\w])
    | (?P<name>[A-Za-z_$][\w$]*)
    | (?P<mark>[(),/:])
    )""",
    re.VERBOSE | re.ASCII,
)
_COMPARISONS: Mapping[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "eq": ("Equal", operator.eq),
    "ne": ("NotEqual", operator.ne),
    "gt": ("GreaterThan", operator.gt),
    "ge": ("GreaterThanOrEqual", operator.ge),
    "lt": ("LessThan", operator.lt),
    "le": ("LessThanOrEqual", operator.le),
}
_TEXT_TESTS: Mapping[str, Callable[[str, str], bool]] = {
    "startswith": str.startswith,
    "endswith": str.endswith,
    "contains": operator.contains,
}
_TEXT_CHANGES: Mapping[str, Callable[[str], str]] = {
    "tolower": str.lower,
    "toupper": str.upper,
    "trim": str.strip,
}
MAX_DEPTH = 40  # nested parentheses; our own bound, so that a text cannot exhaust the stack


def parse(text: str, shape: Shape) -> Filter:
    """
    Read a `$filter`.

    Raises:
        QueryError: A syntax error, an unknown property or function, or kinds that do not compare.
    """
    reader = _Reader(text, shape)
    term = reader.disjunction()
    reader.end()
    if term.kind not in (Kind.BOOLEAN, Kind.UNKNOWN):
        raise QueryError("The $filter expression must evaluate to a single boolean value.")
    value = term.value
    return Filter(
        matches=lambda record: bool(value(record)),
        properties=tuple(dict.fromkeys(reader.properties)),
        clauses=reader.clauses,
    )


def instant(text: str) -> datetime:
    """Read an ISO instant as UTC; without an offset it is UTC already."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


@dataclass(slots=True)
class _Reader:
    """A recursive-descent parser; terms come out compiled."""

    text: str
    shape: Shape
    properties: list[str] = field(default_factory=list)
    clauses: int = 0
    _tokens: list[tuple[str, str, int]] = field(default_factory=list)
    _at: int = 0
    _depth: int = 0
    _variables: dict[str, "Kind | Shape"] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._tokens = list(_tokens(self.text))

    # -- tokens

    def _peek(self) -> tuple[str, str]:
        kind, text, _ = self._tokens[self._at]
        return kind, text

    def _next(self) -> tuple[str, str]:
        token = self._peek()
        self._at += 1
        return token

    def _accept(self, text: str) -> bool:
        if self._peek() in (("mark", text), ("name", text)):
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self._syntax()

    def _syntax(self) -> QueryError:
        position = self._tokens[self._at][2]
        return QueryError(
            f"Invalid filter clause: Syntax error at position {position} in '{self.text}'."
        )

    def end(self) -> None:
        if self._peek()[0] != "end":
            raise self._syntax()

    # -- logic

    def disjunction(self) -> Term:
        term = self._conjunction()
        while self._accept("or"):
            term = _both(term, self._conjunction(), any)
        return term

    def _conjunction(self) -> Term:
        term = self._negation()
        while self._accept("and"):
            term = _both(term, self._negation(), all)
        return term

    def _negation(self) -> Term:
        if not self._accept("not"):
            return self._comparison()
        self._deeper()
        inner = _boolean(self._negation(), "Not").value
        self._depth -= 1
        return Term(Kind.BOOLEAN, lambda record: not inner(record))

    def _comparison(self) -> Term:
        left = self._primary()
        kind, word = self._peek()
        if kind == "name" and word in _COMPARISONS:
            self._at += 1
            self.clauses += 1
            return _compare(word, left, self._primary())
        if self._accept("in"):
            self.clauses += 1
            tests = [_compare("eq", left, option).value for option in self._arguments()]
            return Term(Kind.BOOLEAN, lambda record: any(test(record) for test in tests))
        return left

    def _primary(self) -> Term:
        if self._accept("("):
            self._deeper()
            term = self.disjunction()
            self._expect(")")
            self._depth -= 1
            return term
        kind, text = self._next()
        if kind == "name":
            return self._named(text)
        if kind in _LITERALS:
            return _LITERALS[kind](text)
        self._at -= 1
        raise self._syntax()

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise QueryError("The node count limit of the $filter expression has been exceeded.")

    # -- names

    def _named(self, name: str) -> Term:
        if name in _WORDS:
            return _WORDS[name]
        if self._peek() == ("mark", "("):
            return self._function(name)
        return self._path(name)

    def _arguments(self) -> list[Term]:
        self._expect("(")
        self._deeper()
        found = [self.disjunction()]
        while self._accept(","):
            found.append(self.disjunction())
        self._expect(")")
        self._depth -= 1
        return found

    def _function(self, name: str) -> Term:
        arguments = self._arguments()
        wanted = 2 if name in _TEXT_TESTS or name == "indexof" else 1
        if name not in _FUNCTIONS:
            raise QueryError(f"An unknown function with name '{name}' was found.")
        if len(arguments) != wanted or any(
            term.kind not in (Kind.STRING, Kind.UNKNOWN, Kind.NULL) for term in arguments
        ):
            raise QueryError(
                f"No function signature for the function with name '{name}' matches the "
                "specified arguments."
            )
        self.clauses += 1
        return _FUNCTIONS[name](name, arguments)

    def _path(self, first: str) -> Term:
        steps = [first]
        if first in self._variables:
            kind, owner, exact = self._variables[first], None, False
            value: Value = operator.methodcaller("get", f"${first}")
        else:
            kind, owner, exact = self.shape.member(first), self.shape, first in self.shape.exact
            value = operator.methodcaller("get", first)
        while self._accept("/"):
            sort, step = self._next()
            if sort != "name":
                self._at -= 1
                raise self._syntax()
            if step in ("any", "all"):
                return self._lambda(step, steps, kind, value)
            owner = kind if isinstance(kind, Shape) else None
            if owner is None and kind is not Kind.UNKNOWN:
                raise QueryError(f"Could not find a property named '{step}' on type '{kind}'.")
            if owner is not None and steps[-1] in self._collections(steps):
                raise QueryError("The parent value for a property access is not a single value.")
            kind = owner.member(step) if owner is not None else Kind.UNKNOWN
            exact = owner is not None and step in owner.exact
            value = _step(value, step)
            steps.append(step)
        if first not in self._variables:
            self.properties.append("/".join(steps))
        return Term(kind, value, exact=exact, many=steps[-1] in self._collections(steps))

    def _collections(self, steps: list[str]) -> frozenset[str]:
        return self.shape.collections if len(steps) == 1 else frozenset()

    def _lambda(self, word: str, steps: list[str], kind: "Kind | Shape", values: Value) -> Term:
        path = "/".join(steps)
        if path not in self.shape.collections and kind is not Kind.UNKNOWN:
            raise QueryError(f"Any/All may only be used following a collection: '{path}'.")
        self.properties.append(path)
        self._expect("(")
        if word == "any" and self._accept(")"):
            return Term(Kind.BOOLEAN, lambda record: bool(values(record)))
        _, variable = self._next()
        self._expect(":")
        self._deeper()
        outer = self._variables
        self._variables = {**outer, variable: kind}
        test = _boolean(self.disjunction(), word).value
        self._variables = outer
        self._depth -= 1
        self._expect(")")
        quantify = any if word == "any" else all
        key = f"${variable}"
        return Term(
            Kind.BOOLEAN,
            lambda record: quantify(
                test(_Scope(record, key, value)) for value in values(record) or ()
            ),
        )


@dataclass(frozen=True, slots=True)
class _Scope:
    """A record with the variable of a lambda in front of it."""

    record: Record
    key: str
    value: Any

    def get(self, name: str) -> Any:
        return self.value if name == self.key else self.record.get(name)


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    at = 0
    stripped = text.rstrip()
    while at < len(stripped):
        match = _TOKEN.match(stripped, at)
        if match is None or match.lastgroup is None:
            raise QueryError(f"Invalid filter clause: Syntax error at position {at} in '{text}'.")
        yield match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)
        at = match.end()
    yield "end", "", len(text)


def _step(value: Value, name: str) -> Value:
    def read(record: Record) -> Any:
        owner = value(record)
        return owner.get(name) if isinstance(owner, Mapping) else None

    return read


def _boolean(term: Term, where: str) -> Term:
    if term.kind not in (Kind.BOOLEAN, Kind.UNKNOWN):
        raise QueryError(
            "A binary operator with incompatible types was detected. Found operand type "
            f"'{_kind_name(term)}' for operator kind '{where}'."
        )
    return term


def _both(left: Term, right: Term, quantify: Callable[[Iterator[object]], bool]) -> Term:
    where = "And" if quantify is all else "Or"
    first, second = _boolean(left, where).value, _boolean(right, where).value
    if quantify is all:
        return Term(Kind.BOOLEAN, lambda record: bool(first(record) and second(record)))
    return Term(Kind.BOOLEAN, lambda record: bool(first(record) or second(record)))


def _kind_name(term: Term) -> str:
    name = term.kind.name if isinstance(term.kind, Shape) else str(term.kind)
    return f"Collection({name})" if term.many else name


def _compare(word: str, left: Term, right: Term) -> Term:
    name, test = _COMPARISONS[word]
    kinds = {left.kind, right.kind} - {Kind.NULL, Kind.UNKNOWN}
    different = len(kinds) > 1 and kinds != {Kind.INSTANT, Kind.DATE}
    if different or left.many or right.many or any(isinstance(kind, Shape) for kind in kinds):
        raise QueryError(
            "A binary operator with incompatible types was detected. Found operand types "
            f"'{_kind_name(left)}' and '{_kind_name(right)}' for operator kind '{name}'."
        )
    exact = left.exact or right.exact
    first, second = _comparable(left, exact=exact), _comparable(right, exact=exact)

    def compare(record: Record) -> bool:
        one, other = first(record), second(record)
        if one is None or other is None:
            # Null equals null and differs from everything else; order against null is false.
            return test(one, other) if word in ("eq", "ne") else False
        try:
            return bool(test(one, other))
        except TypeError:
            return word == "ne"

    return Term(Kind.BOOLEAN, compare)


def _comparable(term: Term, *, exact: bool) -> Value:
    """Turn texts into what compares: instants for dates, folded case unless exact."""
    convert: Callable[[Any], Any] = _fold
    if term.kind in (Kind.INSTANT, Kind.DATE):
        convert = _moment
    elif exact:
        convert = _same
    if term.constant:
        fixed = convert(term.value({}))
        return lambda _record: fixed
    value = term.value
    return lambda record: convert(value(record))


def _same(value: Any) -> Any:
    return value


def _fold(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


def _moment(value: Any) -> Any:
    return instant(value) if isinstance(value, str) else value


def _constant(kind: Kind, value: Any) -> Term:
    return Term(kind, lambda _record: value, constant=True)


def _date(text: str) -> Term:
    try:
        return _constant(Kind.DATE, date.fromisoformat(text).isoformat())
    except ValueError:
        raise QueryError(f"Invalid filter clause: '{text}' is not a valid Edm.Date.") from None


def _instant(text: str) -> Term:
    try:
        return _constant(Kind.INSTANT, instant(text).isoformat())
    except ValueError:
        raise QueryError(
            f"Invalid filter clause: '{text}' is not a valid Edm.DateTimeOffset."
        ) from None


_LITERALS: Mapping[str, Callable[[str], Term]] = {
    "text": lambda text: _constant(Kind.STRING, text[1:-1].replace("''", "'")),
    "guid": lambda text: _constant(Kind.STRING, text),
    "date": _date,
    "instant": _instant,
    "number": lambda text: _constant(Kind.NUMBER, float(text) if "." in text else int(text)),
}
_WORDS: Mapping[str, Term] = {
    "null": _constant(Kind.NULL, None),
    "true": _constant(Kind.BOOLEAN, value=True),
    "false": _constant(Kind.BOOLEAN, value=False),
}


def _text_test(name: str, arguments: list[Term]) -> Term:
    test = _TEXT_TESTS[name]
    subject, part = (_comparable(term, exact=False) for term in arguments)

    def check(record: Record) -> bool:
        whole, wanted = subject(record), part(record)
        return isinstance(whole, str) and isinstance(wanted, str) and test(whole, wanted)

    return Term(Kind.BOOLEAN, check)


def _text_change(name: str, arguments: list[Term]) -> Term:
    change, value = _TEXT_CHANGES[name], arguments[0].value

    def changed(record: Record) -> str | None:
        text = value(record)
        return change(text) if isinstance(text, str) else None

    return Term(Kind.STRING, changed)


def _length(_name: str, arguments: list[Term]) -> Term:
    value = arguments[0].value
    return Term(Kind.NUMBER, lambda record: len(value(record) or ""))


def _index(_name: str, arguments: list[Term]) -> Term:
    subject, part = (_comparable(term, exact=False) for term in arguments)
    return Term(Kind.NUMBER, lambda record: (subject(record) or "").find(part(record) or ""))


_FUNCTIONS: Mapping[str, Callable[[str, list[Term]], Term]] = {
    **dict.fromkeys(_TEXT_TESTS, _text_test),
    **dict.fromkeys(_TEXT_CHANGES, _text_change),
    "length": _length,
    "indexof": _index,
}
