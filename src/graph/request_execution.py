"""
POST /graphql: one operation per request, for power users. Source: decisions 13.

    parse and measure → charge (`admit`) → validate → run → answer

Whoever calls `respond` knows the caller already: no document of a stranger is read. What it costs
to find out the charge is bounded. Statuses: 200 when executed, 400, 401, 409, 413, 429, 503, and
504 when the kept reply to a mutation cannot be read.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import msgspec
import orjson
from graphql import GraphQLError

from graph import errors
from graph.context import Context
from graph.documents.cost_limits import MAX_BYTES, MAX_OBJECTS
from graph.documents.operation import Operation, OperationResult
from graph.documents.operations import Document, Graph
from graph.request_log import WHOLE_REQUEST, Denial
from policy.refusals import Conflict, InvalidInput, Refusal, TooManyRequests, Unauthenticated
from policy.vocabulary import LAYER_BY_CODE, Code

JSON_TYPE = "application/json"
GRAPHQL_TYPE = "application/graphql-response+json"

# What a request costs that names no surface: its bucket is `graphql`.
NO_SURFACE_COST: Mapping[str, int] = {"graphql": 1}

Admit = Callable[[Mapping[str, int]], Awaitable[Context]]


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """
    An HTTP answer.

    Attributes:
        headers: Besides `Content-Type`.
        error_status: The `httpStatus` of the first error that is a root field's own; None: there is
            none, so what was asked has happened, even where parts of its result are missing.
    """

    status: int
    body: bytes
    content_type: str = JSON_TYPE
    headers: Mapping[str, str] = field(default_factory=dict)
    error_status: int | None = None


RunOperation = Callable[[], Awaitable[HttpResponse]]
RunOnce = Callable[[Operation, Context, RunOperation], Awaitable[HttpResponse]]


@dataclass(frozen=True, slots=True)
class _Request:
    query: str
    variables: dict[str, Any]
    operation: str | None


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A request that may be run, as soon as the caller is known."""

    request: _Request
    document: Document
    costs: Mapping[str, int]


async def respond(  # noqa: PLR0913 - what a request has
    graph: Graph,
    body: bytes | Refusal,
    *,
    admit: Admit,
    request_id: str,
    accept: str = "",
    once: RunOnce | None = None,
) -> HttpResponse:
    """
    RestResponse one request; *accept* is its `Accept` header.

    *body* may be what kept it from arriving: that is answered as a flaw of it would be.

    *admit* is awaited exactly once with the costs: it charges the buckets and builds the context.
    *once* runs a mutation, or answers as it was answered before. The refusals that they raise are
    answered here.
    """
    kind = _kind(accept)
    prepared = _prepare(graph, body)
    costs = prepared.costs if isinstance(prepared, _Prepared) else NO_SURFACE_COST
    try:
        context = await admit(costs)
    except Refusal as refusal:
        return _refused(refusal, request_id, kind)
    if not isinstance(prepared, _Prepared):
        context.request_log.denials[WHOLE_REQUEST] = _ruling(prepared)
        return _refused(prepared, request_id, kind)
    document = graph.validated(prepared.request.query, prepared.document)
    if document.invalid:
        context.request_log.denials[WHOLE_REQUEST] = _stopped(Code.GRAPHQL_VALIDATION_FAILED)
        found = [
            errors.describe_request(error, Code.GRAPHQL_VALIDATION_FAILED, request_id=request_id)
            for error in document.invalid
        ]
        return _reply(400, {"errors": found}, kind)
    operation = graph.operation(document, prepared.request.operation)
    given = prepared.request.variables
    if context.budget is None:
        context.budget = MAX_OBJECTS
    if once is None or operation.kind != "mutation":
        return await _run(operation, given, context, kind)
    context.request_log.root_fields, context.request_log.variables = (
        operation.running_root_fields(given),
        given,
    )
    try:
        reply = await once(operation, context, partial(_run, operation, given, context, kind))
        return replace(reply, content_type=kind)
    except Refusal as refusal:
        context.request_log.denials[WHOLE_REQUEST] = errors.denial(
            refusal, surface=operation.surface
        )
        return _refused(refusal, request_id, kind)


def refusal_response(refusal: Refusal, *, request_id: str, accept: str = "") -> HttpResponse:
    """RestResponse a request that was stopped before its document was looked at."""
    return _refused(refusal, request_id, _kind(accept))


def _kind(accept: str) -> str:
    return GRAPHQL_TYPE if GRAPHQL_TYPE in accept else JSON_TYPE


async def _run(
    operation: Operation, given: Mapping[str, Any], context: Context, kind: str
) -> HttpResponse:
    outcome = await operation.execute(given, context)
    if outcome.data is None and outcome.errors and "path" not in outcome.errors[0]:
        stopped = outcome.errors[0]["extensions"]["httpStatus"]
        return _reply(stopped, {"errors": list(outcome.errors)}, kind)
    answer = _answer(outcome)
    if operation.surface is not None:
        answer["extensions"] = {"access": operation.access(context)}
    own = (one["extensions"]["httpStatus"] for one in outcome.errors if len(one["path"]) == 1)
    return replace(_reply(200, answer, kind), error_status=next(own, None))


def _answer(outcome: OperationResult) -> dict[str, Any]:
    answer: dict[str, Any] = {"data": outcome.data}
    if outcome.errors:
        answer["errors"] = list(outcome.errors)
    return answer


def _prepare(graph: Graph, body: bytes | Refusal) -> _Prepared | GraphQLError | Refusal:
    if isinstance(body, Refusal):
        return body
    try:
        request = _read(body)
        document = graph.read(request.query)
        _, cost = graph.choose(document, request.operation)
        cost.check(request.variables)
    except (GraphQLError, Refusal) as problem:
        return problem
    return _Prepared(request, document, cost.charges(request.variables))


def _read(body: bytes) -> _Request:
    """
    Read the JSON body strictly: an object, no batch, no surrogates, no NaN.

    Raises:
        Refusal: It is too large, or not of this shape.
    """
    if len(body) > MAX_BYTES:
        raise Conflict(f"The body is larger than {MAX_BYTES} bytes.", code=Code.PAYLOAD_TOO_LARGE)
    try:
        read = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise _unreadable("The body is not JSON.") from None
    if isinstance(read, list):
        raise _unreadable("Batches are not served: send one operation per request.")
    if not isinstance(read, dict) or not isinstance(read.get("query"), str):
        raise _unreadable("The body must be an object with a query.")
    variables, operation = read.get("variables"), read.get("operationName")
    if not isinstance(variables, dict | None):
        raise _unreadable("variables must be an object.")
    if not isinstance(operation, str | None):
        raise _unreadable("operationName must be a string.")
    return _Request(read["query"], variables or {}, operation or None)


def _unreadable(message: str) -> InvalidInput:
    return InvalidInput(message, code=Code.VALIDATION_ERROR)


def _refused(problem: GraphQLError | Refusal, request_id: str, kind: str) -> HttpResponse:
    if isinstance(problem, GraphQLError):
        told = errors.describe_request(problem, Code.GRAPHQL_PARSE_FAILED, request_id=request_id)
    else:
        told = {
            "message": errors.message(problem),
            "extensions": errors.extensions(problem, surface=None, request_id=request_id),
        }
    headers = {}
    if isinstance(problem, Unauthenticated):
        headers["WWW-Authenticate"] = 'Bearer error="invalid_token"'
    if isinstance(problem, TooManyRequests):
        headers["Retry-After"] = str(problem.retry_after)
    return _reply(told["extensions"]["httpStatus"], {"errors": [told]}, kind, headers)


def _ruling(problem: GraphQLError | Refusal) -> Denial:
    if isinstance(problem, GraphQLError):
        return _stopped(Code.GRAPHQL_PARSE_FAILED)
    return errors.denial(problem, surface=None)


def _stopped(code: Code) -> Denial:
    return Denial(layer=LAYER_BY_CODE[code], code=code, status=errors.STATUSES[code])


def _reply(
    status: int, answer: Mapping[str, Any], kind: str, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    return HttpResponse(status, msgspec.json.encode(answer), kind, headers or {})
