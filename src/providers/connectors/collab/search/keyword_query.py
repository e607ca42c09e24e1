"""
The keyword language of search: parsed, and evaluated on what is known of an object.

    or     := and ("OR" and)*
    and    := not (["AND"] not)*
    not    := ["NOT" | "-" | "+"] prim
    prim   := "(" or ")" | field op value | word | "phrase"
    op     := : = <> < > <= >=

A trailing ``*`` makes a word a prefix. Words match in any case; ``AND OR NOT`` are in capitals. The
language is documented in docs/spec/collab.md#search-language. The sandbox parses it on its own: a
fake that shared this parser could not reveal its mistakes.
"""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import product
from math import prod
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, cast

from providers.ports.collab import InvalidSearch
from providers.timestamps import parse_utc

MAX_TERMS = 50
MAX_DEPTH = 20
MAX_ALTERNATIVES = 8

_TOKEN = re.compile(
    r"""(?:
        (?P<open>\() | (?P<close>\))
      | (?P<field>[A-Za-z][A-Za-z0-9_.]*)\s*+(?P<op>:|<=|>=|<>|=|<|>)\s*+
          (?:"(?P<quoted>[^"]*)"(?P<qstar>\*?)|(?P<value>[^\s()"]+))
      | (?P<sign>[+-])?"(?P<phrase>[^"]*)"(?P<pstar>\*?)
      | (?P<word>[^\s()"]+)
    )""",
    re.VERBOSE,
)
ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "fileextension": "filetype",
        "write": "lastmodifiedtime",
        "lastmodified": "lastmodifiedtime",
        "createdby": "author",
        "site": "path",
        "spcontenttype": "contenttype",
        "contentclass": "contenttype",
        "name": "filename",
    }
)
FieldName: TypeAlias = Literal[
    "title",
    "filename",
    "filetype",
    "description",
    "author",
    "path",
    "contenttype",
    "lastmodifiedtime",
]
# Searched for plain words.
_TEXT_FIELDS: tuple[FieldName, ...] = ("title", "filename", "description", "author")
_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """Adjacent words; *is_prefix*: the last may be the beginning of a word."""

    words: tuple[str, ...]
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on a field; *name* is in lower case, aliases resolved."""

    name: str
    op: str
    phrase: Phrase
    text: str


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple["Term", ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple["Term", ...]


@dataclass(frozen=True, slots=True)
class Not:
    part: "Term"


Term: TypeAlias = Phrase | Condition | And | Or | Not


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchDocument:
    """
    The known fields of an object that may match.

    Attributes:
        fields: Texts by field name; times in ISO.
        trusted: Phrases that upstream has already found in it.
    """

    fields: Mapping[FieldName, str]
    trusted: frozenset[Phrase] = field(default_factory=frozenset)


def split_words(text: str) -> tuple[str, ...]:
    """Return the words of a text, in lower case."""
    return tuple(re.findall(r"\w+", text.casefold()))


def parse(text: str) -> Term:
    """
    Parse a search text.

    Raises:
        InvalidSearch: A quote or a parenthesis is unbalanced, or there are too many terms.
    """
    if text.count('"') % 2:
        raise InvalidSearch("A quotation mark is not closed.")
    parser = _Parser(text)
    term = parser.alternatives()
    parser.end()
    return term


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = list(_TOKEN.finditer(text))
        if len(self._tokens) > MAX_TERMS:
            raise InvalidSearch(f"A search has at most {MAX_TERMS} terms.")
        self._position = 0
        self._depth = 0

    def alternatives(self) -> Term:
        parts = [self._conjunction()]
        while self._accept("OR"):
            parts.append(self._conjunction())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def end(self) -> None:
        if self._peek() is not None:
            raise InvalidSearch("A parenthesis is not open.")

    def _conjunction(self) -> Term:
        parts = [self._negation()]
        while True:
            self._accept("AND")
            token = self._peek()
            if token is None or token["close"] or token["word"] == "OR":
                return parts[0] if len(parts) == 1 else And(tuple(parts))
            parts.append(self._negation())

    def _negation(self) -> Term:
        if self._accept("NOT"):
            return Not(self._negation())
        token = self._peek()
        if token is not None and token["word"] in ("-", "+"):
            self._position += 1
            return Not(self._primary()) if token["word"] == "-" else self._primary()
        return self._primary()

    def _primary(self) -> Term:
        token = self._peek()
        if token is None or token["close"] or token["word"] in ("OR", "AND"):
            raise InvalidSearch("The search lacks a word.")
        self._position += 1
        if token["open"]:
            return self._group()
        if token["field"]:
            return _condition(token)
        if token["phrase"] is not None:
            phrase = _phrase(token["phrase"], is_prefix=bool(token["pstar"]))
            return Not(phrase) if token["sign"] == "-" else phrase
        return _word(token["word"])

    def _group(self) -> Term:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise InvalidSearch("The search is nested too deep.")
        term = self.alternatives()
        token = self._peek()
        if token is None or not token["close"]:
            raise InvalidSearch("A parenthesis is not closed.")
        self._position += 1
        self._depth -= 1
        return term

    def _accept(self, word: str) -> bool:
        token = self._peek()
        if token is None or token["word"] != word:
            return False
        self._position += 1
        return True

    def _peek(self) -> re.Match[str] | None:
        return self._tokens[self._position] if self._position < len(self._tokens) else None


def _word(text: str) -> Term:
    bare = text.lstrip("+-")
    # "-field:value" is read as a word, because a field begins with a letter.
    condition = _TOKEN.fullmatch(bare) if bare != text else None
    term = (
        _condition(condition)
        if condition is not None and condition["field"]
        else _phrase(bare, is_prefix=bare.endswith("*"))
    )
    return Not(term) if text.startswith("-") else term


def _phrase(text: str, *, is_prefix: bool) -> Phrase:
    return Phrase(split_words(text), is_prefix=is_prefix)


def _condition(token: re.Match[str]) -> Condition:
    name = token["field"].lower()
    quoted = token["quoted"]
    text = quoted if quoted is not None else token["value"]
    is_prefix = bool(token["qstar"]) if quoted is not None else text.endswith("*")
    return Condition(ALIASES.get(name, name), token["op"], _phrase(text, is_prefix=is_prefix), text)


# -- queries for an index that matches words alone


def alternatives(term: Term) -> tuple[frozenset[Phrase], ...]:
    """
    Return sets of phrases; whatever matches the term contains all phrases of one set.

    Raises:
        InvalidSearch: There are too many alternatives.
    """
    return tuple(dict.fromkeys(_alternatives(term)))


def _alternatives(term: Term) -> list[frozenset[Phrase]]:
    match term:
        case Phrase():
            return [frozenset({term}) if term.words else frozenset()]
        case Condition(name, op, phrase) if name in ("title", "filename") and op in (":", "="):
            return [frozenset({phrase})]
        case Or(parts):
            sets = [phrases for part in parts for phrases in _alternatives(part)]
        case And(parts):
            choices = [_alternatives(part) for part in parts]
            if prod(map(len, choices)) > MAX_ALTERNATIVES:
                raise InvalidSearch("The search has too many alternatives for selected sites.")
            sets = [frozenset().union(*choice) for choice in product(*choices)]
        case _:
            return [frozenset()]
    if len(sets) > MAX_ALTERNATIVES:
        raise InvalidSearch("The search has too many alternatives for selected sites.")
    return sets


# -- evaluation


def matches(term: Term, document: SearchDocument) -> bool:
    """Return whether an object matches, as far as it is known."""
    match term:
        case And(parts):
            return all(matches(part, document) for part in parts)
        case Or(parts):
            return any(matches(part, document) for part in parts)
        case Not(part):
            return not matches(part, document)
        case Condition():
            return _condition_holds(term, document)
        case Phrase():
            if term in document.trusted or not term.words:
                return True
            texts = (document.fields.get(name) for name in _TEXT_FIELDS)
            return any(_contains(text, term) for text in texts if text)


def _contains(text: str, phrase: Phrase) -> bool:
    if not phrase.words:
        return True
    words = split_words(text)
    length = len(phrase.words)
    for start in range(len(words) - length + 1):
        *first, last = words[start : start + length]
        if tuple(first) != phrase.words[:-1]:
            continue
        projection = phrase.words[-1]
        if last == projection or (phrase.is_prefix and last.startswith(projection)):
            return True
    return False


def _condition_holds(condition: Condition, document: SearchDocument) -> bool:
    text = document.fields.get(cast("FieldName", condition.name))  # an unknown name has no text
    if text is None:
        return False
    if condition.name == "lastmodifiedtime":
        return _time_matches(condition, text)
    if condition.op == "<>":
        return not _contains(text, condition.phrase)
    if condition.op not in (":", "="):
        return False
    if condition.name == "path":
        projection = condition.text.rstrip("*").casefold()
        return text.casefold().startswith(projection)
    if condition.name == "filetype":
        return text.casefold() == condition.text.strip(".").casefold()
    return _contains(text, condition.phrase)


def _time_matches(condition: Condition, text: str) -> bool:
    """Compare by whole days where the search names days."""
    value = parse_utc(text)
    low_text, _, high_text = condition.text.partition("..")
    low, high = parse_utc(low_text), parse_utc(high_text or low_text)
    if value is None or low is None or high is None:
        return False
    whole_day = "T" not in (high_text or low_text) and high.year < 9999
    end = high + timedelta(days=1) if whole_day else high
    if condition.op in (":", "=", "<>"):
        is_inside = low <= value < max(end, low + timedelta(seconds=int(low.year < 9999)))
        return is_inside is (condition.op != "<>")
    bound: datetime = end if condition.op in (">", "<=") and "T" not in condition.text else low
    order = {">": ">=", "<=": "<"}.get(condition.op, condition.op) if bound is end else condition.op
    return _ORDERS[order](value, bound)
