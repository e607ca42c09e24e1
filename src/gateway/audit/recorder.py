"""One request of a known token, from the door to its rows: the part that its caller waits for."""

import time
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import orjson

from gateway.audit.decision import Decision, EntryPoint, Outcome
from gateway.audit.log import DecisionLog
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
from providers.http.events import CallEvent
from rest_compat import ports
from rest_compat.body import ClientGone
from rest_compat.ports import Problem
from rest_compat.responses import RestResponse


@dataclass(slots=True)
class UpstreamTally:
    """
    Tries at calls upstream.

    Attributes:
        answered: Status of the last of them; None when it had none.
    """

    calls: int = 0
    answered: int | None = None


# Of the request that the running task belongs to. Nothing else of the request: what outlives it,
# such as a connection that it opened, keeps this context for as long.
_CURRENT: ContextVar[UpstreamTally | None] = ContextVar("upstream_calls", default=None)


@dataclass(slots=True)
class RequestRecord(RequestLog):
    """
    What the log wants to know of a request besides what the graph leaves.

    Attributes:
        began: On the `time.perf_counter` scale.
        cost: Operations charged for the request as a whole.
    """

    door: EntryPoint = EntryPoint.REST
    cost: int = 1
    began: float = field(default_factory=time.perf_counter)
    upstream: UpstreamTally = field(default_factory=UpstreamTally)


def begin(door: EntryPoint, cost: int) -> RequestRecord:
    """Follow the request of the running task from here on."""
    journey = RequestRecord(door=door, cost=cost)
    _CURRENT.set(journey.upstream)
    return journey


def count_upstream_call(told: CallEvent) -> None:
    """Count a try at an upstream call for the request that made it; a `providers` watcher."""
    tally = _CURRENT.get()
    if tally is not None:
        tally.calls += 1
        tally.answered = int(told.outcome) if told.outcome.isdecimal() else None


class Recorder:
    """Makes rows of journeys that ended. One per process."""

    def __init__(self, log: DecisionLog) -> None:
        self._log = log

    def record_rest(
        self,
        visit: ports.AdmittedRequest,
        operation: Any,
        answer: RestResponse | None,
        failure: BaseException | None,
    ) -> None:
        """Write a REST call down: a `rest_compat.ports.CallObserver` for `graph` operations."""
        context: Context = visit.context
        asking = operation.root_fields[0] if operation is not None else None
        ruling = _ruling(context.request_log, answer, failure, routed=operation is not None)
        status = ruling.status if ruling is not None else answer.status if answer else 0
        self._row(context, asking, ruling, status, cost=1)

    def record_graphql(self, context: Context, status: int) -> None:
        """
        Write down a GraphQL request, a row per root field.

        *status* is of the answer; 500 when it failed for want of one, 0 when nobody waited for it.
        """
        trail = context.request_log
        whole = trail.denials.get(WHOLE_REQUEST)
        if status == 500:
            whole = _plain(Code.INTERNAL_ERROR, status)
        if not trail.root_fields:
            self._row(context, None, whole, whole.status if whole else status, cost=_cost(trail))
            return
        charged = _shares(trail.root_fields, _cost(trail))
        for asking, cost in zip(trail.root_fields, charged, strict=True):
            ruling = whole or trail.denials.get(asking.key)
            self._row(context, asking, ruling, ruling.status if ruling else status, cost=cost)

    def _row(
        self,
        context: Context,
        asking: RootField | None,
        ruling: Denial | None,
        status: int,
        *,
        cost: int,
    ) -> None:
        caller, journey = context.caller, context.request_log
        if not isinstance(journey, RequestRecord):  # made by hand, not by the door
            return
        surface = asking.surface if asking is not None else None
        row = Decision(
            self._log.clock(),
            context.request_id,
            caller.token_id,
            caller.operator_id,
            journey.door,
            surface,
            asking.name if asking is not None else None,
            asking.resource(journey.variables) if asking is not None else None,
            _outcome(ruling, status),
            ruling.layer if ruling is not None else None,
            ruling.code if ruling is not None else None,
            status,
            ruling.rule_id if ruling is not None else None,
            caller.policy_rev,
            _HIDDEN[surface](caller.grant) if surface is not None else 0,
            cost,
            int((time.perf_counter() - journey.began) * 1_000_000),
            journey.upstream.calls,
            journey.upstream.answered,
        )
        self._log.write(row, change=asking is not None and asking.writes)


def _outcome(ruling: Denial | None, status: int) -> Outcome:
    if ruling is None:
        return Outcome.ALLOWED if 0 < status < 400 else Outcome.FAILED
    return Outcome.FAILED if ruling.layer is Layer.UPSTREAM else Outcome.REFUSED


def _ruling(
    trail: RequestLog, answer: RestResponse | None, failure: BaseException | None, *, routed: bool
) -> Denial | None:
    """Say what stopped a REST call; None: nothing did, or its caller went away."""
    if failure is None:
        return _kept(answer) if answer is not None and answer.status >= 400 else None
    if not isinstance(failure, Problem):
        bug = isinstance(failure, Exception) and not isinstance(failure, ClientGone)
        return _plain(Code.INTERNAL_ERROR, 500) if bug else None
    code, status = Code(failure.extensions["code"]), int(failure.extensions["httpStatus"])
    if not routed:
        return Denial(layer=Layer.INPUT, code=code, status=status)
    for noted in trail.denials.values():
        if noted.code is code:
            return noted
    return _plain(code, status)


def _kept(answer: RestResponse) -> Denial | None:
    """Read what stopped a call whose kept answer is replayed; None where it has no word for it."""
    try:
        return _plain(Code(orjson.loads(answer.body)["error"]), answer.status)
    except (ValueError, KeyError, TypeError):
        return None


def _plain(code: Code, status: int) -> Denial:
    return Denial(layer=LAYER_BY_CODE[code], code=code, status=status)


def _cost(trail: RequestLog) -> int:
    return trail.cost if isinstance(trail, RequestRecord) else 0


def _shares(asked: Iterable[RootField], total: int) -> list[int]:
    """Share what a request cost: fields of surfaces cost one each, anything else nothing more."""
    shares = [1 if asking.surface is not None else 0 for asking in asked]
    shares[0] += total - sum(shares)
    return shares


# Surface -> how many of its mask words a token may not see.
_HIDDEN: Mapping[Surface, Callable[[Grant], int]] = MappingProxyType(
    {
        Surface.EMAIL: lambda grant: len(EmailField) - len(grant.visible_email_fields),
        Surface.CALENDAR: lambda grant: len(CalendarField) - len(grant.visible_calendar_fields),
        Surface.TASKS: lambda grant: len(TaskField) - len(grant.visible_task_fields),
        Surface.COLLAB: lambda grant: len(CollabField) - len(grant.visible_collab_fields),
    }
)
