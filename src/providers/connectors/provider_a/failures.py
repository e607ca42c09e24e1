"""Error responses as failures: docs/spec/upstream/errors-and-throttling.md#google-errors."""

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

# docs/spec/upstream/errors-and-throttling.md#waiting-time
_RATE_SECONDS = 60  # quotas are per minute
_DAY_SECONDS = 3600  # for a daily quota: the start of its window is unknown
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


def classify(response: Response) -> ProviderFailure | None:
    """Turn a non-2xx response into a failure; None when its status suffices."""
    word, message = _reason_and_message(response.body)
    if word in _DAY:
        return Throttled(retry_after_seconds(response) or _DAY_SECONDS)
    if response.status == 429:
        return Throttled(retry_after_seconds(response) or DEFAULT_RETRY_AFTER_SECONDS)
    if word in _RATE:
        return Throttled(retry_after_seconds(response) or _RATE_SECONDS)
    if response.status == 400 and _BAD_ID.search(message):
        return Missing()
    if response.status == 409:
        return Conflicted(status=409, word=word)
    if response.status == 412:
        return Stale(status=412, word=word)
    if response.status in (400, 403):
        return Refused(status=response.status, word=word)
    return None


def _reason_and_message(body: bytes) -> tuple[str, str]:
    """Return the reason and the message of an error body; "" for what it does not contain."""
    try:
        error = msgspec.json.decode(body, type=_Envelope).error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "", ""
    reasons = (detail.reason for detail in error.errors if detail.reason)
    return next(reasons, error.status), error.message
