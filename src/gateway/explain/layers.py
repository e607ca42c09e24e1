"""Outcome of every layer for a call, in the order of docs/spec/requests.md#order-of-checks."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from gateway.explain.dry_run import DryRunState
from gateway.explain.result import DryRunResult, ExplainedDenial
from graph.documents.selected_coordinates import selected_coordinates
from graph.masking import masks
from graph.masking.guards import Requirement
from policy.caller import Caller
from policy.counts import counted
from policy.gates import allows
from policy.vocabulary import CalendarOp, Code, Field, Layer, Surface


class LayerOutcome(StrEnum):
    """Outcomes of a layer."""

    PASSED = "passed"
    REFUSED = "refused"
    NOT_REACHED = "not_reached"
    NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True, slots=True)
class LayerResult:
    """Outcome of one layer for one call; *detail* is a sentence or empty."""

    layer: Layer
    outcome: LayerOutcome
    detail: str


# Code -> earlier layers that its refusal skips: a filter that would reveal a hidden field is
# refused before scope and upstream, although the mask otherwise comes after them.
_SKIPPED_LAYERS: Mapping[Code, tuple[Layer, ...]] = MappingProxyType(
    {Code.FIELD_NOT_VISIBLE: (Layer.SCOPE, Layer.UPSTREAM)}
)


def layer_results(result: DryRunResult) -> list[LayerResult]:
    """Return the outcome of every layer, in order."""
    outcomes: list[LayerResult] = []
    denial = result.denial
    for layer in Layer:
        if denial is not None and layer is denial.layer:
            outcomes.append(LayerResult(layer, LayerOutcome.REFUSED, denial.message))
        elif denial is not None and layer in _not_reached(denial):
            outcomes.append(LayerResult(layer, LayerOutcome.NOT_REACHED, ""))
        else:
            reason = _REASONS[layer](result)
            outcome = LayerOutcome.PASSED if reason.passed else LayerOutcome.NOT_APPLICABLE
            outcomes.append(LayerResult(layer, outcome, reason.text))
    return outcomes


def _not_reached(denial: ExplainedDenial) -> Collection[Layer]:
    """Return the layers that were not asked because of *denial*."""
    order = list(Layer)
    return (*_SKIPPED_LAYERS.get(denial.code, ()), *order[order.index(denial.layer) + 1 :])


def hidden_fields(result: DryRunResult) -> Mapping[Surface, list[Field]]:
    """Return the field words that hide something the call selects, by surface."""
    operation = result.state.operation
    if operation is None:
        return {}
    selected = selected_coordinates(operation, result.state.variables)
    return masks.hiding_words(selected, result.state.subject.caller.grant)


@dataclass(frozen=True, slots=True)
class _Reason:
    text: str
    passed: bool = True


def _limits(layer: Layer, nothing: str) -> Callable[[DryRunResult], _Reason]:
    def reason(result: DryRunResult) -> _Reason:
        windows = [limit for limit in result.state.limits if limit.layer is layer]
        if not windows:
            return _Reason(nothing, passed=False)
        texts = (
            f"{used.spent} of {used.window.limit} in {counted(used.window.seconds, 'second')}"
            for used in windows
        )
        return _Reason(f"Used: {', '.join(texts)}.")

    return reason


def _token(result: DryRunResult) -> _Reason:
    expires_at = result.state.subject.token.expires_at
    return _Reason("The token is active." if expires_at is None else "The token has not expired.")


def _document(result: DryRunResult) -> _Reason:
    limit = result.state.subject.caller.grant.documents
    if limit is None:
        return _Reason("The token is not limited to saved documents.", passed=False)
    return _Reason("The token may run this saved document.")


def _surface(result: DryRunResult) -> _Reason:
    switchable = [each for each in _surfaces(result.state) if each is not Surface.TASKS]
    if not switchable:
        return _Reason("No setting of the token switches this surface on or off.", passed=False)
    return _Reason(_join(f"{surface}AccessEnabled is true" for surface in switchable))


def _connections(result: DryRunResult) -> _Reason:
    surfaces = _surfaces(result.state)
    if not surfaces:
        return _Reason("No connection is needed.", passed=False)
    kinds = [connection.kind for connection in result.state.subject.connections]
    return _Reason(
        _join(f"{kinds.count(kind)} {kind} within the token's reach" for kind in surfaces)
    )


def _operation(result: DryRunResult) -> _Reason:
    caller = result.state.subject.caller
    requirements = [each for each in _requirements(result.state) if each.operations]
    if not requirements:
        return _Reason("No operation is needed.", passed=False)
    return _Reason(_join(_describe_allowed(each, caller) for each in requirements))


def _describe_allowed(requirement: Requirement, caller: Caller) -> str:
    operations = requirement.operations
    (first, *_) = [flag for flag in operations if allows(caller.grant, flag)] or operations
    if isinstance(first, CalendarOp):
        return f"calendarAccessLevel {caller.grant.calendar_level} allows {first}"
    return f"{first} is allowed"


def _usable(result: DryRunResult) -> _Reason:
    caller = result.state.subject.caller
    surfaces = _surfaces(result.state)
    if not surfaces:
        return _Reason("No connection is needed.", passed=False)
    usable = [
        str(connection.id)
        for connection in caller.connections
        if connection.kind in surfaces
        and connection.status == "active"
        and not caller.excludes(connection)
    ]
    return _Reason(f"Connections that can be used: {', '.join(usable)}.")


def _scope(result: DryRunResult) -> _Reason:
    if not _surfaces(result.state):
        return _Reason("No object is read.", passed=False)
    if result.state.subject.all_rules and Surface.COLLAB in _surfaces(result.state):
        return _Reason("The token's rules allow it; what they block in a list is left out.")
    return _Reason("It is within the token's scopes.")


def _upstream(result: DryRunResult) -> _Reason:
    if result.state.previewed:
        return _Reason("Nothing would be written: the call is a dry run.")
    if result.reached_write:
        return _Reason("The provider would be called now; its response is not known.")
    if not _surfaces(result.state):
        return _Reason("Nobody is asked.", passed=False)
    return _Reason("Upstream answered.")


def _mask(result: DryRunResult) -> _Reason:
    names = [str(word) for words in hidden_fields(result).values() for word in words]
    if not names:
        return _Reason("No requested field is hidden.", passed=False)
    return _Reason(f"Hidden: {', '.join(names)}.")


_REASONS: Mapping[Layer, Callable[[DryRunResult], _Reason]] = MappingProxyType(
    {
        Layer.ADDRESS_LIMIT: _limits(
            Layer.ADDRESS_LIMIT, "Counted by the address that a call comes from."
        ),
        Layer.TOKEN: _token,
        Layer.QUOTA: _limits(Layer.QUOTA, "The token has no quota of its own."),
        Layer.DOCUMENT: _document,
        Layer.SURFACE: _surface,
        Layer.CONNECTIONS: _connections,
        Layer.OPERATION: _operation,
        Layer.INPUT: lambda _: _Reason("The parameters and the body are valid."),
        Layer.USABLE_CONNECTION: _usable,
        Layer.SCOPE: _scope,
        Layer.UPSTREAM: _upstream,
        Layer.MASK: _mask,
    }
)


def _requirements(state: DryRunState) -> Sequence[Requirement]:
    operation = state.operation
    return [operation.requirements[field.name] for field in state.fields] if operation else ()


def _surfaces(state: DryRunState) -> Sequence[Surface]:
    surfaces = (requirement.surface for requirement in _requirements(state))
    return list(dict.fromkeys(surface for surface in surfaces if surface is not None))


def _join(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(texts)) + "."
