"""
Bodies of WebDAV: RFC 4918, 14; RFC 4791, 9; RFC 6352, 10.

Answers are parsed by expat. A document type declaration, the only place where entities can be
declared, is refused, and so is deep nesting; the size is limited before, and the number of elements
meanwhile. A long answer is parsed in a thread.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape

from providers.failures import Broken
from providers.ports.calendar import Span
from providers.turns import in_thread

DAV = "DAV: "
CALDAV = "urn:ietf:params:xml:ns:caldav "
CARDDAV = "urn:ietf:params:xml:ns:carddav "
CALENDAR_SERVER = "http://calendarserver.org/ns/ "

_PREFIXES: Mapping[str, str] = MappingProxyType(
    {DAV: "D", CALDAV: "C", CARDDAV: "A", CALENDAR_SERVER: "S"}
)
_NAMESPACES = " ".join(f'xmlns:{prefix}="{name[:-1]}"' for name, prefix in _PREFIXES.items())
# docs/spec/upstream/caldav.md#bounds
_MAX_DEPTH = 32
_MAX_ELEMENTS = 100_000  # with their attributes
_MAX_HREF = 4096  # characters
_CHUNK = 64 * 1024  # bytes that are parsed at a time
_MAX_SILENT_CHUNKS = 3  # one after another within one tag or comment
_LONG = 16 * 1024  # bytes; dense ones take some 10 milliseconds


@dataclass(slots=True)
class Element:
    """
    An element of an answer.

    Attributes:
        name: Namespace, a blank, and the local name.
    """

    name: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    children: "list[Element]" = field(default_factory=list)
    _text: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its own text, without that of its children."""
        return "".join(self._text)

    def add_text(self, text: str) -> None:
        self._text.append(text)

    def every(self, name: str) -> "Iterator[Element]":
        """Yield the children of this name."""
        return (child for child in self.children if child.name == name)

    def first(self, name: str) -> "Element | None":
        """Return the first child of this name."""
        return next(self.every(name), None)


@dataclass(frozen=True, slots=True)
class Resource:
    """
    A resource of a multi-status answer.

    Attributes:
        href: As the server wrote it.
        properties: The properties that it has, by their names.
    """

    href: str
    properties: Mapping[str, Element]

    def text(self, name: str) -> str:
        """Return the text of a property; "" when it has none."""
        element = self.properties.get(name)
        return "" if element is None else element.text

    def hrefs(self, name: str) -> list[str]:
        """Return the addresses in a property."""
        element = self.properties.get(name)
        if element is None:
            return []
        return [href.text.strip() for href in element.every(f"{DAV}href")]


class Multistatus(NamedTuple):
    """
    An answer about several resources.

    Attributes:
        resources: In their order.
        is_whole: False when there are more than were to be read, or than the server tells.
    """

    resources: Sequence[Resource]
    is_whole: bool


async def read_multistatus(body: bytes, *, most: int) -> Multistatus:
    """
    Return the first *most* resources of an answer, without those that are missing.

    Raises:
        Broken: The body is not a multi-status answer, or has too many elements.
    """
    is_long = len(body) > _LONG
    return await in_thread(lambda: parse_multistatus(body, most=most), is_long=is_long)


def parse_multistatus(body: bytes, *, most: int) -> Multistatus:
    """Do as `read_multistatus`, at once."""
    reader = _Reader(most)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = reader.refuse
    try:
        for start in range(0, len(body), _CHUNK):
            parser.Parse(body[start : start + _CHUNK], False)
            reader.note_chunk()
        parser.Parse(b"", True)
    except _Enough:
        pass
    except (expat.ExpatError, ValueError, LookupError):
        raise Broken from None
    if not reader.is_multistatus:
        raise Broken
    is_whole = len(reader.resources) <= most and not reader.is_truncated
    return Multistatus(reader.resources[:most], is_whole=is_whole)


def propfind_body(names: Sequence[str]) -> bytes:
    """Return the body of a PROPFIND for properties."""
    return _document("D:propfind", _prop(names))


def query_body(span: Span) -> bytes:
    """Return the body of a REPORT for the entity tags of the events that may overlap a span."""
    time_range = f'<C:time-range start="{_stamp(span.start)}" end="{_stamp(span.end)}"/>'
    events = f'<C:comp-filter name="VEVENT">{time_range}</C:comp-filter>'
    calendar = f'<C:filter><C:comp-filter name="VCALENDAR">{events}</C:comp-filter></C:filter>'
    return _document("C:calendar-query", _prop([f"{DAV}getetag"]) + calendar)


def multiget_body(hrefs: Sequence[str]) -> bytes:
    """Return the body of a REPORT for calendar objects."""
    listed = "".join(f"<D:href>{escape(href)}</D:href>" for href in hrefs)
    projection = _prop([f"{DAV}getetag", f"{CALDAV}calendar-data"])
    return _document("C:calendar-multiget", projection + listed)


def cards_body(properties: Sequence[str], word: str, *, most: int) -> bytes:
    """Return the body of a REPORT for cards with *word* in one of *properties*; "": for any."""
    match = f'<A:text-match collation="i;unicode-casemap">{escape(word)}</A:text-match>'
    filters = (f'<A:prop-filter name="{name}">{match}</A:prop-filter>' for name in properties)
    content = "".join(filters) if word else ""
    members = "".join(f'<A:prop name="{name}"/>' for name in ("VERSION", *properties))
    return _document(
        "A:addressbook-query",
        f"<D:prop><A:address-data>{members}</A:address-data></D:prop>"
        f'<A:filter test="anyof">{content}</A:filter>'
        f"<A:limit><A:nresults>{most}</A:nresults></A:limit>",
    )


def _document(name: str, content: str) -> bytes:
    declaration = '<?xml version="1.0" encoding="utf-8"?>'
    return f"{declaration}<{name} {_NAMESPACES}>{content}</{name}>".encode()


def _prop(names: Sequence[str]) -> str:
    return "<D:prop>" + "".join(f"<{_prefixed(name)}/>" for name in names) + "</D:prop>"


def _prefixed(name: str) -> str:
    namespace, _, local = name.rpartition(" ")
    return f"{_PREFIXES[namespace + ' ']}:{local}"


def _stamp(time: datetime) -> str:
    return f"{time.year:04}{time:%m%dT%H%M%SZ}"


def _properties(response: Element) -> Mapping[str, Element]:
    return {
        element.name: element
        for propstat in response.every(f"{DAV}propstat")
        if _is_success(propstat)
        for prop in propstat.every(f"{DAV}prop")
        for element in prop.children
    }


def _is_success(propstat: Element) -> bool:
    return _status(propstat).startswith("2")


def _status(element: Element) -> str:
    """Return the digits of a status, and its text; "" without one."""
    status = element.first(f"{DAV}status")
    return "" if status is None else status.text.partition(" ")[2].lstrip()


class _Enough(Exception):
    """All resources have been read that are wanted."""


class _Reader:
    """Collects the resources; the handlers of expat."""

    def __init__(self, most: int) -> None:
        self.resources: list[Resource] = []
        self.is_multistatus = False
        self.is_truncated = False  # RFC 6352, 8.6.2
        self._most = most
        self._elements = 0
        self._silent_chunks = 0
        self._open = [Element("")]

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._silent_chunks = 0
        self._elements += 1 + len(attributes)
        if len(self._open) > _MAX_DEPTH or self._elements > _MAX_ELEMENTS:
            raise Broken
        if len(self._open) == 1:
            self.is_multistatus = name == f"{DAV}multistatus"
        element = Element(name, attributes)
        self._open[-1].children.append(element)
        self._open.append(element)

    def end(self, _name: str) -> None:
        self._silent_chunks = 0
        element = self._open.pop()
        if len(self._open) == 2:  # the multi-status itself is open
            self._open[-1].children.clear()
            if element.name == f"{DAV}response":
                self._add(element)

    def text(self, content: str) -> None:
        self._silent_chunks = 0
        self._open[-1].add_text(content)

    def refuse(self, *_parts: object) -> None:
        raise Broken

    def note_chunk(self) -> None:
        """Note that a chunk has been parsed; a tag that does not end takes ever longer."""
        self._silent_chunks += 1
        if self._silent_chunks > _MAX_SILENT_CHUNKS:
            raise Broken

    def _add(self, response: Element) -> None:
        href = response.first(f"{DAV}href")
        address = "" if href is None else href.text.strip()
        self.is_truncated = self.is_truncated or _status(response).startswith("507")
        if not address or len(address) > _MAX_HREF or response.first(f"{DAV}propstat") is None:
            return
        self.resources.append(Resource(address, _properties(response)))
        if len(self.resources) > self._most:
            raise _Enough
