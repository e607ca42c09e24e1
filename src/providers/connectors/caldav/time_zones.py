"""
Time zones of a calendar object: docs/spec/upstream/caldav.md#time-zones.

A zone is found by its IANA name, also behind the prefix of a vendor; otherwise it is that of the
definition in the object.
"""

import io
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from dateutil.tz import tzical

from providers.connectors.caldav.content_lines import Component

_IANA = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}")
_UTC_NAMES = frozenset({"UTC", "GMT", "Z", "ETC/UTC"})
_MAX_OBSERVANCES = 100  # of one definition
# Once a year: other rules could take for ever.
_RULE = re.compile(
    r"FREQ=YEARLY"
    r"(?:;(?:INTERVAL=\d{1,3}|COUNT=\d{1,4}|UNTIL=\d{8}(?:T\d{6}Z?)?|WKST=[A-Z]{2}"
    r"|BYMONTH=\d{1,2}|BYDAY=[+-]?\d?[A-Z]{2}|BYMONTHDAY=-?\d{1,2}(?:,-?\d{1,2}){0,30}))*"
)
_OFFSET = re.compile(r"[+-]\d{4}(?:\d\d)?")
_STAMP = re.compile(r"\d{8}T\d{6}")

Zones = Mapping[str, tzinfo]


def find_zone(name: str, defined: Zones) -> tzinfo | None:
    """Return a zone by its TZID; None when nothing defines it."""
    return named_zone(name) or defined.get(name)


@lru_cache(maxsize=512)
def named_zone(name: str) -> tzinfo | None:
    """Return the zone of an IANA name, perhaps behind a prefix; None when there is none."""
    if name.upper() in _UTC_NAMES:
        return UTC
    parts = [part for part in name.strip().split("/") if part]
    for length in range(min(3, len(parts)), 0, -1):
        iana_name = "/".join(parts[-length:])
        if len(iana_name) > 64 or not _IANA.fullmatch(iana_name):
            continue
        try:
            return ZoneInfo(iana_name)
        except (KeyError, ValueError, OSError):
            continue
    return None


def zone_name(zone: tzinfo | None) -> str | None:
    """Return the IANA name of a zone; None when it has none."""
    if zone is UTC:
        return "UTC"
    return zone.key if isinstance(zone, ZoneInfo) else None


def defined_zones(calendar: Component) -> Zones:
    """Return the zones that a calendar defines and that have no known name, by TZID."""
    zones: dict[str, tzinfo] = {}
    for component in calendar.components:
        name = component.text("TZID")
        if component.name != "VTIMEZONE" or not name or named_zone(name) is not None:
            continue
        zone = named_zone(component.text("X-LIC-LOCATION")) or _zone_of(component)
        if zone is not None:
            zones[name] = zone
    return zones


def to_utc(local: datetime, zone: tzinfo) -> datetime:
    """
    Return the moment of a local time.

    A local time that a clock change skips takes the offset before the change; of one that occurs
    twice, the first is meant (RFC 5545, 3.3.5).

    Raises:
        OverflowError: It is out of range.
    """
    offset = local.replace(tzinfo=zone, fold=0).utcoffset() or timedelta()
    return (local - offset).replace(tzinfo=UTC)


def to_local(moment: datetime, zone: tzinfo) -> datetime:
    """Return the local time of a moment."""
    return moment.astimezone(zone).replace(tzinfo=None)


def _zone_of(definition: Component) -> tzinfo | None:
    """Return the zone of a definition; None when it is not valid."""
    observances = [part for part in definition.components if part.name in ("STANDARD", "DAYLIGHT")]
    if not 0 < len(observances) <= _MAX_OBSERVANCES:
        return None
    lines = ["BEGIN:VTIMEZONE", "TZID:zone"]
    for observance in observances:
        properties = _observance_lines(observance)
        if properties is None:
            return None
        lines += [f"BEGIN:{observance.name}", *properties, f"END:{observance.name}"]
    lines.append("END:VTIMEZONE")
    try:
        zone: tzinfo | None = tzical(io.StringIO("\r\n".join(lines))).get("zone")
    except (ValueError, KeyError, TypeError, IndexError, OverflowError):
        return None
    return zone


def _observance_lines(observance: Component) -> list[str] | None:
    """Return the lines of an observance that make its offsets; None when they are not valid."""
    start = observance.text("DTSTART")
    offsets = [observance.text(name) for name in ("TZOFFSETFROM", "TZOFFSETTO")]
    rule = observance.text("RRULE").upper()
    if not _STAMP.fullmatch(start) or not all(map(_OFFSET.fullmatch, offsets)):
        return None
    lines = [f"DTSTART:{start}", f"TZOFFSETFROM:{offsets[0]}", f"TZOFFSETTO:{offsets[1]}"]
    if rule:
        if not _RULE.fullmatch(rule):
            return None
        lines.append(f"RRULE:{rule}")
    dates = [text for line in observance.every("RDATE") for text in line.value.split(",")]
    if len(dates) > _MAX_OBSERVANCES or not all(map(_STAMP.fullmatch, dates)):
        return None
    return [*lines, *(f"RDATE:{date}" for date in dates)]
