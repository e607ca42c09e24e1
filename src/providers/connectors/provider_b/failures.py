"""Error responses: docs/spec/upstream/errors-and-throttling.md#microsoft-graph-errors."""

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

_THROTTLED = frozenset({"ApplicationThrottled", "TooManyRequests", "activityLimitReached"})
_MISSING = frozenset({"ErrorItemNotFound", "ErrorInvalidIdMalformed", "ErrorInvalidId"})
_STALE = frozenset({"ErrorIrresolvableConflict", "resourceModified"})
_DEFAULT_WAIT_SECONDS = 10  # for a throttle with another status than 429


class _Error(msgspec.Struct):
    code: str = ""


class _Envelope(msgspec.Struct):
    error: _Error


def classify(response: Response) -> ProviderFailure | None:
    """Turn a non-2xx response into a failure; None when its status suffices."""
    word = code(response.body)
    if response.status == 429:
        return Throttled(retry_after_seconds(response) or DEFAULT_RETRY_AFTER_SECONDS)
    if word in _THROTTLED:
        return Throttled(retry_after_seconds(response) or _DEFAULT_WAIT_SECONDS)
    if word in _MISSING:
        return Missing()
    if word in _STALE or response.status == 412:
        return Stale(status=response.status, word=word)
    if response.status == 409:
        return Conflicted(status=409, word=word)
    if response.status in (400, 403):
        return Refused(status=response.status, word=word)
    return None


def code(body: bytes) -> str:
    """Return the code word of an error body, "" when there is none."""
    try:
        return msgspec.json.decode(body, type=_Envelope).error.code
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
