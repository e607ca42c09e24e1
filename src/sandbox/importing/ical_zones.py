"""
Time zones of a calendar file, matched to IANA zones.

A zone is matched by its name, by an older or vendor's name, or by its own definition.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from typing import Any
from zoneinfo import available_timezones

from icalendar import Timezone
from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from sandbox.calendar.records import load_zone
from sandbox.importing.ical_components import Component

_SAMPLE = timedelta(days=6, hours=7)
_SAMPLES = 130  # about two years, from the start of the year in question
_NUMBER = re.compile(r"(?<![ -])[ -]+\d{1,2}$")
_SHOWN_OFFSET = re.compile(r"^\((?:UTC|GMT)[^()]{0,8}\) *", re.IGNORECASE)
_AMERICAN = re.compile(r"(\w{1,20}) time \((?:us & canada|canada)\)", re.IGNORECASE)
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d\d))?", re.IGNORECASE)
_CONTINENTS = frozenset({"Africa", "America", "Asia", "Atlantic", "Australia", "Europe", "Pacific"})
_NAME = re.compile(r"[A-Za-z][\w+-]*(?:/[\w+-]+){0,2}", re.ASCII)


class NoMatchingZone(ValueError):
    """
    No IANA zone matches the definition.

    Attributes:
        clock: Time zone by the file's own definition.
    """

    def __init__(self, clock: tzinfo) -> None:
        super().__init__("its time zone is like none that is known")
        self.clock = clock


class ZoneTable:
    """
    The zones of one file.

    Attributes:
        unknown: Names that were asked for, and that nothing defines.
    """

    def __init__(self, definitions: Iterable[Component]) -> None:
        """*definitions* are its VTIMEZONE components."""
        self._defined = {definition.text("TZID"): definition for definition in definitions}
        self.unknown: dict[str, None] = {}
        self._resolved: dict[tuple[str, int], str | None] = {}

    def name(self, tzid: str, year: int) -> str | None:
        """
        Return the IANA name of the zone *tzid*, as of *year*.

        None when the name is unknown and the file does not define it.

        Raises:
            NoMatchingZone: It is defined, but no IANA zone matches.
            ValueError: Its definition is malformed.
        """
        key = tzid, year
        if key not in self._resolved:
            self._resolved[key] = self._resolve(tzid.strip().strip('"'), year)
            if self._resolved[key] is None:
                self.unknown[tzid] = None
        return self._resolved[key]

    def _resolve(self, tzid: str, year: int) -> str | None:
        named = _resolve_name(tzid)
        definition = self._defined.get(tzid)
        if definition is None:
            return named
        named = named or _resolve_name(definition.text("X-LIC-LOCATION"))
        # A definition of single changes is that of a few years; the name tells the others.
        if named is not None and not _has_rules(definition):
            return named
        try:
            clock = _clock(definition, tzid)
        except ValueError:
            if named is None:
                raise
            return named
        return _match_offsets(clock, year, named)


def iana_zone(name: str) -> str | None:
    """Return *name* when it is an IANA zone, else None."""
    if not _NAME.fullmatch(name):
        return None
    try:
        load_zone(name)
    except ValueError:
        return None
    return name


def _resolve_name(tzid: str) -> str | None:
    """
    Resolve a name of a zone, in any letter case.

    It is an IANA name, also after a vendor's prefix, a Windows name, perhaps numbered, an English
    display name of Windows, or an offset of whole hours.
    """
    parts = [part for part in tzid.casefold().replace(" ", "_").split("/") if part]
    for start in range(max(0, len(parts) - 3), len(parts)):
        zone_name = _iana_names().get("/".join(parts[start:]))
        if zone_name is not None:
            return zone_name
    for name in (tzid, _NUMBER.sub("", tzid)):
        if (windows := _windows_names().get(name.casefold())) is not None:
            return windows
    return _by_display_name(_SHOWN_OFFSET.sub("", tzid)) or _by_offset(tzid)


def _by_display_name(shown: str) -> str | None:
    if (american := _AMERICAN.match(shown)) is not None:
        return WINDOWS_TO_OLSON.get(f"{american[1].title()} Standard Time")
    cities = [city.strip().casefold().replace(" ", "_") for city in re.split("[,/:]", shown)]
    return next((_cities()[city] for city in cities if city in _cities()), None)


def _by_offset(tzid: str) -> str | None:
    match = _OFFSET.fullmatch(tzid.strip())
    if match is None or int(match[2]) > 14:
        return None
    if int(match[3] or 0) or int(match[2]) > 12:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3] or 0))
        raise NoMatchingZone(timezone(-offset if match[1] == "-" else offset))
    return f"Etc/GMT{'-' if match[1] == '+' else '+'}{int(match[2])}"


@cache
def _iana_names() -> Mapping[str, str]:
    names = {name.casefold(): name for name in sorted(available_timezones())}
    return {"us/pacific-new": "America/Los_Angeles", **names, "z": "UTC"}


@cache
def _windows_names() -> Mapping[str, str]:
    return {name.casefold(): iana_name for name, iana_name in WINDOWS_TO_OLSON.items()}


@cache
def _cities() -> Mapping[str, str]:
    return {
        name.rpartition("/")[2].casefold(): name
        for name in sorted(available_timezones())
        if name.partition("/")[0] in _CONTINENTS
    }


def _clock(definition: Component, tzid: str) -> tzinfo:
    try:
        parsed: Any = Timezone.from_ical("\r\n".join(definition.source) + "\r\n")
        clock: tzinfo = parsed.to_tz(lookup_tzid=False)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as problem:
        raise ValueError(f"its time zone {tzid!r} cannot be read") from problem
    return clock


def _has_rules(definition: Component) -> bool:
    return any(observance.first("RRULE") is not None for observance in definition.inner)


def _match_offsets(clock: tzinfo, year: int, named: str | None) -> str:
    """Return the IANA zone with the same offsets over the sampled years."""
    start = datetime(year, 1, 3, tzinfo=UTC)
    moments = [start + number * _SAMPLE for number in range(_SAMPLES)]
    # The zone of the name comes first, then those of the Windows table: they are the usual ones.
    usual = (*filter(None, [named]), *WINDOWS_TO_OLSON.values())
    for name in dict.fromkeys((*usual, *sorted(available_timezones()))):
        if _have_same_offsets(clock, load_zone(name), moments):
            return name
    raise NoMatchingZone(clock)


def _have_same_offsets(first: tzinfo, second: tzinfo, moments: list[datetime]) -> bool:
    return all(
        moment.astimezone(first).utcoffset() == moment.astimezone(second).utcoffset()
        for moment in moments
    )
