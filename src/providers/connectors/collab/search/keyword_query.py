"""
The keyword language of search: parsed, and decided on what is known of a thing.

    or     := and ("OR" and)*
    and    := not (["AND"] not)*
    not    := ["NOT" | "-" | "+"] prim
    prim   := "(" or ")" | field op value | word | "phrase"
    op     := : = <> < > <= >=

A trailing ``*`` makes a word a beginning. Words are in any case; ``AND OR NOT`` in capitals alone.
Source: decisions 8.12; wire report 1D.6.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import product
from types import MappingProxyType
from typing import Any, TypeAlias

from providers.connectors.collab.lists.item_filters import moment
from providers.ports.collab import InvalidSearch

MOST_TERMS = 50
MOST_DEPTH = 20
MOST_BRANCHES = 8

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<open>\() | (?P<close>\))
      | (?P<field>[A-Za-z][A-Za-z0-9_.]*)\s*(?P<op>:|<=|>=|<>|=|<|>)\s*
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
_FREE = ("title", "filename", "description", "author")  # where words alone are looked for
_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
)


@dataclass(frozen=True, slots=True)
class Said:
    """Words beside each other; *open_ended*: the last is a beginning."""

    words: tuple[str, ...]
    open_ended: bool = False


@dataclass(frozen=True, slots=True)
class Where:
    """A condition on a field, named without aliases, in lower case."""

    name: str
    op: str
    said: Said
    text: str


@dataclass(frozen=True, slots=True)
class All:
    parts: tuple["Term", ...]


@dataclass(frozen=True, slots=True)
class Either:
    parts: tuple["Term", ...]


@dataclass(frozen=True, slots=True)
class Without:
    part: "Term"


Term: TypeAlias = Said | Where | All | Either | Without


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """
    What is known of a thing that may be found.

    Attributes:
        fields: Texts by field name in lower case; times in ISO.
        trusted: Terms that upstream found already, in whatever it looks at.
    """

    fields: Mapping[str, str]
    trusted: frozenset[Said] = field(default_factory=frozenset)


def split(text: str) -> tuple[str, ...]:
    """Return the words of a text, in lower case."""
    return tuple(re.findall(r"\w+", text.casefold()))


def parse(text: str) -> Term:
    """
    Read a search text.

    Raises:
        InvalidSearch: A quote or a parenthesis stands alone, or it is too much.
    """
    if text.count('"') % 2:
        raise InvalidSearch("A quotation mark is not closed.")
    reader = _Reader(text)
    term = reader.alternatives()
    reader.end()
    return term


def selectors(text: str) -> frozenset[str]:
    """
    Return the fields that a search text looks at, without aliases, in lower case.

    Raises:
        InvalidSearch: It does not parse.
    """
    return frozenset(one.name for one in _leaves(parse(text)) if isinstance(one, Where))


class _Reader:
    def __init__(self, text: str) -> None:
        self._tokens = [match for match in _TOKEN.finditer(text) if match[0].strip()]
        if len(self._tokens) > MOST_TERMS:
            raise InvalidSearch(f"A search has at most {MOST_TERMS} terms.")
        self._at = 0
        self._depth = 0

    def alternatives(self) -> Term:
        parts = [self._together()]
        while self._says("OR"):
            parts.append(self._together())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def end(self) -> None:
        if self._peek() is not None:
            raise InvalidSearch("A parenthesis is not open.")

    def _together(self) -> Term:
        parts = [self._signed()]
        while True:
            self._says("AND")
            token = self._peek()
            if token is None or token["close"] or token["word"] == "OR":
                return parts[0] if len(parts) == 1 else All(tuple(parts))
            parts.append(self._signed())

    def _signed(self) -> Term:
        if self._says("NOT"):
            return Without(self._signed())
        token = self._peek()
        if token is not None and token["word"] in ("-", "+"):
            self._at += 1
            return Without(self._primary()) if token["word"] == "-" else self._primary()
        return self._primary()

    def _primary(self) -> Term:
        token = self._peek()
        if token is None or token["close"] or token["word"] in ("OR", "AND"):
            raise InvalidSearch("The search lacks a word where one should stand.")
        self._at += 1
        if token["open"]:
            return self._inner()
        if token["field"]:
            return _where(token)
        if token["phrase"] is not None:
            said = _said(token["phrase"], starred=bool(token["pstar"]))
            return Without(said) if token["sign"] == "-" else said
        return _word(token["word"])

    def _inner(self) -> Term:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise InvalidSearch("The search is nested too deep.")
        term = self.alternatives()
        token = self._peek()
        if token is None or not token["close"]:
            raise InvalidSearch("A parenthesis is not closed.")
        self._at += 1
        self._depth -= 1
        return term

    def _says(self, word: str) -> bool:
        token = self._peek()
        if token is None or token["word"] != word:
            return False
        self._at += 1
        return True

    def _peek(self) -> re.Match[str] | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None


def _word(text: str) -> Term:
    bare = text.lstrip("+-")
    # "-field:value" comes as a word, because a field begins with a letter.
    condition = _TOKEN.fullmatch(bare) if bare != text else None
    term = _where(condition) if condition is not None and condition["field"] else _starred(bare)
    return Without(term) if text.startswith("-") else term


def _starred(text: str) -> Said:
    return _said(text, starred=text.endswith("*"))


def _said(text: str, *, starred: bool) -> Said:
    return Said(split(text), open_ended=starred)


def _where(token: re.Match[str]) -> Where:
    name = token["field"].lower()
    quoted = token["quoted"]
    text = quoted if quoted is not None else token["value"]
    starred = bool(token["qstar"]) if quoted is not None else text.endswith("*")
    return Where(ALIASES.get(name, name), token["op"], _said(text, starred=starred), text)


def _leaves(term: Term) -> Iterator[Said | Where]:
    match term:
        case All(parts) | Either(parts):
            for part in parts:
                yield from _leaves(part)
        case Without(part):
            yield from _leaves(part)
        case Said() | Where():
            yield term


# -- asking something that understands words alone


def probes(term: Term) -> tuple[frozenset[Said], ...]:
    """
    Return sets of terms, of which one must all be said by whatever matches.

    Raises:
        InvalidSearch: There are too many alternatives.
    """
    return tuple(dict.fromkeys(_branches(term)))


def _branches(term: Term) -> list[frozenset[Said]]:
    match term:
        case Said():
            return [frozenset({term}) if term.words else frozenset()]
        case Where(name, op, said) if name in ("title", "filename") and op in (":", "="):
            return [frozenset({said})]
        case Either(parts):
            found = [branch for part in parts for branch in _branches(part)]
        case All(parts):
            inner = [_branches(part) for part in parts]
            if _size(inner) > MOST_BRANCHES:
                raise InvalidSearch("The search has too many alternatives for selected sites.")
            found = [frozenset().union(*choice) for choice in product(*inner)]
        case _:
            return [frozenset()]
    if len(found) > MOST_BRANCHES:
        raise InvalidSearch("The search has too many alternatives for selected sites.")
    return found


def _size(inner: list[list[frozenset[Said]]]) -> int:
    size = 1
    for one in inner:
        size *= len(one)
    return size


# -- deciding


def found(term: Term, known: Known) -> bool:
    """Say whether a thing matches, as far as it is known."""
    match term:
        case All(parts):
            return all(found(part, known) for part in parts)
        case Either(parts):
            return any(found(part, known) for part in parts)
        case Without(part):
            return not found(part, known)
        case Where():
            return _holds(term, known)
        case Said():
            if term in known.trusted or not term.words:
                return True
            told = (known.fields.get(name) for name in _FREE)
            return any(_says(text, term) for text in told if text)


def _says(text: str, said: Said) -> bool:
    words = split(text)
    for at in range(len(words) - len(said.words) + 1):
        beside = words[at : at + len(said.words)]
        if beside[:-1] != said.words[:-1]:
            continue
        last, wanted = beside[-1], said.words[-1]
        if last == wanted or (said.open_ended and last.startswith(wanted)):
            return True
    return False


def _holds(where: Where, known: Known) -> bool:
    text = known.fields.get(where.name)
    if text is None:
        return False
    if where.name in ("lastmodifiedtime", "created"):
        return _at_time(where, text)
    if where.op == "<>":
        return not _says(text, where.said)
    if where.op not in (":", "="):
        return False
    if where.name == "path":
        wanted = where.text.rstrip("*").casefold()
        return text.casefold().startswith(wanted)
    if where.name == "filetype":
        return text.casefold() == where.text.strip(".").casefold()
    return not where.said.words or _says(text, where.said)


def _at_time(where: Where, text: str) -> bool:
    """Compare by whole days where the search names days."""
    value = moment(text)
    low_text, _, high_text = where.text.partition("..")
    low, high = moment(low_text), moment(high_text or low_text)
    if value is None or low is None or high is None:
        return False
    end = high if "T" in (high_text or low_text) else high + timedelta(days=1)
    if where.op in (":", "=", "<>"):
        inside = low <= value < max(end, low + timedelta(seconds=1))
        return inside is (where.op != "<>")
    bound: datetime = end if where.op in (">", "<=") and "T" not in where.text else low
    order = {">": ">=", "<=": "<"}.get(where.op, where.op) if bound is end else where.op
    return _ORDERS[order](value, bound)
