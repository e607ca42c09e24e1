"""
Refusals and failures as GraphQL errors: code, status, extensions (docs/spec/graphql.md#errors).

A refusal is an answer, not a fault: it never reaches the error log. An exception that is neither
a refusal nor a provider's failure is a bug of the gateway: callers see INTERNAL_ERROR alone, and
the log names the exception's type and place, never its text, which may quote content.
"""

import logging
import traceback
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from graphql import GraphQLError, ValueNode

from graph.request_log import Denial
from policy.counts import MAX_MESSAGE
from policy.refusals import InvalidInput, Refusal
from policy.vocabulary import Code, Layer, Surface
from providers import failures

log = logging.getLogger("graph")

STATUSES: Mapping[Code, int] = MappingProxyType(
    {
        Code.VALIDATION_ERROR: 400,
        Code.INVALID_PARAMETER: 400,
        Code.MISSING_PARAMETER: 400,
        Code.INVALID_RANGE: 400,
        Code.INVALID_PAGE_TOKEN: 400,
        Code.INVALID_CURSOR: 400,
        Code.INVALID_ID: 400,
        Code.INVALID_QUERY: 400,
        Code.INVALID_FILTER: 400,
        Code.INVALID_FIELDS: 400,
        Code.INVALID_REQUEST: 400,
        Code.INVALID_DESTINATION: 400,
        Code.PROVIDER_REQUIRED: 400,
        Code.AMBIGUOUS_ACCOUNT: 400,
        Code.INVALID_PROVIDER: 400,
        Code.INVALID_RULE_TYPE: 400,
        Code.INVALID_PATTERN: 400,
        Code.INVALID_ACTION: 400,
        Code.GRAPHQL_PARSE_FAILED: 400,
        Code.GRAPHQL_VALIDATION_FAILED: 400,
        Code.QUERY_TOO_COSTLY: 400,
        Code.UNAUTHENTICATED: 401,
        Code.OPERATION_NOT_ALLOWED: 403,
        Code.ACCESS_DENIED: 403,
        Code.TIMEFRAME_DENIED: 403,
        Code.FIELD_NOT_VISIBLE: 403,
        Code.RECIPIENT_NOT_ALLOWED: 403,
        Code.DOCUMENT_NOT_ALLOWED: 403,
        Code.NO_WRITABLE_FIELDS: 403,
        Code.READ_ONLY: 403,
        Code.NO_PROVIDER: 403,
        Code.PROVIDER_REFUSED: 403,
        Code.ADMIN_REQUIRED: 403,
        Code.NOT_FOUND: 404,
        Code.EVENT_NOT_FOUND: 404,
        Code.CALENDAR_NOT_FOUND: 404,
        Code.BLOCKED: 404,
        Code.CONNECTION_NOT_FOUND: 404,
        Code.TOKEN_NOT_FOUND: 404,
        Code.OPERATOR_NOT_FOUND: 404,
        Code.RESOURCE_NOT_FOUND: 404,
        Code.RULE_NOT_FOUND: 404,
        Code.DOCUMENT_NOT_FOUND: 404,
        Code.METHOD_NOT_ALLOWED: 405,
        Code.REQUEST_TIMEOUT: 408,
        Code.IDEMPOTENCY_KEY_REUSED: 409,
        Code.IDEMPOTENCY_IN_PROGRESS: 409,
        Code.NAME_CONFLICT: 409,
        Code.DUPLICATE_RULE: 409,
        Code.PRECONDITION_FAILED: 412,
        Code.EFFECT_CHANGED: 412,
        Code.PAYLOAD_TOO_LARGE: 413,
        Code.TOO_LARGE: 413,
        Code.UNSUPPORTED_MEDIA_TYPE: 415,
        Code.RANGE_NOT_SATISFIABLE: 416,
        Code.EMAIL_NOT_ENABLED: 422,
        Code.CALENDAR_NOT_ENABLED: 422,
        Code.COLLAB_NOT_ENABLED: 422,
        Code.NO_EMAIL_PROVIDER: 422,
        Code.NO_CALENDAR_PROVIDER: 422,
        Code.NO_TASK_PROVIDER: 422,
        Code.NO_COLLAB_PROVIDER: 422,
        Code.MAILBOX_LIMIT: 422,
        Code.RULE_LIMIT: 422,
        Code.UPLOAD_LIMIT: 422,
        Code.DOCUMENT_LIMIT: 422,
        Code.TOKEN_LIMIT: 422,
        Code.HELD_WRITE_LIMIT: 422,
        Code.EFFECT_REQUIRED: 428,
        Code.WRITE_HELD: 202,
        Code.RATE_LIMITED: 429,
        Code.INTERNAL_ERROR: 500,
        Code.PROVIDER_ERROR: 502,
        Code.QUOTA_EXCEEDED: 502,
        Code.SENDING_REFUSED: 502,
        Code.OVERLOADED: 503,
        Code.PROVIDER_TIMEOUT: 504,
        Code.OUTCOME_UNKNOWN: 504,
    }
)

# Where one surface differs from the rest.
SURFACE_STATUSES: Mapping[tuple[Surface, Code], int] = MappingProxyType(
    {(Surface.COLLAB, Code.OPERATION_NOT_ALLOWED): 422}
)

# Most specific class first; a failure takes the code of its nearest class.
FAILURE_CODES: Mapping[type[failures.ProviderFailure], Code] = MappingProxyType(
    {
        failures.Throttled: Code.RATE_LIMITED,
        failures.TimedOut: Code.PROVIDER_TIMEOUT,
        failures.ClientRefused: Code.PROVIDER_ERROR,
        failures.Unreachable: Code.PROVIDER_ERROR,
        failures.MissingScope: Code.PROVIDER_ERROR,
        failures.SendingRefused: Code.SENDING_REFUSED,
        failures.NeedsReauth: Code.PROVIDER_ERROR,
        failures.Impossible: Code.NOT_FOUND,
        failures.Missing: Code.NOT_FOUND,
        failures.Conflicted: Code.NAME_CONFLICT,
        failures.Stale: Code.PRECONDITION_FAILED,
        failures.Locked: Code.PROVIDER_ERROR,
        failures.NotAccepted: Code.PROVIDER_ERROR,
        failures.Inaccessible: Code.PROVIDER_ERROR,
        failures.ReadOnlyGrant: Code.READ_ONLY,
        failures.OutOfSpace: Code.QUOTA_EXCEEDED,
        failures.Refused: Code.PROVIDER_ERROR,
        failures.NoRoom: Code.OVERLOADED,
        failures.OutcomeUnknown: Code.OUTCOME_UNKNOWN,
        failures.TooMuch: Code.PROVIDER_ERROR,
        failures.Shortened: Code.PROVIDER_ERROR,
        failures.Unreadable: Code.PROVIDER_ERROR,
        failures.UnknownZone: Code.PROVIDER_ERROR,
        failures.UnreadPeople: Code.PROVIDER_ERROR,
        failures.TooLarge: Code.PROVIDER_ERROR,
        failures.Incomplete: Code.PROVIDER_ERROR,
        failures.Broken: Code.PROVIDER_ERROR,
        failures.ProviderFailure: Code.PROVIDER_ERROR,
    }
)

# Of a running operation; those of root fields are always listed.
MAX_ERRORS = 50

# Of one error, whose texts may quote the caller (docs/spec/errors.md#error-body).
MAX_DETAILS = 20
MAX_ACCOUNTS = 100
MAX_FIELD = 100  # characters of the `field` of a detail
MAX_LOCATIONS = 5

INTERNAL = "Internal error. The operator can find its cause by the request id."


def status(code: Code, surface: Surface | None) -> int:
    """Return the HTTP status of *code* on *surface*."""
    if surface is not None and (surface, code) in SURFACE_STATUSES:
        return SURFACE_STATUSES[surface, code]
    return STATUSES[code]


def extensions(
    problem: BaseException, *, surface: Surface | None, request_id: str
) -> dict[str, Any]:
    """
    Describe *problem* as the `extensions` of a GraphQL error.

    Anything that is neither a `Refusal` nor a `ProviderFailure` is INTERNAL_ERROR.
    """
    code = code_of(problem)
    described: dict[str, Any] = {
        "code": code.value,
        "httpStatus": status(code, surface),
        "requestId": request_id,
    }
    if isinstance(problem, Refusal):
        if problem.required_operations:
            described["requiredOperation"] = problem.required_operations[0]
            described["requiredOperations"] = list(problem.required_operations)
        if problem.reason is not None:
            described["reason"] = problem.reason
        if problem.details:
            described["details"] = [
                {"field": _cut(detail.field, MAX_FIELD), "message": _cut(detail.message)}
                for detail in problem.details[:MAX_DETAILS]
            ]
        described |= problem.created
        described |= _of_write(problem)
        if problem.rejected_fields:
            described["rejectedFields"] = list(problem.rejected_fields)
        if problem.connected_providers:
            described["connectedProviders"] = list(problem.connected_providers)
        if problem.accounts:
            described["accounts"] = [
                {"connectionId": connection, "account": account}
                for connection, account in problem.accounts[:MAX_ACCOUNTS]
            ]
    retry_after = getattr(problem, "retry_after", None)
    if retry_after is not None:
        described["retryAfter"] = retry_after
    return described


def _of_write(refusal: Refusal) -> dict[str, Any]:
    """Return what a caller learns of the write that was not made."""
    members = {"effect": refusal.effect, "held": refusal.held}
    return {name: value for name, value in members.items() if value is not None}


def described(
    problem: BaseException, *, surface: Surface | None, request_id: str
) -> dict[str, Any]:
    """
    Describe *problem*, which stopped a whole request, as a GraphQL error.

    A refusal becomes a value: it forgets its frames.
    """
    if isinstance(problem, Refusal):
        failures.without_frames(problem)
    return {
        "message": message(problem),
        "extensions": extensions(problem, surface=surface, request_id=request_id),
    }


def message(problem: BaseException) -> str:
    """Return the message of *problem* that is safe to show."""
    if not isinstance(problem, Refusal | failures.ProviderFailure):
        return INTERNAL
    text = problem.message
    cause = problem.cause if type(problem) is failures.Unreachable else None
    if cause is not None and cause.value not in text:  # a sentence about an own mail server
        text = f"{text.rstrip('.')} ({cause.value}). {cause.remedy}"
    return _cut(text)


def _cut(text: str, most: int = MAX_MESSAGE) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _locations(error: GraphQLError) -> list[dict[str, int]]:
    return [
        {"line": location.line, "column": location.column}
        for location in (error.locations or ())[:MAX_LOCATIONS]
    ]


def describe(error: GraphQLError, *, surface: Surface | None, request_id: str) -> dict[str, Any]:
    """Return an error of a running operation as callers see it; log it when it is a bug."""
    problem = cause(error)
    if not isinstance(problem, Refusal | failures.ProviderFailure):
        _log(problem, error, request_id)
    described: dict[str, Any] = {"message": message(problem)}
    if error.locations:
        described["locations"] = _locations(error)
    if error.path is not None:
        described["path"] = list(error.path)
    described["extensions"] = extensions(problem, surface=surface, request_id=request_id)
    return described


def listed(errors: Sequence[GraphQLError]) -> Sequence[GraphQLError]:
    """
    Return the errors of a running operation that its response lists, in their order.

    More than `MAX_ERRORS`: those of root fields, and the first others by their paths, so that
    parallel reads list the same ones each time.
    """
    if len(errors) <= MAX_ERRORS:
        return errors
    by_path = sorted(errors, key=lambda error: list(map(_path_key, error.path or ())))
    roots = [error for error in by_path if len(error.path or ()) <= 1]
    others = [error for error in by_path if len(error.path or ()) > 1]
    return [*roots, *others[: MAX_ERRORS - len(roots)]]


def _path_key(part: str | int) -> tuple[int, str]:
    """Return what orders the parts of a path: indices by number, response keys by text."""
    return (part, "") if isinstance(part, int) else (-1, part)


def describe_request(error: GraphQLError, code: Code, *, request_id: str) -> dict[str, Any]:
    """Return an error of the document itself as callers see it; a long message is cut."""
    described: dict[str, Any] = {"message": _cut(error.message)}
    if error.locations:
        described["locations"] = _locations(error)
    described["extensions"] = {
        "code": code.value,
        "httpStatus": STATUSES[code],
        "requestId": request_id,
    }
    return described


def denial(problem: BaseException, *, surface: Surface | None) -> Denial:
    """Return *problem* as a denial; anything but a refusal is of the layer UPSTREAM."""
    code = code_of(problem)
    layer, rule_id = Layer.UPSTREAM, None
    if isinstance(problem, Refusal):
        layer, rule_id = problem.layer, problem.rule_id
    return Denial(layer=layer, code=code, status=status(code, surface), rule_id=rule_id)


def cause(error: GraphQLError) -> BaseException:
    """Return the original exception behind *error*; invalid values become `InvalidInput`."""
    problem: BaseException = error
    while isinstance(problem, GraphQLError) and problem.original_error is not None:
        problem = problem.original_error
    if isinstance(problem, GraphQLError) and _is_about_input(problem):
        return InvalidInput("The value of an argument does not fit its type.")
    return problem


def _is_about_input(error: GraphQLError) -> bool:
    """Return whether *error* is about a value of the document or of a variable, not of output."""
    return error.nodes is not None and isinstance(error.nodes[0], ValueNode)


def code_of(problem: BaseException) -> Code:
    """Return the code of *problem*; a bug is `INTERNAL_ERROR`."""
    if isinstance(problem, Refusal):
        return problem.code
    for kind in type(problem).__mro__:
        if kind in FAILURE_CODES:
            return FAILURE_CODES[kind]
    return Code.INTERNAL_ERROR


def _log(problem: BaseException, error: GraphQLError, request_id: str) -> None:
    frames = traceback.extract_tb(problem.__traceback__)[-5:]
    log.error(
        "an operation failed unexpectedly",
        extra={
            "request_id": request_id,
            "kind": type(problem).__name__,
            "path": ".".join(str(part) for part in error.path or ()),
            "at": [f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames],
        },
    )
