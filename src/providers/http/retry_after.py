"""The ``Retry-After`` header."""

import math
import time
from email.utils import parsedate_to_datetime

from providers.http.response import Response

MAX_SECONDS = 24 * 3600  # a longer wait than a day's quota is a mistake


def parse_retry_after(value: str | None, now_seconds: float) -> int | None:
    """
    Read a ``Retry-After`` header: whole seconds or an HTTP date.

    Returns:
        Seconds from *now_seconds* (Unix time), at least 1; None when there is no header or it is
        neither of the two.
    """
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdecimal():
        return max(1, min(int(value[:10]), MAX_SECONDS))
    try:
        then = parsedate_to_datetime(value).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return max(1, min(math.ceil(then - now_seconds), MAX_SECONDS))


def retry_after_seconds(answer: Response) -> int | None:
    """Return the wait that an answer names; None when it names none, or zero seconds."""
    value = answer.headers.get("retry-after")
    return None if value == "0" else parse_retry_after(value, time.time())
