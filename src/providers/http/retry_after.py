"""Waits that upstreams name: in headers, in a text, or as the end of a day."""

import math
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo

from providers.http.response import Response

_SECONDS = re.compile(r"[0-9]{1,20}(?:\.[0-9]{1,20})?", re.ASCII)
MAX_SECONDS = 24 * 3600  # a longer wait than a day's quota is a mistake
_BEFORE_TIME = "retry after "  # in texts: "…  Retry after 2026-01-05T09:00:00.000Z"
_MAX_TIME = 40  # characters
BUDGET_HEADER = "ratelimit-remaining"
RESERVED_SHARE = 0.02  # of a budget: what a batch of twenty listings costs, and a few calls beside


def parse_retry_after(value: str | None, now_seconds: float) -> int | None:
    """
    Read a ``Retry-After`` header: seconds, which some write with a fraction, or an HTTP date.

    Returns:
        Seconds from *now_seconds* (Unix time), at least 1; None when there is no header, when it
        is neither of the two, and for zero, which names no wait.
    """
    if value is None:
        return None
    value = value.strip()
    if _SECONDS.fullmatch(value):
        whole, _, fraction = value.partition(".")
        return min(int(whole[:10]) + bool(fraction.strip("0")), MAX_SECONDS) or None
    try:
        then = parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return _seconds_until(then, now_seconds)


def named_wait(response: Response, text: str = "") -> int | None:
    """
    Return the wait that a response names, in seconds; None when it names none.

    *text* is the message of the error, which may say "Retry after 2026-01-05T09:00:00.000Z".
    """
    now_seconds = time.time()
    wait = parse_retry_after(response.headers.get("retry-after"), now_seconds)
    return wait or _wait_in_text(text, now_seconds)


def wait_for_budget(headers: Mapping[str, str]) -> int | None:
    """
    Return the seconds until a budget is renewed, when the ``RateLimit`` headers say it is spent.

    Upstream refuses calls over the budget and counts them as well, so the calls stop before it.
    None: enough of it is left, or the headers say nothing.
    """
    if BUDGET_HEADER not in headers:
        return None
    limit, remaining, reset = (
        headers.get(f"ratelimit-{name}", "").strip() for name in ("limit", "remaining", "reset")
    )
    if not all(text.isascii() and text.isdecimal() for text in (limit, remaining, reset)):
        return None
    if int(remaining[:10]) > int(limit[:10]) * RESERVED_SHARE:
        return None
    return max(1, min(int(reset[:10]), MAX_SECONDS))


def seconds_until_midnight(zone: str) -> int:
    """Return the seconds until the next day begins in *zone* ("UTC", "America/Los_Angeles")."""
    now = datetime.fromtimestamp(time.time(), ZoneInfo(zone))
    midnight = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), now.tzinfo)
    return _seconds_until(midnight.timestamp(), now.timestamp())


def _wait_in_text(text: str, now_seconds: float) -> int | None:
    start = text.lower().find(_BEFORE_TIME)
    if start < 0:
        return None
    start += len(_BEFORE_TIME)
    moment = text[start : start + _MAX_TIME].split(maxsplit=1)
    try:
        then = datetime.fromisoformat(moment[0] if moment else "")
    except ValueError:
        return None
    then = then if then.tzinfo is not None else then.replace(tzinfo=UTC)
    try:
        return _seconds_until(then.timestamp(), now_seconds)
    except OverflowError:
        return None


def _seconds_until(then_seconds: float, now_seconds: float) -> int:
    return max(1, min(math.ceil(then_seconds - now_seconds), MAX_SECONDS))
