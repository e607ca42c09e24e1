"""
Parsing of IMAP responses into nested lists, in linear time.

A response is a line whose literals were cut out: `[text, literal, text, literal, text]`. What is
broken, or larger than the bounds, is kept as far as it can be read, because one odd message must
not hide a page of others.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias


class Atom(bytes):
    """A value that was neither quoted nor a literal: a number, a flag, the name of an item."""

    __slots__ = ()


_NextToken = Callable[[bytes, int], re.Match[bytes] | None]
Value: TypeAlias = "bytes | list[Value] | None"  # bytes include `Atom`; None is NIL

_ITEMS_DEPTH = 1  # of brackets around the names of items in a FETCH response
MAX_DEPTH = 100  # of brackets; BODYSTRUCTURE of a message within our other limits has far fewer
MAX_VALUES = 30_000  # of one response; those of a thousand parts, which is all that is read

# A quoted text, a bracket, or an atom, which may hold a section in square brackets.
_TOKEN = re.compile(
    rb' *(?:"((?:[^"\\]|\\.)*)"|([()])|((?:[^\s()"\[\]]|\[[^\[\]]*\]|[\[\]])+))', re.DOTALL
)
# The same within BODYSTRUCTURE: some servers write quotes in names as they are. So a quote ends a
# text only where a next value may begin.
_STRUCTURE_TOKEN = re.compile(
    rb' *(?:"((?:[^"\\]|\\.|"(?! *(?:[()]|\Z)| +(?:"|-?\d|NIL\b)))*)"|([()])'
    rb'|((?:[^\s()"\[\]]|\[[^\[\]]*\]|[\[\]])+))',
    re.DOTALL | re.IGNORECASE,
)
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)


class Pieces(list[bytes]):
    """
    One response: text and literals in turn, beginning and ending with text.

    Attributes:
        is_cut: Whether the server sent more than is kept.
    """

    __slots__ = ("is_cut",)

    def __init__(self, pieces: Iterable[bytes] = (), *, is_cut: bool = False) -> None:
        super().__init__(pieces)
        self.is_cut = is_cut

    @property
    def tokens(self) -> int:
        """About the number of values, which tells how long parsing takes."""
        return sum(
            text.count(b" ") + text.count(b"(") + text.count(b")") + text.count(b'"') // 2
            for text in self[::2]
        )


class Row(dict[str, Value]):
    """
    The items of a FETCH response by name, in capitals.

    Attributes:
        is_cut: Whether the server sent more than is kept: the last items may be missing, or lack
            their end.
    """

    __slots__ = ("is_cut",)

    def __init__(self, items: Mapping[str, Value] | None = None, *, is_cut: bool = False) -> None:
        super().__init__(items or {})
        self.is_cut = is_cut


def parse(pieces: Sequence[bytes]) -> list[Value]:
    """
    Return the values of a response as nested lists, as far as the bounds allow.

    Args:
        pieces: Text and literals in turn, beginning and ending with text.
    """
    return _parse(pieces)[0]


def _parse(pieces: Sequence[bytes]) -> tuple[list[Value], bool]:
    """Return the values of a response, and whether these are all."""
    values = _Values()
    left = MAX_VALUES
    next_token: _NextToken = _TOKEN.match
    for index, piece in enumerate(pieces):
        if index % 2:
            values.add(bytes(piece))
            continue
        position = 0
        while token := next_token(piece, position):
            left -= 1
            if left < 0:
                return values.close(), False
            position = token.end()
            quoted, bracket, atom = token.groups()
            if bracket == b"(":
                values.open_list()
                next_token = values.next_token(next_token)
            elif bracket == b")":
                values.close_list()
                next_token = values.next_token(next_token)
            elif quoted is not None:
                values.add(_ESCAPED.sub(rb"\1", quoted) if b"\\" in quoted else quoted)
            else:
                values.add(None if atom.upper() == b"NIL" else Atom(atom))
    return values.close(), values.is_whole


class _Values:
    """Nested lists that grow at their end; deeper than `MAX_DEPTH` nothing is kept."""

    def __init__(self) -> None:
        self.is_whole = True
        self._values: list[Value] = []
        self._outer: list[list[Value]] = []
        self._too_deep = 0

    def add(self, value: Value) -> None:
        if not self._too_deep:
            self._values.append(value)

    def open_list(self) -> None:
        if self._too_deep or len(self._outer) >= MAX_DEPTH:
            self._too_deep += 1
            self.is_whole = False
            return
        self._outer.append(self._values)
        self._values = []

    def close_list(self) -> None:
        if self._too_deep:
            self._too_deep -= 1
        elif self._outer:  # else there is one bracket too many
            inner, self._values = self._values, self._outer.pop()
            self._values.append(inner)

    def next_token(self, before: _NextToken) -> _NextToken:
        """Return what matches the next token; *before* matched the last one."""
        outer = self._outer
        if len(outer) <= _ITEMS_DEPTH:
            return _TOKEN.match
        name = outer[-1][-1] if len(outer) == _ITEMS_DEPTH + 1 and outer[-1] else None
        is_structure = isinstance(name, Atom) and name.upper() == b"BODYSTRUCTURE"
        return _STRUCTURE_TOKEN.match if is_structure else before

    def close(self) -> list[Value]:
        """Close all lists, and return the outermost one."""
        self._too_deep = 0
        while self._outer:
            self.close_list()
        return self._values


def fetch_row(pieces: Sequence[bytes]) -> Row | None:
    """
    Return the items of a FETCH response; None for another response.

    The partial of a section (`BODY[1]<0>`) is not part of its name, and names of headers in it
    are in alphabetical order, in capitals and without quotes.
    """
    head = _FETCH.match(pieces[0])
    if head is None:
        return None
    parsed, is_whole = _parse([pieces[0][head.end() :], *pieces[1:]])
    items = parsed[0] if parsed and isinstance(parsed[0], list) else []
    row = Row(is_cut=not is_whole or (isinstance(pieces, Pieces) and pieces.is_cut))
    for name, value in zip(items[::2], items[1::2], strict=False):
        if isinstance(name, bytes):
            row[_item_name(name)] = value
    return row


def _item_name(name: bytes) -> str:
    text = _PARTIAL.sub(b"", name).decode("ascii", "replace").upper()
    headers = _HEADER_FIELDS.fullmatch(text)
    if headers is None:
        return text
    names = sorted(headers[2].replace('"', " ").split())
    return f"{headers[1]} ({' '.join(names)})]"


_FETCH = re.compile(rb"\* \d{1,10} FETCH ", re.IGNORECASE)
_PARTIAL = re.compile(rb"<\d{1,20}(?:\.\d{1,20})?>$")  # some servers repeat the length
_HEADER_FIELDS = re.compile(r"(BODY\[(?:[0-9.]+)?HEADER\.FIELDS(?:\.NOT)?) ?\(([^()]*)\)\]")


def text(value: Value) -> str:
    """Return a value as text, "" for NIL and lists; invalid bytes become U+FFFD."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def number(value: Value) -> int:
    """Return a value as a number; 0 if it is not a number."""
    return int(value) if isinstance(value, bytes) and value.isdigit() and len(value) < 20 else 0
