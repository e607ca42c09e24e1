"""Every layer of decisions 2, in order: what it said of a call, and on what ground."""

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
from policy.gates import allows
from policy.vocabulary import CalendarOp, Code, Field, Layer, Surface


class LayerOutcome(StrEnum):
    """What a layer said."""

    PASSED = "passed"
    REFUSED = "refused"
    NOT_REACHED = "not_reached"
    NOT_APPLICABLE = "not_applicable"


@dataclass(frozen=True, slots=True)
class LayerResult:
    """One layer of one call; *detail* is a sentence for people, or empty."""

    layer: Layer
    outcome: LayerOutcome
    detail: str


# What a refusal is made without having asked. A filter that would tell what is hidden is refused
# before scope and upstream, although the mask comes after them in every other way.
_BEFORE: Mapping[Code, tuple[Layer, ...]] = MappingProxyType(
    {Code.FIELD_NOT_VISIBLE: (Layer.SCOPE, Layer.UPSTREAM)}
)


def layer_results(course: DryRunResult) -> list[LayerResult]:
    """Return every layer, in order."""
    told: list[LayerResult] = []
    stop = course.stop
    for layer in Layer:
        if stop is not None and layer is stop.layer:
            told.append(LayerResult(layer, LayerOutcome.REFUSED, stop.message))
        elif stop is not None and layer in _unasked(stop):
            told.append(LayerResult(layer, LayerOutcome.NOT_REACHED, ""))
        else:
            ground = _GROUNDS[layer](course)
            outcome = LayerOutcome.PASSED if ground.passed else LayerOutcome.NOT_APPLICABLE
            told.append(LayerResult(layer, outcome, ground.words))
    return told


def _unasked(stop: ExplainedDenial) -> Collection[Layer]:
    """Return the layers that were not asked before *stop*."""
    order = list(Layer)
    return (*_BEFORE.get(stop.code, ()), *order[order.index(stop.layer) + 1 :])


def hidden_fields(course: DryRunResult) -> Mapping[Surface, list[Field]]:
    """Return the mask words that hide something the call selects."""
    operation = course.play.operation
    if operation is None:
        return {}
    selected = selected_coordinates(operation, course.play.given)
    return masks.hiding_words(selected, course.play.subject.caller.grant)


@dataclass(frozen=True, slots=True)
class _Ground:
    words: str
    passed: bool = True


def _limits(layer: Layer, nothing: str) -> Callable[[DryRunResult], _Ground]:
    def ground(course: DryRunResult) -> _Ground:
        met = [one for one in course.play.limits if one.layer is layer]
        if not met:
            return _Ground(nothing, passed=False)
        used = (f"{one.spent} of {one.window.limit} in {one.window.seconds} seconds" for one in met)
        return _Ground(f"Used: {', '.join(used)}.")

    return ground


def _token(course: DryRunResult) -> _Ground:
    ends = course.play.subject.token.expires_at
    return _Ground("The token is active." if ends is None else "The token has not ended yet.")


def _surface(course: DryRunResult) -> _Ground:
    switched = [one for one in _surfaces(course.play) if one is not Surface.TASKS]
    if not switched:
        return _Ground("There is no switch.", passed=False)
    return _Ground(_listed(f"{one}AccessEnabled is true" for one in switched))


def _connections(course: DryRunResult) -> _Ground:
    surfaces = _surfaces(course.play)
    if not surfaces:
        return _Ground("No connection is needed.", passed=False)
    kinds = [one.kind for one in course.play.subject.connections]
    return _Ground(
        _listed(f"{kinds.count(one)} {one} on the token's resources" for one in surfaces)
    )


def _operation(course: DryRunResult) -> _Ground:
    caller = course.play.subject.caller
    needs = [one for one in _needs(course.play) if one.operations]
    if not needs:
        return _Ground("No operation is needed.", passed=False)
    return _Ground(_listed(_allowing(one, caller) for one in needs))


def _allowing(need: Requirement, caller: Caller) -> str:
    (first, *_) = [one for one in need.operations if allows(caller.grant, one)] or need.operations
    if isinstance(first, CalendarOp):
        return f"calendarAccessLevel {caller.grant.calendar_level} allows {first}"
    return f"{first} is allowed"


def _input(_: DryRunResult) -> _Ground:
    return _Ground("Parameters and body are as they must be.")


def _usable(course: DryRunResult) -> _Ground:
    caller = course.play.subject.caller
    surfaces = _surfaces(course.play)
    if not surfaces:
        return _Ground("No connection is needed.", passed=False)
    usable = [
        str(one.id)
        for one in caller.connections
        if one.kind in surfaces and one.status == "active" and not caller.excludes(one)
    ]
    return _Ground(f"Connections that can be used: {', '.join(usable)}.")


def _scope(course: DryRunResult) -> _Ground:
    if not _surfaces(course.play):
        return _Ground("Nothing is looked at.", passed=False)
    if course.play.subject.all_rules and Surface.COLLAB in _surfaces(course.play):
        return _Ground("The token's rules allow it; what they block in a list is left out.")
    return _Ground("It lies within what the token may reach.")


def _upstream(course: DryRunResult) -> _Ground:
    if course.unsent:
        return _Ground("It would be sent now; what upstream would say to it is not known.")
    if not _surfaces(course.play):
        return _Ground("Nobody is asked.", passed=False)
    return _Ground("Upstream answered.")


def _mask(course: DryRunResult) -> _Ground:
    found = [str(word) for words in hidden_fields(course).values() for word in words]
    if not found:
        return _Ground("Nothing of it is hidden.", passed=False)
    return _Ground(f"Hidden: {', '.join(found)}.")


_GROUNDS: Mapping[Layer, Callable[[DryRunResult], _Ground]] = MappingProxyType(
    {
        Layer.ADDRESS_LIMIT: _limits(
            Layer.ADDRESS_LIMIT, "Counted by the address that a call comes from."
        ),
        Layer.TOKEN: _token,
        Layer.QUOTA: _limits(Layer.QUOTA, "The token has no quota of its own."),
        Layer.SURFACE: _surface,
        Layer.CONNECTIONS: _connections,
        Layer.OPERATION: _operation,
        Layer.INPUT: _input,
        Layer.USABLE_CONNECTION: _usable,
        Layer.SCOPE: _scope,
        Layer.UPSTREAM: _upstream,
        Layer.MASK: _mask,
    }
)


def _needs(play: DryRunState) -> Sequence[Requirement]:
    operation = play.operation
    return [operation.requirements[one.name] for one in play.root_fields] if operation else ()


def _surfaces(play: DryRunState) -> Sequence[Surface]:
    return list(dict.fromkeys(one.surface for one in _needs(play) if one.surface is not None))


def _listed(words: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(words)) + "."
