"""
What would let a refused call pass: for every kind of refusal, the narrowest changes that may do.

An opening is a set of parts that belong together; the openings of one refusal are alternatives,
the narrowest first. Whether one really opens is not known here: who asks tries it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, TypeAlias

from policy import timeframe
from policy.gates import Connection
from policy.grants import Grant
from policy.refusals import (
    AccessDenied,
    Blocked,
    FieldNotVisible,
    InvalidInput,
    NotFound,
    NoUsableConnection,
    NoWritableFields,
    OperationNotAllowed,
    OutsideBoards,
    OutsideCalendars,
    OutsideTimeframe,
    ReadOnlyConnection,
    SurfaceNotEnabled,
    TooManyRequests,
    Unauthenticated,
)
from policy.remedies import rules
from policy.remedies.changes import AddEntry, ExtendLifetime, PolicyChange, SetValue
from policy.rules import Rule
from policy.vocabulary import (
    WORD_TYPES,
    CalendarAccessLevel,
    Code,
    Layer,
    Surface,
    UnauthorizedReason,
)

Remedy: TypeAlias = tuple[PolicyChange, ...]
MAX_REMEDIES = 6  # alternatives of one refusal: each is tried
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenState:
    """
    A token's policy at the time of a refusal.

    Attributes:
        settings: As stored.
        rules: As stored.
        connections: Every connection on the token's resources.
        surface: Of what was refused; None when it has none.
        now: Aware, UTC.
        spent: Requests in each window of the token's quota: {"perMinute": 3}.
        cost: What the call costs.
    """

    settings: Mapping[str, object]
    rules: Sequence[Rule]
    connections: Sequence[Connection]
    surface: Surface | None
    now: datetime
    spent: Mapping[str, int] = field(default_factory=dict)
    cost: int = 1


def find_remedies(problem: BaseException, standing: TokenState) -> Sequence[Remedy]:
    """Return what may let pass what *problem* stopped, the narrowest first; () when nothing may."""
    for kind in type(problem).__mro__:
        if kind in _OPENINGS:
            return tuple(_OPENINGS[kind](problem, standing))[:MAX_REMEDIES]
    return ()


def _alive(refusal: Unauthenticated, standing: TokenState) -> Iterable[Remedy]:
    if refusal.reason == UnauthorizedReason.EXPIRED:
        yield (ExtendLifetime(int((standing.now + DAY).timestamp()) * 1000),)


def _within_quota(refusal: TooManyRequests, standing: TokenState) -> Iterable[Remedy]:
    """Raise every window that is full to what this one call needs."""
    quota = standing.settings.get("quota")
    if refusal.layer is Layer.QUOTA and isinstance(quota, Mapping):
        raised = {
            name: max(limit, standing.spent.get(name, 0) + standing.cost)
            for name, limit in quota.items()
            if isinstance(limit, int)
        }
        yield (SetValue("quota", raised),)


def _switched_on(refusal: SurfaceNotEnabled, _: TokenState) -> Iterable[Remedy]:
    yield (SetValue(f"{refusal.surface}AccessEnabled", value=True),)


def _flagged(refusal: OperationNotAllowed, _: TokenState) -> Iterable[Remedy]:
    for operation in refusal.operations:
        yield (AddEntry(WORD_TYPES[type(operation)].setting, operation.value),)


def _levelled(refusal: AccessDenied, _: TokenState) -> Iterable[Remedy]:
    if refusal.layer is Layer.OPERATION:
        yield (SetValue("calendarAccessLevel", CalendarAccessLevel.VIEW_FILTERED.value),)


def _provided(refusal: InvalidInput, _: TokenState) -> Iterable[Remedy]:
    if refusal.code is Code.PROVIDER_REQUIRED:
        for provider in refusal.connected_providers:
            yield (SetValue("defaultTaskProvider", provider),)


def _visible(refusal: FieldNotVisible, _: TokenState) -> Iterable[Remedy]:
    parts = [AddEntry(WORD_TYPES[type(field)].setting, field.value) for field in refusal.fields]
    return [(part,) for part in parts] if refusal.any_of else [tuple(parts)]


def _in_reach(refusal: Blocked, standing: TokenState) -> Iterable[Remedy]:
    return rules.rule_remedies(refusal, standing.rules)


def _in_time(refusal: OutsideTimeframe, standing: TokenState) -> Iterable[Remedy]:
    """Widen the side on which the event lies by as few days as put it within."""
    grant = Grant.read(standing.settings)
    bounds = timeframe.allowed_range(grant, standing.now)
    if refusal.start >= bounds.end:
        missing = (refusal.start - bounds.end) // DAY + 1
        yield (SetValue("timeframeFutureDays", (grant.future_days or 0) + missing),)
        return
    missing = (bounds.start - refusal.end) // DAY + 1
    if refusal.start == refusal.end:  # what has no length may lie on the edge
        missing = -((refusal.start - bounds.start) // DAY)
    yield (SetValue("timeframePastDays", (grant.past_days or 0) + missing),)


def _on_board(refusal: OutsideBoards, _: TokenState) -> Iterable[Remedy]:
    for board in refusal.board_ids:
        entry = {
            "boardId": board,
            "provider": refusal.provider,
            "allowCreate": refusal.to_create,
        }
        yield (AddEntry("taskBoards", entry),)


def _writable(refusal: NoWritableFields, _: TokenState) -> Iterable[Remedy]:
    for column in refusal.columns:
        yield (AddEntry("writableTaskFields", column),)


def _in_calendars(refusal: OutsideCalendars, standing: TokenState) -> Iterable[Remedy]:
    allowed = standing.settings.get("allowedCalendarIds")
    if isinstance(allowed, list) and refusal.calendar_id not in allowed:
        yield (AddEntry("allowedCalendarIds", refusal.calendar_id),)
    yield from _connected(refusal, standing)


def _connected(refusal: BaseException, standing: TokenState) -> Iterable[Remedy]:
    """Let in one of the connections that only the settings keep out, those that may write first."""
    allowed = Grant.read(standing.settings).connection_ids
    needs_write = isinstance(refusal, ReadOnlyConnection)
    usable = [
        one
        for one in standing.connections
        if one.kind == standing.surface
        and one.status == "active"
        and (one.can_write or not needs_write)
    ]
    for one in sorted(usable, key=lambda one: not one.can_write):
        if allowed is not None and one.id not in allowed:
            yield (AddEntry("allowedConnectionIds", one.id),)


# Kind of refusal -> its openings; the nearest kind counts.
_OPENINGS: Mapping[type, Callable[[Any, TokenState], Iterable[Remedy]]] = MappingProxyType(
    {
        Unauthenticated: _alive,
        TooManyRequests: _within_quota,
        SurfaceNotEnabled: _switched_on,
        OperationNotAllowed: _flagged,
        InvalidInput: _provided,
        NoUsableConnection: _connected,
        ReadOnlyConnection: _connected,
        AccessDenied: _levelled,
        OutsideTimeframe: _in_time,
        OutsideBoards: _on_board,
        NoWritableFields: _writable,
        Blocked: _in_reach,
        NotFound: _connected,
        OutsideCalendars: _in_calendars,
        FieldNotVisible: _visible,
    }
)
