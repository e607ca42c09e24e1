"""
How the board provider answers: HTTP 200 with ``data`` and ``errors``, whatever went wrong inside.

Versions before 2025-01 word an application error at the top level. Source: reference/wire.md 2.3.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from graphql import GraphQLError

from sandbox.boards.complexity import exhausted
from sandbox.boards.store import ACCOUNT_ID
from sandbox.http import Request, Response, json_response

CURRENT = "2026-10"
UNIFIED = "2025-01"  # the first version with the errors of today
_VALIDATION = "GRAPHQL_VALIDATION_FAILED"


def version_of(request: Request) -> str:
    """Return the API version asked for; one that makes no sense is taken for the current."""
    asked = request.headers.get("api-version", "")
    year, dash, month = asked.partition("-")
    is_version = dash and year.isdigit() and len(year) == 4 and month in {"01", "04", "07", "10"}
    return asked if is_version else CURRENT


def answered(data: dict[str, Any] | None, errors: Sequence[GraphQLError], version: str) -> Response:
    """Answer with what an execution came to."""
    formatted: list[dict[str, Any]] = [_formatted(error) for error in errors]
    if errors and version < UNIFIED and (legacy := _legacy(formatted)) is not None:
        return _said(legacy, version, formatted)
    body: dict[str, Any] = {}
    if data is not None or not errors or any(error.path for error in errors):
        body["data"] = data
    if errors:
        body["errors"] = formatted
    return _said(body, version, formatted)


def invalid(errors: Sequence[GraphQLError], version: str, *, code: str = _VALIDATION) -> Response:
    """Refuse a document that cannot be executed."""
    formatted = []
    for error in errors:
        one: dict[str, Any] = dict(error.formatted)
        one["extensions"] = {"code": code}
        formatted.append(one)
    return _said({"errors": formatted}, version, formatted)


def unreadable(message: str) -> Response:
    """Refuse a body that is no request."""
    error = {"message": message, "extensions": {"code": "BadRequest", "status_code": 400}}
    return json_response({"errors": [error], "account_id": ACCOUNT_ID}, 400)


def _formatted(error: GraphQLError) -> dict[str, Any]:
    formatted: dict[str, Any] = dict(error.formatted)
    if "code" in formatted.get("extensions", {}):
        return formatted
    # Not one of the wire's own refusals: an argument that does not fit, or our own mistake.
    if error.original_error is None or isinstance(error.original_error, GraphQLError):
        code, status = "argumentLiteralsIncompatible", 200
    else:
        code, status = "INTERNAL_SERVER_ERROR", 500
        formatted["message"] = "Internal server error"
    formatted["extensions"] = {"code": code, "status_code": status}
    return formatted


def _legacy(errors: list[dict[str, Any]]) -> dict[str, Any] | None:
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


def _said(body: dict[str, Any], version: str, errors: Sequence[dict[str, Any]]) -> Response:
    request_id = str(uuid4())
    if version >= UNIFIED:
        body["extensions"] = {"request_id": request_id}
    body["account_id"] = ACCOUNT_ID
    headers = {"api-version": version, "x-request-id": request_id}
    waits = [error.get("extensions", {}).get("retry_in_seconds") for error in errors]
    if any(waits):
        headers["retry-after"] = str(max(wait for wait in waits if wait))
    return json_response(body, headers=headers)


# Faults that the provider words inside a 200 (or, where said, another status)


def _refusing(
    code: str, message: str, *, status: int, wait: int | None = None, http: int = 200
) -> "Spoken":
    def speak(request: Request, *, reason: str = "", retry_after: int | None = None) -> Response:
        version = version_of(request)
        seconds = wait if retry_after is None else retry_after
        extensions: dict[str, Any] = {"code": reason or code, "status_code": status}
        if seconds is not None:
            extensions["retry_in_seconds"] = seconds
        error = {"message": message, "extensions": extensions}
        body: dict[str, Any] = {"errors": [error]}
        if version < UNIFIED:
            body = _legacy([error]) or {}
        said = _said(body, version, [error])
        return Response(status=http, body=said.body, headers=said.headers)

    return speak


def _complexity(request: Request, *, reason: str = "", retry_after: int | None = None) -> Response:
    seconds = 12 if retry_after is None else retry_after
    version = reason or version_of(request)
    refusal = exhausted(cost=30_001, left=19_986, limit=1_000_000, seconds=seconds, version=version)
    return answered(None, [refusal], version)


def _strings(_: Request, *, reason: str = "", retry_after: int | None = None) -> Response:
    seconds = 12 if retry_after is None else retry_after
    code = reason or "complexityBudgetExhausted"
    message = f"Complexity budget exhausted, reset in {seconds} seconds"
    return json_response({"errors": [message], "status_code": 429, "error_code": code})


Spoken = Callable[..., Response]

# Fault kind -> its words: (request, *, reason, retry_after) -> Answer.
SPOKEN: Mapping[str, Spoken] = MappingProxyType(
    {
        "complexity": _complexity,
        "strings": _strings,
        "rateLimit": _refusing("RateLimitExceeded", "Rate limit exceeded", status=429, wait=20),
        # The wire's own oddity: a throttle with the status code of a bad request.
        "tooManyRequests": _refusing("tooManyRequests", "Too many requests", status=400, wait=5),
        "concurrency": _refusing(
            "maxConcurrencyExceeded", "Max concurrency exceeded", status=429, wait=1
        ),
        "dailyLimit": _refusing("DAILY_LIMIT_EXCEEDED", "Daily limit exceeded", status=429),
        "locked": _refusing(
            "Resource is currently locked",
            "Resource is currently locked by another operation, please retry.",
            status=423,
        ),
        "unauthorized": _refusing(
            "UserUnauthorizedException", "User unauthorized to perform action", status=403
        ),
        "internal": _refusing("INTERNAL_SERVER_ERROR", "Internal server error", status=500),
    }
)
