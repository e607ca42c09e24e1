"""
Terms of a `$filter`, compiled to functions of the record: comparisons, literals, functions.

Strings compare without case unless a property is exact. Null equals only null, and every order
comparison with null is false.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any

from sandbox.provider_b.odata.schema import Kind, QueryError, Record, Shape

Value = Callable[[Record], Any]


@dataclass(frozen=True, slots=True)
class Term:
    """
    A parsed term: its kind and its value as a function of the record.

    Attributes:
        exact: Whether strings are compared with case.
        constant: Whether *value* ignores the record.
        many: Whether the value is a collection, which cannot be compared.
    """

    kind: "Kind | Shape"
    value: Value
    exact: bool = False
    constant: bool = False
    many: bool = False


COMPARISONS: Mapping[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "eq": ("Equal", operator.eq),
    "ne": ("NotEqual", operator.ne),
    "gt": ("GreaterThan", operator.gt),
    "ge": ("GreaterThanOrEqual", operator.ge),
    "lt": ("LessThan", operator.lt),
    "le": ("LessThanOrEqual", operator.le),
}
TEXT_TESTS: Mapping[str, Callable[[str, str], bool]] = {
    "startswith": str.startswith,
    "endswith": str.endswith,
    "contains": operator.contains,
}
_TEXT_CHANGES: Mapping[str, Callable[[str], str]] = {
    "tolower": str.lower,
    "toupper": str.upper,
    "trim": str.strip,
}


@lru_cache(maxsize=65536)
def read_instant(text: str) -> datetime:
    """Parse an ISO 8601 instant as UTC, which is also the default offset."""
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def member_of(value: Value, name: str) -> Value:
    """Return the member *name* of a computed record; its value is None for other values."""

    def read(record: Record) -> Any:
        owner = value(record)
        return owner.get(name) if isinstance(owner, Mapping) else None

    return read


def require_boolean(term: Term, where: str) -> Term:
    """
    Return *term*, the boolean operand of the operator *where*.

    Raises:
        QueryError: The term is not boolean.
    """
    if term.kind not in (Kind.BOOLEAN, Kind.UNKNOWN):
        raise QueryError(
            "A binary operator with incompatible types was detected. Found operand type "
            f"'{_kind_name(term)}' for operator kind '{where}'."
        )
    return term


def join_and(terms: Sequence[Term]) -> Term:
    """Join terms with `and`."""
    if len(terms) == 1:
        return terms[0]
    tests = tuple(require_boolean(term, "And").value for term in terms)
    return Term(Kind.BOOLEAN, lambda record: all(test(record) for test in tests))


def join_or(terms: Sequence[Term]) -> Term:
    """Join terms with `or`."""
    if len(terms) == 1:
        return terms[0]
    tests = tuple(require_boolean(term, "Or").value for term in terms)
    return Term(Kind.BOOLEAN, lambda record: any(test(record) for test in tests))


def _kind_name(term: Term) -> str:
    name = term.kind.name if isinstance(term.kind, Shape) else str(term.kind)
    return f"Collection({name})" if term.many else name


def compare(word: str, left: Term, right: Term) -> Term:
    """
    Compare two terms by ``eq``, ``ne``, ``gt``, ``ge``, ``lt`` or ``le``.

    Raises:
        QueryError: Their kinds cannot be compared.
    """
    name, test = COMPARISONS[word]
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
        first_value, second_value = first(record), second(record)
        if first_value is None or second_value is None:
            # Null equals null and differs from everything else; order against null is false.
            return test(first_value, second_value) if word in ("eq", "ne") else False
        try:
            return bool(test(first_value, second_value))
        except TypeError:
            return word == "ne"

    return Term(Kind.BOOLEAN, compare)


def _comparable(term: Term, *, exact: bool) -> Value:
    """Return the comparable value of a term: instants for dates, folded case unless exact."""
    convert: Callable[[Any], Any] = _fold
    if term.kind in (Kind.INSTANT, Kind.DATE):
        convert = _moment
    elif exact:
        convert = _unchanged
    if term.constant:
        fixed = convert(term.value({}))
        return lambda _record: fixed
    value = term.value
    return lambda record: convert(value(record))


def _unchanged(value: Any) -> Any:
    return value


def _fold(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


def _moment(value: Any) -> Any:
    return read_instant(value) if isinstance(value, str) else value


def _constant(kind: Kind, value: Any) -> Term:
    return Term(kind, lambda _record: value, constant=True)


def _date(text: str) -> Term:
    try:
        return _constant(Kind.DATE, date.fromisoformat(text).isoformat())
    except ValueError:
        raise QueryError(f"Invalid filter clause: '{text}' is not a valid Edm.Date.") from None


def _instant(text: str) -> Term:
    try:
        return _constant(Kind.INSTANT, read_instant(text).isoformat())
    except ValueError:
        raise QueryError(
            f"Invalid filter clause: '{text}' is not a valid Edm.DateTimeOffset."
        ) from None


LITERALS: Mapping[str, Callable[[str], Term]] = {
    "text": lambda text: _constant(Kind.STRING, text[1:-1].replace("''", "'")),
    "guid": lambda text: _constant(Kind.STRING, text),
    "date": _date,
    "instant": _instant,
    "number": lambda text: _constant(Kind.NUMBER, float(text) if "." in text else int(text)),
}
WORDS: Mapping[str, Term] = {
    "null": _constant(Kind.NULL, None),
    "true": _constant(Kind.BOOLEAN, value=True),
    "false": _constant(Kind.BOOLEAN, value=False),
}


def _text_test(name: str, arguments: list[Term]) -> Term:
    test = TEXT_TESTS[name]
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


FUNCTIONS: Mapping[str, Callable[[str, list[Term]], Term]] = {
    **dict.fromkeys(TEXT_TESTS, _text_test),
    **dict.fromkeys(_TEXT_CHANGES, _text_change),
    "length": _length,
    "indexof": _index,
}
