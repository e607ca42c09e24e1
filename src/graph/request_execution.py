"""
Execution of POST /graphql requests, one operation each (docs/spec/graphql.md).

    parse and measure → charge (`admit`) → validate → run → respond

The caller is authenticated before `respond`: the document of an unknown caller is never parsed.
The work before the charge is bounded by the document limits.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

import msgspec
from graphql import GraphQLError
from msgspec.structs import replace

from graph import errors
from graph.context import Context
from graph.documents.operation import Operation
from graph.documents.operations import Document, Graph
from graph.documents.request_body import GraphQLRequest, read_request
from graph.documents.suggestions import with_suggestion
from graph.execution.counting_executor import MAX_OBJECTS
from graph.request_log import WHOLE_REQUEST, Denial
from graph.shape import shape_of
from policy.caller import Caller
from policy.refusals import NotFound, Refusal, TooManyRequests, Unauthenticated
from policy.vocabulary import LAYER_BY_CODE, Code
from providers.failures import without_frames

JSON_TYPE = "application/json"
GRAPHQL_TYPE = "application/graphql-response+json"

# Rate-limit cost of a request without a surface.
NO_SURFACE_COST: Mapping[str, int] = {"graphql": 1}

Admit = Callable[[Mapping[str, int]], Awaitable[Context]]


class HttpResponse(msgspec.Struct, frozen=True):
    """
    The HTTP response to a GraphQL request.

    Attributes:
        headers: Headers other than `Content-Type`.
        error_status: The `httpStatus` of the first error whose path is a root field. None when
            every root field ran, even where parts of a result are missing.
        errors: The errors that it reports.
        causes: The exceptions behind *errors*, in the same order; None of an invalid document.
    """

    status: int
    body: bytes
    content_type: str = JSON_TYPE
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    error_status: int | None = None
    errors: Sequence[Mapping[str, Any]] = ()
    causes: Sequence[BaseException | None] = ()


Value = TypeVar("Value")
RunOperation = Callable[[], Awaitable[HttpResponse]]
RunOnce = Callable[[Operation, Context, RunOperation], Awaitable[HttpResponse]]


class SavedTexts(Protocol):
    """The saved documents, by the SHA-256 of their texts in hexadecimal digits."""

    async def text_of(self, digest: str) -> str | None:
        """Return the text of a saved document; None: there is none."""

    async def names_of(self, digest: str) -> Sequence[str]:
        """Return the names of the documents that have one text."""


class _Prepared(msgspec.Struct, frozen=True):
    """A request that may run once it is charged."""

    request: GraphQLRequest
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
    saved: SavedTexts | None = None,
    caller: Caller | None = None,
) -> HttpResponse:
    """
    Execute one request and return the response, also for refusals that *admit* and *once* raise.

    *body* is the request body, or the refusal that kept it from arriving; *accept* is the header.
    *admit* is awaited exactly once with the costs: it charges the buckets and builds the context.
    *once* runs a mutation, or returns the stored response of an earlier run; *saved* has documents.
    *caller* is charged for a `documentId` that it may not run as for one that does not exist.
    """
    content_type = _content_type(accept)
    prepared = _prepare(graph, request := await _read(body, saved))
    may_run = await _may_run(request, caller, saved)
    costs = prepared.costs if may_run and isinstance(prepared, _Prepared) else NO_SURFACE_COST
    try:
        context = await admit(costs)
    except Refusal as refusal:
        return _error_response(refusal, request_id, content_type)
    prepared = await _limited(prepared, request, context, saved)
    if not isinstance(prepared, _Prepared):
        context.request_log.denials[WHOLE_REQUEST] = _denial(prepared)
        refused = _error_response(prepared, request_id, content_type)
        return refused if isinstance(request, Refusal) else _as_accepted(refused, accept)
    if prepared.document.validation_errors is None:
        await asyncio.sleep(0)  # validation is a second long step
    document = graph.validate(prepared.request.query, prepared.document)
    if not document.operations:
        await asyncio.sleep(0)  # and a new document's plan and run a third
    if document.validation_errors:
        described = _describe_invalid(graph, document.validation_errors, context)
        return _as_accepted(_response(400, {"errors": described}, content_type), accept)
    operation = graph.operation(document, prepared.request.operation)
    variables = prepared.request.variables
    if operation.kind == "mutation":
        context.ask_for_effect(
            dry_run=prepared.request.dry_run or context.prefers_dry_run,
            expected=prepared.request.expected_effect,
        )
    if context.budget is None:
        context.budget = MAX_OBJECTS
    run = partial(_run, operation, variables, context, content_type)
    if once is None or operation.kind != "mutation":
        return _as_accepted(await run(), accept)
    log = context.request_log
    log.fields, log.variables = operation.running_fields(variables), variables
    try:
        reply = replace(await once(operation, context, run), content_type=content_type)
    except Refusal as refusal:
        log.denials[WHOLE_REQUEST] = errors.denial(refusal, surface=operation.surface)
        return _error_response(refusal, request_id, content_type)
    return _as_accepted(reply, accept)


def _describe_invalid(
    graph: Graph, problems: Iterable[GraphQLError], context: Context
) -> list[dict[str, Any]]:
    """Describe the errors of a document that does not fit the schema, and note the refusal."""
    code = Code.GRAPHQL_VALIDATION_FAILED
    context.request_log.denials[WHOLE_REQUEST] = _denial_of(code)
    described = [
        errors.describe_request(error, code, request_id=context.request_id) for error in problems
    ]
    shape = shape_of(graph.schema, context.caller)
    for error in described:
        error["message"] = with_suggestion(error["message"], shape)
    return described


def refusal_response(refusal: Refusal, *, request_id: str, accept: str = "") -> HttpResponse:
    """Return the response to a request that was refused before its document was read."""
    return _error_response(refusal, request_id, _content_type(accept))


def _content_type(accept: str) -> str:
    return GRAPHQL_TYPE if GRAPHQL_TYPE in accept else JSON_TYPE


def _as_accepted(reply: HttpResponse, accept: str) -> HttpResponse:
    """
    Return the reply to a well-formed request with 200 for 400, if the client names JSON alone.

    GraphQL over HTTP asks for it; see docs/spec/graphql.md#statuses.
    """
    is_legacy = JSON_TYPE in accept and GRAPHQL_TYPE not in accept
    return replace(reply, status=200) if is_legacy and reply.status == 400 else reply


async def _run(
    operation: Operation, variables: Mapping[str, Any], context: Context, content_type: str
) -> HttpResponse:
    result = await operation.execute(variables, context)
    content: dict[str, Any]
    if result.data is None and result.errors and "path" not in result.errors[0]:
        status = result.errors[0]["extensions"]["httpStatus"]
        content = {"errors": list(result.errors)}
        return replace(_response(status, content, content_type), causes=result.causes)
    content = {"data": result.data}
    if result.errors:
        content["errors"] = list(result.errors)
    extensions: dict[str, Any] = {}
    if operation.surfaces or context.cost is not None:
        extensions["access"] = operation.access(context)
    if context.cost is not None:
        extensions["access"]["cost"] = context.cost(operation.surfaces)
    if result.unlisted:
        extensions["unlistedErrors"] = result.unlisted
    if context.effect is not None:
        extensions |= {"dryRun": True, "effect": context.effect}
    if extensions:
        content["extensions"] = extensions
    root_statuses = (
        error["extensions"]["httpStatus"] for error in result.errors if len(error["path"]) == 1
    )
    return replace(
        _response(200, content, content_type),
        error_status=next(root_statuses, None),
        causes=result.causes,
    )


async def _read(body: bytes | Refusal, saved: SavedTexts | None) -> GraphQLRequest | Refusal:
    """Read the body; a `documentId` becomes the text of the saved document."""
    if isinstance(body, Refusal):
        return body
    try:
        request = read_request(body, with_id=True)
        if request.document_id is None:
            return request
        text = None if saved is None else await saved.text_of(request.document_id)
        if text is None:
            message = "There is no saved document with this documentId."
            return NotFound(message, code=Code.DOCUMENT_NOT_FOUND)
        return replace(request, query=text)
    except Refusal as problem:
        return without_frames(problem)


async def read_unrun(
    body: bytes | Refusal, context: Context, saved: SavedTexts | None
) -> GraphQLRequest:
    """
    Read the body of a request that describes its document and does not run it.

    A text is the caller's own. Of a `documentId` the token must be able to run the document, or the
    answer would tell what is in it.

    Raises:
        Refusal: The body is no request, there is no such document, or the token may not run it.
    """
    request = await _read(body, saved)
    is_text = isinstance(request, GraphQLRequest) and request.document_id is None
    allowed = request if is_text else await _limited(request, request, context, saved)
    if isinstance(allowed, Refusal):
        raise allowed
    return allowed


async def _may_run(
    request: GraphQLRequest | Refusal, caller: Caller | None, saved: SavedTexts | None
) -> bool:
    """Return whether *caller* may run the saved document that the request names, if it does."""
    limit = caller.grant.documents if caller is not None else None
    if limit is None or isinstance(request, Refusal) or request.document_id is None:
        return True
    return limit.allows(() if saved is None else await saved.names_of(request.document_id))


async def _limited(
    prepared: Value, request: GraphQLRequest | Refusal, context: Context, saved: SavedTexts | None
) -> Value | Refusal:
    """Return *prepared*, or the refusal of a token that is limited to saved documents."""
    if not context.caller.limits_documents:
        return prepared
    names: Sequence[str] = ()
    if isinstance(request, GraphQLRequest):
        digest = request.document_id or hashlib.sha256(request.query.encode()).hexdigest()
        names = () if saved is None else await saved.names_of(digest)
    elif request.code is not Code.DOCUMENT_NOT_FOUND:
        return prepared  # the body is no request
    try:
        context.check_document(names)
    except Refusal as refusal:
        return without_frames(refusal)
    return prepared


def _prepare(graph: Graph, request: GraphQLRequest | Refusal) -> _Prepared | GraphQLError | Refusal:
    if isinstance(request, Refusal):
        return request
    try:
        document = graph.parse(request.query)
        _, cost = graph.choose_operation(document, request.operation)
        cost.check(request.variables)
    except (GraphQLError, Refusal) as problem:
        return without_frames(problem)
    return _Prepared(request, document, cost.charges(request.variables))


def _error_response(
    problem: GraphQLError | Refusal, request_id: str, content_type: str
) -> HttpResponse:
    if isinstance(problem, GraphQLError):
        error = errors.describe_request(problem, Code.GRAPHQL_PARSE_FAILED, request_id=request_id)
    else:
        error = errors.described(problem, surface=None, request_id=request_id)
    headers = {}
    if isinstance(problem, Unauthenticated):
        headers["WWW-Authenticate"] = 'Bearer error="invalid_token"'
    if isinstance(problem, TooManyRequests):
        headers["Retry-After"] = str(problem.retry_after)
    status = error["extensions"]["httpStatus"]
    reply = _response(status, {"errors": [error]}, content_type, headers)
    return replace(reply, causes=(problem if isinstance(problem, Refusal) else None,))


def _denial(problem: GraphQLError | Refusal) -> Denial:
    if isinstance(problem, GraphQLError):
        return _denial_of(Code.GRAPHQL_PARSE_FAILED)
    return errors.denial(problem, surface=None)


def _denial_of(code: Code) -> Denial:
    return Denial(layer=LAYER_BY_CODE[code], code=code, status=errors.STATUSES[code])


def _response(
    status: int,
    content: Mapping[str, Any],
    content_type: str,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    body, reported = msgspec.json.encode(content), content.get("errors", ())
    return HttpResponse(status, body, content_type, headers or {}, errors=reported)
