"""What provider B's error answers mean. Source: wire report, 2.2."""

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
_USUAL_SECONDS = 10  # windows are of ten minutes; for what is no 429


class _Error(msgspec.Struct):
    code: str = ""


class _Envelope(msgspec.Struct):
    error: _Error


def classify(answer: Response) -> ProviderFailure | None:
    """Turn a non-2xx answer into a failure, None when its status says it all."""
    word = code(answer.body)
    if answer.status == 429:
        return Throttled(retry_after_seconds(answer) or DEFAULT_RETRY_AFTER_SECONDS)
    if word in _THROTTLED:
        return Throttled(retry_after_seconds(answer) or _USUAL_SECONDS)
    if word in _MISSING:
        return Missing()
    if word in _STALE or answer.status == 412:
        return Stale(status=answer.status, word=word)
    if answer.status == 409:
        return Conflicted(status=409, word=word)
    if answer.status in (400, 403):
        return Refused(status=answer.status, word=word)
    return None


def code(body: bytes) -> str:
    """Return the code word of an error body, "" when there is none."""
    try:
        return msgspec.json.decode(body, type=_Envelope).error.code
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
