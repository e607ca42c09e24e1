"""CSV files as typed tables; separator, character set and column types are detected."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Cell = str | int | float | bool | None

TEXT, LONG_TEXT, NUMBER, BOOLEAN, MOMENT, CHOICE = (
    "text", "note", "number", "boolean", "dateTime", "choice",
)  # fmt: skip
MAX_CHOICES = 12
_LONG = 255  # characters
_YES = frozenset(("true", "yes", "ja", "oui", "wahr"))
_NO = frozenset(("false", "no", "nein", "nej", "non", "falsch"))
_INTEGER = re.compile(r"^-?(?:0|[1-9]\d{0,14})$", re.ASCII)
_POINT = re.compile(r"^-?\d{1,15}\.\d{1,10}$", re.ASCII)
_COMMA = re.compile(r"^-?\d{1,3}(?:\.\d{3})*,\d{1,10}$|^-?\d+,\d{1,10}$", re.ASCII)
_DAY = re.compile(r"^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$")
_DOTTED = re.compile(r"^(\d{1,2})\.(\d{1,2})\.(\d{4})$")


class NotATable(ValueError):
    """The file is not a table; the message says why and may be shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """
    A column.

    Attributes:
        kind: TEXT, LONG_TEXT, NUMBER, BOOLEAN, MOMENT or CHOICE.
        choices: Values of a choice column, in order of appearance.
    """

    title: str
    kind: str
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """
    A table.

    Attributes:
        rows: (line number, values in the order of *columns*); None for an empty cell; times as
            ISO texts in UTC.
        unusable: (line number, reason) of the rows left out.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[int, tuple[Cell, ...]], ...]
    unusable: tuple[tuple[int, str], ...]


def read(path: Path) -> Table:
    """
    Read a CSV file whose first row names the columns.

    Raises:
        NotATable: The file is empty, binary, or has no heading row.
    """
    text = _text(path.read_bytes())
    separator = _separator(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        heading = [name.strip() for name in next(reader)]
    except (StopIteration, csv.Error):
        raise NotATable("The file is empty.") from None
    titles = _titles(heading)
    lines: list[tuple[int, list[str]]] = []
    unusable: list[tuple[int, str]] = []
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) > len(titles) and any(cell.strip() for cell in cells[len(titles) :]):
                unusable.append((reader.line_num, "more cells than columns"))
                continue
            padded = [*cells, *[""] * len(titles)][: len(titles)]
            lines.append((reader.line_num, [cell.strip() for cell in padded]))
    except csv.Error as problem:
        unusable.append((reader.line_num, str(problem)))
    columns = tuple(
        _column(title, [cells[index] for _, cells in lines], separator)
        for index, title in enumerate(titles)
    )
    rows = tuple(
        (line, tuple(_cell(column, cell) for column, cell in zip(columns, cells, strict=True)))
        for line, cells in lines
    )
    return Table(columns=columns, rows=rows, unusable=tuple(unusable))


def _text(raw: bytes) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return raw.decode("utf-16", "replace")
    if b"\0" in raw:
        raise NotATable("The file is no text.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def _separator(text: str) -> str:
    """Return the most frequent separator in the heading row, outside quotes."""
    heading = re.sub(r'"[^"]*"', "", text.partition("\n")[0])
    return max((",", ";", "\t", "|"), key=heading.count)


def _titles(heading: Sequence[str]) -> tuple[str, ...]:
    if not any(heading):
        raise NotATable("The first row names no columns.")
    titles: list[str] = []
    for position, title in enumerate(heading, 1):
        name = title or f"Column {position}"
        number = 1
        while name.casefold() in (taken.casefold() for taken in titles):
            number += 1
            name = f"{title} {number}"
        titles.append(name)
    return tuple(titles)


def _column(title: str, cells: Sequence[str], separator: str) -> Column:
    filled_cells = [cell for cell in cells if cell]
    if not filled_cells:
        return Column(title=title, kind=TEXT)
    if all(cell.casefold() in _YES | _NO for cell in filled_cells):
        return Column(title=title, kind=BOOLEAN)
    if all(_INTEGER.match(cell) or _POINT.match(cell) for cell in filled_cells):
        return Column(title=title, kind=NUMBER)
    if separator != "," and all(
        _INTEGER.match(cell) or _COMMA.match(cell) for cell in filled_cells
    ):
        return Column(title=title, kind=NUMBER)
    if all(_moment(cell) is not None for cell in filled_cells):
        return Column(title=title, kind=MOMENT)
    if any(len(cell) > _LONG or "\n" in cell for cell in filled_cells):
        return Column(title=title, kind=LONG_TEXT)
    words = tuple(dict.fromkeys(filled_cells))
    if len(words) <= MAX_CHOICES and len(filled_cells) >= 4 * len(words):
        return Column(title=title, kind=CHOICE, choices=words)
    return Column(title=title, kind=TEXT)


def _cell(column: Column, cell: str) -> Cell:
    if not cell:
        return None
    parsers: Mapping[str, Any] = {BOOLEAN: _is_yes, NUMBER: _number, MOMENT: _moment}
    value: Cell = parsers.get(column.kind, str)(cell)
    return value


def _is_yes(cell: str) -> bool:
    return cell.casefold() in _YES


def _number(cell: str) -> int | float:
    if _INTEGER.match(cell):
        return int(cell)
    plain = cell.replace(".", "").replace(",", ".") if "," in cell else cell
    return float(plain)


def _moment(cell: str) -> str | None:
    dotted = _DOTTED.match(cell)
    if dotted is not None:
        cell = f"{dotted[3]}-{int(dotted[2]):02}-{int(dotted[1]):02}"
    if not _DAY.match(cell):
        return None
    try:
        parsed = datetime.fromisoformat(cell)
    except ValueError:
        return None
    aware = parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    return aware.strftime("%Y-%m-%dT%H:%M:%SZ")
