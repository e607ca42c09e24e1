"""
Errors of monday.com's responses: docs/spec/upstream/errors-and-throttling.md#monday-errors.

HTTP 200 does not mean success; an error may be a bare text; before 2025-01 the first error was at
the top of the body.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from providers.failures import (
    Broken,
    Locked,
    Missing,
    NeedsReauth,
    ProviderFailure,
    Refused,
    Throttled,
)
from providers.http.response import Response
from providers.http.retry_after import seconds_until_midnight

_RESET = re.compile(r"reset in (\d{1,6})", re.IGNORECASE)

# Of an error that is a bare text.
_THROTTLED_WORDS = re.compile(
    r"budget exhausted|reset in \d|rate limit|too many requests|concurrency|daily limit"
    r"|temporarily blocked",
    re.IGNORECASE,
)
_SCOPE = re.compile(r"[a-z_]{1,30}:[a-z_]{1,30}")
_MAX_SCOPES = 10

_DAILY = "DAILY_LIMIT_EXCEEDED"  # until midnight UTC
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
        _DAILY,
        "API_TEMPORARILY_BLOCKED",
    }
)
_MISSING = frozenset(
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
    """A column value was refused; nothing of the call was applied."""


class CursorExpired(Refused):
    """The cursor is too old or invalid."""


class GraphqlError(msgspec.Struct, frozen=True):
    """
    One error of a response.

    Attributes:
        path: Path into the data; empty when the error concerns the whole document.
        wait_seconds: None when the error does not tell.
        scopes: Scopes that the token lacks, as far as the error names them.
    """

    code: str = ""
    status: int = 0
    message: str = ""
    path: tuple[str | int, ...] = ()
    wait_seconds: int | None = None
    scopes: tuple[str, ...] = ()

    @property
    def failure(self) -> ProviderFailure:
        """The provider failure that the error stands for."""
        code = self.code or self.message
        is_bare_throttle = not self.code and _THROTTLED_WORDS.search(self.message) is not None
        if code in _THROTTLED or self.status == 429 or is_bare_throttle:
            until_reset = seconds_until_midnight("UTC") if code == _DAILY else None
            return Throttled(self.wait_seconds or until_reset)
        if code in _MISSING:
            return Missing()
        if code in _SIGNED_OUT or self.status == 401:
            return NeedsReauth()
        if code in _FORBIDDEN or self.status == 403:
            return Refused(status=403, word=code, scopes=self.scopes)
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
    """The body of every response."""

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
    errors = tuple(_graphql_error(error, envelope, header) for error in envelope.errors or ())
    if not envelope.error_code and (errors or not envelope.error_message):
        return errors
    message = envelope.error_message or ""
    whole = GraphqlError(
        code=envelope.error_code or "",
        status=envelope.status_code or 0,
        message=message,
        wait_seconds=header or _wait_in_message(message) or _longest_wait(errors),
    )
    return (whole,)


def main_failure(errors: Sequence[GraphqlError]) -> ProviderFailure:
    """Return the failure of several errors: the longest throttle, else the first failure."""
    failures = [error.failure for error in errors]
    throttles = [failure for failure in failures if isinstance(failure, Throttled)]
    if throttles:
        return max(throttles, key=lambda throttle: throttle.retry_after)
    return failures[0]


def classify(response: Response) -> ProviderFailure | None:
    """Turn a non-2xx response into a failure; None when its status suffices."""
    if response.status == 503:  # an outage, also with Retry-After; its throttle is 429
        return Broken(failed=True)
    try:
        envelope = response.decode(Envelope)
    except Broken:
        return None
    errors = graphql_errors(envelope, retry_after=response.headers.get("retry-after"))
    with_code = [error for error in errors if error.code]
    failure = main_failure(with_code) if with_code else None
    if response.status == 429:
        named = failure.named if isinstance(failure, Throttled) else None
        return Throttled(named or _longest_wait(errors))
    if failure is not None and response.status < 500:
        return failure
    return Refused(status=403) if response.status == 403 else None


def _graphql_error(error: Any, envelope: Envelope, header: int | None) -> GraphqlError:
    if not isinstance(error, Mapping):
        return GraphqlError(message=str(error), wait_seconds=header or _wait_in_message(str(error)))
    extensions = error.get("extensions")
    more: Mapping[str, Any] = extensions if isinstance(extensions, Mapping) else {}
    message = str(error.get("message") or "")
    path = error.get("path")
    steps = path if isinstance(path, list) else ()
    return GraphqlError(
        code=str(more.get("code") or error.get("error_code") or ""),
        status=_number(more.get("status_code")) or envelope.status_code or 0,
        message=message,
        path=tuple(step for step in steps if isinstance(step, str | int)),
        wait_seconds=header or _number(more.get("retry_in_seconds")) or _wait_in_message(message),
        scopes=_scopes(more.get("error_data")),
    )


def _scopes(error_data: Any) -> tuple[str, ...]:
    """Return the scopes that an error names; whatever is not written as one is left out."""
    named = error_data.get("required_scopes") if isinstance(error_data, Mapping) else None
    if not isinstance(named, list):
        return ()
    return tuple(scope for scope in named[:_MAX_SCOPES] if _SCOPE.fullmatch(str(scope)))


def _longest_wait(errors: Sequence[GraphqlError]) -> int | None:
    waits = (error.wait_seconds for error in errors if error.wait_seconds is not None)
    return max(waits, default=None)


def _wait_in_message(message: str) -> int | None:
    match = _RESET.search(message)
    return int(match[1]) if match else None


def _number(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and 0 < value < 10**9 else None
