"""
Dry runs of calls: the routes, documents and order of checks of real requests.

The caller is taken from the question instead of a token text. Nothing is charged, no use of
the token is recorded, no allow rule is stored, and upstream is read but never changed
(`providers.dry_run`).
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING

import orjson
from graphql import GraphQLError
from starlette.types import Message, Scope

from gateway.documents import prepared
from gateway.explain.dry_run import DryRunState, RateWindow
from gateway.explain.request import Call, Document, Question
from gateway.explain.result import DryRunResult
from gateway.explain.subject import Subject
from gateway.http.calls import Calls
from gateway.http.graphql_call import GraphQLCall
from gateway.ratelimit.windows import UnlimitedCounter, questions
from graph.context import Context
from graph.documents.operation import Operation
from policy.quota import Charge
from policy.refusals import Refusal, TooManyRequests
from policy.vocabulary import Layer
from providers.dry_run import dry_run
from rest_compat.calls import Call as RestCall
from rest_compat.preferences import EFFECT_HEADER
from rest_compat.request import RestRequest, made_request
from rest_compat.responses import Content
from rest_compat.router import rest_app
from rest_compat.table import RateBucket

if TYPE_CHECKING:
    from gateway.services import Services

_STATE = "gateway.explain"  # scope key of the `DryRunState`
REQUEST_ID = "dry-run"


class DryRunner(Calls):
    """Runs calls dry: without a token text, uncharged and not recorded. One per process."""

    def __init__(self, services: "Services") -> None:
        # The ledger is never used: a dry run has no Idempotency-Key.
        super().__init__(services.entry, services.idempotency)
        self._endpoints = {(row.method, row.path): row for row in services.rows}
        self._graph = prepared.graph()
        self._saved = services.documents
        self._rest_app = rest_app(
            services.rows,
            prepare=prepared.of_table,
            calls=self,
            saved=services.documents,
            strict=services.settings.strict_parameters,
        )

    def request_id(self, scope: Scope) -> str:
        del scope
        return REQUEST_ID

    async def ask(
        self, question: Question, subject: Subject, *, address: str | None = None
    ) -> DryRunResult:
        """Run *question* dry for *subject*; *address* is its client address, if known."""
        if isinstance(question, Document):
            state = DryRunState(subject=subject, address=address, variables=question.variables)
            return await self._document(question, state)
        return await self._call(question, DryRunState(subject=subject, address=address))

    async def admit(self, call: RestCall) -> Context:
        """
        Check limits and token in the order of `gateway.http.entry`, and build the context.

        Raises:
            Refusal: A limit is exceeded, or the token is revoked or expired.
        """
        state: DryRunState = call.request.scope[_STATE]
        caller = state.subject.caller
        state.costs = costs = (await call.measure(caller)).requests
        address_charges = self._address_charges(state.address, costs, call.bucket.mount)
        await self._check_limits(state, address_charges)
        state.subject.require_alive()
        quota_charges = caller.quota_charges(sum(costs.values()))
        await self._check_limits(state, ((Layer.QUOTA, charge) for charge in quota_charges))
        context = self._entry.build_context(caller, costs, request_id=REQUEST_ID)
        context.require_all, context.saved_document = call.partial_fail, call.document
        state.context, state.operation = context, call.operation
        return context

    def record(self, call: RestCall, *_: object) -> None:
        """Record nothing."""

    async def may_run(self, scope: Scope, bucket: RateBucket, document: str) -> bool:
        del scope, bucket, document
        return True  # the gates refuse, so that the explanation names the document

    def open_content(self, context: Context) -> AbstractAsyncContextManager[Content]:
        """Open nothing: the operation has found the file, and its bytes are not needed."""
        del context
        return nullcontext(Content("", None, None, _no_bytes()))

    async def _call(self, call: Call, state: DryRunState) -> DryRunResult:
        request = made_request(
            call.method,
            call.path.encode("latin-1", "replace"),
            call.query.encode("latin-1", "replace"),
            _headers(call),
            call.body,
            **{_STATE: state},
        )
        with dry_run() as run:
            reply = await self._rest_app.respond(request)
        method = "GET" if call.method == "HEAD" else call.method
        routed = request.scope["state"]
        endpoint = routed.get("endpoint") or self._endpoints.get((method, routed.get("route", "")))
        if run.ended:
            status = 202 if state.held else endpoint.status if endpoint else 200
            return DryRunResult(state=state, status=status, reached_write=True)
        return DryRunResult.of_call(state, endpoint, reply)

    async def _document(self, question: Document, state: DryRunState) -> DryRunResult:
        request = {
            "query": question.text,
            "variables": dict(question.variables),
            "operationName": question.operation,
            "extensions": {"dryRun": question.dry_run, "ifEffect": question.expected_effect},
        }
        sent = GraphQLCall(
            RestRequest({"headers": [], _STATE: state}, _receive_nothing),
            self._graph,
            self._saved,
            sent=orjson.dumps(request),
        )
        with dry_run() as run:
            reply = await self.run(sent)
        state.operation = self._operation(question)
        if run.ended:
            return DryRunResult(state=state, status=200, reached_write=True)
        return DryRunResult.of_document(state, reply)

    def _operation(self, question: Document) -> Operation | None:
        """Return the operation that ran; None when the document is invalid."""
        try:
            document = self._graph.validate(question.text, self._graph.parse(question.text))
            if document.validation_errors:
                return None
            return self._graph.operation(document, question.operation)
        except (GraphQLError, Refusal):  # the response says why
            return None

    def _address_charges(
        self, address: str | None, costs: Mapping[str, int], mount: str
    ) -> Iterable[tuple[Layer, Charge]]:
        for bucket, cost in costs.items():
            if address is not None:
                key, windows = f"{mount}{bucket}:{address}", self._entry.limits.windows[bucket]
                yield Layer.ADDRESS_LIMIT, Charge(key, windows, cost, address)

    async def _check_limits(
        self, state: DryRunState, charges: Iterable[tuple[Layer, Charge]]
    ) -> None:
        """
        Record the state of each window, and charge none.

        Raises:
            TooManyRequests: A window has not enough left for the call.
        """
        counter = self._entry.limits.counter
        if isinstance(counter, UnlimitedCounter):
            return
        for layer, charge in charges:
            for window, question in questions(charge):
                usage = await counter.take([question])
                remaining = usage.remaining if window.limit else 0
                limit = RateWindow(layer=layer, window=window, spent=window.limit - remaining)
                state.limits.append(limit)
                if remaining < charge.cost:
                    wait = max(1, usage.reset - state.subject.now // 1000)
                    raise TooManyRequests(wait, layer=layer)


def _headers(call: Call) -> list[tuple[bytes, bytes]]:
    headers = []
    if call.dry_run:
        headers.append((b"prefer", b"dry-run"))
    if call.expected_effect is not None:
        headers.append((EFFECT_HEADER.encode(), call.expected_effect.encode("latin-1", "replace")))
    return headers


async def _receive_nothing() -> Message:
    raise NotImplementedError  # the body is known


async def _no_bytes() -> AsyncIterator[bytes]:
    nothing: tuple[bytes, ...] = ()
    for chunk in nothing:
        yield chunk
