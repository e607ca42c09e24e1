"""
Which zone of the IANA data a calendar file means: by name, by an older or vendor's name, or by what
its own definition does.
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
_SAMPLES = 130  # about two years, from the beginning of the year that is asked about
_NAME = re.compile(r"[A-Za-z][\w+-]*(?:/[\w+-]+){0,2}", re.ASCII)


class NoMatchingZone(ValueError):
    """
    No zone of the IANA data is like it.

    Attributes:
        clock: What its own definition makes of times.
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
        Return the IANA name for what the file calls *tzid*, as it is from *year* on.

        None when the name says nothing and the file does not define it.

        Raises:
            UnlikeAnyZone: It is defined, but like no zone there is.
            ValueError: Its definition cannot be read.
        """
        key = tzid, year
        if key not in self._resolved:
            self._resolved[key] = self._resolve(tzid.strip().strip('"'), year)
        return self._resolved[key]

    def _resolve(self, tzid: str, year: int) -> str | None:
        named = _named(tzid)
        if named is not None:
            return named
        definition = self._defined.get(tzid)
        if definition is None:
            return None
        named = _named(definition.text("X-LIC-LOCATION"))
        if named is not None:
            return named
        return _alike(_clock(definition, tzid), year)


def iana_zone(name: str) -> str | None:
    """Return a zone's name when it is one of the IANA data."""
    if not _NAME.fullmatch(name):
        return None
    try:
        load_zone(name)
    except ValueError:
        return None
    return name


def _named(tzid: str) -> str | None:
    """Read a name of the IANA data, also one behind a vendor's prefix, or of another vendor."""
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


def _alike(clock: tzinfo, year: int) -> str:
    """Find the zone whose clocks show the same all through the years that matter."""
    start = datetime(year, 1, 3, tzinfo=UTC)
    moments = [start + number * _SAMPLE for number in range(_SAMPLES)]
    # Zones that others are named after come first, so that the usual ones are found.
    for name in dict.fromkeys((*WINDOWS_TO_OLSON.values(), *sorted(available_timezones()))):
        if _same(clock, load_zone(name), moments):
            return name
    raise NoMatchingZone(clock)


def _same(first: tzinfo, second: tzinfo, moments: list[datetime]) -> bool:
    return all(
        moment.astimezone(first).utcoffset() == moment.astimezone(second).utcoffset()
        for moment in moments
    )
