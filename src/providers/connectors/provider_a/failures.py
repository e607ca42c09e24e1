"""Error responses as failures: docs/spec/upstream/errors-and-throttling.md#google-errors."""

import re

import msgspec

from providers.failures import (
    DENIED_BY_POLICY,
    NO_MAILBOX,
    Broken,
    Conflicted,
    Inaccessible,
    Missing,
    MissingScope,
    ProviderFailure,
    Refused,
    Stale,
    Throttled,
)
from providers.http.response import Response, decode_json
from providers.http.retry_after import named_wait, seconds_until_midnight

# docs/spec/upstream/errors-and-throttling.md#waiting-time
_DAY_ZONE = "America/Los_Angeles"  # in which the day of a quota ends at midnight
_OTHER_QUOTA_SECONDS = 3600  # the reset of the calendar's quotas is not documented
_RATE = frozenset({"rateLimitExceeded", "userRateLimitExceeded", "concurrentLimitExceeded"})
_SCOPE = frozenset({"insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"})
_BAD_ID = re.compile(r"invalid (id|thread|message|label)\b", re.IGNORECASE)


class _Reason(msgspec.Struct):
    reason: str = ""


class _Error(msgspec.Struct):
    message: str = ""
    status: str = ""
    errors: list[_Reason] = []
    details: list[_Reason] = []


class _Envelope(msgspec.Struct):
    error: _Error


def classify(response: Response) -> ProviderFailure | None:
    """Turn a non-2xx response into a failure; None when its status suffices."""
    word, message = _reason_and_message(response.body)
    if word == "dailyLimitExceeded":
        return Throttled(named_wait(response, message) or seconds_until_midnight(_DAY_ZONE))
    if word == "quotaExceeded":
        return Throttled(named_wait(response, message) or _OTHER_QUOTA_SECONDS)
    if response.status == 429 or word in _RATE:
        return Throttled(named_wait(response, message))
    if response.status == 403 and word in _SCOPE:
        return MissingScope()
    reason = _reason_of_refusal(word, message)
    if reason is not None:
        return Inaccessible(reason, status=response.status, word=word)
    if response.status == 400 and _BAD_ID.search(message):
        return Missing()
    if response.status == 409:
        return Conflicted(status=409, word=word)
    if response.status == 412:
        return Stale(status=412, word=word)
    if response.status in (400, 403):
        return Refused(status=response.status, word=word)
    return None


def _reason_of_refusal(word: str, message: str) -> str | None:
    """Return the predicate of a sentence about a connection that reconnecting does not mend."""
    if word in {"failedPrecondition", "FAILED_PRECONDITION"} and "not enabled" in message.lower():
        return NO_MAILBOX
    if word == "domainPolicy":
        return DENIED_BY_POLICY
    return _API_IS_OFF if word in _OFF else None


_OFF = frozenset({"accessNotConfigured", "SERVICE_DISABLED"})
_API_IS_OFF = "cannot be used: the provider's API is switched off for the gateway's OAuth client"


def _reason_and_message(body: bytes) -> tuple[str, str]:
    """Return the reason and the message of an error body; "" for what it does not contain."""
    try:
        error = decode_json(body, _Envelope).error
    except Broken:
        return "", ""
    reasons = (detail.reason for detail in (*error.errors, *error.details) if detail.reason)
    return next(reasons, error.status), error.message
