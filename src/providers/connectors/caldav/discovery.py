"""
From the address of a server to the calendars of an account, and to its address books.

RFC 6764; RFC 4791, 6.2.1; RFC 6352, 7.1.1.

The steps: docs/spec/upstream/caldav.md#discovery.
"""

from collections.abc import Sequence
from datetime import UTC, tzinfo
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from providers.connectors.caldav.account_memory import AccountMemory, CalendarState
from providers.connectors.caldav.content_lines import NotCalendar, parse_calendar
from providers.connectors.caldav.dav_client import DavClient
from providers.connectors.caldav.multistatus import CALDAV, CALENDAR_SERVER, CARDDAV, DAV, Resource
from providers.connectors.caldav.parsing_budget import elements
from providers.connectors.caldav.time_zones import zone_name
from providers.connectors.caldav.zone_definitions import defined_zones
from providers.connectors.caldav.zone_names import named_zone
from providers.failures import Missing, Refused
from providers.records.calendar import Calendar
from providers.turns import in_turns

_MAX_HOMES = 5
_MAX_CALENDARS = 500
_MAX_ZONE = 64 * 1024  # characters of the definition of a time zone
_MAX_ZONE_ELEMENTS = 2000

_TYPE = f"{DAV}resourcetype"
_PRINCIPAL = f"{DAV}current-user-principal"
_ADDRESSES = f"{CALDAV}calendar-user-address-set"
_VERSION = f"{CALENDAR_SERVER}getctag"
_SYNC_TOKEN = f"{DAV}sync-token"
_NAME = f"{DAV}displayname"
_COMPONENTS = f"{CALDAV}supported-calendar-component-set"
_ZONE = f"{CALDAV}calendar-timezone"
_STATE = (_TYPE, _VERSION, _SYNC_TOKEN, _ZONE)
_CALENDAR = (*_STATE, _NAME, _COMPONENTS)


class Homes(NamedTuple):
    """A kind of collections: where it is looked for, the property with its homes, and its name."""

    well_known: str
    property: str
    name: str


CALENDARS = Homes("/.well-known/caldav", f"{CALDAV}calendar-home-set", "calendars")
ADDRESS_BOOKS = Homes("/.well-known/carddav", f"{CARDDAV}addressbook-home-set", "address books")


class ListedCalendar(NamedTuple):
    """A calendar and its state."""

    calendar: Calendar
    state: CalendarState


async def find_homes(client: DavClient, start: str, memory: AccountMemory) -> None:
    """
    Find the collections that hold the calendars of the account, and its addresses.

    Args:
        client: The account's requests.
        start: The path that the operator gave; "" for none.
        memory: Is filled.

    Raises:
        Refused: The server names no calendars.
    """
    memory.homes, root = await homes_of(client, start, CALENDARS)
    memory.addresses = frozenset(
        href[len("mailto:") :].casefold()
        for href in root.hrefs(_ADDRESSES)
        if href.lower().startswith("mailto:")
    )


async def homes_of(client: DavClient, start: str, kind: Homes) -> tuple[tuple[str, ...], Resource]:
    """
    Return the paths of the collections that hold those of *kind*, and the account's principal.

    Raises:
        Refused: The server names none.
    """
    root = await _first_resource(client, start, kind)
    principals = root.hrefs(_PRINCIPAL)
    if principals:
        path = client.path_of(principals[0])
        (root, *_) = await client.properties(path, (kind.property, _ADDRESSES)) or [root]
    homes = [client.path_of(href) for href in root.hrefs(kind.property)[:_MAX_HOMES]]
    if not homes and start:
        homes = [start]
    if not homes:
        raise Refused(f"The server names no {kind.name}: give the address of its service.")
    return tuple(dict.fromkeys(homes)), root


async def list_calendars(client: DavClient, homes: Sequence[str]) -> list[ListedCalendar]:
    """Return the calendars for events in *homes*, by their paths."""
    listed: dict[str, ListedCalendar] = {}
    for home in homes:
        async for resource in in_turns(await client.properties(home, _CALENDAR, depth=1)):
            if _is_calendar(resource) and _holds_events(resource):
                path = client.path_of(resource.href)
                zone = _zone(resource)
                name = resource.text(_NAME).strip() or _last_segment(path)
                calendar = Calendar(id=path, name=name, time_zone=zone_name(zone))
                listed.setdefault(path, ListedCalendar(calendar, _state(resource, zone)))
    return [listed[path] for path in sorted(listed)][:_MAX_CALENDARS]


async def read_state(client: DavClient, calendar: str) -> CalendarState:
    """
    Read the state of a calendar.

    Raises:
        Missing: There is no such calendar.
    """
    resources = await client.properties(calendar, _STATE)
    if not resources or not _is_calendar(resources[0]):
        raise Missing
    return _state(resources[0], _zone(resources[0]))


async def _first_resource(client: DavClient, start: str, kind: Homes) -> Resource:
    """Return the first resource that names a principal or a home, else the last one."""
    resource = Resource("", {})
    for path in (start,) if start else (kind.well_known, "/"):
        try:
            resources = await client.properties(path, (_PRINCIPAL, kind.property, _ADDRESSES))
        except (Missing, Refused):
            if path != kind.well_known:
                raise
            continue
        resource = resources[0] if resources else resource
        if resource.hrefs(_PRINCIPAL) or resource.hrefs(kind.property):
            break
    return resource


def _is_calendar(resource: Resource) -> bool:
    types = resource.properties.get(_TYPE)
    return types is not None and types.first(f"{CALDAV}calendar") is not None


def _holds_events(resource: Resource) -> bool:
    """Return whether a calendar may hold events; it may when the server does not say."""
    components = resource.properties.get(_COMPONENTS)
    if components is None or not components.children:
        return True
    return any(
        component.attributes.get("name", "").upper() == "VEVENT"
        for component in components.every(f"{CALDAV}comp")
    )


def _state(resource: Resource, zone: tzinfo | None) -> CalendarState:
    version = resource.text(_VERSION).strip() or resource.text(_SYNC_TOKEN).strip()
    return CalendarState(version=version, zone=zone or UTC)


def _zone(resource: Resource) -> tzinfo | None:
    """Return the zone of a calendar; None when the server does not name it."""
    text = resource.text(_ZONE)
    if len(text) > _MAX_ZONE or elements(text) > _MAX_ZONE_ELEMENTS:
        return None
    try:
        definition = parse_calendar(text)
    except NotCalendar:
        return None
    zones = defined_zones(definition)
    # Servers keep the name and make their own definition, some of one offset.
    names = (part.text("TZID") for part in definition.components if part.name == "VTIMEZONE")
    return next((zone for name in names if (zone := named_zone(name) or zones.get(name))), None)


def _last_segment(path: str) -> str:
    return unquote(urlsplit(path).path.rstrip("/").rpartition("/")[2])
