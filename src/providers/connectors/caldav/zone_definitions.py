"""Zones by their definitions, VTIMEZONE: RFC 5545, 3.6.5."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache

from providers.connectors.caldav.bounded_rules import Work
from providers.connectors.caldav.content_lines import Component
from providers.connectors.caldav.ical_times import EventTime
from providers.connectors.caldav.recurrence import Series, parse_rule
from providers.connectors.caldav.time_zones import DefinedZone, Onset
from providers.connectors.caldav.zone_names import named_zone
from providers.ports.calendar import Span

_MAX_ZONES = 50  # of one object
_MAX_OBSERVANCES = 100  # of one definition
_MAX_DATES = 1000  # of one observance
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)(?::?(\d\d))?", re.ASCII)
_STAMP = re.compile(r"(\d{8})(?:T(\d{6}))?Z?", re.ASCII)
_EXPANDED = Span(datetime(1970, 1, 1, tzinfo=UTC), datetime(2071, 1, 1, tzinfo=UTC))

Property = tuple[str, str]  # name and value
Observance = tuple[Property, ...]


def defined_zones(calendar: Component) -> Mapping[str, tzinfo]:
    """Return the zones that a calendar defines, by TZID; those that are not valid are left out."""
    zones: dict[str, tzinfo] = {}
    definitions = [part for part in calendar.components if part.name == "VTIMEZONE"]
    for definition in definitions[:_MAX_ZONES]:
        name = definition.text("TZID")
        observances = tuple(
            tuple((line.name, line.value.strip()) for line in part.lines if line.name in _READ)
            for part in definition.components
            if part.name in ("STANDARD", "DAYLIGHT")
        )
        zone = _zone_of(observances, named_zone(name) or named_zone(_location(definition)))
        if name and zone is not None:
            zones.setdefault(name, zone)
    return zones


_READ = frozenset({"DTSTART", "TZOFFSETFROM", "TZOFFSETTO", "RRULE", "RDATE"})


def _location(definition: Component) -> str:
    return definition.text("X-LIC-LOCATION")


@lru_cache(maxsize=256)  # most objects of a calendar have the same few definitions
def _zone_of(observances: tuple[Observance, ...], named: tzinfo | None) -> tzinfo | None:
    """Return the zone of a definition; None when it is not valid, or too much work."""
    if not 0 < len(observances) <= _MAX_OBSERVANCES:
        return None
    work = Work()
    onsets: list[Onset] = []
    try:
        for observance in observances:
            onsets += _onsets(observance, work)
    except (ValueError, KeyError, OverflowError):
        return None
    if work.was_cut or not onsets:
        return None
    endless = any(
        name == "RRULE" and "UNTIL=" not in value.upper() and "COUNT=" not in value.upper()
        for observance in observances
        for name, value in observance
    )
    return DefinedZone(onsets, endless=endless, named=named)


def _onsets(observance: Observance, work: Work) -> Iterator[Onset]:
    """
    Yield the onsets of an observance.

    Raises:
        ValueError, KeyError: It is not valid.
    """
    properties = dict(observance)
    before, after = (_offset(properties[name]) for name in ("TZOFFSETFROM", "TZOFFSETTO"))
    clock = timezone(before)
    first = EventTime(_local(properties["DTSTART"]), clock)
    rules = [parse_rule(value, first) for name, value in observance if name == "RRULE"]
    dates = [
        EventTime(_local(text.partition("/")[0]), clock)
        for name, value in observance
        if name == "RDATE"
        for text in value.split(",")
        if text.strip()
    ]
    if len(dates) > _MAX_DATES:
        raise ValueError("too many dates")
    starts = Series(first, tuple(rules), tuple(dates)).starts(_EXPANDED, work)
    if not rules and first.utc < _EXPANDED.start:
        starts = [first, *starts]
    for start in starts:
        yield Onset(start.utc.replace(tzinfo=None), before, after)


def _offset(text: str) -> timedelta:
    match = _OFFSET.fullmatch(text)
    if match is None:
        raise ValueError("no offset")
    hours, minutes, seconds = (int(part or 0) for part in match.groups()[1:])
    offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    if offset >= timedelta(days=1):
        raise ValueError("no offset")
    return -offset if match[1] == "-" else offset


def _local(text: str) -> datetime:
    match = _STAMP.fullmatch(text.strip().upper())
    if match is None:
        raise ValueError("no time")
    return datetime.strptime(match[1] + (match[2] or "000000"), "%Y%m%d%H%M%S")  # noqa: DTZ007 - it is local
