"""Components that the descriptions of all paths share: error responses, headers, parameters."""

from collections.abc import Iterable, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Any

from policy.vocabulary import Surface
from rest_compat.documents import root_members
from rest_compat.errors import RESULT_OBJECTS, ResultObject
from rest_compat.multipart import FORM
from rest_compat.openapi.schema_values import JsonSchema, nullable, schema_ref
from rest_compat.table import Endpoint

_MEANINGS: Mapping[int, str] = MappingProxyType(
    {
        400: "A parameter or the body is invalid; `details` names each field.",
        401: "The bearer token is missing, malformed, unknown, revoked or expired.",
        403: "The token does not allow the operation, or the connection cannot carry it out.",
        404: "The resource does not exist for this token.",
        408: "The request body did not arrive in time.",
        409: "The idempotency key is in use or was used with another request.",
        412: "The resource has changed since it was read, or the write would have another effect.",
        413: "The body is too large, or the file whose text was to be read.",
        415: "The body is not declared as JSON, or the file is of a type that has no text here.",
        416: "The range begins after the end of the file.",
        422: "The surface is not enabled for the token, or no account of this kind is connected.",
        428: "The token writes only with the digest of the effect, which the body shows.",
        429: "A rate limit of the gateway or of the provider is reached.",
        500: "An unexpected error of the gateway.",
        502: "The provider failed.",
        503: "The service is overloaded.",
        504: "The provider did not answer in time, or the outcome is unknown.",
    }
)


# Not "Error": generated Python has a variable of this name beside that of the member `error`.
ERROR = "ApiError"

# Surfaces whose query parameters name calendars or folders, which may not exist.
_RESOURCES_IN_QUERIES = frozenset({Surface.CALENDAR, Surface.COLLAB})


def error_statuses(endpoint: Endpoint) -> list[int]:
    """Return the error statuses of *endpoint*, in order."""
    statuses = {400, 401, 403, 422, 429, 500, 503}
    if endpoint.surface is not None:
        statuses |= {502, 504}
    names_resource = "{" in endpoint.path or endpoint.surface in _RESOURCES_IN_QUERIES
    if names_resource or (endpoint.surface is not None and endpoint.method == "POST"):
        statuses.add(404)
    if endpoint.method == "POST" or (endpoint.method == "PATCH" and endpoint.headers):
        statuses.add(409)
    if endpoint.streams:
        statuses.add(416)
    if endpoint.path.endswith("/text"):
        statuses |= {413, 415}
    if endpoint.method != "GET":
        statuses.add(412)
    if endpoint.method != "GET" and endpoint.surface is not None:
        statuses.add(428)
    if endpoint.method in {"POST", "PATCH"}:
        statuses |= {408, 413}
    return sorted(statuses)


def error_name(endpoint: Endpoint) -> str:
    """Return the component name of the endpoint's error bodies."""
    return _union_name(endpoint.result) if endpoint.result else ERROR


def _union_name(result: str) -> str:
    """Return "DriveOperationError" for "DriveOperationResult"."""
    return f"{result.removesuffix('Response').removesuffix('Result')}Error"


def response_name(endpoint: Endpoint, status: int) -> str:
    """Return the component name of the endpoint's response of *status*."""
    return f"{error_name(endpoint)}{status}"


def error_responses(endpoints: Iterable[Endpoint]) -> dict[str, JsonSchema]:
    """Describe every error response once."""
    return {
        response_name(endpoint, status): describe_error_response(status, error_name(endpoint))
        for endpoint in sorted(endpoints, key=error_name)
        for status in error_statuses(endpoint)
    }


def describe_error_response(status: int, schema: str) -> JsonSchema:
    """Describe an error response whose body is the component *schema*."""
    headers = dict(COMMON_HEADERS)
    for name in _ERROR_HEADERS.get(status, ()):
        headers[name] = header_ref(name.replace("-", "").removeprefix("X"))
    body = {"schema": schema_ref(schema)}
    return {
        "description": _MEANINGS[status],
        "headers": headers,
        "content": {"application/json": body},
    }


def error_schemas(endpoints: Iterable[Endpoint]) -> dict[str, JsonSchema]:
    """Describe the error body, its parts, and its combinations with the result objects in use."""
    documents: dict[str, list[str]] = {}
    for endpoint in endpoints:
        if endpoint.result:
            documents.setdefault(endpoint.result, []).append(endpoint.document)
    unions = {
        _union_name(name): _union(name, RESULT_OBJECTS[name], documents[name])
        for name in sorted(documents)
    }
    codes = {code for name in documents for code in RESULT_OBJECTS[name].known_codes or ()}
    named = {_TASK_CODE: {"type": "string", "enum": sorted(codes)}} if codes else {}
    error = _ERROR
    if documents:  # calls that write
        effect = {**schema_ref("Effect"), "description": "What the write would do (428 only)."}
        error = {**_ERROR, "properties": {**_ERROR["properties"], "effect": effect}}
    return {ERROR: error, **_ERROR_PARTS, **named, **unions}


def _union(name: str, result: ResultObject, documents: Iterable[str]) -> JsonSchema:
    """Describe an error of *documents*; a member that one of them lacks is optional."""
    selections = [root_members(document) for document in documents]
    members: dict[str, Any] = {
        member: _ERROR_MEMBERS.get(member, {"type": "null"})
        for member in dict.fromkeys(chain.from_iterable(selections))
    }
    members |= {member: {"const": value} for member, value in result.constants.items()}
    if result.known_codes is not None:
        members["errorCode"] = nullable(schema_ref(_TASK_CODE))
    required = [member for member in members if all(member in names for names in selections)]
    own = {"type": "object", "properties": members, "required": required}
    return {
        "description": f"An error that can be read as an {ERROR} and as a {name}.",
        "allOf": [schema_ref(ERROR), own],
    }


_TASK_CODE = "TaskErrorCode"  # the codes that the result objects of tasks know
_NULLABLE_STRING: JsonSchema = {"type": ["string", "null"]}
_MADE: JsonSchema = {
    **_NULLABLE_STRING,
    "description": "The id of the object that was created although the request failed.",
}
# Members of result objects that say something in an error; the others are null.
_ERROR_MEMBERS: Mapping[str, JsonSchema] = {
    "success": {"const": False},
    "errorCode": _NULLABLE_STRING,
    "errorMessage": {"type": "string"},
    "fileId": _MADE,
    "itemId": _MADE,
    "rejectedFields": {
        "type": ["array", "null"],
        "items": {"type": "string"},
        "description": "All named fields, when none of them can be set.",
    },
}


def header_ref(name: str) -> JsonSchema:
    """Refer to a header of `HEADERS`."""
    return {"$ref": f"#/components/headers/{name}"}


BEARER = "An access token: `Authorization: Bearer agw_…`."

_ERROR: JsonSchema = {
    "type": "object",
    "description": "An error.",
    "properties": {
        "error": {
            "type": ["string", "null"],
            "description": "The error code; null on 401 and 429, and on 404 and 5xx of "
            "collaboration content.",
        },
        "message": {"type": "string", "description": "The reason in words."},
        "requestId": {
            "type": "string",
            "description": "The id of this request in the gateway's logs; also the "
            "header X-Request-Id.",
        },
        "details": {"type": "array", "items": schema_ref("ErrorDetail")},
        "requiredOperation": {
            "type": "string",
            "description": "The missing flag; the first that would do, where one of several would.",
        },
        "requiredOperations": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The flags of which one would do.",
        },
        "reason": {
            **schema_ref("UnauthenticatedReason"),
            "description": "Why the credential was refused (401 only).",
        },
        "connectedProviders": {"type": "array", "items": {"type": "string"}},
        "accounts": {
            "type": "array",
            "items": schema_ref("AmbiguousAccount"),
            "description": "The accounts that a write could go to (AMBIGUOUS_ACCOUNT only).",
        },
        "accessInfo": {"type": "string", "description": "The token's restrictions in words."},
    },
    "required": ["error", "message", "requestId"],
}
_ERROR_PARTS: Mapping[str, JsonSchema] = {
    "AmbiguousAccount": {
        "type": "object",
        "description": "An account that a write could go to.",
        "properties": {
            "connectionId": {"type": "integer", "format": "int64"},
            "account": {"type": "string", "description": "The address of the account."},
        },
        "required": ["connectionId", "account"],
    },
    "ErrorDetail": {
        "type": "object",
        "description": "One reason of an error.",
        "properties": {
            "field": {
                "type": "string",
                "description": "The parameter or the member: `to[0].email`; `$` the body.",
            },
            "message": {"type": "string"},
        },
        "required": ["field", "message"],
    },
    "UnauthenticatedReason": {
        "type": "string",
        "enum": ["MISSING_HEADER", "MALFORMED_HEADER", "UNKNOWN_TOKEN", "REVOKED", "EXPIRED"],
    },
}

_INTEGER: JsonSchema = {"type": "integer"}
_STRING: JsonSchema = {"type": "string"}

HEADERS: Mapping[str, JsonSchema] = {
    "RequestId": {"description": "The request's id.", "schema": _STRING},
    "ApiVersion": {"description": "The date of the contract.", "schema": _STRING},
    "RateLimitLimit": {
        "description": "Requests allowed in the window with the fewest left.",
        "schema": _INTEGER,
    },
    "RateLimitRemaining": {"description": "Requests left in that window.", "schema": _INTEGER},
    "RateLimitReset": {
        "description": "When this window next has room for a request, in Unix seconds.",
        "schema": _INTEGER,
    },
    "RetryAfter": {"description": "Whole seconds to wait.", "schema": _INTEGER},
    "WWWAuthenticate": {"description": 'Bearer error="invalid_token"', "schema": _STRING},
    "RequiredOperation": {
        "description": "The flags of which one would do, separated by `, `.",
        "schema": _STRING,
    },
    "AppliedLimit": {
        "description": "The `limit` that was used, when the requested one was above the maximum.",
        "schema": _INTEGER,
    },
    "IgnoredParameters": {
        "description": "The unknown query parameters of a lenient call, percent-encoded, "
        "separated by `, `.",
        "schema": _STRING,
    },
    "IdempotentReplayed": {
        "description": "`true` when this response is a repetition of an earlier one "
        "with the same key.",
        "schema": _STRING,
    },
    "ContentRange": {
        "description": "`bytes first-last/size`; `bytes */size` on 416.",
        "schema": _STRING,
    },
    "ContentDisposition": {
        "description": "`attachment`, with a file name that is safe to use.",
        "schema": _STRING,
    },
    "AcceptRanges": {
        "description": "`bytes`, or `none` when the provider does not tell the size.",
        "schema": _STRING,
    },
    "ETag": {"description": "For `If-Range`.", "schema": _STRING},
    "PreferenceApplied": {"description": "The preferences that were applied.", "schema": _STRING},
}
COMMON_HEADERS: Mapping[str, JsonSchema] = {
    "X-Request-Id": header_ref("RequestId"),
    "X-Api-Version": header_ref("ApiVersion"),
    "X-RateLimit-Limit": header_ref("RateLimitLimit"),
    "X-RateLimit-Remaining": header_ref("RateLimitRemaining"),
    "X-RateLimit-Reset": header_ref("RateLimitReset"),
    "Preference-Applied": header_ref("PreferenceApplied"),
    "X-Ignored-Parameters": header_ref("IgnoredParameters"),
}
_ERROR_HEADERS: Mapping[int, tuple[str, ...]] = {
    401: ("WWW-Authenticate",),
    403: ("X-Required-Operation",),
    416: ("Content-Range",),
    422: ("X-Required-Operation",),
    429: ("Retry-After",),
}
PARAMETERS: Mapping[str, JsonSchema] = {
    "Prefer": {
        "name": "Prefer",
        "in": "header",
        "description": "`handling=strict`: unknown query parameters are refused; "
        "`handling=lenient`: they are ignored although the token refuses them. "
        "`partial=fail`: 502 instead of a response in which some providers are missing. "
        "`dry-run`: a write is described and not made.",
        "schema": _STRING,
    },
    "IfEffect": {
        "name": "If-Effect",
        "in": "header",
        "description": "The `digest` of the effect of a dry run or of a 428; 412, or 428 where the "
        "token requires it, if the effect is another one.",
        "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
    },
    "Range": {
        "name": "Range",
        "in": "header",
        "description": "`bytes=first-last`, one range; anything else is ignored.",
        "schema": _STRING,
    },
    "IfRange": {
        "name": "If-Range",
        "in": "header",
        "description": "The `ETag` of the file that the range belongs to.",
        "schema": _STRING,
    },
    "RequestId": {
        "name": "X-Request-Id",
        "in": "header",
        "description": "The id this request is to have, 1 to 128 of `A-Z a-z 0-9 . _ -`; made here "
        "when absent or anything else.",
        "schema": _STRING,
    },
    "IdempotencyKey": {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "Requests with the same key are carried out once within 24 hours.",
        "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
    },
}


BYTES: JsonSchema = {"type": "string", "format": "binary"}
FILE_FORM = "FileForm"
FORM_SCHEMA: JsonSchema = {
    "description": "One file part, of any name, and nothing else.",
    "type": "object",
    "properties": {"file": BYTES},
    "required": ["file"],
    "additionalProperties": False,
}
UPLOAD_CONTENT: JsonSchema = {
    "application/octet-stream": {"schema": BYTES},
    FORM: {"schema": schema_ref(FILE_FORM)},
}
OPTIONAL_IN_FORMS: JsonSchema = {
    "required": False,
    "description": "1 to 255 characters; required unless the file part of a form has a file name.",
}
