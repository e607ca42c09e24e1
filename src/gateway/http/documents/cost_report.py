"""
Cost of a request to `POST /graphql`, for `Prefer: cost` (docs/spec/graphql.md#cost).

Everything in it is the caller's own, or equal to what a header of the response says. Where content
can be hidden from a token, the number of calls would tell of what is hidden, and is null.
"""

import time
from collections.abc import Collection, Mapping
from typing import Any

from gateway.audit.recorder import RequestRecord
from gateway.http.request_state import RequestState
from graph.context import Context
from policy.caller import Caller
from policy.grants import Grant
from policy.vocabulary import Surface


def report_cost(context: Context, state: RequestState) -> None:
    """Have the response to the request of *context* say what it cost."""
    record = context.request_log
    if not isinstance(record, RequestRecord):
        return
    by_connection: dict[int, tuple[int, float]] = {}
    record.upstream.by_connection = by_connection

    def describe(surfaces: Collection[Surface]) -> Mapping[str, Any]:
        return {
            "charged": record.cost,
            "remaining": state.verdict.remaining if state.verdict is not None else None,
            "upstreamCalls": _upstream_calls(context.caller, surfaces, by_connection),
            "milliseconds": _milliseconds(time.perf_counter() - record.began),
        }

    context.cost = describe


def _upstream_calls(
    caller: Caller, surfaces: Collection[Surface], by_connection: Mapping[int, tuple[int, float]]
) -> list[dict[str, Any]]:
    """Return an entry for each connection that *surfaces* may use, lowest id first."""
    entries = []
    for connection in caller.connections:
        surface = next((each for each in surfaces if each == connection.kind), None)
        if surface is None or connection.status != "active" or caller.excludes(connection):
            continue
        counts: tuple[int | None, int | None] = (None, None)
        if not _may_hide(surface, caller.on(connection.id).grant):
            calls, seconds = by_connection.get(connection.id, (0, 0.0))
            counts = calls, _milliseconds(seconds)
        entries.append(
            {"connectionId": connection.id, "calls": counts[0], "milliseconds": counts[1]}
        )
    return entries


def _may_hide(surface: Surface, grant: Grant) -> bool:
    """Return whether something of *surface* may be hidden from the token, besides fields."""
    if surface is Surface.CALENDAR:
        limits = (grant.calendar_ids, grant.past_days, grant.future_days)
        return any(limit is not None for limit in limits)
    if surface is Surface.TASKS:
        return grant.task_boards is not None
    # Of collaboration content, the names that the gateway keeps between requests save calls too:
    # the number would tell what other tokens have read.
    return surface is Surface.COLLAB


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
