"""
Dry runs of calls: the routes, documents and gates of real requests behind another request entry.

The entry takes the caller from the question instead of a token text. Nothing is charged, no use of
the token is recorded, no allow rule is stored, and upstream is read but never changed
(`providers.dry_run`).
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import orjson
from graphql import GraphQLError
from starlette.types import Message, Scope

from gateway.documents.stored import StoredDocuments
from gateway.explain.dry_run import DryRunState, RateWindow
from gateway.explain.request import Call, Document, Question
from gateway.explain.result import DryRunResult
from gateway.explain.subject import Subject
from gateway.http.contents import OpenedContent
from gateway.http.entry import RequestEntry
from gateway.ratelimit.windows import UnlimitedCounter
from graph import errors
from graph.context import Context
from graph.documents.operation import Operation
from graph.documents.operations import Graph
from graph.request_execution import respond
from graph.request_log import RequestLog
from policy.quota import Charge
from policy.refusals import Refusal, TooManyRequests
from policy.vocabulary import Layer
from providers.dry_run import dry_run
from rest_compat import ports
from rest_compat.ledger import Attempt, Ledger
from rest_compat.preferences import EFFECT_HEADER
from rest_compat.router import rest_app
from rest_compat.table import Endpoint

_STATE = "gateway.explain"  # scope key of the `DryRunState`
REQUEST_ID = "dry-run"


@dataclass(frozen=True, slots=True)
class _AdmittedRequest:
    token_id: int
    context: Context
    state: DryRunState

    @property
    def strict(self) -> bool:
        return self.context.caller.grant.strict_parameters


class DryRunner:
    """Runs calls dry. One per process."""

    def __init__(  # noqa: PLR0913 - the parts of a process
        self,
        entry: RequestEntry,
        endpoints: Sequence[Endpoint],
        *,
        graph: Graph,
        documents: ports.Graph,
        saved: StoredDocuments,
        ledger: Ledger,
        strict: bool = False,
    ) -> None:
        """
        *documents* prepares those of *endpoints*; *strict* as in `rest_compat.router.rest_app`.

        *saved* are the saved documents. *ledger* is never used: a dry run has no Idempotency-Key.
        """
        self._entry = entry
        self._endpoints = {(endpoint.method, endpoint.path): endpoint for endpoint in endpoints}
        self._graph = graph
        self._saved = saved
        self._rest_app = rest_app(
            endpoints,
            graph=documents,
            entry=_DryEntry(self),
            ledger=ledger,
            saved=saved,
            strict=strict,
        )

    async def run(
        self, question: Question, subject: Subject, *, address: str | None = None
    ) -> DryRunResult:
        """Run *question* dry for *subject*; *address* is its client address, if known."""
        if isinstance(question, Document):
            state = DryRunState(subject=subject, address=address, variables=question.variables)
            return await self._document(question, state)
        return await self._call(question, DryRunState(subject=subject, address=address))

    async def admit(self, state: DryRunState, costs: Mapping[str, int], mount: str = "") -> Context:
        """
        Check limits and token in the order of `gateway.http.entry`, and build the context.

        Raises:
            Refusal: A limit is exceeded, or the token is revoked or expired.
        """
        state.costs = costs
        subject = state.subject
        try:
            await self._check_limits(state, self._address_charges(state.address, costs, mount))
            subject.require_alive()
            caller = subject.caller
            quota_charges = [
                (Layer.QUOTA, charge._replace(windows=(window,)))
                for charge in caller.quota_charges(sum(costs.values()))
                for window in charge.windows
            ]
            await self._check_limits(state, quota_charges)
        except Refusal as refusal:
            state.refusal = refusal
            raise
        state.context = self._entry.build_context(caller, costs, request_id=REQUEST_ID)
        state.context.request_log = RequestLog(causes={})
        return state.context

    async def _call(self, call: Call, state: DryRunState) -> DryRunResult:
        scope: Scope = {
            "type": "http",
            "http_version": "1.1",
            "method": call.method,
            "path": unquote(call.path),
            "raw_path": call.path.encode("latin-1", "replace"),
            "query_string": call.query.encode("latin-1", "replace"),
            "headers": _headers(call),
            "client": None,
            "state": {},
            _STATE: state,
        }
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": call.body, "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        with dry_run() as run:
            await self._rest_app(scope, receive, send)
        method = "GET" if call.method == "HEAD" else call.method
        routed = scope["state"]
        endpoint = routed.get("endpoint") or self._endpoints.get((method, routed.get("route", "")))
        if run.ended:
            status = 202 if state.held else endpoint.status if endpoint else 200
            return DryRunResult(state=state, status=status, reached_write=True)
        body = b"".join(message.get("body", b"") for message in sent[1:])
        return DryRunResult.of_call(state, endpoint, status=sent[0]["status"], body=body)

    async def _document(self, question: Document, state: DryRunState) -> DryRunResult:
        request = {
            "query": question.text,
            "variables": dict(question.variables),
            "operationName": question.operation,
            "extensions": {"dryRun": question.dry_run, "ifEffect": question.expected_effect},
        }

        async def admit(costs: Mapping[str, int]) -> Context:
            return await self.admit(state, costs)

        with dry_run() as run:
            reply = await respond(
                self._graph,
                orjson.dumps(request),
                admit=admit,
                request_id=REQUEST_ID,
                saved=self._saved,
            )
        state.operation = self._operation(question)
        if run.ended:
            return DryRunResult(state=state, status=200, reached_write=True)
        response_errors: list[dict[str, Any]] = orjson.loads(reply.body).get("errors", [])
        return DryRunResult.of_document(state, status=reply.status, errors=response_errors)

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
            for window in self._entry.limits.windows[bucket] if address is not None else ():
                key = f"{mount}{bucket}:{address}"
                yield Layer.ADDRESS_LIMIT, Charge(key, (window,), cost, str(address))

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
            (window,) = charge.windows
            usage = await counter.take([charge._replace(cost=0)])
            remaining = usage.remaining if window.limit else 0
            limit = RateWindow(layer=layer, window=window, spent=window.limit - remaining)
            state.limits.append(limit)
            if remaining < charge.cost:
                wait = max(1, usage.reset - state.subject.now // 1000)
                raise TooManyRequests(wait, layer=layer)


class _DryEntry:
    """`rest_compat.ports.RequestEntry` of dry runs."""

    def __init__(self, runner: DryRunner) -> None:
        self._runner = runner

    def request_id(self, scope: Scope) -> str:
        del scope
        return REQUEST_ID

    async def admit(
        self,
        scope: Scope,
        charge: ports.RateBucket,
        *,
        partial_fail: bool,
        document: str | None = None,
    ) -> ports.AdmittedRequest:
        state: DryRunState = scope[_STATE]
        try:
            context = await self._runner.admit(state, charge.requests, charge.mount)
        except Refusal as refusal:
            raise _problem(refusal, None) from refusal
        context.require_all, context.saved_document = partial_fail, document
        return _AdmittedRequest(context.caller.token_id, context, state)

    async def may_run(self, scope: Scope, charge: ports.RateBucket, document: str) -> bool:
        del scope, charge, document
        return True  # `check_gates` refuses, so that the explanation names the document

    def check_gates(self, operation: Any, request: Any, variables: Mapping[str, Any]) -> None:
        request.state.operation = operation
        try:
            request.context.check_saved_document()
            operation.admit(request.context, variables, members=variables.get("input", {}))
        except Refusal as refusal:
            request.state.refusal = refusal
            raise _problem(refusal, operation) from refusal

    def check_document(self, request: Any, names: Sequence[str]) -> None:
        try:
            request.context.check_document(names)
        except Refusal as refusal:
            request.state.refusal = refusal
            raise _problem(refusal, None) from refusal

    def preview(
        self, request: ports.AdmittedRequest, *, dry_run: bool, expected: str | None
    ) -> None:
        """Prepare the effect, which a dry run of the caller's or `If-Effect` asks for."""
        request.context.ask_for_effect(dry_run=dry_run, expected=expected)

    def attempt(
        self, request: ports.AdmittedRequest, attempt: Attempt, ledger: Ledger
    ) -> AbstractContextManager[None]:
        raise NotImplementedError  # a dry run has no Idempotency-Key

    def repeat(self, request: ports.AdmittedRequest, kept_result: bytes) -> None:
        raise NotImplementedError

    def open_content(
        self, request: ports.AdmittedRequest
    ) -> AbstractAsyncContextManager[ports.Content]:
        """Open nothing: the operation has found the file, and its bytes are not needed."""
        del request
        return nullcontext(OpenedContent("", None, None, _no_bytes()))

    def notes(self, request: ports.AdmittedRequest) -> ports.Notes:
        context: Context = request.context
        return context


def _headers(call: Call) -> list[tuple[bytes, bytes]]:
    headers = [(b"content-length", str(len(call.body)).encode())]
    if call.dry_run:
        headers.append((b"prefer", b"dry-run"))
    if call.expected_effect is not None:
        headers.append((EFFECT_HEADER.encode(), call.expected_effect.encode("latin-1", "replace")))
    return headers


async def _no_bytes() -> AsyncIterator[bytes]:
    nothing: tuple[bytes, ...] = ()
    for chunk in nothing:
        yield chunk


def _problem(refusal: Refusal, operation: Operation | None) -> ports.Problem:
    surface = operation.surface if operation is not None else None
    extensions = errors.extensions(refusal, surface=surface, request_id=REQUEST_ID)
    return ports.Problem(refusal.message, extensions)
