"""POST /graphql over HTTP, and POST /graphql/rest-of, which names the REST call of a document."""

from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from graphql import GraphQLError, GraphQLSyntaxError

from gateway.documents.stored import StoredDocuments
from gateway.http.calls import Calls
from gateway.http.graphql_call import GraphQLCall, Rows
from graph.context import Context
from graph.documents.operations import Graph
from graph.documents.request_body import GraphQLRequest
from policy.caller import Caller
from policy.refusals import InvalidInput, Refusal
from policy.vocabulary import Code
from rest_compat import errors as rest_errors
from rest_compat.preferences import Preferences, read_preferences, wants_cost
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse
from rest_compat.table import ENDPOINTS, RateBucket
from rest_compat.translation.to_rest import NoRestCall, to_rest

GraphQLHandler = Callable[[RestRequest], Awaitable[RestResponse]]


def endpoint(
    calls: Calls, graph: Graph, saved: StoredDocuments | None, rows: Rows
) -> GraphQLHandler:
    """Build the handler of POST /graphql; *rows* are those of `mutation_rows`."""

    async def run(request: RestRequest) -> RestResponse:
        stated = request.header_values("prefer")
        requested = read_preferences(stated)
        # `handling=strict` is not applied: the schema refuses unknown members anyway.
        preferences = Preferences(
            partial_fail=requested.partial_fail,
            dry_run=requested.dry_run,
            wait=requested.wait,
            cost=bool(stated) and wants_cost(stated),
        )
        call = GraphQLCall(request, graph, saved, rows=rows, preferences=preferences)
        return await calls.run(call)

    return run


def rest_of(calls: Calls, graph: Graph, saved: StoredDocuments, base_url: str) -> GraphQLHandler:
    """Build the handler of POST /graphql/rest-of; *base_url* is the gateway's own address."""

    async def run(request: RestRequest) -> RestResponse:
        return await calls.run(_RestOfCall(request, graph, saved, base_url=base_url))

    return run


class _RestOfCall(GraphQLCall):
    """
    A request that describes its document and does not run it.

    A text is the caller's own. Of a `documentId` the token must be able to run the document, or the
    answer would tell what is in it.
    """

    def __init__(self, *parts: Any, base_url: str) -> None:
        super().__init__(*parts)
        self._base_url = base_url

    async def measure(self, caller: Caller) -> RateBucket:
        del caller
        self._read = await self._read_request()
        return self.bucket

    async def pass_gates(self, context: Context) -> None:
        self.context = context

    async def run(self, context: Context) -> RestResponse:
        read = self._read
        if isinstance(read, Refusal) or read.document_id is not None:
            read = await self.require_allowed(context)
        answer = _rest_call(self._graph, self._base_url, read)
        return RestResponse(status=200, body=orjson.dumps(answer))

    def refuse(self, refusal: BaseException, request_id: str) -> RestResponse:
        super().refuse(refusal, request_id)  # which logs it
        return rest_errors.refuse(refusal, request_id=request_id)

    def finish(self, reply: RestResponse, context: Context | None) -> RestResponse:
        del context
        return reply


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
