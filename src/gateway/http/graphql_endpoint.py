"""POST /graphql over HTTP, and POST /graphql/rest-of, which names the REST call of a document."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
from graphql import GraphQLError, GraphQLSyntaxError
from msgspec.structs import replace

from gateway.http.calls import Calls
from gateway.http.documents.cost_report import report_cost
from gateway.http.entry import RequestEntry
from gateway.http.graphql_idempotency import IdempotentMutation, Rows
from gateway.http.request_state import request_state
from graph import errors
from graph.context import Context
from graph.documents.cost_limits import MAX_BYTES_WITH_FILES
from graph.documents.operations import Graph
from graph.documents.request_body import GraphQLRequest
from graph.request_execution import (
    JSON_TYPE,
    NO_SURFACE_COST,
    HttpResponse,
    RunOnce,
    read_unrun,
    refusal_response,
    respond,
)
from graph.request_log import WHOLE_REQUEST
from policy.refusals import Conflict, InvalidInput, Refusal
from policy.vocabulary import Code
from providers.failures import without_frames
from rest_compat.body import read_body
from rest_compat.ledger import KEY_HEADER
from rest_compat.preferences import EFFECT_HEADER, Preferences, read_preferences, wants_cost
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse
from rest_compat.table import ENDPOINTS
from rest_compat.translation.to_rest import NoRestCall, to_rest

GraphQLHandler = Callable[[RestRequest], Awaitable[RestResponse]]


def endpoint(entry: RequestEntry, graph: Graph, calls: Calls, rows: Rows) -> GraphQLHandler:
    """Build the handler of POST /graphql; *rows* are those of `mutation_rows`."""

    def once(request: RestRequest, body: bytes) -> RunOnce:
        keys, effects = map(request.header_values, (KEY_HEADER, EFFECT_HEADER))
        return IdempotentMutation(keys, effects, body, calls, rows)

    async def run(request: RestRequest) -> RestResponse:
        stated = request.header_values("prefer")
        requested = read_preferences(stated)
        # `handling=strict` is not applied: the schema refuses unknown members anyway.
        preferences = Preferences(
            partial_fail=requested.partial_fail,
            dry_run=requested.dry_run,
            cost=bool(stated) and wants_cost(stated),
        )
        reply, is_dry_run = await _respond(entry, graph, once, request, preferences)
        preferences = replace(preferences, dry_run=preferences.dry_run and is_dry_run)
        return RestResponse(
            status=reply.status,
            body=reply.body,
            headers=tuple({**reply.headers, **dict(preferences.applied)}.items()),
            content_type=reply.content_type,
        )

    return run


def rest_of(entry: RequestEntry, graph: Graph, base_url: str) -> GraphQLHandler:
    """Build the handler of POST /graphql/rest-of; *base_url* is the gateway's own address."""

    async def run(request: RestRequest) -> RestResponse:
        context = await entry.authorize(request.scope, NO_SURFACE_COST)
        body = await read_whole_body(request)
        status = 500
        try:
            answer = _rest_call(graph, base_url, await read_unrun(body, context, entry.saved))
            status = 200
        except Refusal as refusal:
            denial = errors.denial(refusal, surface=None)
            context.request_log.denials[WHOLE_REQUEST] = denial
            status = denial.status
            raise
        finally:
            entry.recorder.record_graphql(context, status)
        return RestResponse(status=200, body=orjson.dumps(answer))

    return run


def _rest_call(graph: Graph, base_url: str, request: GraphQLRequest) -> dict[str, Any]:
    """
    Return the REST call of the document of *request*, or what prevents it.

    Raises:
        Refusal: The document is invalid, or its variables do not fit.
    """
    try:
        document = graph.parse(request.query)
        graph.choose_operation(document, request.operation)
        document = graph.validate(request.query, document)
        problems = document.validation_errors
    except GraphQLError as error:
        problems = (error,)
    if problems:
        is_syntax = isinstance(problems[0], GraphQLSyntaxError)
        code = Code.GRAPHQL_PARSE_FAILED if is_syntax else Code.GRAPHQL_VALIDATION_FAILED
        raise InvalidInput(problems[0].message, code=code)
    program = graph.operation(document, request.operation).program
    mismatches = program.coerce(request.variables)
    if isinstance(mismatches, list):
        raise InvalidInput(mismatches[0].message)
    try:
        call = to_rest(
            ENDPOINTS, graph.schema, program.node, program.definitions, request.variables
        )
    except NoRestCall as reason:
        return {"call": None, "also": [], "preventedBy": reason.field, "message": reason.message}
    return {
        "call": {
            "method": call.method,
            "path": call.path,
            "headers": call.headers,
            "body": call.body,
            "contentBase64": call.content,
            "status": call.status,
            "curl": call.curl(base_url),
        },
        "also": call.also,
        "preventedBy": None,
        "message": None,
    }


async def _respond(
    entry: RequestEntry,
    graph: Graph,
    make_once: Callable[[RestRequest, bytes], RunOnce],
    request: RestRequest,
    preferences: Preferences,
) -> tuple[HttpResponse, bool]:
    """
    Authenticate the caller, then read and run the document, and record the decision.

    Returns:
        The response, and whether a mutation was run dry.
    """
    request_id, accept = entry.request_id(request.scope), request.header("accept") or ""
    try:
        caller = await entry.authenticate(request.scope, NO_SURFACE_COST)
    except Refusal as refusal:
        return refusal_response(refusal, request_id=request_id, accept=accept), False
    body = await read_whole_body(request)
    context: Context | None = None

    async def admit(costs: Mapping[str, int]) -> Context:
        nonlocal context
        context = await entry.charge_caller(request.scope, caller, costs)
        context.require_all = preferences.partial_fail
        context.prefers_dry_run = preferences.dry_run
        if preferences.cost:
            report_cost(context, request_state(request.scope))
        return context

    once = None
    if isinstance(body, bytes):
        once = make_once(request, body)
    status = 0
    try:
        reply = await respond(
            graph,
            body,
            admit=admit,
            request_id=request_id,
            accept=accept,
            once=once,
            saved=entry.saved,
            caller=caller,
        )
        status = reply.status
    except Exception:
        status = 500
        raise
    finally:
        if context is not None:
            entry.recorder.record_graphql(context, status)
    return reply, context is not None and context.is_dry_run


async def read_whole_body(request: RestRequest) -> bytes | Refusal:
    """Read the body; return the refusal of one that did not arrive whole or is not JSON."""
    declared = request.header("content-length")
    try:
        body = await read_body(request.receive, declared=declared, limit=MAX_BYTES_WITH_FILES)
    except Refusal as refusal:
        return without_frames(refusal)
    if body and not _is_json(request.header("content-type") or ""):
        message = "Send the body as JSON, with the header Content-Type: application/json."
        return Conflict(message, code=Code.UNSUPPORTED_MEDIA_TYPE)
    return body


def _is_json(content_type: str) -> bool:
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type == JSON_TYPE or media_type.endswith("+json")
