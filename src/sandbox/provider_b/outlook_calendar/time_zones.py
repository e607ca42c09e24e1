"""Time zones by either of the names that provider B takes: IANA's, or those of its own systems."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from sandbox.calendar.records import EventTime, load_zone
from sandbox.provider_b.responses import Refusal

_BY_NAME: Mapping[str, str] = MappingProxyType(
    {own.casefold(): iana for own, iana in WINDOWS_TO_OLSON.items()} | {"utc": "UTC"}
)
# Zones that the table above has under another city of the same rules.
_ALSO: Mapping[str, str] = MappingProxyType(
    {
        "UTC": "UTC",
        "Europe/Stockholm": "W. Europe Standard Time",
        "Europe/Oslo": "W. Europe Standard Time",
        "Europe/Copenhagen": "Romance Standard Time",
        "Europe/Madrid": "Romance Standard Time",
        "Europe/Zagreb": "Central European Standard Time",
        "Europe/Prague": "Central Europe Standard Time",
        "Europe/Helsinki": "FLE Standard Time",
        "Europe/Dublin": "GMT Standard Time",
    }
)
_OWN: Mapping[str, str] = MappingProxyType(
    {iana: own for own, iana in WINDOWS_TO_OLSON.items()} | dict(_ALSO)
)


def iana(name: str) -> str:
    """
    Return the IANA name of a zone that a client named.

    Raises:
        Refusal: There is no such zone.
    """
    known = _BY_NAME.get(name.casefold())
    if known is not None:
        return known
    try:
        load_zone(name)
    except ValueError:
        raise Refusal(
            400,
            "TimeZoneNotSupportedException",
            "A valid TimeZone value must be specified. The following TimeZone value is not "
            f"supported: '{name}'.",
        ) from None
    return name


def own_name(zone_name: str) -> str:
    """Return upstream's own name of a zone; of one that it has no name for, IANA's."""
    return _OWN.get(zone_name, zone_name)


def written(when: EventTime, zone_name: str | None) -> dict[str, Any]:
    """
    Write a time by the clock of the zone that was asked for (None: UTC), without an offset.

    A day is its midnight whatever the zone.
    """
    place = "UTC" if zone_name is None else zone_name
    if when.is_day:
        return {"dateTime": _digits(when.local), "timeZone": place}
    local = when.instant.astimezone(load_zone(iana(place))).replace(tzinfo=None)
    return {"dateTime": _digits(local), "timeZone": place}


def _digits(local: datetime) -> str:
    return f"{local.isoformat(timespec='microseconds')}0"
