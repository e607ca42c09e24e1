"""
Response bodies of the boards API: HTTP 200 with ``data`` and ``errors``, even when a field failed.

API versions before 2025-01 report an application error in top-level members. See
docs/spec/upstream/errors-and-throttling.md#monday-errors.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from graphql import GraphQLError

from sandbox.boards.complexity import budget_exhausted
from sandbox.boards.store import ACCOUNT_ID
from sandbox.http import Request, Response, json_response

CURRENT_VERSION = "2026-10"
UNIFIED_ERRORS_VERSION = "2025-01"  # the first version with today's error format
_VALIDATION = "GRAPHQL_VALIDATION_FAILED"


def version_of(request: Request) -> str:
    """Return the requested API version; the current one when the header is not a version."""
    version = request.headers.get("api-version", "")
    year, dash, month = version.partition("-")
    is_version = dash and year.isdigit() and len(year) == 4 and month in {"01", "04", "07", "10"}
    return version if is_version else CURRENT_VERSION


def execution_response(
    data: dict[str, Any] | None, errors: Sequence[GraphQLError], version: str
) -> Response:
    """Build the response to an executed document."""
    formatted: list[dict[str, Any]] = [_format_error(error) for error in errors]
    if (
        errors
        and version < UNIFIED_ERRORS_VERSION
        and (legacy := _legacy_body(formatted)) is not None
    ):
        return _build(legacy, version, formatted)
    body: dict[str, Any] = {}
    if data is not None or not errors or any(error.path for error in errors):
        body["data"] = data
    if errors:
        body["errors"] = formatted
    return _build(body, version, formatted)


def validation_response(
    errors: Sequence[GraphQLError], version: str, *, code: str = _VALIDATION
) -> Response:
    """Build the response to a document that cannot be executed."""
    formatted = []
    for error in errors:
        entry: dict[str, Any] = dict(error.formatted)
        entry["extensions"] = {"code": code}
        formatted.append(entry)
    return _build({"errors": formatted}, version, formatted)


def bad_request(message: str) -> Response:
    """Build the response to a body that is not a GraphQL request."""
    error = {"message": message, "extensions": {"code": "BadRequest", "status_code": 400}}
    return json_response({"errors": [error], "account_id": ACCOUNT_ID}, 400)


def _format_error(error: GraphQLError) -> dict[str, Any]:
    formatted: dict[str, Any] = dict(error.formatted)
    if "code" in formatted.get("extensions", {}):
        return formatted
    # Not an application error: an argument of the wrong type, or a defect of the sandbox.
    if error.original_error is None or isinstance(error.original_error, GraphQLError):
        code, status = "argumentLiteralsIncompatible", 200
    else:
        code, status = "INTERNAL_SERVER_ERROR", 500
        formatted["message"] = "Internal server error"
    formatted["extensions"] = {"code": code, "status_code": status}
    return formatted


def _legacy_body(errors: list[dict[str, Any]]) -> dict[str, Any] | None:
    extensions = errors[0].get("extensions", {})
    code = extensions.get("code")
    if code is None:
        return None
    return {
        "error_code": code,
        "status_code": extensions.get("status_code", 200),
        "error_message": errors[0]["message"],
        "error_data": extensions.get("error_data", {}),
        "errors": [error["message"] for error in errors],
    }


def _build(body: dict[str, Any], version: str, errors: Sequence[dict[str, Any]]) -> Response:
    request_id = str(uuid4())
    if version >= UNIFIED_ERRORS_VERSION:
        body["extensions"] = {"request_id": request_id}
    body["account_id"] = ACCOUNT_ID
    headers = {"api-version": version, "x-request-id": request_id}
    retry_seconds = [error.get("extensions", {}).get("retry_in_seconds") for error in errors]
    if any(retry_seconds):
        headers["retry-after"] = str(max(seconds for seconds in retry_seconds if seconds))
    return json_response(body, headers=headers)


# Injected faults. Their HTTP status is 200 unless *http_status* says otherwise.


def _fault(
    code: str,
    message: str,
    *,
    status: int,
    retry_after_seconds: int | None = None,
    http_status: int = 200,
) -> "FaultResponder":
    def respond(request: Request, *, reason: str = "", retry_after: int | None = None) -> Response:
        version = version_of(request)
        seconds = retry_after_seconds if retry_after is None else retry_after
        extensions: dict[str, Any] = {"code": reason or code, "status_code": status}
        if seconds is not None:
            extensions["retry_in_seconds"] = seconds
        error = {"message": message, "extensions": extensions}
        body: dict[str, Any] = {"errors": [error]}
        if version < UNIFIED_ERRORS_VERSION:
            body = _legacy_body([error]) or {}
        response = _build(body, version, [error])
        return replace(response, status=http_status)

    return respond


def _complexity_fault(
    request: Request, *, reason: str = "", retry_after: int | None = None
) -> Response:
    seconds = 12 if retry_after is None else retry_after
    version = reason or version_of(request)
    error = budget_exhausted(
        cost=30_001, left=19_986, limit=1_000_000, seconds=seconds, version=version
    )
    return execution_response(None, [error], version)


def _strings_fault(_: Request, *, reason: str = "", retry_after: int | None = None) -> Response:
    seconds = 12 if retry_after is None else retry_after
    code = reason or "complexityBudgetExhausted"
    message = f"Complexity budget exhausted, reset in {seconds} seconds"
    return json_response({"errors": [message], "status_code": 429, "error_code": code})


FaultResponder = Callable[..., Response]

# Fault kind -> (request, *, reason, retry_after) -> Response.
FAULT_RESPONSES: Mapping[str, FaultResponder] = MappingProxyType(
    {
        "complexity": _complexity_fault,
        "strings": _strings_fault,
        "rateLimit": _fault(
            "RateLimitExceeded", "Rate limit exceeded", status=429, retry_after_seconds=20
        ),
        # The API throttles with the status code of a bad request in this case.
        "tooManyRequests": _fault(
            "tooManyRequests", "Too many requests", status=400, retry_after_seconds=5
        ),
        "concurrency": _fault(
            "maxConcurrencyExceeded", "Max concurrency exceeded", status=429, retry_after_seconds=1
        ),
        "dailyLimit": _fault("DAILY_LIMIT_EXCEEDED", "Daily limit exceeded", status=429),
        "locked": _fault(
            "Resource is currently locked",
            "Resource is currently locked by another operation, please retry.",
            status=423,
        ),
        "unauthorized": _fault(
            "UserUnauthorizedException", "User unauthorized to perform action", status=403
        ),
        "internal": _fault("INTERNAL_SERVER_ERROR", "Internal server error", status=500),
    }
)
