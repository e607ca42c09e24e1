"""
Parsing of IMAP responses into nested lists, in linear time.

A response is a line whose literals were cut out: `[text, literal, text, literal, text]`. What is
broken is kept as far as it can be read, because one odd message must not hide a page of others.
"""

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias


class Atom(bytes):
    """A value that was neither quoted nor a literal: a number, a flag, the name of an item."""

    __slots__ = ()


Value: TypeAlias = "bytes | list[Value] | None"  # bytes include `Atom`; None is NIL

MAX_DEPTH = 100  # of brackets; BODYSTRUCTURE of a message within our other limits has far fewer

# A quoted text, a bracket, or an atom, which may hold a section in square brackets.
_TOKEN = re.compile(
    rb' *(?:"((?:[^"\\]|\\.)*)"|([()])|((?:[^\s()"\[\]]|\[[^\[\]]*\]|[\[\]])+))', re.DOTALL
)
_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)


def parse(pieces: Sequence[bytes]) -> list[Value]:
    """
    Return the values of a response as nested lists.

    Args:
        pieces: Text and literals in turn, beginning and ending with text.
    """
    values: list[Value] = []
    outer: list[list[Value]] = []
    for index, piece in enumerate(pieces):
        if index % 2:
            values.append(bytes(piece))
            continue
        position = 0
        while token := _TOKEN.match(piece, position):
            position = token.end()
            quoted, bracket, atom = token.groups()
            if bracket == b"(":
                if len(outer) >= MAX_DEPTH:
                    return outer[0]
                outer.append(values)
                values = []
            elif bracket == b")":
                if outer:  # else there is one bracket too many
                    inner, values = values, outer.pop()
                    values.append(inner)
            elif quoted is not None:
                values.append(_ESCAPED.sub(rb"\1", quoted) if b"\\" in quoted else quoted)
            else:
                values.append(None if atom.upper() == b"NIL" else Atom(atom))
    while outer:
        inner, values = values, outer.pop()
        values.append(inner)
    return values


def fetch_row(pieces: Sequence[bytes]) -> Mapping[str, Value] | None:
    """
    Return the items of a FETCH response by name, in capitals; None for another response.

    The partial of a section (`BODY[1]<0>`) is not part of its name.
    """
    head = _FETCH.match(pieces[0])
    if head is None:
        return None
    parsed = parse([pieces[0][head.end() :], *pieces[1:]])
    items = parsed[0] if parsed and isinstance(parsed[0], list) else []
    row: dict[str, Value] = {}
    for name, value in zip(items[::2], items[1::2], strict=False):
        if isinstance(name, bytes):
            row[_PARTIAL.sub(b"", name).decode("ascii", "replace").upper()] = value
    return row


_FETCH = re.compile(rb"\* \d{1,10} FETCH ", re.IGNORECASE)
_PARTIAL = re.compile(rb"<\d{1,20}>$")


def text(value: Value) -> str:
    """Return a value as text, "" for NIL and lists; invalid bytes become U+FFFD."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else ""


def number(value: Value) -> int:
    """Return a value as a number; 0 for what is none."""
    return int(value) if isinstance(value, bytes) and value.isdigit() and len(value) < 20 else 0
