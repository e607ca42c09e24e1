"""
Parsing of date headers: docs/spec/email.md#dates.

The usual form is read by one pattern, since it is that of nearly all mail. The standard library's
parser takes a time with a zone that it does not know for UTC, which is hours off.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from types import MappingProxyType

_USUAL = re.compile(
    r"(?:[A-Z][a-z]{2}, )?(\d{1,2}) ([A-Z][a-z]{2}) (\d{4}) (\d\d:\d\d:\d\d)"
    r" ([+-]\d{4})(?: \([^()]*\))?\s*",
    re.ASCII,
)
_MONTH_NAMES = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_MONTHS = {name: f"{number:02}" for number, name in enumerate(_MONTH_NAMES, start=1)}
_MAX_CACHED = 100  # characters of a header, so that the cache stays small
_MAX_LENGTH = 500  # characters of a header that is read

_COMMENT = re.compile(r"\([^()]*\)")
_MONTH = r"(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_TIME = (
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d)(?:[.,]\d{1,9})?)?(?!\d)"
    r"(?:\s?(?P<half>[ap])\.?m\b\.?)?"
)
_ANY_CASE = re.ASCII | re.IGNORECASE
# 6 Aug 2026 12:27:13, 06-Aug-26 12:27
_DAY_FIRST = re.compile(
    rf"(?<![\d:]){_DAY}[\s./,-]{{0,3}}{_MONTH}[\s./,'-]{{0,3}}(?P<year>\d{{2,4}})"
    rf"(?:,?\sat\s|[\s,:T]{{1,3}}){_TIME}(?P<zone>.*)",
    _ANY_CASE,
)
# August 6, 2026 12:27:13 PM; Aug 06 2026 12:27:13
_MONTH_FIRST = re.compile(
    rf"\b{_MONTH}[\s.]{{1,2}}{_DAY},?\s{{1,2}}(?P<year>\d{{4}})"
    rf"(?:,?\sat\s|[\s,:T]{{1,3}}){_TIME}(?P<zone>.*)",
    _ANY_CASE,
)
# Aug  6 12:27:13 2026, Aug 6 12:27:13 +0200 2026
_YEAR_LAST = re.compile(
    rf"\b{_MONTH}\s{{1,2}}{_DAY}\s{{1,2}}{_TIME}(?P<zone>\s{{1,2}}[A-Z+][A-Z0-9:+-]{{0,9}}|"
    rf"\s{{1,2}}-\d[0-9:]{{0,5}})?\s{{1,2}}(?P<year>\d{{4}})(?P<later>.*)",
    _ANY_CASE,
)
_ISO_8601 = re.compile(
    r"^\s{0,9}(?P<year>\d{4})-?(?P<month>\d\d)-?(?P<day>\d\d)(?:T|\s{1,2})"
    r"(?P<hour>\d\d):?(?P<minute>\d\d)(?::?(?P<second>\d\d)(?:[.,]\d{1,9})?)?"
    r"(?P<half>(?!))?(?P<zone>.*)",
    _ANY_CASE,
)
_FORMS = (_DAY_FIRST, _MONTH_FIRST, _YEAR_LAST, _ISO_8601)
_OFFSET = re.compile(
    r"\s*(?:[A-Z]{1,5}\s?)?([+-])(\d{1,2})(?::?(\d\d))?(?![\d:+-])", re.ASCII | re.IGNORECASE
)
_ZONE_NAME = re.compile(r"\s*([A-Z]{1,5})\b(?![+-]\d)", re.ASCII | re.IGNORECASE)
# Minutes; RFC 5322, 4.3, and names that have one meaning in mail. Letters of the military, whose
# signs RFC 822 confused, say nothing.
_ZONES = MappingProxyType(
    {
        name: int(60 * hours)
        for names, hours in {
            "UT UTC GMT Z WET": 0.0,
            "CET MET MEZ WEST BST": 1.0,
            "CEST MEST MESZ EET SAST": 2.0,
            "EEST MSK": 3.0,
            "PKT": 5.0,
            "HKT SGT AWST": 8.0,
            "JST KST": 9.0,
            "ACST": 9.5,
            "AEST": 10.0,
            "AEDT": 11.0,
            "NZST": 12.0,
            "NZDT": 13.0,
            "NDT": -2.5,
            "ADT": -3.0,
            "NST": -3.5,
            "EDT AST": -4.0,
            "EST CDT": -5.0,
            "CST MDT": -6.0,
            "MST PDT": -7.0,
            "PST AKDT": -8.0,
            "AKST": -9.0,
            "HST": -10.0,
        }.items()
        for name in names.split()
    }
)


def parse(header: str) -> datetime | None:
    """Return a Date header as UTC, also assumed without an offset; None when it is not a date."""
    return _parse_cached(header) if len(header) <= _MAX_CACHED else _parse(header)


def _parse(header: str) -> datetime | None:
    match = _USUAL.fullmatch(header)
    try:
        if match is None or match[2] not in _MONTHS:
            return _parse_slowly(header)
        day, month, year, clock, zone = match.groups()
        sent = datetime.fromisoformat(f"{year}-{_MONTHS[month]}-{day:0>2}T{clock}{zone}")
        return sent if sent.tzinfo is UTC else sent.astimezone(UTC)
    except (ValueError, OverflowError):
        return _parse_slowly(header)


_parse_cached = lru_cache(maxsize=2048)(_parse)


def _parse_slowly(header: str) -> datetime | None:
    text = _without_comments(header)
    if len(text) > _MAX_LENGTH:
        return None
    for form in _FORMS:
        match = form.search(text)
        if match is not None:
            try:
                return _moment(match.groupdict())
            except (ValueError, OverflowError):
                return None
    return None


def _without_comments(header: str) -> str:
    text = header[: 4 * _MAX_LENGTH].replace("\N{MINUS SIGN}", "-")
    for _ in range(8):  # levels of comments
        shorter = _COMMENT.sub(" ", text)
        if shorter == text:
            break
        text = shorter
    return text.strip()


def _moment(parts: dict[str, str | None]) -> datetime | None:
    """Return the time that the parts of a date name; None if its zone is not known."""
    zone = parts["zone"] or parts.get("later") or ""
    offset = _offset(zone)
    if offset is None:
        return None
    second = int(parts["second"] or 0)
    moment = datetime(
        _year(parts["year"] or ""),
        _month(parts["month"] or ""),
        int(parts["day"] or 0),
        _hour(int(parts["hour"] or 0), parts["half"]),
        int(parts["minute"] or 0),
        min(second, 59) if second <= 60 else second,  # a leap second is the next minute's first
        tzinfo=timezone(timedelta(minutes=offset)),
    )
    return (moment + timedelta(seconds=second == 60)).astimezone(UTC)


def _year(digits: str) -> int:
    """Return a year that may have two or three digits (RFC 5322, 4.3)."""
    year = int(digits)
    if len(digits) >= 4:
        return year
    return year + (2000 if len(digits) == 2 and year < 50 else 1900)


def _month(text: str) -> int:
    return int(text) if text.isdecimal() else int(_MONTHS[text[:3].title()])


def _hour(hour: int, half: str | None) -> int:
    if half is None:
        return hour
    if hour > 12:
        return hour  # such as 14:27 PM
    return hour % 12 + (12 if half in "pP" else 0)


def _offset(text: str) -> int | None:
    """Return the minutes of a zone, 0 without one; None: it is not known."""
    text = text.strip(" \t.,;\"'")
    if not text:
        return 0
    match = _OFFSET.match(text)
    if match is not None:
        hours, minutes = int(match[2]), int(match[3] or 0)
        if hours > 23 or minutes > 59:
            return None
        return (60 * hours + minutes) * (-1 if match[1] == "-" else 1)
    name = _ZONE_NAME.match(text)
    if name is None:
        return None
    return 0 if len(name[1]) == 1 else _ZONES.get(name[1].upper())
