"""Makes decision rows from the requests of known tokens; callers wait for this part."""

import time
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import orjson

from gateway.audit.decision import Decision, EntryPoint, Outcome
from gateway.audit.log import DecisionLog
from gateway.audit.provider_errors import ProviderErrorLog
from graph.context import Context
from graph.request_log import WHOLE_REQUEST, Denial, RequestLog, RootField
from policy.grants import Grant
from policy.vocabulary import (
    LAYER_BY_CODE,
    CalendarField,
    Code,
    CollabField,
    EmailField,
    Layer,
    Surface,
    TaskField,
)
from providers.http import answers
from providers.http.answers import FailedAnswer, FailedAnswers
from providers.http.events import CallEvent
from rest_compat import ports
from rest_compat.body import ClientGone
from rest_compat.ports import Problem
from rest_compat.responses import RestResponse


@dataclass(slots=True)
class UpstreamTally:
    """
    The attempts of upstream calls that one request made.

    Attributes:
        calls: Their number.
        last_status: HTTP status of the last one; None when it got no response.
    """

    calls: int = 0
    last_status: int | None = None


# The tally of the request that the running task serves, and nothing more of the request (its end
# empties `answers.collected`): objects that outlive it, such as a connection that it opened, keep
# this context alive.
_CURRENT: ContextVar[UpstreamTally | None] = ContextVar("upstream_calls", default=None)


@dataclass(slots=True)
class RequestRecord(RequestLog):
    """
    The request log of the graph, and what else a decision row needs.

    Attributes:
        cost: Operations charged for the request as a whole.
        began: On the `time.perf_counter` scale.
        denial: What the request's rows name as the reason; the first one, if there are several.
        answers: The answers of upstreams that were failures.
    """

    entry_point: EntryPoint = EntryPoint.REST
    cost: int = 1
    began: float = field(default_factory=time.perf_counter)
    upstream: UpstreamTally = field(default_factory=UpstreamTally)
    denial: Denial | None = None
    answers: FailedAnswers = field(default_factory=answers.collection, repr=False)


def begin(entry_point: EntryPoint, cost: int) -> RequestRecord:
    """Start the record of the request that the running task serves."""
    record = RequestRecord(entry_point=entry_point, cost=cost)
    _CURRENT.set(record.upstream)
    answers.collected.set(record.answers)
    return record


def count_upstream_call(event: CallEvent) -> None:
    """Count an upstream call for the request that made it; listens to `providers.http`."""
    tally = _CURRENT.get()
    if tally is not None:
        tally.calls += 1
        tally.last_status = int(event.outcome) if event.outcome.isdecimal() else None
    collected = answers.collected.get()
    if collected is not None and event.outcome in ("broken", "late"):
        collected.append(
            FailedAnswer(upstream=event.upstream, connection=event.connection, status=None)
        )


class Recorder:
    """Makes rows of finished requests. One per process."""

    def __init__(self, log: DecisionLog, provider_errors: ProviderErrorLog | None = None) -> None:
        """*provider_errors* keeps the answers behind failures; None: they are forgotten."""
        self._log = log
        self._provider_errors = provider_errors

    def record_rest(
        self,
        request: ports.AdmittedRequest,
        operation: Any,
        response: RestResponse | None,
        failure: BaseException | None,
    ) -> None:
        """Record a REST call; a `rest_compat.ports.CallObserver` for operations of `graph`."""
        context: Context = request.context
        root_field = operation.root_fields[0] if operation is not None else None
        routed = operation is not None
        denial = _denial_of_rest(context.request_log, response, failure, routed=routed)
        status = denial.status if denial is not None else response.status if response else 0
        self._write(context, root_field, denial, status, cost=1)
        self._keep_answers(context, denial)

    def record_graphql(self, context: Context, status: int) -> None:
        """
        Record a GraphQL request, one row per root field.

        *status* is that of the response: 500 after an unexpected exception, 0 when the caller left.
        """
        request_log = context.request_log
        whole = request_log.denials.get(WHOLE_REQUEST)
        if status == 500:
            whole = _denial(Code.INTERNAL_ERROR, status)
        root_fields = request_log.root_fields
        cost = request_log.cost if isinstance(request_log, RequestRecord) else 0
        explicable = next(filter(_may_have_reason, request_log.denials.values()), whole)
        self._keep_answers(context, explicable)
        if not root_fields:
            self._write(context, None, whole, whole.status if whole else status, cost=cost)
            return
        for root_field, share in zip(root_fields, _split_cost(root_fields, cost), strict=True):
            denial = whole or request_log.denials.get(root_field.key)
            own_status = denial.status if denial else status
            self._write(context, root_field, denial, own_status, cost=share)

    def _keep_answers(self, context: Context, denial: Denial | None) -> None:
        """Keep the failed answers of upstreams during a request that *denial* ended."""
        record = context.request_log
        if not isinstance(record, RequestRecord) or not record.answers:
            return
        if self._provider_errors is not None and denial is not None and _may_have_reason(denial):
            self._provider_errors.write(context.request_id, denial.code, tuple(record.answers))
        record.answers.clear()

    def _write(
        self,
        context: Context,
        root_field: RootField | None,
        denial: Denial | None,
        status: int,
        *,
        cost: int,
    ) -> None:
        caller, record = context.caller, context.request_log
        if not isinstance(record, RequestRecord):  # a context that `RequestEntry` did not make
            return
        record.denial = record.denial or denial
        surface = root_field.surface if root_field is not None else None
        row = Decision(
            self._log.clock(),
            context.request_id,
            caller.token_id,
            caller.operator_id,
            record.entry_point,
            surface,
            root_field.name if root_field is not None else None,
            root_field.resource(record.variables) if root_field is not None else None,
            _outcome(denial, status),
            denial.layer if denial is not None else None,
            denial.code if denial is not None else None,
            status,
            denial.rule_id if denial is not None else None,
            caller.policy_rev,
            _HIDDEN_FIELDS[surface](caller.grant) if surface is not None else 0,
            cost,
            int((time.perf_counter() - record.began) * 1_000_000),
            record.upstream.calls,
            record.upstream.last_status,
        )
        self._log.write(row, change=root_field is not None and root_field.writes)


def _may_have_reason(denial: Denial) -> bool:
    """Return whether the answer of an upstream can explain *denial*: not that of an unknown id."""
    return denial.status != 404


def _outcome(denial: Denial | None, status: int) -> Outcome:
    if denial is None:
        return Outcome.ALLOWED if 0 < status < 400 else Outcome.FAILED
    return Outcome.FAILED if denial.layer is Layer.UPSTREAM else Outcome.REFUSED


def _denial_of_rest(
    request_log: RequestLog,
    response: RestResponse | None,
    failure: BaseException | None,
    *,
    routed: bool,
) -> Denial | None:
    """Return what stopped a REST call; None when nothing did or the caller left."""
    if failure is None:
        return _replayed(response) if response is not None and response.status >= 400 else None
    if not isinstance(failure, Problem):
        unexpected = isinstance(failure, Exception) and not isinstance(failure, ClientGone)
        return _denial(Code.INTERNAL_ERROR, 500) if unexpected else None
    code, status = Code(failure.extensions["code"]), int(failure.extensions["httpStatus"])
    if not routed:
        return Denial(layer=Layer.INPUT, code=code, status=status)
    for denial in request_log.denials.values():
        if denial.code is code:
            return denial
    return _denial(code, status)


def _replayed(response: RestResponse) -> Denial | None:
    """Read the denial from the body of a replayed response; None when it has no code."""
    try:
        return _denial(Code(orjson.loads(response.body)["error"]), response.status)
    except (ValueError, KeyError, TypeError):
        return None


def _denial(code: Code, status: int) -> Denial:
    return Denial(layer=LAYER_BY_CODE[code], code=code, status=status)


def _split_cost(root_fields: Iterable[RootField], total: int) -> list[int]:
    """Charge one operation to each field of a surface, and what remains to the first field."""
    shares = [1 if root_field.surface is not None else 0 for root_field in root_fields]
    shares[0] += total - sum(shares)
    return shares


# Surface -> number of its field words that the token may not see.
_HIDDEN_FIELDS: Mapping[Surface, Callable[[Grant], int]] = MappingProxyType(
    {
        Surface.EMAIL: lambda grant: len(EmailField) - len(grant.visible_email_fields),
        Surface.CALENDAR: lambda grant: len(CalendarField) - len(grant.visible_calendar_fields),
        Surface.TASKS: lambda grant: len(TaskField) - len(grant.visible_task_fields),
        Surface.COLLAB: lambda grant: len(CollabField) - len(grant.visible_collab_fields),
    }
)
