"""
Recurrence rules as `patternedRecurrence`, and back.

Graph has six patterns. Any other rule is written as the nearest pattern; its occurrences are
still right, because they are computed from the rule.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from types import MappingProxyType
from typing import Any

from sandbox.calendar.records import EventTime, Recurrence, load_zone
from sandbox.provider_b.outlook_calendar.time_zones import iana_name, windows_name
from sandbox.provider_b.responses import GraphError

_DAYS: Mapping[str, str] = MappingProxyType(
    {
        "MO": "monday",
        "TU": "tuesday",
        "WE": "wednesday",
        "TH": "thursday",
        "FR": "friday",
        "SA": "saturday",
        "SU": "sunday",
    }
)
_CODES: Mapping[str, str] = MappingProxyType({name: code for code, name in _DAYS.items()})
_INDEXES: Mapping[int, str] = MappingProxyType(
    {1: "first", 2: "second", 3: "third", 4: "fourth", -1: "last"}
)
_NUMBERS: Mapping[str, int] = MappingProxyType({word: at for at, word in _INDEXES.items()})
_BY_DAY = re.compile(r"(?<!\d)([+-]?\d++)?(MO|TU|WE|TH|FR|SA|SU)")


def to_pattern(recurrence: Recurrence, start: EventTime) -> dict[str, Any] | None:
    """Return the first rule of a series as a pattern; None when there is no rule."""
    if not recurrence.rules:
        return None
    rule = dict(
        part.split("=", 1) for part in recurrence.rules[0].upper().split(";") if "=" in part
    )
    return {"pattern": _pattern(rule, start), "range": _range(rule, start)}


def from_pattern(written: Any, start: EventTime) -> Recurrence | None:
    """
    Read a `patternedRecurrence`; None stays None.

    Raises:
        GraphError: The pattern is invalid.
    """
    if written is None:
        return None
    try:
        pattern, stretch = written["pattern"], written["range"]
        return Recurrence(
            rules=(";".join((*_pattern_parts(pattern, start), *_range_parts(stretch, start))),)
        )
    except (KeyError, TypeError, ValueError):
        raise GraphError(
            400, "ErrorPropertyValidationFailure", "At least one property failed validation."
        ) from None


def _pattern(rule: Mapping[str, str], start: EventTime) -> dict[str, Any]:
    by_day = [(int(at) if at else None, day) for at, day in _BY_DAY.findall(rule.get("BYDAY", ""))]
    days = [_DAYS[day] for _, day in by_day]
    places = [at for at, _ in by_day if at is not None]
    places += [int(at) for at in rule.get("BYSETPOS", "").split(",") if at]
    pattern: dict[str, Any] = {
        "type": "daily",
        "interval": int(rule.get("INTERVAL", "1")),
        "month": 0,
        "dayOfMonth": 0,
        "firstDayOfWeek": _DAYS.get(rule.get("WKST", "MO"), "monday"),
        "index": "first",
    }
    often = rule.get("FREQ", "DAILY")
    if often == "WEEKLY" or (often == "DAILY" and days):
        own = [tuple(_DAYS.values())[start.local.weekday()]]
        return pattern | {"type": "weekly", "daysOfWeek": days or own}
    if often not in {"MONTHLY", "YEARLY"}:
        return pattern
    kind = often.capitalize()
    if often == "YEARLY":
        pattern["month"] = int(rule.get("BYMONTH", str(start.local.month)).split(",")[0])
    if days:
        index = _INDEXES.get(places[0] if places else 1, "first")
        return pattern | {"type": f"relative{kind}", "daysOfWeek": days, "index": index}
    day = int(rule.get("BYMONTHDAY", str(start.local.day)).split(",")[0])
    return pattern | {"type": f"absolute{kind}", "dayOfMonth": day if day > 0 else 31}


def _range(rule: Mapping[str, str], start: EventTime) -> dict[str, Any]:
    stretch: dict[str, Any] = {
        "type": "noEnd",
        "startDate": start.local.date().isoformat(),
        "endDate": "0001-01-01",
        "recurrenceTimeZone": windows_name(start.zone),
        "numberOfOccurrences": 0,
    }
    if "COUNT" in rule:
        return stretch | {"type": "numbered", "numberOfOccurrences": int(rule["COUNT"])}
    if "UNTIL" in rule:
        return stretch | {"type": "endDate", "endDate": _last_day(rule["UNTIL"], start)}
    return stretch


def _last_day(until: str, start: EventTime) -> str:
    day = datetime.strptime(until[:8], "%Y%m%d")  # noqa: DTZ007 - the zone follows
    if until.endswith("Z") and not start.is_day:
        clock = time.fromisoformat(until[9:15])
        moment = datetime.combine(day, clock, UTC)
        return moment.astimezone(load_zone(start.zone)).date().isoformat()
    return day.date().isoformat()


def _pattern_parts(pattern: Mapping[str, Any], start: EventTime) -> list[str]:
    kind = str(pattern["type"])
    interval = int(pattern.get("interval", 1))
    if interval < 1:
        raise ValueError(interval)
    days = [_CODES[str(day).lower()] for day in pattern.get("daysOfWeek") or ()]
    parts = [f"FREQ={_frequency(kind)}", f"INTERVAL={interval}"]
    if kind == "weekly":
        first = _CODES[str(pattern.get("firstDayOfWeek", "sunday")).lower()]
        return [*parts, f"BYDAY={','.join(days)}", f"WKST={first}"] if days else _fail(kind)
    if kind.endswith("Yearly"):
        parts.append(f"BYMONTH={int(pattern.get('month') or start.local.month)}")
    if kind.startswith("relative"):
        at = _NUMBERS[str(pattern.get("index", "first")).lower()]
        if not days:
            return _fail(kind)
        if len(days) == 1:
            return [*parts, f"BYDAY={at}{days[0]}"]
        return [*parts, f"BYDAY={','.join(days)}", f"BYSETPOS={at}"]
    if kind.startswith("absolute"):
        parts.append(f"BYMONTHDAY={int(pattern.get('dayOfMonth') or start.local.day)}")
    return parts


def _frequency(kind: str) -> str:
    known = {"daily": "DAILY", "weekly": "WEEKLY"}
    for word in ("absolute", "relative"):
        known |= {f"{word}Monthly": "MONTHLY", f"{word}Yearly": "YEARLY"}
    return known[kind]


def _range_parts(stretch: Mapping[str, Any], start: EventTime) -> list[str]:
    kind = stretch["type"]
    if stretch.get("recurrenceTimeZone"):
        iana_name(str(stretch["recurrenceTimeZone"]))
    if kind == "numbered":
        number = int(stretch["numberOfOccurrences"])
        return [f"COUNT={number}"] if number > 0 else _fail(kind)
    if kind == "endDate":
        last = datetime.fromisoformat(str(stretch["endDate"])) + timedelta(days=1, seconds=-1)
        if start.is_day:
            return [f"UNTIL={last:%Y%m%d}"]
        moment = last.replace(tzinfo=load_zone(start.zone)).astimezone(UTC)
        return [f"UNTIL={moment:%Y%m%dT%H%M%SZ}"]
    return [] if kind == "noEnd" else _fail(str(kind))


def _fail(kind: str) -> list[str]:
    raise ValueError(kind)
