"""Error responses: docs/spec/upstream/errors-and-throttling.md#microsoft-graph-errors."""

import msgspec

from providers.failures import (
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
from providers.http.retry_after import named_wait

_THROTTLED = frozenset({"ApplicationThrottled", "TooManyRequests", "activityLimitReached"})
_MISSING = frozenset({"ErrorItemNotFound", "ErrorInvalidIdMalformed", "ErrorInvalidId"})
_NO_MAILBOX = frozenset(
    {
        "MailboxNotEnabledForRESTAPI",
        "MailboxNotSupportedForRESTAPI",
        "ErrorMailboxNotEnabledForRESTAPI",
        "ErrorInvalidUser",
        "ErrorNonExistentMailbox",
        "OrganizationFromTenantGuidNotFound",
    }
)
# A missing permission denies access so, a policy of Exchange, or a missing right to a mailbox of
# somebody else.
_SCOPE = frozenset({"Authorization_RequestDenied", "ErrorAccessDenied"})
SEND_AS_DENIED = "ErrorSendAsDenied"
_STALE = frozenset({"ErrorIrresolvableConflict", "resourceModified"})


class _Error(msgspec.Struct):
    code: str = ""


class _Envelope(msgspec.Struct):
    error: _Error


def classify(response: Response) -> ProviderFailure | None:
    """Turn a non-2xx response into a failure; None when its status suffices."""
    word = code(response.body)
    if response.status == 429 or word in _THROTTLED:
        return Throttled(named_wait(response))
    if response.status == 403 and word in _SCOPE:
        return MissingScope(may_be_policy=word == "ErrorAccessDenied")
    if word in _NO_MAILBOX:
        return Inaccessible(NO_MAILBOX, status=response.status, word=word)
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
        return decode_json(body, _Envelope).error.code
    except Broken:
        return ""
