"""
What the board provider's answers say went wrong, in all their shapes. Source: wire report, 2.3.

HTTP 200 does not mean success, an error may be a bare text, and before 2025-01 the first error
stood at the top of the body.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from providers.failures import (
    DEFAULT_RETRY_AFTER_SECONDS,
    Broken,
    Locked,
    Missing,
    NeedsReauth,
    ProviderFailure,
    Refused,
    Throttled,
)
from providers.http.response import Response

_USUAL_SECONDS = 30  # wire report 2.3: when nothing says how long to wait, and it is no 429
_RESET = re.compile(r"reset in (\d{1,6})", re.IGNORECASE)

_THROTTLED = frozenset(
    {
        "COMPLEXITY_BUDGET_EXHAUSTED",
        "ComplexityException",
        "complexityBudgetExhausted",
        "maxConcurrencyExceeded",
        "MAX_CONCURRENCY_EXCEEDED",
        "RateLimitExceeded",
        "RATE_LIMIT_EXCEEDED",
        "tooManyRequests",
        "IP_RATE_LIMIT_EXCEEDED",
        "DAILY_LIMIT_EXCEEDED",
        "API_TEMPORARILY_BLOCKED",
    }
)
_UNKNOWN = frozenset(
    {"InvalidBoardIdException", "InvalidItemIdException", "ResourceNotFoundException"}
)
_FORBIDDEN = frozenset(
    {
        "UserUnauthorizedException",
        "USER_UNAUTHORIZED",
        "USER_ACCESS_DENIED",
        "missingRequiredPermissions",
        "UNAUTHORIZED_FIELD_OR_TYPE",
        "IpRestricted",
    }
)
_SIGNED_OUT = frozenset({"Unauthorized", "NotAuthenticated", "Not Authenticated"})
_COLUMN = frozenset(
    {
        "ColumnValueException",
        "CorrectedValueException",
        "InvalidArgumentException",
        "InvalidColumnIdException",
        "InvalidInputError",
        "InvalidUserIdException",
        "ItemNameTooLongException",
        "JsonParseException",
        "RecordInvalidException",
        "RecordValidException",
    }
)
_CURSOR = frozenset({"CursorException", "CursorExpiredError"})
_LOCKED = "Resource is currently locked"


class ColumnRefused(Refused):
    """A column value does not fit; nothing of the call was applied."""


class CursorExpired(Refused):
    """The cursor is too old, or none."""


class GraphqlError(msgspec.Struct, frozen=True):
    """
    One error of an answer.

    Attributes:
        path: Where in the document; empty when it is about all of it.
        wait: Seconds to wait, when it says so.
    """

    code: str = ""
    status: int = 0
    message: str = ""
    path: tuple[str | int, ...] = ()
    wait: int | None = None

    @property
    def failure(self) -> ProviderFailure:
        """What it means."""
        code = self.code or self.message
        if code in _THROTTLED or self.status == 429:
            return Throttled(self.wait or _USUAL_SECONDS)
        if code in _UNKNOWN:
            return Missing()
        if code in _SIGNED_OUT or self.status == 401:
            return NeedsReauth()
        if code in _FORBIDDEN or self.status == 403:
            return Refused(status=403, word=code)
        if code in _COLUMN:
            return ColumnRefused(status=400, word=code)
        if code in _CURSOR:
            return CursorExpired(status=400, word=code)
        if code == _LOCKED or self.status == 423:
            return Locked(status=423, word=code)
        if code == "INTERNAL_SERVER_ERROR" or self.status >= 500:
            return Broken(failed=True)
        return Refused(status=400, word=code)


NOTHING = msgspec.Raw(b"null")


class Envelope(msgspec.Struct, frozen=True):
    """The body of every answer."""

    data: msgspec.Raw = NOTHING
    errors: Sequence[Any] | None = None
    error_code: str | None = None
    error_message: str | None = None
    status_code: int | None = None


def graphql_errors(
    envelope: Envelope, *, retry_after: str | None = None
) -> tuple[GraphqlError, ...]:
    """Return the errors of a body; *retry_after* is the header of that name."""
    header = int(retry_after) if retry_after is not None and retry_after.isdecimal() else None
    found = [_problem(error, envelope, header) for error in envelope.errors or ()]
    if envelope.error_code or (envelope.error_message and not found):
        message = envelope.error_message or ""
        whole = GraphqlError(
            code=envelope.error_code or "",
            status=envelope.status_code or 0,
            message=message,
            wait=header or _spoken(message),
        )
        waits = [one.wait for one in found if one.wait is not None]
        found = [msgspec.structs.replace(whole, wait=whole.wait or max(waits, default=None))]
    return tuple(found)


def first(found: Sequence[GraphqlError]) -> ProviderFailure:
    """Return what several errors come to: a throttle before anything else."""
    failures = [one.failure for one in found]
    throttles = [failure for failure in failures if isinstance(failure, Throttled)]
    if throttles:
        return max(throttles, key=lambda throttle: throttle.retry_after)
    return failures[0]


def classify(answer: Response) -> ProviderFailure | None:
    """Turn a non-2xx answer into a failure, None when its status says it all."""
    try:
        envelope = msgspec.json.decode(answer.body, type=Envelope)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    found = graphql_errors(envelope, retry_after=answer.headers.get("retry-after"))
    known = [one for one in found if one.code]
    if answer.status == 429:
        waits = [one.wait for one in found if one.wait is not None]
        return Throttled(max(waits, default=DEFAULT_RETRY_AFTER_SECONDS))
    if known and answer.status < 500:
        return first(known)
    return Refused(status=403) if answer.status == 403 else None


def _problem(given: Any, envelope: Envelope, header: int | None) -> GraphqlError:
    if not isinstance(given, Mapping):
        return GraphqlError(message=str(given), wait=header or _spoken(str(given)))
    extensions = given.get("extensions")
    more: Mapping[str, Any] = extensions if isinstance(extensions, Mapping) else {}
    message = str(given.get("message") or "")
    path = given.get("path")
    return GraphqlError(
        code=str(more.get("code") or given.get("error_code") or ""),
        status=_number(more.get("status_code")) or envelope.status_code or 0,
        message=message,
        path=tuple(one for one in path if isinstance(one, str | int))
        if isinstance(path, list)
        else (),
        wait=header or _number(more.get("retry_in_seconds")) or _spoken(message),
    )


def _spoken(message: str) -> int | None:
    found = _RESET.search(message)
    return int(found[1]) if found else None


def _number(given: Any) -> int | None:
    return int(given) if isinstance(given, int | float) and 0 < given < 10**9 else None
