"""Classification of error responses; docs/spec/upstream/errors-and-throttling.md."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

import msgspec

from providers import failures
from providers.http.response import Response, decode_json
from providers.http.retry_after import named_wait

_THROTTLED = frozenset(
    {"activityLimitReached", "TooManyRequests", "ApplicationThrottled", "throttledRequest"}
)
_MISSING = frozenset({"itemNotFound", "ResourceNotFound", "ErrorItemNotFound"})
_CONFLICTED = frozenset({"nameAlreadyExists", "conflict", "Conflict"})
_STALE = frozenset({"resourceModified", "ErrorIrresolvableConflict", "etagMismatch"})
_LOCKED = frozenset({"resourceLocked", "locked", "lockMismatch"})
_FULL = frozenset({"quotaLimitReached", "insufficientStorage", "ErrorQuotaExceeded"})
_FORBIDDEN = frozenset({"notAllowed", "accessDenied", "ErrorAccessDenied"})
_MAX_DEPTH = 5  # of nested errors


# Code word -> the reason of a refusal: docs/spec/upstream/errors-and-throttling.md#reasons.
REASONS: Mapping[str, str] = MappingProxyType(
    {
        "accessDenied": "The provider denies this account access to the change.",
        "accessRestricted": "The provider lets only the owner do this.",
        "accountVerificationRequired": "The provider requires the account to be verified first.",
        "exceededMaxRecipientsPerDay": "The provider's daily limit of shares is reached.",
        "ipCheckRequired": "The provider requires the account to be verified first.",
        "maxItemCountExceeded": "The provider's limit of items is reached.",
        "malwareDetected": "The provider found malware in the file.",
        "notAllowed": "The provider's policy does not allow this.",
        "notSupported": "The provider does not support this here.",
        "provisioningNotAllowed": "The provider does not let this account have a library.",
        "serviceReadOnly": "The provider is temporarily read-only.",
        "sharingDisabled": "The provider's policy does not allow sharing here.",
        "virusSuspicious": "The provider found malware in the file.",
    }
)


class ErrorBody(msgspec.Struct):
    """An error of upstream, with the errors inside it."""

    code: str = ""
    inner: "ErrorBody | None" = msgspec.field(default=None, name="innerError")
    inner_lowercase: "ErrorBody | None" = msgspec.field(default=None, name="innererror")

    def words(self) -> Iterator[str]:
        """Yield its code words, outermost first."""
        error: ErrorBody | None = self
        for _ in range(_MAX_DEPTH):
            if error is None:
                return
            if error.code:
                yield error.code
            error = error.inner or error.inner_lowercase


class _Envelope(msgspec.Struct):
    error: ErrorBody


def classify(response: Response) -> failures.ProviderFailure | None:
    """Turn a non-2xx response into a failure, None when its status says it all."""
    words = tuple(code_words(response.body))
    word = words[0] if words else ""
    word_set = frozenset(words)
    status = response.status
    if status == 429 or (word_set & _THROTTLED and status in (400, 403, 503)):
        return failures.Throttled(named_wait(response))
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
        return refused(words, status=status)
    return None


def refused(code_words: Iterable[str], *, status: int) -> failures.Refused:
    """Build a refusal that tells the innermost reason known; *code_words*: outermost first."""
    words = tuple(code_words)
    reason = next((REASONS[word] for word in reversed(words) if word in REASONS), None)
    forbidden = next((word for word in words if word in _FORBIDDEN), "".join(words[:1]))
    return failures.Refused(reason, status=status, word=forbidden)


def code_words(body: bytes) -> Iterator[str]:
    """Yield the code words of an error body, outermost first; none when there are none."""
    try:
        error = decode_json(body, _Envelope).error
    except failures.Broken:
        return
    yield from error.words()
