"""People and joining links of an event: RFC 5545, 3.8.4; RFC 6068; RFC 7986, 5.11."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import unquote

from providers.connectors.caldav.content_lines import Component, ContentLine
from providers.records.calendar import AttendeeResponse

_RESPONSES: Mapping[str, AttendeeResponse] = MappingProxyType(
    {"ACCEPTED": "accepted", "DECLINED": "declined", "TENTATIVE": "tentative"}
)
_ROOMS = frozenset({"ROOM", "RESOURCE"})
_MAX_PEOPLE = 1000
_MAILTO = "mailto:"
# Exchange and Outlook write these for people without an address.
_NOBODY = frozenset({"", "invalid:nomail", "mailto:", "mailto:invalid:nomail", "mailto:unknown"})
_ADDRESS = re.compile(r"[^\s<>,;:\"]+@[^\s<>,;:\"]+")

_LINK_PROPERTIES = (
    "CONFERENCE",
    "X-GOOGLE-CONFERENCE",
    "X-MICROSOFT-SKYPETEAMSMEETINGURL",
    "X-MICROSOFT-ONLINEMEETINGEXTERNALLINK",
    "X-MICROSOFT-ONLINEMEETINGCONFLINK",
    "X-OPENPAAS-VIDEOCONFERENCE",
)
_LINK = re.compile(r"https?://[^\s<>\"'\\)\]]+", re.IGNORECASE)
# Addresses under which services let people join; other pages of theirs are not among them.
_JOINING = re.compile(
    r"https://(?:[\w-]+\.)*(?:"
    r"teams\.(?:microsoft|live)\.com/(?:l/meetup-join|meet)/|zoom\.(?:us|com)/(?:j|my|w|s)/"
    r"|zoomgov\.com/j/|meet\.google\.com/[a-z]|webex\.com/(?:meet/|join/|[\w./-]*j\.php)"
    r"|(?:meet\.)?goto\.com/|gotomeeting\.com/join/|meet\.jit\.si/\w|whereby\.com/\w"
    r"|bluejeans\.com/\w|chime\.aws/\d)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Person:
    """A person who is invited. *response* is that of `records.calendar.Attendee`."""

    email: str
    name: str | None
    response: AttendeeResponse
    is_room: bool


def people(event: Component, name: str) -> Iterator[Person]:
    """Yield the people of a property, each address once."""
    addresses: set[str] = set()
    for line in event.every(name):
        email = _address(line)
        if not email or email.casefold() in addresses or len(addresses) == _MAX_PEOPLE:
            continue
        addresses.add(email.casefold())
        shown = line.params.get("CN", "").strip()
        yield Person(
            email,
            shown if shown and shown != email else None,
            _RESPONSES.get(line.params.get("PARTSTAT", "").upper(), "needsAction"),
            line.params.get("CUTYPE", "").upper() in _ROOMS,
        )


def has_unread(event: Component, name: str) -> bool:
    """Return whether a property has people with an address that `people` leaves out."""
    lines = list(event.every(name))
    return len(lines) > _MAX_PEOPLE or any(
        not _address(line) and line.value.strip().lower() not in _NOBODY
        for line in lines
        if line.params.get("CUTYPE", "").upper() not in _ROOMS
    )


def join_url(event: Component) -> str | None:
    """
    Return where to join a video conference; None if the event names no such address.

    Of several entries one for video comes first. Without any, an address of a known service in
    another property counts.
    """
    lines = [line for name in _LINK_PROPERTIES for line in event.every(name)]
    lines.sort(key=lambda line: "VIDEO" not in line.params.get("FEATURE", "VIDEO").upper())
    for line in lines:
        url = line.text.strip()
        if _LINK.fullmatch(url):
            return url
    for name in ("LOCATION", "URL", "DESCRIPTION"):
        for match in _LINK.finditer(event.text(name)):
            url = match[0].rstrip(".,;!?")
            if _JOINING.match(url):
                return url
    return None


def _address(line: ContentLine) -> str:
    """Return the e-mail address of a person; "" when it has none."""
    value = line.value.strip()
    begin = value.lower().rfind(_MAILTO)
    if begin >= 0:
        # RFC 6068: header fields follow a question mark, and further recipients a comma.
        recipients, _, _ = value[begin + len(_MAILTO) :].partition("?")
        address = _plain(unquote(recipients.split(",")[0]))
    else:
        address = ""
    return (
        address
        or _plain(line.params.get("EMAIL", ""))
        or (_plain(value) if ":" not in value else "")
    )


def _plain(text: str) -> str:
    address = text.strip().strip("<>").strip()
    return address if _ADDRESS.fullmatch(address) else ""
