"""
Fault-tolerant parser of iCalendar syntax: components and content lines.

See RFC 5545, 3.1, 3.2, 3.3.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

_FOLD = re.compile(r"\r?\n[ \t]")
_FOLDED_BYTES = re.compile(rb"\r?\n[ \t]")
_PARAM = re.compile(r';\s*+([A-Za-z0-9-]++)\s*+=\s*+((?:"[^"]*+"|[^";:])*+)')
_LINE = re.compile(
    r"""(?P<name>[A-Za-z0-9-]++)\s*+
        (?P<params>(?:;\s*+[A-Za-z0-9-]++\s*+=(?:"[^"]*+"|[^";:])*+)*+)
        :(?P<value>.*)""",
    re.DOTALL | re.VERBOSE,
)
_CARET = re.compile(r"\^[n^']")  # RFC 6868
_ESCAPED = re.compile(r"\\([\\;,nN])")
_DURATION = re.compile(
    r"([+-])?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Line:
    """
    One content line.

    Attributes:
        name: Upper case.
        params: First value by upper-case name.
        value: The raw value, escapes included.
    """

    name: str
    params: Mapping[str, str]
    value: str

    @property
    def text(self) -> str:
        """The unescaped value."""
        return unescape(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """A duration: nominal *days* and *exact* time."""

    days: timedelta
    exact: timedelta


@dataclass(slots=True)
class Component:
    """
    A component: the lines between BEGIN and END.

    Attributes:
        name: Upper case.
        source: Unfolded lines, inner components included.
        broken: Lines that cannot be parsed.
    """

    name: str
    lines: list[Line] = field(default_factory=list)
    inner: "list[Component]" = field(default_factory=list)
    source: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def first(self, name: str) -> Line | None:
        """Return the first line of this name."""
        return next(self.every(name), None)

    def every(self, name: str) -> Iterator[Line]:
        """Yield the lines of this name, in order."""
        return (line for line in self.lines if line.name == name)

    def text(self, *names: str) -> str:
        """Return the first text that is not blank of the lines *names*, else ""."""
        for name in names:
            for line in self.every(name):
                if line.text.strip():
                    return line.text.strip()
        return ""


def decode(data: bytes) -> str:
    """
    Decode the bytes of a file: UTF-8, else Windows-1252, else Latin-1.

    Lines are unfolded first: a fold may divide the octets of a character (RFC 5545, 3.1).
    """
    data = _FOLDED_BYTES.sub(b"", data)
    for charset in ("utf-8-sig", "windows-1252"):
        try:
            return data.decode(charset)
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1")


def read(text: str) -> list[Component]:
    """
    Return the outermost components, in order.

    An unclosed component ends with its parent; lines outside of components are ignored.
    """
    roots: list[Component] = []
    open_components: list[Component] = []
    lines = text if "\n" in text else text.replace("\r", "\n")
    for raw in re.split(r"\r?\n", _FOLD.sub("", lines)):
        line = _parse_line(raw)
        if line is not None and line.name == "BEGIN":
            component = Component(line.value.strip().upper())
            (open_components[-1].inner if open_components else roots).append(component)
            open_components.append(component)
        for component in open_components:
            component.source.append(raw)
        if not open_components or not raw.strip():
            continue
        if line is None:
            open_components[-1].broken.append(raw)
        elif line.name == "END":
            _close(open_components, line.value.strip().upper())
        elif line.name != "BEGIN":
            open_components[-1].lines.append(line)
    return roots


def split_values(value: str) -> Iterator[str]:
    """Split a value at its unescaped commas, and unescape the parts."""
    for part in re.split(r"(?<!\\),", value):
        if part.strip():
            yield unescape(part).strip()


def unescape(value: str) -> str:
    """Unescape a text value."""
    return _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)


def parse_duration(text: str) -> Duration:
    """
    Parse a duration.

    Raises:
        ValueError: It is malformed.
    """
    match = _DURATION.fullmatch(text.strip().upper())
    if match is None or text.strip().upper()[-1:] in {"P", "T"}:
        raise ValueError(f"not a duration: {text}")
    weeks, days, hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
    sign = -1 if match[1] == "-" else 1
    return Duration(
        days=sign * timedelta(weeks=weeks, days=days),
        exact=sign * timedelta(hours=hours, minutes=minutes, seconds=seconds),
    )


def _parse_line(raw: str) -> Line | None:
    match = _LINE.fullmatch(raw.strip(" \t\r"))
    if match is None:
        return None
    params = {
        name.upper(): _CARET.sub(_decode_caret, _first_value(value))
        for name, value in _PARAM.findall(match["params"])
    }
    return Line(match["name"].upper(), params, match["value"])


def _first_value(value: str) -> str:
    """Return the first value of a parameter, unquoted."""
    if value.startswith('"'):
        return value[1:].partition('"')[0]
    return value.partition(",")[0].strip()


def _decode_caret(match: re.Match[str]) -> str:
    return {"^^": "^", "^'": '"'}.get(match[0], "\n")


def _close(open_components: list[Component], name: str) -> None:
    if any(component.name == name for component in open_components):
        while open_components.pop().name != name:
            pass
