"""
The plan of an operation, for one set of hidden fields and one set of @skip and @include values.

Root fields and other fields with a resolver keep graphql-core's order, arguments, paths and error
handling: the plan only marks where the executor may read a whole selection in one step.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec
from graphql import (
    GraphQLError,
    GraphQLField,
    GraphQLObjectType,
    GraphQLOutputType,
    GraphQLSchema,
    OperationDefinitionNode,
    get_named_type,
    get_nullable_type,
    is_leaf_type,
    is_object_type,
)
from graphql.execution.collect_fields import (
    CollectedFields,
    FieldDetailsList,
    FragmentDetails,
    GroupedFieldSet,
    collect_fields,
    collect_subfields,
)
from graphql.execution.values import VariableValues

from graph.coordinates import is_asynchronous
from graph.edges import edge_of
from graph.execution.plan.inputs import FieldCall
from graph.execution.plan.record_checks import CheckedAttribute
from graph.execution.plan.selections import RemainingField, SelectionSplitter
from graph.execution.plan.shapes import RecordReader, depth, wrapped
from graph.execution.requested_fields import attributes

Collected = dict[tuple[GraphQLObjectType, int], tuple[FieldDetailsList, CollectedFields]]


class Step(msgspec.Struct, frozen=True):
    """
    A field whose value is read in one step, or in one step but for the *remaining* fields.

    Attributes:
        type: The field's type. The executor also completes its inner types, which are not steps.
        owner: The type of its objects.
        remaining: The fields of the one object left to execute, in order; none when pure.
    """

    type: GraphQLOutputType
    owner: GraphQLObjectType
    reader: RecordReader
    remaining: tuple[RemainingField, ...] = ()


class MixedStep(msgspec.Struct, frozen=True):
    """
    A mixed selection: plain attributes are read in one step, before the resolvers are called.

    Attributes:
        remaining: The fields of each object left to execute, in order.
    """

    reader: RecordReader
    remaining: tuple[RemainingField, ...]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """
    The plan of one operation.

    Attributes:
        roots: The root fields, collected.
        collected: graphql-core's cache of the fields collected below the roots. It adds missing
            entries, which are the same for every request. The values are kept alive here,
            because steps, mixed steps and calls are keyed by their `id`.
        projection: Root response key -> type -> the needed record attributes
            (`graph.execution.requested_fields`, which adds the response keys of edges).
        steps: By the `id` of the field's nodes.
        mixed_steps: By the `id` of the selection's collected fields.
        calls: By the `id` of the field's nodes.
        names: Root response key -> member of its object -> attribute of the shape.
        reads_once: Whether one root field, and no edge, asks a provider.
    """

    root_type: GraphQLObjectType
    roots: GroupedFieldSet
    collected: Collected
    projection: dict[Hashable, Mapping[str, frozenset[str]]]
    steps: Mapping[int, Step]
    mixed_steps: Mapping[int, MixedStep]
    calls: Mapping[int, FieldCall]
    names: Mapping[str, Mapping[str, str]]
    reads_once: bool


@dataclass(kw_only=True)
class Planner:
    """
    Makes one plan.

    Attributes:
        variables: Coerced; only those of @skip and @include are used.
    """

    schema: GraphQLSchema
    operation: OperationDefinitionNode
    fragments: dict[str, FragmentDetails]
    variables: VariableValues
    hidden: frozenset[str]
    _collected: Collected = field(default_factory=dict)
    _steps: dict[int, Step] = field(default_factory=dict)
    _mixed_steps: dict[int, MixedStep] = field(default_factory=dict)
    _calls: dict[int, FieldCall] = field(default_factory=dict)
    _has_edges: bool = False

    def plan(self) -> Plan | None:
        """Return the plan; None when fields cannot be collected (graphql-core reports why)."""
        root = cast("GraphQLObjectType", self.schema.get_root_type(self.operation.operation))
        splitter = SelectionSplitter(self._collect, self.hidden)
        try:
            roots = collect_fields(
                self.schema, self.fragments, self.variables, root, self.operation
            ).grouped_field_set
            for details in roots.values():
                self._plan_below(root, details, splitter)
                self._prepare_call(root, details, is_asynchronous)
            return Plan(
                root_type=root,
                roots=roots,
                collected=self._collected,
                projection={key: self._projection(root, details) for key, details in roots.items()},
                steps=self._steps,
                mixed_steps=self._mixed_steps,
                calls=self._calls,
                names={key: self._names(root, details, splitter) for key, details in roots.items()},
                reads_once=len(roots) == 1 and not self._has_edges,
            )
        except GraphQLError:
            return None

    def _plan_below(
        self, owner: GraphQLObjectType, details: FieldDetailsList, splitter: SelectionSplitter
    ) -> None:
        """Plan the selection below a field that graphql-core executes."""
        type_, below = self._type(owner, details)
        if below is None:
            return
        split = splitter.split(below, details)
        if split.pure:
            attributes = split.attributes
            if depth(type_):
                attributes = (CheckedAttribute(_identity, depth(type_), below=attributes),)
            reader = RecordReader.of(
                wrapped(type_, split.shape), wrapped(type_, split.passing), attributes
            )
            self._steps[id(details)] = Step(type_, below, reader)
            return
        if split.attributes:
            reader = RecordReader.of(split.shape, split.passing, split.attributes, counts=False)
            step = MixedStep(reader, split.remaining)
            self._mixed_steps[id(self._collect(below, details))] = step
            if depth(type_) == 0 and below.is_type_of is None:
                self._steps[id(details)] = Step(type_, below, reader, split.remaining)
        for remaining in split.remaining:
            if remaining.lists is None:
                self._plan_below(below, remaining.details, splitter)
                self._prepare_call(below, remaining.details, _is_leaf_or_edge)

    def _prepare_call(
        self,
        owner: GraphQLObjectType,
        details: FieldDetailsList,
        fits: Callable[[GraphQLField], bool],
    ) -> None:
        defined = owner.fields.get(details[0].node.name.value)
        if defined is not None and fits(defined):
            self._has_edges = self._has_edges or edge_of(defined) is not None
            call = FieldCall.of(defined, [detail.node for detail in details])
            if call is not None:
                self._calls[id(details)] = call

    def _projection(
        self, owner: GraphQLObjectType, details: FieldDetailsList
    ) -> Mapping[str, frozenset[str]]:
        _, below = self._type(owner, details)
        if below is None:
            return {}
        return attributes(self.schema, below, details, self._collect, self.hidden)

    def _names(
        self, owner: GraphQLObjectType, details: FieldDetailsList, splitter: SelectionSplitter
    ) -> Mapping[str, str]:
        _, below = self._type(owner, details)
        return {} if below is None else dict(splitter.split(below, details).names)

    def _type(
        self, owner: GraphQLObjectType, details: FieldDetailsList
    ) -> tuple[Any, GraphQLObjectType | None]:
        """Return the type of a field and the object type within it; (None, None) without one."""
        defined = self.schema.get_field(owner, details[0].node.name.value)
        below = get_named_type(defined.type) if defined else None
        if defined is None or not is_object_type(below) or below.name.startswith("__"):
            return None, None
        return defined.type, below

    def _collect(self, owner: GraphQLObjectType, details: FieldDetailsList) -> GroupedFieldSet:
        """Collect once: the result is identified by its `id`, here and in the executor."""
        key = owner, id(details)
        if key not in self._collected:
            collected = collect_subfields(
                self.schema, self.fragments, self.variables, self.operation, owner, details
            )
            self._collected[key] = details, collected
        return self._collected[key][1].grouped_field_set


def _is_leaf_or_edge(defined: GraphQLField) -> bool:
    """Return whether values of *defined* are scalars or enums, no lists of them, or awaited."""
    return is_leaf_type(get_nullable_type(defined.type)) or edge_of(defined) is not None


def _identity(value: Any) -> Any:
    return value
