"""Error responses of each upstream, for the credential check and for faults."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from sandbox.http import Response, json_response

# HTTP status -> (reason, domain, status word, message);
# docs/spec/upstream/errors-and-throttling.md#google-errors
_PROVIDER_A = {
    400: ("invalidArgument", "global", "INVALID_ARGUMENT", "Invalid argument."),
    401: ("authError", "global", "UNAUTHENTICATED", "Invalid Credentials"),
    403: ("insufficientPermissions", "global", "PERMISSION_DENIED", "Insufficient Permission"),
    404: ("notFound", "global", "NOT_FOUND", "Requested entity was not found."),
    409: ("aborted", "global", "ABORTED", "The operation was aborted."),
    410: ("deleted", "calendar", "FAILED_PRECONDITION", "Resource has been deleted"),
    412: ("conditionNotMet", "global", "FAILED_PRECONDITION", "Precondition check failed."),
    423: ("backendError", "global", "UNAVAILABLE", "Locked"),
    429: ("rateLimitExceeded", "usageLimits", "RESOURCE_EXHAUSTED", "Rate Limit Exceeded"),
    500: ("backendError", "global", "INTERNAL", "Backend Error"),
    502: ("backendError", "global", "UNAVAILABLE", "Bad Gateway"),
    503: ("backendError", "global", "UNAVAILABLE", "The service is currently unavailable."),
}
_USAGE_REASONS = frozenset(
    {"rateLimitExceeded", "userRateLimitExceeded", "dailyLimitExceeded", "quotaExceeded"}
)
_CALENDAR_REASONS = frozenset(
    {
        "deleted",
        "forbiddenForNonOrganizer",
        "fullSyncRequired",
        "requiredAccessLevel",
        "timeRangeEmpty",
        "timeRangeTooLong",
    }
)
_MISSING_SCOPE = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT",
    "domain": "googleapis.com",
}
# HTTP status -> (code, message);
# docs/spec/upstream/errors-and-throttling.md#microsoft-graph-errors
_GRAPH = {
    400: ("BadRequest", "Bad request."),
    401: ("InvalidAuthenticationToken", "Access token is empty, expired or invalid."),
    403: ("ErrorAccessDenied", "Access is denied. Check credentials and try again."),
    404: ("itemNotFound", "The resource could not be found."),
    409: ("nameAlreadyExists", "An item with the same name already exists."),
    410: ("resyncRequired", "The token is no longer good: start again."),
    412: ("resourceModified", "The resource has changed since the caller last read it."),
    415: ("unsupportedMediaType", "The media type is not supported."),
    423: ("resourceLocked", "The resource is locked."),
    429: ("activityLimitReached", "The request has been throttled."),
    500: ("generalException", "An unexpected error occurred."),
    502: ("generalException", "Bad gateway."),
    503: ("serviceNotAvailable", "The service is not available."),
    504: ("generalException", "Gateway timeout."),
    507: ("quotaLimitReached", "The user has reached their quota limit."),
    509: ("bandwidthLimitExceeded", "The bandwidth limit has been exceeded."),
}
_FILE_CODES = {400: "invalidRequest", 403: "accessDenied"}
# `innerError` of a throttled call to files, sites and lists.
THROTTLED = {"code": "throttledRequest", "innerError": {"code": "quota"}}
_MAIL_CODES = {
    404: "ErrorItemNotFound",
    409: "ErrorIrresolvableConflict",
    412: "ErrorIrresolvableConflict",
    429: "ApplicationThrottled",
}
_TASKS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "USER_UNAUTHORIZED",
    404: "RESOURCE_NOT_FOUND",
    429: "RATE_LIMIT_EXCEEDED",
}
_PROJECTS = {
    400: "Bad Request",
    401: "Not Authorized",
    402: "This feature is only available to premium users.",
    403: "You do not have access to this task.",
    404: "task: Unknown object",
    429: "You've made too many requests and hit a rate limit."
    " Please retry after the given amount of time.",
}


def provider_a(
    status: int,
    *,
    reason: str = "",
    message: str = "",
    retry_after: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """
    Build an error of Google's APIs, with ``errors[]`` and the status word.

    A throttle names its wait as a time in its message; there is no Retry-After.
    """
    usual, domain, word, text = _PROVIDER_A.get(status, _PROVIDER_A[500])
    if reason:
        domain = "usageLimits" if reason in _USAGE_REASONS else domain
        domain = "calendar" if reason in _CALENDAR_REASONS else domain
    if retry_after is not None and (status == 429 or reason in _USAGE_REASONS):
        then = datetime.now(UTC) + timedelta(seconds=retry_after)
        text = f"User-rate limit exceeded.  Retry after {_time(then)}"
        retry_after = None
    shown = message or text
    detail: dict[str, Any] = {"message": shown, "domain": domain, "reason": reason or usual}
    if status == 401:
        detail |= {"location": "Authorization", "locationType": "header"}
    error = {"code": status, "message": shown, "errors": [detail], "status": word}
    if detail["reason"] == "insufficientPermissions":
        error["details"] = [_MISSING_SCOPE]
    extra = dict(headers or {})
    if status == 401:
        extra["www-authenticate"] = 'Bearer realm="https://accounts.example/", error=invalid_token'
    return json_response({"error": error}, status, _with_retry_after(extra, retry_after))


def graph(
    status: int,
    *,
    reason: str = "",
    message: str = "",
    retry_after: int | None = None,
    headers: Mapping[str, str] | None = None,
    inner: Mapping[str, Any] | None = None,
) -> Response:
    """Build an error of Microsoft Graph; *reason* replaces the usual code."""
    code, text = _GRAPH.get(status, _GRAPH[500])
    request_id = str(uuid4())
    error = {
        "code": reason or code,
        "message": message or text,
        "innerError": {
            **(inner or {}),
            "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S"),
            "request-id": request_id,
            "client-request-id": request_id,
        },
    }
    extra = {"request-id": request_id, "client-request-id": request_id, **(headers or {})}
    if status == 401:
        extra["www-authenticate"] = 'Bearer realm="", error="invalid_token"'
    kind = "application/json"
    return json_response({"error": error}, status, _with_retry_after(extra, retry_after), kind=kind)


def mail_graph(status: int, *, reason: str = "", **rest: Any) -> Response:
    """Build an error of Outlook mail and calendar."""
    return graph(status, reason=reason or _MAIL_CODES.get(status, ""), **rest)


def file_graph(status: int, *, reason: str = "", **rest: Any) -> Response:
    """Build an error of files, sites and lists."""
    inner = THROTTLED if status == 429 else None
    return graph(status, reason=reason or _FILE_CODES.get(status, ""), inner=inner, **rest)


def tasks(
    status: int,
    *,
    reason: str = "",
    message: str = "",
    retry_after: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Build an error of monday.com, as of API version 2025-01 and later."""
    if status == 401:
        return json_response({"errors": ["Not Authenticated"]}, 401, headers)
    code = reason or _TASKS.get(status, "INTERNAL_SERVER_ERROR")
    extensions: dict[str, Any] = {"code": code, "status_code": status}
    if retry_after is not None:
        extensions["retry_in_seconds"] = retry_after
    shown = message or code.replace("_", " ").capitalize()
    body = {"errors": [{"message": shown, "extensions": extensions}], "account_id": 1}
    return json_response(body, status, _with_retry_after(dict(headers or {}), retry_after))


def projects(
    status: int,
    *,
    reason: str = "",
    message: str = "",
    retry_after: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Build an error of Asana, which has no code; *reason* serves as the message."""
    error = {"message": message or reason or _PROJECTS.get(status, "Server Error")}
    if status >= 500:
        error["phrase"] = "6 sad squid snuggle softly"
    return json_response(
        {"errors": [error]}, status, _with_retry_after(dict(headers or {}), retry_after)
    )


def oauth(
    status: int,
    *,
    reason: str = "",
    message: str = "",
    retry_after: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Build an OAuth error (RFC 6749)."""
    usual = {400: "invalid_request", 401: "invalid_client"}.get(status, "temporarily_unavailable")
    body = {"error": reason or usual, "error_description": message or "The request failed."}
    return json_response(body, status, _with_retry_after(dict(headers or {}), retry_after))


def _time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


ErrorBuilder = Callable[..., Response]

ERROR_BUILDERS: Mapping[str, ErrorBuilder] = MappingProxyType(
    {
        "providerA": provider_a,
        "providerB": mail_graph,
        "collab": file_graph,
        "tasks": tasks,
        "projects": projects,
        "oauth": oauth,
    }
)


def _with_retry_after(headers: dict[str, str], retry_after: int | None) -> dict[str, str]:
    return headers if retry_after is None else {**headers, "retry-after": str(retry_after)}
