"""Date headers, as tolerant mail servers read them."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

_COMMENT = re.compile(r"\([^()]*\)")
_ZONE = re.compile(r"(?:\b(?:GMT|UTC?))?([+-]\d\d):?(\d\d)\s*$")
_CLOCK = re.compile(r"\b(\d\d?):(\d\d)(?::(\d\d))?(?:\s*([AP])M\b)?", re.IGNORECASE)


def parse_ms(text: str) -> int | None:
    """Return the time of a Date header in epoch milliseconds, UTC by default; None for no date."""
    plain = _COMMENT.sub("", _COMMENT.sub("", text)).strip()
    try:
        return int(_utc(_moment(plain)).timestamp() * 1000)
    except (ValueError, TypeError, OverflowError):
        return None


def _moment(text: str) -> datetime:
    if re.match(r"\d{4}-\d\d-\d\d", text):
        return datetime.fromisoformat(text)
    clock = _CLOCK.search(text)
    is_leap = clock is not None and clock[3] == "60"
    if clock is not None:
        hour = int(clock[1])
        if clock[4]:
            hour = hour % 12 + 12 * (clock[4] in "pP")
        second = "59" if is_leap else clock[3] or "00"
        text = f"{text[: clock.start()]}{hour:02}:{clock[2]}:{second}{text[clock.end() :]}"
    moment = parsedate_to_datetime(_ZONE.sub(r"\1\2", text))
    return moment + timedelta(seconds=is_leap)


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
