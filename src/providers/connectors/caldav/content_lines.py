"""
Syntax of iCalendar: components and content lines (RFC 5545, 3.1 to 3.3; RFC 6868).

Lines and their parameters are split by the library `icalendar`; values are read by this package
(docs/adr/0032-icalendar-splits-lines-and-we-read-values.md). A line that is not valid is left out.
The work is linear in the length of the text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from icalendar.parser import Contentline, Contentlines

MAX_BYTES = 512 * 1024  # of one calendar object
_MAX_DEPTH = 8

_LONE_RETURN = re.compile(r"\r(?!\n)")
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_PARTS = re.compile(r"((?:[^\\,]|\\.)*)(?:,|\Z)", re.DOTALL)


class NotCalendar(ValueError):
    """A text is not iCalendar, or too long."""


@dataclass(frozen=True, slots=True)
class ContentLine:
    """
    One property.

    Attributes:
        name: In capitals.
        params: First value by parameter name, in capitals.
        value: As it was written, escapes included.
    """

    name: str
    params: Mapping[str, str]
    value: str

    @property
    def text(self) -> str:
        """The value as a text."""
        return _unescape(self.value)

    @property
    def texts(self) -> Iterator[str]:
        """The values as texts, without empty ones."""
        for match in _PARTS.finditer(self.value):
            if value := _unescape(match[1]).strip():
                yield value


@dataclass(slots=True)
class Component:
    """A component: the properties and components between BEGIN and END."""

    name: str
    lines: list[ContentLine] = field(default_factory=list)
    components: "list[Component]" = field(default_factory=list)

    def every(self, name: str) -> Iterator[ContentLine]:
        """Yield the properties of this name."""
        return (line for line in self.lines if line.name == name)

    def first(self, *names: str) -> ContentLine | None:
        """Return the first property of the first of these names that is there and not empty."""
        for name in names:
            for line in self.every(name):
                if line.value.strip():
                    return line
        return None

    def text(self, *names: str) -> str:
        """Return the text of `first`, without blanks around it; "" when there is none."""
        line = self.first(*names)
        return "" if line is None else line.text.strip()


def parse_calendar(text: str) -> Component:
    """
    Return the first calendar of a text.

    Raises:
        NotCalendar: There is none, or the text is longer than `MAX_BYTES`.
    """
    if len(text) > MAX_BYTES:
        raise NotCalendar
    root = Component("")
    open_components = [root]
    for line in _lines(text):
        if line.name == "BEGIN":
            if len(open_components) > _MAX_DEPTH:
                raise NotCalendar
            component = Component(line.value.strip().upper())
            open_components[-1].components.append(component)
            open_components.append(component)
        elif line.name == "END":
            if len(open_components) == 1 or open_components[-1].name != line.value.strip().upper():
                raise NotCalendar
            open_components.pop()
        else:
            open_components[-1].lines.append(line)
    calendar = next((part for part in root.components if part.name == "VCALENDAR"), None)
    if calendar is None or len(open_components) > 1:
        raise NotCalendar
    return calendar


def _lines(text: str) -> Iterator[ContentLine]:
    plain = text.removeprefix("\ufeff")
    if "\n" not in plain:  # old exporters end lines at CR
        plain = _LONE_RETURN.sub("\n", plain)
    split: Any = Contentlines.from_ical  # it has no types
    lines: Iterable[Contentline] = filter(None, split(plain))
    for line in lines:
        try:
            name, params, value = line.raw_parts()
        except ValueError:
            plain = _CONTROLS.sub("", line)
            if plain == line:
                continue
            yield from _lines(plain)  # the library refuses parameters with control characters
            continue
        values = {key.upper(): _first(listed) for key, listed in params.items()}
        if "TZID" in values and ":" in value:  # a name with colons and without quotation marks
            rest, _, value = value.rpartition(":")
            values["TZID"] += f":{rest}"
        yield ContentLine(name.upper(), values, value)


def _first(values: str | list[str]) -> str:
    return values if isinstance(values, str) else values[0]


def _unescape(value: str) -> str:
    if "\\" not in value:
        return value
    return _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)
