"""
Time zones of a calendar object: docs/spec/upstream/caldav.md#time-zones.

A TZID is defined by the VTIMEZONE of its object (RFC 5545, 3.2.19); without one, or with one that
is not valid, its name decides.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from providers.connectors.caldav.zone_names import named_zone

_LAST_YEAR = 2070  # later years are as those of the same calendar before it
_CYCLE = 28  # years after which weekdays and leap years repeat


@dataclass(frozen=True, slots=True)
class Onset:
    """
    The beginning of an observance.

    Attributes:
        at: UTC, without a zone.
        before, after: Offsets from UTC.
    """

    at: datetime
    before: timedelta
    after: timedelta


class DefinedZone(tzinfo):
    """
    A zone by its onsets.

    Outside of what they define *named* decides, if there is such a zone: before the first onset,
    and behind the last one where rules end (*endless* is False) and both agree on its offset.
    """

    def __init__(self, onsets: Iterable[Onset], *, endless: bool, named: tzinfo | None) -> None:
        self._onsets = sorted(onsets, key=lambda onset: onset.at)
        self._moments = [onset.at for onset in self._onsets]
        # A time that a change skips takes the offset before it; of one that occurs twice, the first
        # is meant, unless `fold` says otherwise.
        self._first = [onset.at + max(onset.before, onset.after) for onset in self._onsets]
        self._second = [onset.at + min(onset.before, onset.after) for onset in self._onsets]
        self._endless = endless
        self._named = named
        self._named_follows = named is not None and not endless and self._agrees(named)

    def utcoffset(self, local: datetime | None, /) -> timedelta | None:
        if local is None:
            return None
        plain = self._in_cycle(local.replace(tzinfo=None, fold=0))
        passed = bisect_right(self._second if local.fold else self._first, plain)
        named = self._named_at(passed)
        return local.replace(tzinfo=named).utcoffset() if named else self._offset(passed)

    def fromutc(self, moment: datetime, /) -> datetime:
        plain = moment.replace(tzinfo=None)
        passed = bisect_right(self._moments, self._in_cycle(plain))
        named = self._named_at(passed)
        if named is None:
            return moment + self._offset(passed)
        return plain.replace(tzinfo=UTC).astimezone(named).replace(tzinfo=self)

    def dst(self, _local: datetime | None, /) -> timedelta | None:
        return None

    def tzname(self, _local: datetime | None, /) -> str | None:
        return None

    def _offset(self, passed: int) -> timedelta:
        return self._onsets[passed - 1].after if passed else self._onsets[0].before

    def _named_at(self, passed: int) -> tzinfo | None:
        if not passed or (self._named_follows and passed == len(self._onsets)):
            return self._named
        return None

    def _in_cycle(self, plain: datetime) -> datetime:
        if not self._endless or plain.year < _LAST_YEAR:
            return plain
        return plain.replace(year=plain.year - -(-(plain.year - _LAST_YEAR + 1) // _CYCLE) * _CYCLE)

    def _agrees(self, named: tzinfo) -> bool:
        last = self._onsets[-1]
        return last.at.replace(tzinfo=UTC).astimezone(named).utcoffset() == last.after


@dataclass(slots=True)
class Zones:
    """
    The zones of a calendar object.

    Attributes:
        defined: By TZID.
        unknown: Names that were asked for and that nothing tells.
    """

    defined: Mapping[str, tzinfo] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)

    def find(self, name: str) -> tzinfo | None:
        """Return a zone by its TZID; None when nothing defines it."""
        zone = self.defined.get(name.strip()) or named_zone(name) or self._in_other_case(name)
        if zone is None:
            self.unknown.add(name)
        return zone

    def _in_other_case(self, name: str) -> tzinfo | None:
        projection = name.strip().casefold()
        zones = (zone for known, zone in self.defined.items() if known.casefold() == projection)
        return next(zones, None)


def zone_name(zone: tzinfo | None) -> str | None:
    """Return the IANA name of a zone; None when it has none."""
    if zone is UTC:
        return "UTC"
    return zone.key if isinstance(zone, ZoneInfo) else None


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
