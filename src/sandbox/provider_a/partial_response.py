"""
Partial responses: the ``fields`` parameter of Gmail and Google Calendar.

``a,b`` selects members, ``a/b`` and ``a(b,c)`` select below a member, ``*`` selects every member.
A selection applies to each item of a list. See docs/spec/upstream/gmail.md#field-masks.
"""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from types import MappingProxyType
from typing import Any

# Member name -> selection below it; None selects everything.
Selection = Mapping[str, "Selection | None"]


class BadSelection(ValueError):
    """A ``fields`` parameter that cannot be parsed, or selects an unknown member."""


@lru_cache(maxsize=512)
def parse(text: str) -> Selection | None:
    """
    Parse a ``fields`` parameter; the empty one returns None, which selects everything.

    Raises:
        BadSelection: It does not follow the grammar.
    """
    if not text:
        return None
    reader = _Parser(text)
    selection = reader.members()
    if reader.rest():
        raise BadSelection(f"Invalid field selection {text}")
    return selection


def names(selection: Selection) -> Iterator[str]:
    """Yield every member name of a selection, at any depth."""
    for name, below in selection.items():
        yield name
        if below is not None:
            yield from names(below)


def check(selection: Selection | None, known: AbstractSet[str]) -> None:
    """
    Check the member names of a selection against those of the API.

    Raises:
        BadSelection: No resource has a member of this name.
    """
    for name in names(selection or {}):
        if name != "*" and name not in known:
            raise BadSelection(f"Invalid field selection {name}")


def apply(content: Any, selection: Selection | None) -> Any:
    """Return *content* with the selected members only; absent members are ignored."""
    if selection is None:
        return content
    if isinstance(content, list):
        return [apply(item, selection) for item in content]
    if not isinstance(content, dict):
        return content
    anything = selection.get("*", _ABSENT)
    chosen = {}
    for name, value in content.items():
        below = selection.get(name, anything)
        if below is not _ABSENT:
            chosen[name] = apply(value, below)
    return chosen


_ABSENT: Any = MappingProxyType({"": None})
_STOPS = frozenset(",/()")


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def rest(self) -> str:
        return self._text[self._at :]

    def members(self) -> Selection:
        selection: dict[str, Selection | None] = {}
        while True:
            name, below = self._member()
            selection[name] = _merge(selection[name], below) if name in selection else below
            if self._peek() != ",":
                return selection
            self._at += 1

    def _member(self) -> tuple[str, Selection | None]:
        start = self._at
        while self._at < len(self._text) and self._text[self._at] not in _STOPS:
            self._at += 1
        name = self._text[start : self._at].strip()
        if not name:
            raise BadSelection(f"Invalid field selection {self._text}")
        if self._peek() == "/":
            self._at += 1
            child, below = self._member()
            return name, {child: below}
        if self._peek() == "(":
            self._at += 1
            inside = self.members()
            if self._peek() != ")":
                raise BadSelection(f"Invalid field selection {self._text}")
            self._at += 1
            return name, inside
        return name, None

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]


def _merge(first: Selection | None, second: Selection | None) -> Selection | None:
    if first is None or second is None:
        return None
    joined = dict(first)
    for name, below in second.items():
        joined[name] = _merge(joined[name], below) if name in joined else below
    return joined
