"""
Builds REST error responses; no other module shapes them.

The graph decides the status (`extensions.httpStatus`). This module decides where `error` is null,
which members of a result object an error body has, and its headers (docs/spec/errors.md).
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import orjson
from msgspec.structs import replace

from graph.errors import described
from policy.refusals import Detail, InvalidInput, Refusal
from policy.vocabulary import Code, Surface
from rest_compat.responses import RestResponse

WHOLE_BODY = "$"  # the `field` of a detail about the whole body
CHALLENGE = 'Bearer error="invalid_token"'


class ResultObject(msgspec.Struct, frozen=True, kw_only=True):
    """
    The error members of a result object.

    Attributes:
        renamed_codes: Codes that its `errorCode` spells differently.
        known_codes: The only values its `errorCode` may have, or None when it takes every code.
        has_code: Whether it has an `errorCode`.
        constants: Members that have the same value in every response.
    """

    renamed_codes: Mapping[Code, str] = msgspec.field(default_factory=dict)
    known_codes: frozenset[str] | None = None
    has_code: bool = True
    constants: Mapping[str, Any] = msgspec.field(default_factory=dict)

    def members(self, *, code: Code, error: str | None, message: str) -> dict[str, Any]:
        """Return the members of this object that say something in an error body."""
        return {**self.constants, **self._failure(code, error, message)}

    def _failure(self, code: Code, error: str | None, message: str) -> dict[str, Any]:
        if not self.has_code:
            return {"success": False, "errorMessage": message}
        error_code = self.renamed_codes.get(code, error)
        if self.known_codes is not None and error_code not in self.known_codes:
            error_code = None
        return {"success": False, "errorCode": error_code, "errorMessage": message}


_TASK_RESULT = ResultObject(
    # docs/spec/tasks.md#error-codes-of-results
    renamed_codes=MappingProxyType({Code.OPERATION_NOT_ALLOWED: "ACCESS_DENIED"}),
    known_codes=frozenset({"ACCESS_DENIED", "NOT_FOUND", "NO_WRITABLE_FIELDS"}),
)
_DRIVE_RESULT = ResultObject(
    renamed_codes=MappingProxyType(  # docs/spec/collab.md#errors
        {
            Code.INVALID_ID: "INVALID_REQUEST",
            Code.VALIDATION_ERROR: "INVALID_REQUEST",
            Code.INVALID_PARAMETER: "INVALID_REQUEST",
            Code.MISSING_PARAMETER: "INVALID_REQUEST",
            Code.PRECONDITION_FAILED: "INVALID_REQUEST",
            Code.PAYLOAD_TOO_LARGE: "TOO_LARGE",
            Code.PROVIDER_REFUSED: "OPERATION_NOT_ALLOWED",
            Code.NOT_FOUND: "NOT_FOUND",
            Code.QUOTA_EXCEEDED: "QUOTA_EXCEEDED",
            Code.PROVIDER_ERROR: "PROVIDER_ERROR",
            Code.PROVIDER_TIMEOUT: "PROVIDER_ERROR",
            Code.OUTCOME_UNKNOWN: "PROVIDER_ERROR",
        }
    )
)

RESULT_OBJECTS: Mapping[str, ResultObject] = MappingProxyType(
    {
        "EmailActionResult": ResultObject(),
        "DraftActionResult": ResultObject(),
        "TaskItemResult": _TASK_RESULT,
        "TaskOperationResult": _TASK_RESULT,
        "TaskCommentResult": _TASK_RESULT,
        "DriveOperationResult": _DRIVE_RESULT,
        "DriveFileLinkResponse": replace(_DRIVE_RESULT, constants={"isGoogleWorkspaceFile": False}),
        "ItemSensitivityLabelResponse": ResultObject(has_code=False),
    }
)

# Codes of GraphQL for which REST has `error: null` on every surface.
_NULL_CODES = frozenset({Code.UNAUTHENTICATED, Code.RATE_LIMITED})


class RangeNotSatisfiable(InvalidInput):
    """The requested range begins after the end of a file of *size* bytes."""

    code = Code.RANGE_NOT_SATISFIABLE

    def __init__(self, size: int) -> None:
        super().__init__(f"The file has no such range (size: {size}).")
        self.size = size


def problem(code: Code, message: str, *, details: Iterable[tuple[str, str]] = ()) -> Refusal:
    """Build a refusal of the REST layer itself; *details* are (field, message)."""
    return InvalidInput(
        message, code=code, details=(Detail(field, text) for field, text in details)
    )


def of_operation(error: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an error of an operation whose details name their fields as REST does."""
    extensions = error["extensions"]
    if "details" not in extensions:
        return error
    details = [
        {**detail, "field": _rest_field(detail["field"])} for detail in extensions["details"]
    ]
    return {**error, "extensions": {**extensions, "details": details}}


def _rest_field(path: str) -> str:
    return WHOLE_BODY if path == "input" else path.removeprefix("input.")


def refuse(
    refusal: BaseException, *, request_id: str, surface: Surface | None = None
) -> RestResponse:
    """Build the response to a request without a row, in the error shape of *surface*."""
    error = described(refusal, surface=None, request_id=request_id)
    return error_response(error, refusal, surface=surface)


def error_response(  # noqa: PLR0913 - what a row knows of its errors
    error: Mapping[str, Any],
    cause: BaseException,
    *,
    surface: Surface | None,
    result: str | None = None,
    members: Iterable[str] = (),
    codes: Mapping[str, str] = MappingProxyType({}),
) -> RestResponse:
    """
    Build the response for *cause*, which *error* describes as GraphQL does, in *surface*'s shape.

    Members come in the order `error`, `message`, `requestId`, the optional ones, then those of the
    result object *result*: all *members*, null where the error says nothing of them. *codes* are
    the codes that the endpoint spells differently.
    """
    message, extensions = error["message"], error["extensions"]
    code, status = Code(extensions["code"]), int(extensions["httpStatus"])
    shown = _error(code, status, codes, surface)
    body: dict[str, Any] = {
        "error": shown,
        "message": message,
        "requestId": extensions["requestId"],
    }
    result_members = {member: extensions.get(member) for member in members}
    if result is not None:
        shape = RESULT_OBJECTS[result]
        result_members |= shape.members(code=code, error=shown, message=message)
    for member in _OPTIONAL:
        if extensions.get(member) and member not in result_members:
            body[member] = extensions[member]
    body |= result_members
    return RestResponse(
        status=status,
        body=orjson.dumps(body),
        headers=_headers(status, extensions, cause),
        errors=(error,),
        causes=(cause,),
        error=shown,
    )


_OPTIONAL = (
    "details",
    "requiredOperation",
    "requiredOperations",
    "reason",
    "connectedProviders",
    "accounts",
    "effect",  # of a write whose token must show it first
    "accessInfo",
    "fileId",  # of a resource that was created although the response is an error
    "itemId",
)


def _error(
    code: Code, status: int, codes: Mapping[str, str], surface: Surface | None
) -> str | None:
    """Return the `error` member (docs/spec/errors.md#where-error-is-null)."""
    if code in _NULL_CODES or status in {401, 429}:
        return None
    if surface is Surface.COLLAB and (code is Code.NOT_FOUND or status >= 500):
        return None
    return codes.get(code, code.value)


def _headers(
    status: int, extensions: Mapping[str, Any], cause: BaseException
) -> tuple[tuple[str, str], ...]:
    """Return the headers that an error of this status carries."""
    headers = []
    if status == 401:
        headers.append(("WWW-Authenticate", CHALLENGE))
    if status == 429:
        headers.append(("Retry-After", str(extensions.get("retryAfter", 1))))
    if isinstance(cause, RangeNotSatisfiable):
        headers.append(("Content-Range", f"bytes */{cause.size}"))
    if extensions.get("requiredOperations"):
        headers.append(("X-Required-Operation", ", ".join(extensions["requiredOperations"])))
    return tuple(headers)
