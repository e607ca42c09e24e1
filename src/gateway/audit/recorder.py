"""Makes decision rows from the requests of known tokens; callers wait for this part."""

import time
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from operator import attrgetter
from types import MappingProxyType

import msgspec
import orjson

from gateway.audit.decision import Decision, EntryPoint, Outcome
from gateway.audit.log import DecisionLog
from gateway.audit.provider_errors import ProviderErrorLog
from graph.context import Context
from graph.documents.operation import Operation
from graph.request_log import WHOLE_REQUEST, Denial, OperationField, RequestLog
from policy.grants import Grant
from policy.vocabulary import (
    LAYER_BY_CODE,
    CalendarField,
    Code,
    CollabField,
    EmailField,
    Field,
    Layer,
    Surface,
    TaskField,
)
from providers.http import failed_responses
from providers.http.events import CallEvent
from providers.http.failed_responses import FailedResponse, FailedResponses
from rest_compat.body import ClientGone
from rest_compat.responses import RestResponse


class UpstreamTally(msgspec.Struct):
    """
    The attempts of upstream calls that one request made.

    Attributes:
        calls: Their number.
        last_status: HTTP status of the last one; None when it got no response.
        by_connection: Number and seconds of the attempts with the credentials of a connection, by
            its id, without the calls of a `shared_lookup`; None if not counted.
    """

    calls: int = 0
    last_status: int | None = None
    by_connection: dict[int, tuple[int, float]] | None = None


# The tally of the request that the running task serves, and nothing more of the request (its end
# empties `failed_responses.collected`): objects that outlive it, such as a connection that it
# opened, keep this context alive.
_CURRENT: ContextVar[UpstreamTally | None] = ContextVar("upstream_calls", default=None)


class RequestRecord(RequestLog):
    """
    The request log of the graph, and what else a decision row needs.

    Attributes:
        cost: Operations charged for the request as a whole.
        began: On the `time.perf_counter` scale.
        denial: What the request's rows name as the reason; the first one, if there are several.
        failed_responses: Those of upstreams.
    """

    entry_point: EntryPoint = EntryPoint.REST
    cost: int = 1
    began: float = msgspec.field(default_factory=time.perf_counter)
    upstream: UpstreamTally = msgspec.field(default_factory=UpstreamTally)
    denial: Denial | None = None
    failed_responses: FailedResponses = msgspec.field(default_factory=list)


def begin(entry_point: EntryPoint, cost: int) -> RequestRecord:
    """Start the record of the request that the running task serves."""
    record = RequestRecord(entry_point=entry_point, cost=cost)
    _CURRENT.set(record.upstream)
    failed_responses.collected.set(record.failed_responses)
    return record


def count_upstream_call(event: CallEvent) -> None:
    """Count an upstream call for the request that made it; listens to `providers.http`."""
    tally = _CURRENT.get()
    if tally is not None:
        tally.calls += 1
        tally.last_status = int(event.outcome) if event.outcome.isdecimal() else None
        if tally.by_connection is not None and isinstance(event.connection, int):
            _add_call(tally.by_connection, event.connection, event)
    collected = failed_responses.collected.get()
    if collected is not None and event.outcome in ("broken", "late"):
        collected.append(
            FailedResponse(upstream=event.upstream, connection=event.connection, status=None)
        )


def _add_call(
    by_connection: dict[int, tuple[int, float]], connection: int, event: CallEvent
) -> None:
    if not event.shared:
        calls, seconds = by_connection.get(connection, (0, 0.0))
        by_connection[connection] = calls + 1, seconds + event.ended - event.began


class Recorder:
    """Makes rows of finished requests. One per process."""

    def __init__(self, log: DecisionLog, provider_errors: ProviderErrorLog | None = None) -> None:
        """*provider_errors* keeps the responses behind failures; None: they are forgotten."""
        self._log = log
        self._provider_errors = provider_errors

    def record_rest(
        self,
        context: Context,
        operation: Operation | None,
        response: RestResponse | None,
        failure: BaseException | None,
    ) -> None:
        """
        Record a REST call; without an *operation* no document of a row ran.

        *failure* is a bug. A saved document also has a row for each of its edges that ran.
        """
        request_log = context.request_log
        operation_field = operation.root_fields[0] if operation is not None else None
        denial = None
        if failure is not None or response is None or response.status >= 400:
            routed = operation is not None
            denial = _denial_of_rest(request_log, response, failure, routed=routed)
        status = denial.status if denial is not None else response.status if response else 0
        edges = request_log.fields[1:]
        cost = request_log.cost if edges and isinstance(request_log, RequestRecord) else 1
        self._write(context, operation_field, denial, status, cost=cost - len(edges))
        for edge in edges:
            own = request_log.denials.get(edge.key)
            self._write(context, edge, own, own.status if own is not None else 200, cost=1)
        if isinstance(request_log, RequestRecord) and request_log.failed_responses:
            self._keep_failed_responses(context, denial)

    def record_graphql(self, context: Context, status: int) -> None:
        """
        Record a GraphQL request, one row per root field and edge.

        *status* is that of the response: 500 after an unexpected exception, 0 when the caller left.
        """
        request_log = context.request_log
        whole = request_log.denials.get(WHOLE_REQUEST)
        if status == 500:
            whole = _denial(Code.INTERNAL_ERROR, status)
        fields = request_log.fields
        cost = request_log.cost if isinstance(request_log, RequestRecord) else 0
        explicable = next(filter(_may_have_reason, request_log.denials.values()), whole)
        self._keep_failed_responses(context, explicable)
        if not fields:
            self._write(context, None, whole, whole.status if whole else status, cost=cost)
            return
        for operation_field, share in zip(fields, _split_cost(fields, cost), strict=True):
            denial = whole or request_log.denials.get(operation_field.key)
            own_status = denial.status if denial else status
            self._write(context, operation_field, denial, own_status, cost=share)

    def _keep_failed_responses(self, context: Context, denial: Denial | None) -> None:
        """Keep the failed responses of upstreams during a request that *denial* ended."""
        record = context.request_log
        if not isinstance(record, RequestRecord) or not record.failed_responses:
            return
        if self._provider_errors is not None and denial is not None and _may_have_reason(denial):
            responses = tuple(record.failed_responses)
            self._provider_errors.write(context.request_id, denial.code, responses)
        record.failed_responses.clear()

    def _write(
        self,
        context: Context,
        operation_field: OperationField | None,
        denial: Denial | None,
        status: int,
        *,
        cost: int,
    ) -> None:
        caller, record = context.caller, context.request_log
        if not isinstance(record, RequestRecord):  # a context that `RequestEntry` did not make
            return
        record.denial = record.denial or denial
        if denial is None and 0 < status < 400 and not context.held:
            outcome = Outcome.ALLOWED
        else:
            outcome = _outcome(denial, status, held=context.held and operation_field is not None)
        if outcome is Outcome.ALLOWED or outcome is Outcome.HELD:
            denial = record.noted
        surface, is_change, resource = None, False, None
        if operation_field is not None:
            surface, is_change = operation_field.surface, operation_field.writes
            resource = operation_field.resource(record.variables)
        row = Decision(
            self._log.clock(),
            context.request_id,
            caller.token_id,
            caller.operator_id,
            record.entry_point,
            surface,
            operation_field.name if operation_field is not None else None,
            resource,
            outcome,
            denial.layer if denial is not None else None,
            denial.code if denial is not None else None,
            status,
            denial.rule_id if denial is not None else None,
            caller.policy_rev,
            _hidden_fields(surface, caller.grant) if surface is not None else 0,
            cost,
            int((time.perf_counter() - record.began) * 1_000_000),
            record.upstream.calls,
            record.upstream.last_status,
            parent_id=caller.parent_id,
            dry_run=is_change and context.is_dry_run,
        )
        self._log.write(row, change=is_change)


def _may_have_reason(denial: Denial) -> bool:
    """Return whether the answer of an upstream can explain *denial*: not that of an unknown id."""
    return denial.status != 404


def _outcome(denial: Denial | None, status: int, *, held: bool) -> Outcome:
    if denial is not None and denial.code is Code.WRITE_HELD:
        return Outcome.HELD
    if denial is None and 0 < status < 400:
        return Outcome.HELD if held else Outcome.ALLOWED
    if denial is None:
        return Outcome.FAILED
    return Outcome.FAILED if denial.layer is Layer.UPSTREAM else Outcome.REFUSED


def _denial_of_rest(
    request_log: RequestLog,
    response: RestResponse | None,
    failure: BaseException | None,
    *,
    routed: bool,
) -> Denial | None:
    """Return what stopped a REST call; None when nothing did or the caller left."""
    if response is None:
        unexpected = isinstance(failure, Exception) and not isinstance(failure, ClientGone)
        return _denial(Code.INTERNAL_ERROR, 500) if unexpected else None
    if not response.errors:
        return _replayed(response) if response.status >= 400 else None
    extensions = response.errors[0]["extensions"]
    code, status = Code(extensions["code"]), int(extensions["httpStatus"])
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


def _split_cost(fields: Iterable[OperationField], total: int) -> list[int]:
    """Charge one operation to each field of a surface, and what remains to the first field."""
    shares = [1 if operation_field.surface is not None else 0 for operation_field in fields]
    shares[0] += total - sum(shares)
    return shares


def _hidden_fields(surface: Surface, grant: Grant) -> int:
    """Return the number of field words of *surface* that the token may not see."""
    count, visible = _FIELDS[surface]
    return count - len(visible(grant))


_FIELDS: Mapping[Surface, tuple[int, Callable[[Grant], frozenset[Field]]]] = MappingProxyType(
    {
        Surface.EMAIL: (len(EmailField), attrgetter("visible_email_fields")),
        Surface.CALENDAR: (len(CalendarField), attrgetter("visible_calendar_fields")),
        Surface.TASKS: (len(TaskField), attrgetter("visible_task_fields")),
        Surface.COLLAB: (len(CollabField), attrgetter("visible_collab_fields")),
    }
)
