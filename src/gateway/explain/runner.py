"""
Where calls are rehearsed: the routes, documents and gates of every request, and another door.

The door lets in whom the question is about instead of whoever knocks: nothing is charged, no use
of the token is written down, no rule is stored for what would be made, and upstream is read and
never changed (`providers.dry_run`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import orjson
from graphql import GraphQLError
from starlette.types import Message, Scope

from gateway.explain.dry_run import DryRunState, RateWindow
from gateway.explain.question import Call, Document, Question
from gateway.explain.result import DryRunResult
from gateway.explain.subject import Subject
from gateway.http.entry import RequestEntry
from gateway.ratelimit.windows import UnlimitedCounter
from graph import errors
from graph.context import Context
from graph.documents.operation import Operation
from graph.documents.operations import Graph
from graph.request_execution import respond
from graph.request_log import RequestLog
from policy.caller import Caller
from policy.quota import Charge, token_windows
from policy.refusals import Refusal, TooManyRequests
from policy.vocabulary import Layer
from providers.dry_run import dry_run
from rest_compat import ports
from rest_compat.ledger import Ledger
from rest_compat.router import rest_app
from rest_compat.table import Endpoint

_PLAY = "gateway.explain"  # the key of scopes under which a play is
REQUEST_ID = "rehearsal"


@dataclass(frozen=True, slots=True)
class _Visit:
    token_id: int
    context: Context
    play: DryRunState


class DryRunner:
    """Rehearses calls. One per process."""

    def __init__(
        self,
        entry: RequestEntry,
        endpoints: Sequence[Endpoint],
        *,
        graph: Graph,
        documents: ports.Graph,
        ledger: Ledger,
    ) -> None:
        """
        Wire it up.

        Args:
            entry: Builds the contexts, and knows the rate limits.
            endpoints: What can be called.
            graph: Runs documents of power users.
            documents: Prepares those of *endpoints*.
            ledger: Never asked, for a rehearsal has no key.
        """
        self._entry = entry
        self._endpoints = {(one.method, one.path): one for one in endpoints}
        self._graph = graph
        self._table = rest_app(endpoints, graph=documents, entry=_Door(self), ledger=ledger)

    async def play(
        self, question: Question, subject: Subject, *, address: str | None = None
    ) -> DryRunResult:
        """Rehearse *question* for *subject*; *address* is where it would come from, if known."""
        if isinstance(question, Document):
            play = DryRunState(subject=subject, address=address, given=question.variables)
            return await self._document(question, play)
        return await self._call(question, DryRunState(subject=subject, address=address))

    async def open(self, play: DryRunState, costs: Mapping[str, int], mount: str = "") -> Context:
        """
        Let a rehearsal in, in the order of `gateway.http.entry`.

        Raises:
            Refusal: A limit would, or the token is dead.
        """
        play.costs = costs
        subject = play.subject
        try:
            await self._check_limits(play, self._of_address(play.address, costs, mount))
            subject.require_alive()
            caller = subject.caller
            await self._check_limits(play, _of_quota(subject, caller, sum(costs.values())))
        except Refusal as refusal:
            play.refusal = refusal
            raise
        play.context = self._entry.build_context(caller, costs, request_id=REQUEST_ID)
        play.context.request_log = RequestLog(causes={})
        return play.context

    # -- the two doors

    async def _call(self, call: Call, play: DryRunState) -> DryRunResult:
        scope: Scope = {
            "type": "http",
            "http_version": "1.1",
            "method": call.method,
            "path": unquote(call.path),
            "raw_path": call.path.encode("latin-1", "replace"),
            "query_string": call.query.encode("latin-1", "replace"),
            "headers": [(b"content-length", str(len(call.body)).encode())],
            "client": None,
            "state": {},
            _PLAY: play,
        }
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": call.body, "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        with dry_run() as rehearsal:
            await self._table(scope, receive, send)
        endpoint = self._endpoints.get((_reading(call.method), scope["state"].get("route", "")))
        if rehearsal.ended:
            return DryRunResult.ended(play, status=endpoint.status if endpoint else 200)
        body = b"".join(one.get("body", b"") for one in sent[1:])
        return DryRunResult.answered(play, endpoint, status=sent[0]["status"], body=body)

    async def _document(self, asked: Document, play: DryRunState) -> DryRunResult:
        request = {
            "query": asked.text,
            "variables": dict(asked.variables),
            "operationName": asked.operation,
        }

        async def admit(costs: Mapping[str, int]) -> Context:
            return await self.open(play, costs)

        with dry_run() as rehearsal:
            reply = await respond(
                self._graph, orjson.dumps(request), admit=admit, request_id=REQUEST_ID
            )
        play.operation = self._operation(asked)
        if rehearsal.ended:
            return DryRunResult.ended(play, status=200)
        told: list[dict[str, Any]] = orjson.loads(reply.body).get("errors", [])
        return DryRunResult.told(play, status=reply.status, errors=told)

    def _operation(self, asked: Document) -> Operation | None:
        """Return the operation that was run; None when the document cannot be."""
        try:
            document = self._graph.validate(asked.text, self._graph.parse(asked.text))
            return (
                None
                if document.validation_errors
                else self._graph.operation(document, asked.operation)
            )
        except (GraphQLError, Refusal):  # the answer says why
            return None

    # -- limits, looked at and not charged

    def _of_address(
        self, address: str | None, costs: Mapping[str, int], mount: str
    ) -> Iterable[tuple[Layer, Charge]]:
        for bucket, cost in costs.items():
            for window in self._entry.limits.windows[bucket] if address is not None else ():
                key = f"{mount}{bucket}:{address}"
                yield Layer.ADDRESS_LIMIT, Charge(key, (window,), cost)

    async def _check_limits(
        self, play: DryRunState, charges: Iterable[tuple[Layer, Charge]]
    ) -> None:
        """
        Look at windows one by one.

        Raises:
            TooManyRequests: One has not enough left for the call.
        """
        if isinstance(self._entry.limits.counter, UnlimitedCounter):
            return
        for layer, charge in charges:
            (window,) = charge.windows
            seen = await self._entry.limits.counter.take([Charge(charge.key, charge.windows, 0)])
            left = seen.remaining if window.limit else 0
            limit = RateWindow(layer=layer, window=window, spent=window.limit - left)
            play.limits.append(limit)
            if left < charge.cost:
                wait = max(1, seen.reset - play.subject.now // 1000)
                raise TooManyRequests(wait, layer=layer)


class _Door:
    """`rest_compat.ports.RequestEntry` of the stage."""

    def __init__(self, stage: DryRunner) -> None:
        self._stage = stage

    def request_id(self, scope: Scope) -> str:
        del scope
        return REQUEST_ID

    async def admit(
        self, scope: Scope, charge: ports.RateBucket, *, partial_fail: bool
    ) -> ports.AdmittedRequest:
        play: DryRunState = scope[_PLAY]
        try:
            context = await self._stage.open(play, {charge.windows: 1}, charge.mount)
        except Refusal as refusal:
            raise _problem(refusal, None) from refusal
        context.require_all = partial_fail
        return _Visit(context.caller.token_id, context, play)

    def check_gates(self, operation: Any, visit: Any, variables: Mapping[str, Any]) -> None:
        visit.play.operation = operation
        try:
            operation.admit(visit.context, variables, members=variables.get("input", {}))
        except Refusal as refusal:
            visit.play.refusal = refusal
            raise _problem(refusal, operation) from refusal

    def mark_attempt(self, visit: ports.AdmittedRequest, *, seed: str, maybe_sent: bool) -> None:
        raise NotImplementedError  # a rehearsal has no Idempotency-Key

    def notes(self, visit: ports.AdmittedRequest) -> ports.Notes:
        context: Context = visit.context
        return context


def _problem(refusal: Refusal, operation: Operation | None) -> ports.Problem:
    surface = operation.surface if operation is not None else None
    told = errors.extensions(refusal, surface=surface, request_id=REQUEST_ID)
    return ports.Problem(refusal.message, told)


def _of_quota(subject: Subject, caller: Caller, cost: int) -> Iterable[tuple[Layer, Charge]]:
    for window in token_windows(caller.grant.quota):
        yield Layer.QUOTA, Charge(f"token:{subject.token.id}", (window,), cost)


def _reading(method: str) -> str:
    return "GET" if method == "HEAD" else method
