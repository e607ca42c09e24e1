"""Time zones by their IANA and Windows names, both of which Graph accepts."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from sandbox.calendar.records import EventTime, load_zone
from sandbox.provider_b.responses import GraphError

_IANA_NAMES: Mapping[str, str] = MappingProxyType(
    {own.casefold(): iana_name for own, iana_name in WINDOWS_TO_OLSON.items()} | {"utc": "UTC"}
)
# Zones that the table above lists under another city with the same rules.
_EXTRA_WINDOWS_NAMES: Mapping[str, str] = MappingProxyType(
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
_WINDOWS_NAMES: Mapping[str, str] = MappingProxyType(
    {iana_name: own for own, iana_name in WINDOWS_TO_OLSON.items()} | dict(_EXTRA_WINDOWS_NAMES)
)


def iana_name(name: str) -> str:
    """
    Return the IANA name of an IANA or Windows time zone.

    Raises:
        GraphError: The time zone is unknown.
    """
    known = _IANA_NAMES.get(name.casefold())
    if known is not None:
        return known
    try:
        load_zone(name)
    except ValueError:
        raise GraphError(
            400,
            "TimeZoneNotSupportedException",
            "A valid TimeZone value must be specified. The following TimeZone value is not "
            f"supported: '{name}'.",
        ) from None
    return name


def windows_name(zone_name: str) -> str:
    """Return the Windows name of an IANA time zone, or the IANA name when there is none."""
    return _WINDOWS_NAMES.get(zone_name, zone_name)


def date_time_time_zone(when: EventTime, zone_name: str | None) -> dict[str, Any]:
    """
    Write a `dateTimeTimeZone`: local time in the zone (None: UTC), without an offset.

    A whole day is its midnight in any zone.
    """
    place = "UTC" if zone_name is None else zone_name
    if when.is_day:
        return {"dateTime": _digits(when.local), "timeZone": place}
    local = when.instant.astimezone(load_zone(iana_name(place))).replace(tzinfo=None)
    return {"dateTime": _digits(local), "timeZone": place}


def _digits(local: datetime) -> str:
    return f"{local.isoformat(timespec='microseconds')}0"
