"""
Time zones of a calendar file, matched to IANA zones.

A zone is matched by its name, by an older or vendor's name, or by its own definition.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import available_timezones

from icalendar import Timezone
from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from sandbox.calendar.records import load_zone
from sandbox.importing.ical_components import Component

_SAMPLE = timedelta(days=6, hours=7)
_SAMPLES = 130  # about two years, from the start of the year in question
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
    """The zones of one file."""

    def __init__(self, definitions: Iterable[Component]) -> None:
        """*definitions* are its VTIMEZONE components."""
        self._defined = {definition.text("TZID"): definition for definition in definitions}
        self._resolved: dict[tuple[str, int], str | None] = {}

    def name(self, tzid: str, year: int) -> str | None:
        """
        Return the IANA name of the zone *tzid*, as of *year*.

        None when the name is unknown and the file does not define it.

        Raises:
            UnlikeAnyZone: It is defined, but no IANA zone matches.
            ValueError: Its definition is malformed.
        """
        key = tzid, year
        if key not in self._resolved:
            self._resolved[key] = self._resolve(tzid.strip().strip('"'), year)
        return self._resolved[key]

    def _resolve(self, tzid: str, year: int) -> str | None:
        named = _resolve_name(tzid)
        if named is not None:
            return named
        definition = self._defined.get(tzid)
        if definition is None:
            return None
        named = _resolve_name(definition.text("X-LIC-LOCATION"))
        if named is not None:
            return named
        return _match_offsets(_clock(definition, tzid), year)


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
    """Resolve an IANA name, also after a vendor's prefix, or a Windows zone name."""
    parts = [part for part in tzid.split("/") if part]
    for start in range(max(0, len(parts) - 3), len(parts)):
        zone_name = iana_zone("/".join(parts[start:]))
        if zone_name is not None:
            return zone_name
    return WINDOWS_TO_OLSON.get(tzid)


def _clock(definition: Component, tzid: str) -> tzinfo:
    try:
        parsed: Any = Timezone.from_ical("\r\n".join(definition.source) + "\r\n")
        clock: tzinfo = parsed.to_tz(lookup_tzid=False)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as problem:
        raise ValueError(f"its time zone {tzid!r} cannot be read") from problem
    return clock


def _match_offsets(clock: tzinfo, year: int) -> str:
    """Return the IANA zone with the same offsets over the sampled years."""
    start = datetime(year, 1, 3, tzinfo=UTC)
    moments = [start + number * _SAMPLE for number in range(_SAMPLES)]
    # The zones of the Windows table come first: they are the usual ones.
    for name in dict.fromkeys((*WINDOWS_TO_OLSON.values(), *sorted(available_timezones()))):
        if _have_same_offsets(clock, load_zone(name), moments):
            return name
    raise NoMatchingZone(clock)


def _have_same_offsets(first: tzinfo, second: tzinfo, moments: list[datetime]) -> bool:
    return all(
        moment.astimezone(first).utcoffset() == moment.astimezone(second).utcoffset()
        for moment in moments
    )
