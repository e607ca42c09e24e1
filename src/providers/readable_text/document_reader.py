"""
Program that writes the text of one document to its standard output.

It runs in a process of its own (`providers.readable_text.files`), imports nothing of the
repository, has no environment, and limits its own time and memory: documents come from strangers.
Usage: `python -I document_reader.py KIND`, with the document as standard input, which can seek.
"""

import importlib
import os
import re
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import PurePosixPath
from typing import BinaryIO
from xml.parsers import expat

MAX_SECONDS = 1  # of processor time
MAX_MEMORY = 46 * 1024 * 1024  # bytes of data; with the interpreter's code about 60 MiB
MAX_EXPANDED = 64 * 1024 * 1024  # bytes of the parts of a document
MAX_TEXT = 1_000_000  # characters
MAX_GAP = 50  # empty cells that are shown in a row

# Exit statuses; any other one but 0 is that of a damaged document.
CUT, ENCRYPTED, NO_READER, TOO_LARGE = 3, 4, 5, 6

Attributes = Mapping[str, str]


class Output:
    """Standard output, line by line; the program ends when there is too much text."""

    def __init__(self) -> None:
        self._left = MAX_TEXT

    def line(self, text: str) -> None:
        """Write a line unless it is empty."""
        text = text.strip()
        if not text:
            return
        sys.stdout.buffer.write(f"{text[: self._left - 1]}\n".encode("utf-8", "replace"))
        self._left -= len(text) + 1
        if self._left <= 0:
            end(CUT)


def end(status: int) -> None:
    """End the program with what it has written."""
    sys.stdout.flush()
    raise SystemExit(status)


class Package:
    """The parts of an Office document, of which `MAX_EXPANDED` bytes are read."""

    def __init__(self, file: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(file)
        self._left = MAX_EXPANDED

    def parse(
        self,
        part: str,
        start: Callable[[str, Attributes], None],
        finish: Callable[[str], None] = lambda _: None,
        text: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Parse a part, which may be absent; names are without their namespaces."""
        if part not in self._zip.NameToInfo:
            return
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = _refuse
        parser.StartElementHandler = lambda name, attributes: start(
            _local(name), {_local(key): value for key, value in attributes.items()}
        )
        parser.EndElementHandler = lambda name: finish(_local(name))
        parser.CharacterDataHandler = text
        with self._zip.open(part) as stream:
            while chunk := stream.read(65536):
                self._left -= len(chunk)
                if self._left < 0:
                    end(CUT)
                parser.Parse(chunk)
        parser.Parse(b"", True)

    def elements(self, part: str) -> list[tuple[str, Attributes]]:
        """Return the elements of a small part in the order of their starts, without their texts."""
        elements: list[tuple[str, Attributes]] = []
        self.parse(part, lambda name, attributes: elements.append((name, attributes)))
        return elements

    def targets(self, part: str) -> dict[str, str]:
        """Return the parts that *part* refers to, by the ids of its relationships."""
        path, targets = PurePosixPath(part), dict[str, str]()
        for name, attributes in self.elements(str(path.parent / "_rels" / f"{path.name}.rels")):
            if name == "Relationship" and attributes.get("TargetMode") != "External":
                target = attributes.get("Target", "")
                folder = PurePosixPath() if target.startswith("/") else path.parent
                targets[attributes.get("Id", "")] = _joined(folder, target.lstrip("/"))
        return targets

    def ordered(self, part: str, element: str) -> Iterator[tuple[str, str]]:
        """Yield name and part of each *element* of *part*, which refers to it by its id."""
        targets = self.targets(part)
        for name, attributes in self.elements(part):
            if name == element and attributes.get("rid") in targets:
                yield attributes.get("name", ""), targets[attributes["rid"]]


def _refuse(*_: object) -> None:
    raise ValueError("an Office document has no DTD")


def _local(name: str) -> str:
    """Return a name without its namespace; the id of a relationship is `rid`."""
    space, _, local = name.rpartition(" ")
    return "rid" if local == "id" and space.endswith("/relationships") else local


def _joined(folder: PurePosixPath, target: str) -> str:
    parts: list[str] = list(folder.parts)
    for part in target.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


class Paragraphs:
    """Handlers of the text of Word and PowerPoint: paragraphs are lines, cells are parted."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._line: list[str] = []
        self._depth = 0  # of cells
        self._skipped = 0  # elements around the text that repeat another one
        self._in_text = False

    def start(self, name: str, _: Attributes) -> None:
        if name in _REPEATED:
            self._skipped += 1
        elif name == "tc":
            self._depth += 1
        elif name in _BREAKS and not self._skipped:
            self._line.append(_BREAKS[name] if not self._depth else " ")
        self._in_text = name == "t" and not self._skipped

    def finish(self, name: str) -> None:
        self._in_text = False
        if name in _REPEATED:
            self._skipped -= 1
        elif name == "tc":
            self._depth -= 1
            self._line.append(" | ")
        elif name == "p" and self._depth:
            self._line.append(" ")
        elif name in {"p", "tr"}:
            text, self._line = "".join(self._line).replace("  | ", " | "), []
            for line in text.removesuffix(" | ").split("\n"):
                self._output.line(line)

    def text(self, text: str) -> None:
        if self._in_text:
            self._line.append(text)


_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n"}
_REPEATED = frozenset(("Fallback", "moveFrom"))


def word(file: BinaryIO, output: Output) -> None:
    """Write the text of a document of Word, with its notes."""
    package = Package(file)
    for part in ("document", "footnotes", "endnotes"):
        handlers = Paragraphs(output)
        package.parse(f"word/{part}.xml", handlers.start, handlers.finish, handlers.text)


def slides(file: BinaryIO, output: Output) -> None:
    """Write the texts of the slides of PowerPoint, each with the notes of its speaker."""
    package = Package(file)
    for number, (_, part) in enumerate(package.ordered("ppt/presentation.xml", "sldId"), 1):
        output.line(f"[Slide {number}]")
        notes = [each for each in package.targets(part).values() if "/notesSlides/" in each]
        for each in (part, *notes):
            handlers = Paragraphs(output)
            package.parse(each, handlers.start, handlers.finish, handlers.text)


class Cells:
    """Handlers of a sheet of Excel: rows are lines."""

    def __init__(
        self, output: Output, strings: list[str], date_styles: set[int], epoch: datetime
    ) -> None:
        self._output = output
        self._strings = strings
        self._date_styles = date_styles
        self._epoch = epoch
        self._row: dict[int, str] = {}
        self._column = 0
        self._type = ""
        self._style = 0
        self._value: list[str] | None = None

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "c":
            letters = re.match("[A-Z]{1,3}", attributes.get("r", ""))
            self._column = _column(letters[0]) if letters else self._column + 1
            self._type = attributes.get("t", "n")
            self._style = int(attributes.get("s", "0"))
        elif name in {"v", "t"}:
            self._value = []

    def finish(self, name: str) -> None:
        if name in {"v", "t"} and self._value is not None:
            text = self._shown("".join(self._value))
            self._row[self._column] = self._row.get(self._column, "") + text
            self._value = None
        elif name == "row":
            self._end_row()

    def text(self, text: str) -> None:
        if self._value is not None:
            self._value.append(text)

    def _end_row(self) -> None:
        cells: list[str] = []
        for column in sorted(self._row):
            cells += [""] * min(column - len(cells) - 1, MAX_GAP)
            cells.append(" ".join(self._row[column].split()))
        self._output.line(" | ".join(cells))
        self._row, self._column = {}, 0

    def _shown(self, value: str) -> str:
        if self._type == "s":
            return self._strings[int(value)]
        if self._type == "b":
            return "TRUE" if value == "1" else "FALSE"
        if self._type == "n" and self._style in self._date_styles:
            return _date(float(value), self._epoch)
        return value


def sheets(file: BinaryIO, output: Output) -> None:
    """Write the cells of the sheets of Excel; dates as ISO 8601, other numbers as stored."""
    package = Package(file)
    strings, dates, epoch = _shared_strings(package), _date_styles(package), _epoch(package)
    for name, part in package.ordered("xl/workbook.xml", "sheet"):
        output.line(f"[Sheet {name}]")
        cells = Cells(output, strings, dates, epoch)
        package.parse(part, cells.start, cells.finish, cells.text)


def _shared_strings(package: Package) -> list[str]:
    strings: list[list[str]] = []
    state = {"t": False, "rPh": False}

    def start(name: str, _: Attributes) -> None:
        if name == "si":
            strings.append([])
        elif name in state:
            state[name] = True

    def finish(name: str) -> None:
        if name in state:
            state[name] = False

    def text(text: str) -> None:
        if state["t"] and not state["rPh"] and strings:
            strings[-1].append(text)

    package.parse("xl/sharedStrings.xml", start, finish, text)
    return ["".join(pieces) for pieces in strings]


def _epoch(package: Package) -> datetime:
    """Return the day 0 of the workbook's dates."""
    for name, attributes in package.elements("xl/workbook.xml"):
        if name == "workbookPr" and attributes.get("date1904") in {"1", "true"}:
            return datetime(1904, 1, 1)  # noqa: DTZ001 - no zone
    return datetime(1899, 12, 30)  # noqa: DTZ001 - no zone


def _date_styles(package: Package) -> set[int]:
    """Return the indices of the styles that show a number as a date or a time."""
    formats = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
    styles: list[int] = []
    group = ""
    for name, attributes in package.elements("xl/styles.xml"):
        if name == "numFmt":
            code = re.sub(r'"[^"]*"|\[[^\[\]]*\]|\\.', "", attributes.get("formatCode", ""))
            if re.search("[ymdhs]", code, re.IGNORECASE):
                formats.add(int(attributes.get("numFmtId", "0")))
        elif name in {"cellStyleXfs", "cellXfs"}:
            group = name
        elif name == "xf" and group == "cellXfs":
            styles.append(int(attributes.get("numFmtId", "0")))
    return {index for index, number in enumerate(styles) if number in formats}


def _date(serial: float, epoch: datetime) -> str:
    if not 0 <= serial < 3_000_000:  # after the year 9999
        return str(serial)
    moment = epoch + timedelta(seconds=round(serial * 86_400))
    if serial < 1:
        return moment.strftime("%H:%M:%S")
    return str(moment.date()) if serial == int(serial) else moment.isoformat(" ")


def _column(letters: str) -> int:
    """Return the number of a column, from 1: 28 for "AB"."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def pdf(file: BinaryIO, output: Output) -> None:
    """Write the text of each page of a PDF."""
    try:
        pypdf = importlib.import_module("pypdf")
    except ImportError:
        end(NO_READER)
    reader = pypdf.PdfReader(file)
    if reader.is_encrypted and not reader.decrypt(""):
        end(ENCRYPTED)
    for page in reader.pages:
        for line in page.extract_text().split("\n"):
            output.line(line)
        sys.stdout.flush()


READERS: Mapping[str, Callable[[BinaryIO, Output], None]] = {
    "docx": word,
    "xlsx": sheets,
    "pptx": slides,
    "pdf": pdf,
}


def main() -> None:
    """Read standard input."""
    resource = importlib.import_module("resource")  # of Unix
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS))
    resource.setrlimit(resource.RLIMIT_DATA, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        READERS[sys.argv[1]](sys.stdin.buffer, Output())
    except MemoryError:
        end(TOO_LARGE)
    sys.stdout.flush()
    os._exit(0)  # taking a large document apart would cost time


if __name__ == "__main__":
    main()
