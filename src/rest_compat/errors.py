"""
From the word of a refusal to the body of an answer: the one place that shapes REST errors.

The status is the graph's (`extensions.httpStatus`). What is decided here: where `error` is null,
what a result object says beside it, and which headers go with it. Source: contract, "Errors";
decisions 1 and 16.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import orjson

from policy.vocabulary import Code, Surface
from rest_compat.ports import Problem
from rest_compat.responses import RestResponse

WHOLE_BODY = "$"  # the `field` of a complaint about the body as a whole
CHALLENGE = 'Bearer error="invalid_token"'


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultObject:
    """
    How a result object spells an error in its own members.

    Attributes:
        spelled: Codes that its `errorCode` spells differently.
        closed: The only values its `errorCode` may have, or None when it takes every code.
        has_code: Whether it has an `errorCode` at all.
    """

    spelled: Mapping[Code, str] = field(default_factory=dict)
    closed: frozenset[str] | None = None
    has_code: bool = True

    def members(self, *, word: Code, error: str | None, message: str) -> dict[str, Any]:
        """Return the members that an error body has because the success body is this object."""
        if not self.has_code:
            return {"success": False, "errorMessage": message}
        code = self.spelled.get(word, error)
        if self.closed is not None and code not in self.closed:
            code = None
        return {"success": False, "errorCode": code, "errorMessage": message}


_TASK_RESULT = ResultObject(
    spelled=MappingProxyType({Code.OPERATION_NOT_ALLOWED: "ACCESS_DENIED"}),  # decisions 2
    closed=frozenset({"ACCESS_DENIED", "NOT_FOUND", "NO_WRITABLE_FIELDS"}),
)
_DRIVE_RESULT = ResultObject(
    spelled=MappingProxyType(  # decisions 8.13 and 16
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
        "TaskItemResult": _TASK_RESULT,
        "TaskOperationResult": _TASK_RESULT,
        "TaskCommentResult": _TASK_RESULT,
        "DriveOperationResult": _DRIVE_RESULT,
        "DriveFileLinkResponse": _DRIVE_RESULT,
        "ItemSensitivityLabelResponse": ResultObject(has_code=False),
    }
)

# GraphQL words for what REST answers with `error: null` on every surface.
_WORDLESS = frozenset({Code.UNAUTHENTICATED, Code.RATE_LIMITED})


def problem(
    code: Code, message: str, *, status: int, details: Iterable[tuple[str, str]] = ()
) -> Problem:
    """Describe a refusal of this layer's own; *details* are (field, message)."""
    extensions: dict[str, Any] = {"code": code, "httpStatus": status}
    listed = [{"field": field, "message": why} for field, why in details]
    if listed:
        extensions["details"] = listed
    return Problem(message, extensions)


def problem_from_graphql(error: Mapping[str, Any]) -> Problem:
    """
    Read a GraphQL error dict; one without extensions is our bug.

    Details name their fields in REST words: what is under `input` is a member of the body.
    """
    extensions = error.get("extensions") or {"code": Code.INTERNAL_ERROR, "httpStatus": 500}
    if "details" in extensions:
        details = [
            {**detail, "field": _rest_field(str(detail["field"]))}
            for detail in extensions["details"]
        ]
        extensions = {**extensions, "details": details}
    return Problem(str(error["message"]), extensions)


def _rest_field(path: str) -> str:
    return WHOLE_BODY if path == "input" else path.removeprefix("input.")


def error_response(
    failure: Problem,
    *,
    request_id: str,
    surface: Surface | None,
    result: str | None = None,
    codes: Mapping[str, str] = MappingProxyType({}),
) -> RestResponse:
    """
    Shape *failure* as *surface* shapes its errors.

    Members come in the order `error`, `message`, `requestId`, the optional ones, then those of the
    result object *result*. *codes* are words that the endpoint spells differently.
    """
    extensions = failure.extensions
    word = Code(extensions["code"])
    status = int(extensions["httpStatus"])
    error = _error(word, status, codes, surface)
    body: dict[str, Any] = {"error": error, "message": failure.message, "requestId": request_id}
    for member in _OPTIONAL:
        if extensions.get(member):
            body[member] = extensions[member]
    if result is not None:
        members = RESULT_OBJECTS[result].members(word=word, error=error, message=failure.message)
        body |= members
    return RestResponse(
        status=status, body=orjson.dumps(body), headers=_headers(status, extensions)
    )


_OPTIONAL = (
    "details",
    "requiredOperation",
    "reason",
    "connectedProviders",
    "accessInfo",
    "fileId",  # of what was made although the answer is an error
    "itemId",
)


def _error(
    word: Code, status: int, codes: Mapping[str, str], surface: Surface | None
) -> str | None:
    """Return the `error` member: null exactly where the contract says "none"."""
    if word in _WORDLESS or status in {401, 429}:
        return None
    if surface is Surface.COLLAB and (word is Code.NOT_FOUND or status >= 500):
        return None
    return codes.get(word, word.value)


def _headers(status: int, extensions: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the headers that an error of this status carries."""
    headers = []
    if status == 401:
        headers.append(("WWW-Authenticate", CHALLENGE))
    if status == 429:
        headers.append(("Retry-After", str(extensions.get("retryAfter", 1))))
    if extensions.get("requiredOperation"):
        headers.append(("X-Required-Operation", str(extensions["requiredOperation"])))
    return tuple(headers)
