"""Query parameters of each Google Calendar path; all others are rejected."""

from collections.abc import Mapping
from types import MappingProxyType

from sandbox.http import Request
from sandbox.provider_a.errors import GoogleError
from sandbox.provider_a.gmail import parameters

_WRITE = frozenset(
    {
        "conferenceDataVersion",
        "eventLabelVersion",
        "maxAttendees",
        "sendNotifications",
        "sendUpdates",
        "supportsAttachments",
    }
)
_CHANGE = _WRITE | {"alwaysIncludeEmail"}
_SHOW = frozenset({"alwaysIncludeEmail", "maxAttendees", "timeZone"})
_PAGES = frozenset({"maxResults", "pageToken", "showDeleted"})
_EVENTS = ("calendars", "*", "events")

# (method, path); "*" stands for an id
_PARAMETERS: Mapping[tuple[str, ...], frozenset[str]] = MappingProxyType(
    {
        ("GET", "users", "me", "calendarList"): _PAGES
        | {"minAccessRole", "showHidden", "showOwnOrganizationOnly", "syncToken"},
        ("GET", *_EVENTS): _SHOW
        | _PAGES
        | {
            "eventTypes",
            "iCalUID",
            "orderBy",
            "privateExtendedProperty",
            "q",
            "sharedExtendedProperty",
            "showHiddenInvitations",
            "singleEvents",
            "syncToken",
            "timeMax",
            "timeMin",
            "updatedMin",
        },
        ("POST", *_EVENTS): _WRITE,
        ("POST", *_EVENTS, "import"): _WRITE,
        ("GET", *_EVENTS, "*"): _SHOW,
        ("PATCH", *_EVENTS, "*"): _CHANGE,
        ("PUT", *_EVENTS, "*"): _CHANGE,
        ("DELETE", *_EVENTS, "*"): frozenset({"sendNotifications", "sendUpdates"}),
        ("GET", *_EVENTS, "*", "instances"): _SHOW
        | _PAGES
        | {"originalStart", "timeMax", "timeMin"},
    }
)


def check(request: Request, below: tuple[str, ...]) -> None:
    """
    Check the query parameters of a call; *below* is the path below the version.

    Raises:
        GoogleError: 400 for the first unknown parameter.
    """
    known = _known(request.method, below) | parameters.COMMON_PARAMETERS
    for name, _ in request.query:
        if name not in known:
            message = f'Unknown name "{name}": Cannot bind query parameter.'
            raise GoogleError(400, message, "invalid")


def _known(method: str, below: tuple[str, ...]) -> frozenset[str]:
    for pattern, names in _PARAMETERS.items():
        if pattern[0] != method or len(pattern) != len(below) + 1:
            continue
        if all(word in {"*", part} for word, part in zip(pattern[1:], below, strict=True)):
            return names
    return frozenset()
