"""
The parts of a raw message with their places, so that one can be changed and all others stay.

Nothing is decoded. Which parts are texts and which are files is decided as for every message
(`message_parts`).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from providers.mail import addresses, message_parts, parameters
from providers.mail.message_parts import MAX_PARTS, Arrangement

_MAX_DEPTH = 20
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_NAME = re.compile(rb"([!-9;-~]{1,200})[ \t]*:")
_EMPTY_LINE = re.compile(rb"\r?\n(\r?\n)")


@dataclass(frozen=True, slots=True)
class HeaderField:
    """
    A header field as it is written, its line ends included.

    Attributes:
        name: In lower case; "" for a line that is not a field.
    """

    name: str
    written: bytes

    @property
    def value(self) -> str:
        """The value on one line."""
        return " ".join(self.written.partition(b":")[2].decode("utf-8", "replace").split())


@dataclass(slots=True, eq=False)
class RawPart:
    """
    A part; implements `message_parts.MailPart`.

    Attributes:
        fields: Its headers in order.
        start, body, end: Positions in the message: of its headers, of what follows them, and its
            end, without the line end that belongs to the boundary behind it.
        line, stop: Where the boundary before it begins, and the boundary behind it.
        boundary: Of a multipart with parts, else empty.
    """

    fields: Sequence[HeaderField]
    start: int
    body: int
    end: int
    line: int
    stop: int
    boundary: bytes = b""
    children: list["RawPart"] = field(default_factory=list)

    def header(self, name: str) -> str:
        """Return the value of the first header of this lower-case name; "" without one."""
        return next((entry.value for entry in self.fields if entry.name == name), "")

    def _parameter(self, header: str, name: str) -> str:
        return parameters.join(parameters.split(self.header(header))).get(name, "")

    @property
    def media_type(self) -> str:
        kind = parameters.without_comment(self.header("content-type").partition(";")[0]).lower()
        return kind if "/" in kind else "text/plain"

    @property
    def filename(self) -> str:
        name = self._parameter("content-disposition", "filename")
        return addresses.decode_words(name or self._parameter("content-type", "name"))

    @property
    def disposition(self) -> str:
        value = self.header("content-disposition").partition(";")[0]
        return parameters.without_comment(value).lower()

    @property
    def has_content_id(self) -> bool:
        return bool(self.header("content-id"))

    @property
    def encoded_size(self) -> int:
        return self.end - self.body

    @property
    def root(self) -> int:
        if self.media_type != "multipart/related":
            return 0
        identifiers = [child.header("content-id") for child in self.children]
        return message_parts.root_of(self._parameter("content-type", "start"), identifiers)

    def named_boundary(self) -> bytes:
        """Return the boundary that the headers name; empty if it is not multipart."""
        if not self.media_type.startswith("multipart/"):
            return b""
        return self._parameter("content-type", "boundary").encode("utf-8", "replace")

    def descendants(self) -> Iterator["RawPart"]:
        """Yield the part and all within it."""
        yield self
        for child in self.children:
            yield from child.descendants()


def parse(raw: bytes) -> RawPart:
    """Return the parts of a message; those that are too many or too deep stay closed."""
    return _Reader(raw).read((0, len(raw)), line=0, stop=len(raw), depth=0)


def arrange(root: RawPart) -> Arrangement[RawPart]:
    """Return what of a message is text, and what is an attachment."""
    return message_parts.arrange(root)


def split_fields(head: bytes) -> list[HeaderField]:
    """Return the fields of a head, all bytes of it in order."""
    fields: list[HeaderField] = []
    for line in _LINE.findall(head):
        name = _NAME.match(line)
        if line[:1] in (b" ", b"\t") and fields:
            fields[-1] = HeaderField(fields[-1].name, fields[-1].written + line)
        else:
            fields.append(HeaderField(name[1].decode("ascii").lower() if name else "", line))
    return fields


class _Reader:
    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._left = MAX_PARTS

    def read(self, span: tuple[int, int], *, line: int, stop: int, depth: int) -> RawPart:
        """Read the part in *span*."""
        start, end = span
        head_end, body = self._head(start, end)
        fields = split_fields(self._raw[start:head_end])
        part = RawPart(fields, start, body, end, line, stop)
        boundary = part.named_boundary()
        if boundary and depth < _MAX_DEPTH:
            part.children = list(self._children(part, b"--" + boundary, depth + 1))
            part.boundary = boundary if part.children else b""
        return part

    def _head(self, start: int, end: int) -> tuple[int, int]:
        """Return where the headers end, and where the body begins."""
        for line_end in (b"\r\n", b"\n"):
            if self._raw.startswith(line_end, start, end):
                return start, start + len(line_end)
        match = _EMPTY_LINE.search(self._raw, start, end)
        return (end, end) if match is None else (match.start(1), match.end())

    def _children(self, part: RawPart, marker: bytes, depth: int) -> Iterator[RawPart]:
        opened: tuple[int, int] | None = None  # the line of a boundary
        at = part.body
        while (line := self._raw.find(marker, at, part.end)) >= 0 and self._left:
            line_end = self._raw.find(b"\n", line, part.end) + 1 or part.end
            rest = self._raw[line + len(marker) : line_end].strip()
            at = line_end
            if rest not in (b"", b"--") or self._raw[line - 1 : line] != b"\n":
                continue
            if opened is not None:
                self._left -= 1
                end = max(self._without_line_end(line), opened[1])
                yield self.read((opened[1], end), line=opened[0], stop=line, depth=depth)
            if rest:
                return
            opened = (line, line_end)

    def _without_line_end(self, position: int) -> int:
        before = self._raw[max(position - 2, 0) : position]
        return position - (2 if before == b"\r\n" else 1)
