"""
POST /graphql/explain: why a document is refused, as far as the token's holder may know it.

The document is run as `Prefer: dry-run` does it (docs/spec/dry-run.md), with the token as it
is; its data is dropped. What an administrator may know besides, rules and changes of the token, is
`gateway.explain`. See docs/spec/graphql.md#explain.
"""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

import orjson

from gateway.http.entry import RequestEntry
from gateway.http.graphql_endpoint import GraphQLHandler, read_whole_body
from graph.context import Context
from graph.documents.operations import Graph
from graph.errors import denial
from graph.request_execution import NO_SURFACE_COST, HttpResponse, respond
from graph.request_log import WHOLE_REQUEST, OperationField
from policy.caller import Caller
from policy.refusals import NoDryRun, Refusal
from policy.remedies.sentences import remedy
from policy.vocabulary import LAYER_BY_CODE, Code, Layer
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse

_LIMITS = frozenset({Layer.ADDRESS_LIMIT, Layer.QUOTA})
_BY_CONTENT = frozenset({Layer.SCOPE, Layer.UPSTREAM})
_ORDER = tuple(Layer)
_GATES = _ORDER[: _ORDER.index(Layer.INPUT)]


def explain(entry: RequestEntry, graph: Graph) -> GraphQLHandler:
    """Build the handler of POST /graphql/explain."""

    async def run(request: RestRequest) -> RestResponse:
        caller = await entry.authenticate(request.scope, NO_SURFACE_COST)
        if caller.grant.documents is not None:
            await _refuse_limited(entry, request, caller)
        body = await read_whole_body(request)
        context: Context | None = None
        refusal: Refusal | None = None

        async def admit(costs: Mapping[str, int]) -> Context:
            nonlocal context, refusal
            try:
                context = await entry.charge_caller(request.scope, caller, costs)
            except Refusal as limit:
                refusal = limit
                raise
            context.prefers_dry_run = True
            return context

        status = 500
        try:
            reply = await respond(
                graph,
                body,
                admit=admit,
                request_id=entry.request_id(request.scope),
                saved=entry.saved,
            )
            status = reply.status
        finally:
            if context is not None:
                entry.recorder.record_graphql(context, status)
        refusal = body if isinstance(body, Refusal) else refusal
        if context is None or refusal is not None:
            raise refusal or RuntimeError("nothing was charged, and nothing refused it")
        answer = {"fields": _fields(context, reply)}
        return RestResponse(status=200, body=orjson.dumps(answer))

    return run


async def _refuse_limited(entry: RequestEntry, request: RestRequest, caller: Caller) -> None:
    """
    Charge and refuse a token that is limited to saved documents: it may not call this endpoint.

    Raises:
        Refusal: Always; see docs/spec/saved-documents.md#token-settings.
    """
    context = await entry.charge_caller(request.scope, caller, NO_SURFACE_COST)
    try:
        context.check_document(())
    except Refusal as refusal:
        context.request_log.denials[WHOLE_REQUEST] = denial(refusal, surface=None)
        entry.recorder.record_graphql(context, 403)
        raise


def _fields(context: Context, reply: HttpResponse) -> list[dict[str, Any]]:
    """Return the outcome of each root field and edge, or one of the whole document."""
    log = context.request_log
    by_key: dict[str, Mapping[str, Any]] = {}
    undecided = set()
    for error, cause in zip_longest(reply.errors, reply.causes):
        keys = [part for part in error.get("path", ()) if isinstance(part, str)]
        edges = [".".join(keys[:length]) for length in range(len(keys), 0, -1)]
        known = {field.key for field in log.fields}
        key = next((edge for edge in edges if edge in known), WHOLE_REQUEST)
        by_key.setdefault(key, error)
        if isinstance(cause, NoDryRun):
            undecided.add(key)
    if WHOLE_REQUEST in by_key:
        return [_refused(context, "", None, by_key[WHOLE_REQUEST])]
    return [
        _unknown(each) if each.key in undecided else _outcome(context, each, by_key.get(each.key))
        for each in log.fields
    ]


def _outcome(
    context: Context, field: OperationField, error: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the outcome of one root field or edge."""
    if error is None:
        outcome = "held" if context.held and field.writes else "allowed"
        return _answer(field.key, field.name, outcome, dict.fromkeys(Layer, "passed"))
    return _refused(context, field.key, field.name, error)


def _unknown(field: OperationField) -> dict[str, Any]:
    """Return the outcome of a field that cannot be run dry."""
    return _answer(
        field.key,
        field.name,
        "unknown",
        dict.fromkeys(_GATES, "passed"),
        message="Only the gates were checked: this field cannot be run dry.",
    )


def _refused(
    context: Context, key: str, name: str | None, error: Mapping[str, Any]
) -> dict[str, Any]:
    code = Code(error["extensions"]["code"])
    refusing = _layer(context, key, code)
    outcomes = dict.fromkeys(_ORDER[: _ORDER.index(refusing)], "passed")
    if code is Code.FIELD_NOT_VISIBLE:  # a filter is refused before anything is looked at
        outcomes |= dict.fromkeys(_BY_CONTENT, "not_reached")
    outcomes[refusing] = "refused"
    return _answer(
        key,
        name,
        "failed" if refusing is Layer.UPSTREAM else "refused",
        outcomes,
        code=code,
        message=error["message"],
        remedy=remedy(refusing, error["extensions"].get("requiredOperations", ())),
    )


def _answer(  # noqa: PLR0913 - the members of an `ExplainedField`
    key: str,
    name: str | None,
    outcome: str,
    outcomes: Mapping[Layer, str],
    *,
    code: Code | None = None,
    message: str | None = None,
    remedy: str | None = None,
) -> dict[str, Any]:
    """Return one `ExplainedField`; layers without an outcome are not reached."""
    return {
        "key": key,
        "field": name,
        "outcome": outcome,
        "code": code,
        "message": message,
        "layers": [
            {"layer": layer, "outcome": outcomes.get(layer, "not_reached")} for layer in _ORDER
        ],
        "remedy": remedy,
    }


def _layer(context: Context, key: str, code: Code) -> Layer:
    """
    Return the layer that refused, as the holder of the token may know it.

    Whether a rule hides something or it does not exist is not told: there the code decides.
    """
    denial = context.request_log.denials.get(key)
    layer = LAYER_BY_CODE[code]
    if denial is not None and denial.code is code and denial.layer not in _BY_CONTENT:
        layer = denial.layer
    return Layer.UPSTREAM if layer in _LIMITS else layer
