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

from gateway.documents.stored import StoredDocuments
from gateway.http.calls import Calls
from gateway.http.graphql_call import GraphQLCall
from gateway.http.graphql_endpoint import GraphQLHandler
from graph.context import Context
from graph.documents.operations import Graph
from graph.request_log import WHOLE_REQUEST, OperationField
from policy.caller import Caller
from policy.refusals import NoDryRun
from policy.remedies.sentences import remedy
from policy.vocabulary import LAYER_BY_CODE, Code, Layer
from rest_compat import errors as rest_errors
from rest_compat.preferences import Preferences
from rest_compat.request import RestRequest
from rest_compat.responses import RestResponse
from rest_compat.table import RateBucket

_DRY = Preferences(dry_run=True)
_LIMITS = frozenset({Layer.ADDRESS_LIMIT, Layer.QUOTA})
_BY_CONTENT = frozenset({Layer.SCOPE, Layer.UPSTREAM})
_ORDER = tuple(Layer)
_GATES = _ORDER[: _ORDER.index(Layer.INPUT)]


def explain(calls: Calls, graph: Graph, saved: StoredDocuments) -> GraphQLHandler:
    """Build the handler of POST /graphql/explain."""

    async def run(request: RestRequest) -> RestResponse:
        return await calls.run(_ExplainCall(request, graph, saved, preferences=_DRY))

    return run


class _ExplainCall(GraphQLCall):
    """A request that runs dry, and whose reply says how each field went."""

    async def measure(self, caller: Caller) -> RateBucket:
        if caller.grant.documents is not None:  # it may not call this endpoint
            return self.bucket
        return await super().measure(caller)

    async def pass_gates(self, context: Context) -> None:
        self.context = context
        if context.caller.grant.documents is not None:
            context.check_document(())
        await super().pass_gates(context)

    async def run(self, context: Context) -> RestResponse:
        return self._explain(await super().run(context), context)

    def refuse(self, refusal: BaseException, request_id: str) -> RestResponse:
        reply = super().refuse(refusal, request_id)
        if self._sent is None or self.context is None:  # nothing of the document was read
            return rest_errors.refuse(refusal, request_id=request_id)
        return self._explain(reply, self.context)

    def _explain(self, reply: RestResponse, context: Context) -> RestResponse:
        return RestResponse(status=200, body=orjson.dumps({"fields": _fields(context, reply)}))

    def finish(self, reply: RestResponse, context: Context | None) -> RestResponse:
        del context
        return reply


def _fields(context: Context, reply: RestResponse) -> list[dict[str, Any]]:
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
