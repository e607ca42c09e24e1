"""Classification of error responses; docs/spec/upstream/errors-and-throttling.md."""

from collections.abc import Iterator

import msgspec

from providers import failures
from providers.http.response import Response
from providers.http.retry_after import retry_after_seconds

_THROTTLED = frozenset(
    {"activityLimitReached", "TooManyRequests", "ApplicationThrottled", "throttledRequest"}
)
_MISSING = frozenset({"itemNotFound", "ResourceNotFound", "ErrorItemNotFound"})
_CONFLICTED = frozenset({"nameAlreadyExists", "conflict", "Conflict"})
_STALE = frozenset({"resourceModified", "ErrorIrresolvableConflict", "etagMismatch"})
_LOCKED = frozenset({"resourceLocked", "locked", "lockMismatch"})
_FULL = frozenset({"quotaLimitReached", "insufficientStorage", "ErrorQuotaExceeded"})
_FORBIDDEN = frozenset({"notAllowed", "accessDenied", "ErrorAccessDenied"})
_THROTTLE_SECONDS = 10  # of a throttle that is not a 429; upstream nearly always names a time
_MAX_DEPTH = 5  # of nested errors


class _Error(msgspec.Struct):
    code: str = ""
    inner: "_Error | None" = msgspec.field(default=None, name="innerError")
    inner_lowercase: "_Error | None" = msgspec.field(default=None, name="innererror")


class _Envelope(msgspec.Struct):
    error: _Error


_decode = msgspec.json.Decoder(_Envelope).decode


def classify(response: Response) -> failures.ProviderFailure | None:
    """Turn a non-2xx response into a failure, None when its status says it all."""
    words = tuple(code_words(response.body))
    word = words[0] if words else ""
    word_set = frozenset(words)
    status = response.status
    if status == 429 or (word_set & _THROTTLED and status in (400, 403, 503)):
        return failures.Throttled(
            retry_after_seconds(response)
            or (failures.DEFAULT_RETRY_AFTER_SECONDS if status == 429 else _THROTTLE_SECONDS)
        )
    if status >= 500 and status != 507:
        return None
    for group, failure in (
        (_MISSING, failures.Missing()),
        (_CONFLICTED, failures.Conflicted(status=status, word=word)),
        (_STALE, failures.Stale(status=status, word=word)),
        (_LOCKED, failures.Locked(status=status, word=word)),
        (_FULL, failures.OutOfSpace(status=status, word=word)),
    ):
        if word_set & group:
            return failure
    by_status = {
        409: failures.Conflicted,
        412: failures.Stale,
        423: failures.Locked,
        507: failures.OutOfSpace,
    }
    if status in by_status:
        return by_status[status](status=status, word=word)
    if status in (400, 403, 405, 413, 415, 416):
        forbidden = next((code for code in words if code in _FORBIDDEN), word)
        return failures.Refused(status=status, word=forbidden)
    return None


def code_words(body: bytes) -> Iterator[str]:
    """Yield the code words of an error body, outermost first; none when there are none."""
    try:
        error: _Error | None = _decode(body).error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    for _ in range(_MAX_DEPTH):
        if error is None:
            return
        if error.code:
            yield error.code
        error = error.inner or error.inner_lowercase
