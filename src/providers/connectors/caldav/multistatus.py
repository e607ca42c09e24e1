"""
Bodies of WebDAV: RFC 4918, 14; RFC 4791, 9.

Answers are parsed by expat. A document type declaration, the only place where entities can be
declared, is refused, and so is deep nesting; the size is limited before.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from xml.parsers import expat
from xml.sax.saxutils import escape

from providers.failures import Broken
from providers.ports.calendar import Span

DAV = "DAV: "
CALDAV = "urn:ietf:params:xml:ns:caldav "
CALENDAR_SERVER = "http://calendarserver.org/ns/ "

_PREFIXES: Mapping[str, str] = MappingProxyType({DAV: "D", CALDAV: "C", CALENDAR_SERVER: "S"})
_NAMESPACES = " ".join(f'xmlns:{prefix}="{name[:-1]}"' for name, prefix in _PREFIXES.items())
_MAX_DEPTH = 32


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


def parse_multistatus(body: bytes) -> list[Resource]:
    """
    Return the resources of an answer in their order, without those that are missing.

    Raises:
        Broken: The body is no multi-status answer.
    """
    root = _parse(body)
    if root.name != f"{DAV}multistatus":
        raise Broken
    return [
        Resource(href.text.strip(), _properties(response))
        for response in root.every(f"{DAV}response")
        if (href := response.first(f"{DAV}href")) is not None
        and response.first(f"{DAV}propstat") is not None
    ]


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
    wanted = _prop([f"{DAV}getetag", f"{CALDAV}calendar-data"])
    return _document("C:calendar-multiget", wanted + listed)


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
    status = propstat.first(f"{DAV}status")
    return status is not None and status.text.partition(" ")[2].lstrip().startswith("2")


def _parse(body: bytes) -> Element:
    root = Element("")
    open_elements = [root]

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(open_elements) > _MAX_DEPTH:
            raise Broken
        element = Element(name, attributes)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def end(_name: str) -> None:
        open_elements.pop()

    def refuse(*_parts: object) -> None:
        raise Broken

    def text(content: str) -> None:
        open_elements[-1].add_text(content)

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, ValueError, LookupError):
        raise Broken from None
    return root.children[0]
