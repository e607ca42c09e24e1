"""Properties of an event in a calendar file: texts, people, reminders."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from urllib.parse import unquote

from sandbox.calendar.records import Attendee, EventContent, EventTime
from sandbox.importing import ical_components
from sandbox.importing.ical_components import Component, Line, unescape

_RESPONSES: Mapping[str, str] = MappingProxyType(
    {"ACCEPTED": "accepted", "DECLINED": "declined", "TENTATIVE": "tentative"}
)
_VIDEO_PROPERTIES = ("CONFERENCE", "X-GOOGLE-CONFERENCE", "X-MICROSOFT-SKYPETEAMSMEETINGURL")
_WEB = ("https://", "http://")


def read_content(
    component: Component, start: EventTime, end: EventTime, *, account: str
) -> EventContent:
    """Return the content of an event; *account* is the calendar owner's address."""
    guests = tuple(read_attendees(component))
    own_responses = [
        guest.response for guest in guests if guest.email.casefold() == account.casefold()
    ]
    status = component.text("STATUS").lower()
    html = next(
        (line.text for line in component.every("X-ALT-DESC")
         if line.params.get("FMTTYPE", "").lower() == "text/html"),
        "",
    )  # fmt: skip
    plain = component.text("DESCRIPTION")
    return EventContent(
        start=start,
        end=end,
        title=component.text("SUMMARY") or None,
        description=plain or html,
        is_html=not plain and bool(html),
        location=component.text("LOCATION"),
        organiser=read_organiser(component),
        attendees=guests,
        status=status if status in {"tentative", "cancelled"} else "confirmed",
        shows_as=_shows_as(component),
        video_link=_video(component),
        categories=tuple(
            dict.fromkeys(
                name
                for line in component.every("CATEGORIES")
                for name in ical_components.split_values(line.value)
            )
        ),
        is_private=component.text("CLASS").upper() in {"PRIVATE", "CONFIDENTIAL"},
        my_response=own_responses[0] if own_responses else "accepted",
        reminder=_reminder(component),
        importance=_importance(component),
    )


def _shows_as(component: Component) -> str:
    busy_status = component.text("X-MICROSOFT-CDO-BUSYSTATUS").upper()
    known_states = {"OOF": "oof", "TENTATIVE": "tentative", "WORKINGELSEWHERE": "workingElsewhere"}
    if busy_status in known_states:
        return known_states[busy_status]
    is_free = busy_status == "FREE" or component.text("TRANSP").upper() == "TRANSPARENT"
    return "free" if is_free else "busy"


def _video(component: Component) -> str | None:
    links = [line for name in _VIDEO_PROPERTIES for line in component.every(name)]
    links.sort(key=lambda line: "VIDEO" not in line.params.get("FEATURE", "VIDEO").upper())
    addresses = (line.text.strip() for line in links)
    return next((link for link in addresses if link.lower().startswith(_WEB)), None)


def _importance(component: Component) -> str:
    priority = parse_integer(component.text("PRIORITY"))
    if priority in {0, 5}:
        return "normal"
    return "high" if priority < 5 else "low"


def _reminder(component: Component) -> int | None:
    """Return the earliest reminder in minutes before the start, or None."""
    minutes: list[int] = []
    for alarm in component.inner:
        line = alarm.first("TRIGGER") if alarm.name == "VALARM" else None
        if line is None or line.params.get("RELATED", "START").upper() != "START":
            continue
        try:
            offset = ical_components.parse_duration(line.value)
            minutes.append(int(-(offset.days + offset.exact).total_seconds() // 60))
        except (ValueError, OverflowError):
            continue
    return max((minute for minute in minutes if minute >= 0), default=None)


def parse_integer(text: str) -> int:
    """Parse an integer of at most nine digits, else 0."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def read_organiser(component: Component) -> Attendee | None:
    """Return the organiser, or None."""
    line = component.first("ORGANIZER")
    if line is None or not email_address(line):
        return None
    return Attendee(email=email_address(line), name=_name(line), response="accepted")


def read_attendees(component: Component) -> Iterator[Attendee]:
    """Yield the attendees in order, each address once."""
    seen = set()
    for line in component.every("ATTENDEE"):
        email = email_address(line)
        if not email or email.casefold() in seen:
            continue
        seen.add(email.casefold())
        yield Attendee(
            email=email,
            name=_name(line),
            response=_RESPONSES.get(line.params.get("PARTSTAT", "").upper(), "needsAction"),
            is_optional=line.params.get("ROLE", "").upper() == "OPT-PARTICIPANT",
            is_resource=line.params.get("CUTYPE", "").upper() in {"ROOM", "RESOURCE"},
        )


def email_address(line: Line) -> str:
    """Return a calendar user's address, from ``mailto:`` or the EMAIL parameter, else ""."""
    value = line.value.strip()
    if value.lower().startswith("mailto:"):
        address = unquote(unescape(value[7:]).partition("?")[0]).partition(",")[0].strip()
        if "@" in address and not any(character.isspace() for character in address):
            return address
    named = line.params.get("EMAIL", "")
    return named or (value if "@" in value and ":" not in value else "")


def _name(line: Line) -> str:
    name = unescape(line.params.get("CN", "")).strip().strip('"')
    return "" if name == email_address(line) else name
