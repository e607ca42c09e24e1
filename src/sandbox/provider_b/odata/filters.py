"""
Parser of `$filter`: compiles an expression to a test of a record.

The language is the part of OData 4 that Graph supports: comparisons, `in`, `and`/`or`/`not`,
`any`/`all`, string functions. Names and kinds are checked against a `Shape`, because Graph rejects
a quoted date or an unknown property. See docs/spec/upstream/outlook-mail.md#filter-mode.
"""

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sandbox.provider_b.odata import filter_terms
from sandbox.provider_b.odata.filter_terms import Term, Value
from sandbox.provider_b.odata.schema import Kind, QueryError, Record, Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """
    A parsed `$filter`.

    Attributes:
        matches: Whether a record passes.
        properties: The distinct property paths in the order of the text.
        clauses: The number of comparisons and functions.
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
MAX_DEPTH = 40  # nested parentheses; protects the stack, not a limit of Graph


def parse(text: str, shape: Shape) -> Filter:
    """
    Parse a `$filter`.

    Raises:
        QueryError: A syntax error, an unknown property or function, or incomparable kinds.
    """
    reader = _Parser(text, shape)
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


@dataclass(slots=True)
class _Parser:
    """Recursive-descent parser that compiles terms as it reads them."""

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
        kind, text, _ = self._tokens[min(self._at, len(self._tokens) - 1)]
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
        position = self._tokens[min(self._at, len(self._tokens) - 1)][2]
        return QueryError(
            f"Invalid filter clause: Syntax error at position {position} in '{self.text}'."
        )

    def end(self) -> None:
        if self._peek()[0] != "end":
            raise self._syntax()

    # -- logic

    def disjunction(self) -> Term:
        terms = [self._conjunction()]
        while self._accept("or"):
            terms.append(self._conjunction())
        return filter_terms.join_or(terms)

    def _conjunction(self) -> Term:
        terms = [self._negation()]
        while self._accept("and"):
            terms.append(self._negation())
        return filter_terms.join_and(terms)

    def _negation(self) -> Term:
        if not self._accept("not"):
            return self._comparison()
        self._deeper()
        inner = filter_terms.require_boolean(self._negation(), "Not").value
        self._depth -= 1
        return Term(Kind.BOOLEAN, lambda record: not inner(record))

    def _comparison(self) -> Term:
        left = self._primary()
        kind, word = self._peek()
        if kind == "name" and word in filter_terms.COMPARISONS:
            self._at += 1
            self.clauses += 1
            return filter_terms.compare(word, left, self._primary())
        if self._accept("in"):
            self.clauses += 1
            tests = [filter_terms.compare("eq", left, option).value for option in self._arguments()]
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
        if kind in filter_terms.LITERALS:
            return filter_terms.LITERALS[kind](text)
        self._at -= 1
        raise self._syntax()

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise QueryError("The node count limit of the $filter expression has been exceeded.")

    # -- names

    def _named(self, name: str) -> Term:
        if name in filter_terms.WORDS:
            return filter_terms.WORDS[name]
        if self._peek() == ("mark", "("):
            return self._function(name)
        return self._path(name)

    def _arguments(self) -> list[Term]:
        self._expect("(")
        self._deeper()
        terms = [self.disjunction()]
        while self._accept(","):
            terms.append(self.disjunction())
        self._expect(")")
        self._depth -= 1
        return terms

    def _function(self, name: str) -> Term:
        arguments = self._arguments()
        wanted = 2 if name in filter_terms.TEXT_TESTS or name == "indexof" else 1
        if name not in filter_terms.FUNCTIONS:
            raise QueryError(f"An unknown function with name '{name}' was found.")
        if len(arguments) != wanted or any(
            term.kind not in (Kind.STRING, Kind.UNKNOWN, Kind.NULL) for term in arguments
        ):
            raise QueryError(
                f"No function signature for the function with name '{name}' matches the "
                "specified arguments."
            )
        self.clauses += 1
        return filter_terms.FUNCTIONS[name](name, arguments)

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
            value = filter_terms.member_of(value, step)
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
        test = filter_terms.require_boolean(self.disjunction(), word).value
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
    """A record extended by the variable of a lambda."""

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
