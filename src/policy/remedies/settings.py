"""
Remedies for a refused call: for every kind of refusal, the narrowest changes that may lift it.

A remedy is a set of changes that belong together; the remedies of a refusal are alternatives, the
narrowest first. Whether a remedy works is found out by a dry run of the call.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, TypeAlias

from policy import refusals, timeframe, vocabulary
from policy.documents import ANY
from policy.gates import Connection, SubscriptionsNotAllowed
from policy.grants import Grant
from policy.recipients import EVERYONE, RecipientRules, normalize, patterns_of
from policy.remedies import rules
from policy.remedies.changes import AddEntry, ExtendLifetime, PolicyChange, SetValue
from policy.rule_facts import Rule

Remedy: TypeAlias = tuple[PolicyChange, ...]
Finder: TypeAlias = Callable[[Any, "TokenState"], Iterable["Remedy"]]
MAX_REMEDIES = 6  # alternatives per refusal: each costs a dry run
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenState:
    """
    A token's policy at the time of a refusal.

    Attributes:
        settings: As stored.
        rules: As stored.
        connections: Every connection that the token reaches.
        surface: Of the refused call, if any.
        now: Aware, UTC.
        spent: Requests in each window of the token's quota: {"perMinute": 3}.
        cost: Of the call, in requests.
    """

    settings: Mapping[str, object]
    rules: Sequence[Rule]
    connections: Sequence[Connection]
    surface: vocabulary.Surface | None
    now: datetime
    spent: Mapping[str, int] = field(default_factory=dict)
    cost: int = 1


def find_remedies(problem: BaseException, state: TokenState) -> Sequence[Remedy]:
    """Return at most six remedies for *problem*, the narrowest first."""
    for kind in type(problem).__mro__:
        if kind in _FINDERS:
            own = list(_FINDERS[kind](problem, state))
            return (*own, *_on_accounts(_FINDERS[kind], problem, own, state))[:MAX_REMEDIES]
    return ()


def _on_accounts(
    find: Finder, problem: BaseException, own: Sequence[Remedy], state: TokenState
) -> Iterable[Remedy]:
    """Yield the remedies for each account, alone and with those of the token's *own* settings."""
    accounts = state.settings.get("accounts")
    for connection in state.connections:
        settings = accounts.get(str(connection.id)) if isinstance(accounts, Mapping) else None
        if isinstance(settings, Mapping):
            known = replace(state, settings={**state.settings, **settings})
            for remedy in find(problem, known):
                changes = tuple(
                    replace(each, account=connection.id)
                    for each in remedy
                    if isinstance(each, SetValue | AddEntry) and each.setting in settings
                )
                if changes:
                    yield changes
                    yield from ((*first, *changes) for first in own[:1])


def _extend_lifetime(refusal: refusals.Unauthenticated, state: TokenState) -> Iterable[Remedy]:
    if refusal.reason == vocabulary.UnauthorizedReason.EXPIRED:
        yield (ExtendLifetime(int((state.now + DAY).timestamp()) * 1000),)


def _raise_quota(refusal: refusals.TooManyRequests, state: TokenState) -> Iterable[Remedy]:
    """Raise every full window by what this call needs."""
    quota = state.settings.get("quota")
    if refusal.layer is vocabulary.Layer.QUOTA and isinstance(quota, Mapping):
        raised = {
            name: max(limit, state.spent.get(name, 0) + state.cost)
            for name, limit in quota.items()
            if isinstance(limit, int)
        }
        yield (SetValue("quota", raised),)


def _allow_document(refusal: refusals.DocumentNotAllowed, state: TokenState) -> Iterable[Remedy]:
    """Allow the saved documents that the call runs, or every call if it runs none."""
    stored = state.settings.get("documents")
    if refusal.names and isinstance(stored, list):
        for name in refusal.names:
            yield (AddEntry("documents", name),)
    yield (SetValue("documents", ANY),)


def _open_surface(refusal: refusals.SurfaceNotEnabled, _: TokenState) -> Iterable[Remedy]:
    yield (SetValue(f"{refusal.surface}AccessEnabled", value=True),)


def _allow_operation(refusal: refusals.OperationNotAllowed, _: TokenState) -> Iterable[Remedy]:
    for operation in refusal.operations:
        yield (AddEntry(vocabulary.WORD_TYPES[type(operation)].setting, operation.value),)


def _raise_access_level(refusal: refusals.AccessDenied, _: TokenState) -> Iterable[Remedy]:
    if refusal.layer is vocabulary.Layer.OPERATION:
        yield (SetValue("calendarAccessLevel", vocabulary.CalendarAccessLevel.VIEW_FILTERED.value),)


def _allow_children(refusal: refusals.ChildrenNotAllowed, _: TokenState) -> Iterable[Remedy]:
    if not refusal.allowed:
        yield (SetValue("allowChildren", value=True),)


def _allow_subscriptions(_: SubscriptionsNotAllowed, __: TokenState) -> Iterable[Remedy]:
    yield (SetValue("subscriptionsEnabled", value=True),)


def _set_default_provider(refusal: refusals.InvalidInput, _: TokenState) -> Iterable[Remedy]:
    if refusal.code is vocabulary.Code.PROVIDER_REQUIRED:
        for provider in refusal.connected_providers:
            yield (SetValue("defaultTaskProvider", provider),)


def _show_fields(refusal: refusals.FieldNotVisible, _: TokenState) -> Iterable[Remedy]:
    changes = [
        AddEntry(vocabulary.WORD_TYPES[type(field)].setting, field.value)
        for field in refusal.fields
    ]
    return [(change,) for change in changes] if refusal.any_of else [tuple(changes)]


def _allow_recipients(refusal: refusals.RecipientNotAllowed, state: TokenState) -> Iterable[Remedy]:
    """Allow exactly the rejected addresses, or everyone if one of them cannot be told."""
    stored = Grant.read(state.settings).recipients or RecipientRules(frozenset(), frozenset())
    normal = [normalize(rejected.address or "") for rejected in refusal.rejected]
    addresses = [address for address in normal if address is not None]
    if len(addresses) < len(normal):
        rules = {"allow": [EVERYONE], "block": []}
    else:
        blocking = {pattern for address in addresses for pattern in patterns_of(address)}
        unmatched = [
            address for address in addresses if patterns_of(address).isdisjoint(stored.allow)
        ]
        rules = {
            "allow": sorted(stored.allow.union(unmatched)),
            "block": sorted(stored.block - blocking),
        }
    yield (SetValue("recipientRules", rules),)


def _write_directly(_refusal: refusals.EffectRequired, _: TokenState) -> Iterable[Remedy]:
    yield (SetValue("writes", vocabulary.WriteMode.DIRECT.value),)


def _change_rules(refusal: refusals.Blocked, state: TokenState) -> Iterable[Remedy]:
    return rules.rule_remedies(refusal, state.rules)


def _widen_window(refusal: refusals.OutsideTimeframe, state: TokenState) -> Iterable[Remedy]:
    """Widen the window by the fewest days that include the event."""
    grant = Grant.read(state.settings)
    bounds = timeframe.allowed_range(grant, state.now)
    if refusal.start >= bounds.end:
        missing = (refusal.start - bounds.end) // DAY + 1
        yield (SetValue("timeframeFutureDays", (grant.future_days or 0) + missing),)
        return
    missing = (bounds.start - refusal.end) // DAY + 1
    if refusal.start == refusal.end:  # an event without length may lie on the edge
        missing = -((refusal.start - bounds.start) // DAY)
    yield (SetValue("timeframePastDays", (grant.past_days or 0) + missing),)


def _allow_board(refusal: refusals.OutsideBoards, _: TokenState) -> Iterable[Remedy]:
    for board in refusal.board_ids:
        entry = {"boardId": board, "provider": refusal.provider, "allowCreate": refusal.to_create}
        yield (AddEntry("taskBoards", entry),)


def _allow_columns(refusal: refusals.NoWritableFields, _: TokenState) -> Iterable[Remedy]:
    for column in refusal.columns:
        yield (AddEntry("writableTaskFields", column),)


def _allow_calendar(refusal: refusals.OutsideCalendars, state: TokenState) -> Iterable[Remedy]:
    allowed = state.settings.get("allowedCalendarIds")
    if isinstance(allowed, list) and refusal.calendar_id not in allowed:
        yield (AddEntry("allowedCalendarIds", refusal.calendar_id),)
    yield from _allow_connection(refusal, state)


def _allow_connection(refusal: BaseException, state: TokenState) -> Iterable[Remedy]:
    """Allow one of the connections that only the settings exclude, writable ones first."""
    allowed = Grant.read(state.settings).connection_ids
    needs_write = isinstance(refusal, refusals.ReadOnlyConnection)
    usable = [
        connection
        for connection in state.connections
        if connection.kind == state.surface
        and connection.status == "active"
        and (connection.can_write or not needs_write)
    ]
    for connection in sorted(usable, key=lambda connection: not connection.can_write):
        if allowed is not None and connection.id not in allowed:
            yield (AddEntry("allowedConnectionIds", connection.id),)


def _nothing(_refusal: BaseException, _: TokenState) -> Iterable[Remedy]:
    return ()


# Class of refusal -> finder of its remedies; the most derived class wins.
_FINDERS: Mapping[type, Callable[[Any, TokenState], Iterable[Remedy]]] = MappingProxyType(
    {
        refusals.Unauthenticated: _extend_lifetime,
        refusals.TooManyRequests: _raise_quota,
        refusals.DocumentNotAllowed: _allow_document,
        refusals.SurfaceNotEnabled: _open_surface,
        refusals.OperationNotAllowed: _allow_operation,
        refusals.InvalidInput: _set_default_provider,
        refusals.NoUsableConnection: _allow_connection,
        refusals.ReadOnlyConnection: _allow_connection,
        refusals.AccessDenied: _raise_access_level,
        refusals.OutsideTimeframe: _widen_window,
        refusals.OutsideBoards: _allow_board,
        refusals.NoWritableFields: _allow_columns,
        refusals.ChildrenNotAllowed: _allow_children,
        SubscriptionsNotAllowed: _allow_subscriptions,
        refusals.WiderThanParent: _nothing,
        refusals.Blocked: _change_rules,
        refusals.NotFound: _allow_connection,
        refusals.OutsideCalendars: _allow_calendar,
        refusals.RecipientNotAllowed: _allow_recipients,
        refusals.EffectRequired: _write_directly,
        refusals.FieldNotVisible: _show_fields,
    }
)
