"""
Recurrence rules of dateutil that end after a bounded number of periods.

dateutil goes on to its last year when a rule never matches, and examines each day on the way: up to
half a second for one rule. The work is estimated before it begins, so that a rule is cut at the
same start on every machine.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any

from dateutil import rrule

MAX_WORK = 60_000.0  # of the rules of one event
WORK_OF_START = 3.0

_FREQUENCIES: Mapping[str, int] = MappingProxyType(
    {
        "YEARLY": rrule.YEARLY,
        "MONTHLY": rrule.MONTHLY,
        "WEEKLY": rrule.WEEKLY,
        "DAILY": rrule.DAILY,
        "HOURLY": rrule.HOURLY,
        "MINUTELY": rrule.MINUTELY,
        "SECONDLY": rrule.SECONDLY,
    }
)
_DAYS: Mapping[str, int] = MappingProxyType({"YEARLY": 366, "MONTHLY": 31, "WEEKLY": 7, "DAILY": 1})
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_DAYS_OF_WEEK: Mapping[str, rrule.weekday] = MappingProxyType(
    {name: getattr(rrule, name) for name in WEEKDAYS}
)
_WEEKDAY = re.compile(r"([+-]?[0-9]{1,2})?([A-Z]{2})", re.ASCII)


@dataclass(slots=True)
class Work:
    """
    The work that an expansion may still do.

    Attributes:
        left: In units of about a quarter of a microsecond; some parts take less than estimated.
        was_cut: Whether starts may be missing because it was not enough.
    """

    left: float = MAX_WORK
    was_cut: bool = False


class PastLastPeriod(Exception):
    """A rule has gone through its periods."""


class BoundedRule(rrule.rrule):  # type: ignore[misc]  # dateutil has no types
    """A rule that raises `PastLastPeriod` behind a number of periods."""

    def __init__(self, *, periods: int, **parts: Any) -> None:
        self._periods_left = periods + 1  # dateutil reads the attribute once before the first one
        super().__init__(**parts)

    # dateutil reads this attribute, which no rule of ours has, once for every year, month, or month
    # that it enters by weeks or days.
    @property
    def _byeaster(self) -> None:
        self._periods_left -= 1
        if self._periods_left < 0:
            raise PastLastPeriod

    @_byeaster.setter
    def _byeaster(self, _value: None) -> None:
        pass


def bounded_rule(  # noqa: PLR0913 - what a rule consists of
    frequency: str,
    interval: int,
    parts: Mapping[str, str],
    *,
    start: datetime,
    last: datetime,
    periods: int,
) -> BoundedRule:
    """
    Make the rule from *start* to *last* that ends after *periods*.

    Raises:
        ValueError, KeyError: A part is not valid.
    """
    members: dict[str, Any] = {
        name.lower(): [int(number) for number in text.split(",")]
        for name, text in parts.items()
        if name not in ("BYDAY", "WKST")
    }
    if "BYDAY" in parts:
        members["byweekday"] = [_weekday(day) for day in parts["BYDAY"].split(",")]
    if "WKST" in parts:
        members["wkst"] = _DAYS_OF_WEEK[parts["WKST"]]
    return BoundedRule(
        freq=_FREQUENCIES[frequency],
        interval=interval,
        dtstart=start,
        until=last,
        periods=periods,
        **members,
    )


def periods_between(frequency: str, interval: int, start: datetime, last: datetime) -> int:
    """Return how many periods of a rule begin from *start* to *last*."""
    years = last.year - start.year
    if frequency == "YEARLY":
        return years // interval + 1
    months = 12 * years + last.month - start.month
    return months // (interval if frequency == "MONTHLY" else 1) + 1


def work_of_period(
    frequency: str, interval: int, parts: Mapping[str, str], starts_a_day: int
) -> float:
    """Return the estimated work of one of `periods_between`, its starts apart."""
    days = _DAYS[frequency]
    positions = parts["BYSETPOS"].count(",") + 1 if "BYSETPOS" in parts else 0
    work = 2.5 + 0.25 * days + positions * (1.5 + 0.03 * days) + 0.03 * positions**2
    if not positions:
        work += 0.5 * starts_a_day
    if frequency in ("WEEKLY", "DAILY"):
        work *= max(1.0, 31 / (days * interval))
    years = {"YEARLY": 1.0, "MONTHLY": min(1.0, interval / 12)}.get(frequency, 1 / 12)
    if "BYWEEKNO" in parts:
        work += years * (50 + 3 * parts["BYWEEKNO"].count(","))
    if "BYDAY" in parts and frequency in ("YEARLY", "MONTHLY"):
        months = parts["BYMONTH"].count(",") + 1 if "BYMONTH" in parts else 1
        ranges = months if frequency == "YEARLY" else 1
        work += 1.5 * ranges * (parts["BYDAY"].count(",") + 1)
    return work


def _weekday(text: str) -> rrule.weekday:
    match = _WEEKDAY.fullmatch(text)
    if match is None:
        raise ValueError(text)
    day = _DAYS_OF_WEEK[match[2]]
    return day if match[1] is None else day(int(match[1]))
