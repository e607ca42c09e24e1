"""What provider A's error answers mean. Source: wire report, 2.1."""

import re

import msgspec

from providers.failures import (
    DEFAULT_RETRY_AFTER_SECONDS,
    Conflicted,
    Missing,
    ProviderFailure,
    Refused,
    Stale,
    Throttled,
)
from providers.http.response import Response
from providers.http.retry_after import retry_after_seconds

_RATE_SECONDS = 60  # quotas are per minute; for a 403, which the decisions are silent about
_DAY_SECONDS = 3600  # a day's quota is used up; nobody knows when the window started
_RATE = frozenset({"rateLimitExceeded", "userRateLimitExceeded", "concurrentLimitExceeded"})
_DAY = frozenset({"dailyLimitExceeded", "quotaExceeded"})
_BAD_ID = re.compile(r"invalid (id|thread|message|label)\b", re.IGNORECASE)


class _Reason(msgspec.Struct):
    reason: str = ""


class _Error(msgspec.Struct):
    message: str = ""
    status: str = ""
    errors: list[_Reason] = []


class _Envelope(msgspec.Struct):
    error: _Error


def classify(answer: Response) -> ProviderFailure | None:
    """Turn a non-2xx answer into a failure, None when its status says it all."""
    word, message = _read(answer.body)
    if word in _DAY:
        return Throttled(retry_after_seconds(answer) or _DAY_SECONDS)
    if answer.status == 429:
        return Throttled(retry_after_seconds(answer) or DEFAULT_RETRY_AFTER_SECONDS)
    if word in _RATE:
        return Throttled(retry_after_seconds(answer) or _RATE_SECONDS)
    if answer.status == 400 and _BAD_ID.search(message):
        return Missing()
    if answer.status == 409:
        return Conflicted(status=409, word=word)
    if answer.status == 412:
        return Stale(status=412, word=word)
    if answer.status in (400, 403):
        return Refused(status=answer.status, word=word)
    return None


def _read(body: bytes) -> tuple[str, str]:
    """Return the reason's word and the message, empty when there are none."""
    try:
        error = msgspec.json.decode(body, type=_Envelope).error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "", ""
    reasons = [one.reason for one in error.errors if one.reason]
    return (reasons[0] if reasons else error.status), error.message
