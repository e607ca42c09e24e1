"""
One operation of a document that fits the schema: what it asks for, and how it is answered.

`answer` is what both doors build on; `run` is for whoever reads the data in Python.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, cast

import msgspec
from graphql import (
    ExecutionResult,
    GraphQLBoolean,
    GraphQLError,
    GraphQLInputType,
    GraphQLNonNull,
    is_non_null_type,
    type_from_ast,
    value_from_ast_untyped,
)

from graph import errors, request_log
from graph.context import Context
from graph.documents import variables
from graph.documents.cost_limits import OperationCost
from graph.execution.plan.executor import to_plain
from graph.execution.plan.program import Program
from graph.masking import masks
from graph.masking.guards import Requirement
from policy.refusals import Refusal
from policy.vocabulary import Code, Surface
from policy.vocabulary import Operation as Flag


@dataclass(frozen=True, slots=True)
class Variable:
    """
    One variable of an operation.

    Attributes:
        default: As JSON would write it; None without one.
    """

    name: str
    type: GraphQLInputType
    required: bool
    default: object = None


@dataclass(frozen=True, slots=True)
class OperationResult:
    """
    What an operation answered.

    Attributes:
        data: None when nothing could be answered. Of `Operation.answer`, it is for msgspec's
            JSON encoder: parts of it may be shapes (see `graph.execution.plan`).
        errors: GraphQL errors as they are sent, in the order they happened.
    """

    data: dict[str, Any] | None
    errors: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation of a document that fits the schema."""

    program: Program
    cost: OperationCost = field(repr=False)
    requirements: Mapping[str, Requirement] = field(repr=False)

    @property
    def name(self) -> str:
        """The operation's name; empty when it has none."""
        node = self.program.node
        return node.name.value if node.name else ""

    @property
    def kind(self) -> str:
        """`query` or `mutation`."""
        return self.program.node.operation.value

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Its variables, in order."""
        return tuple(
            Variable(
                name=definition.variable.name.value,
                type=type_,
                required=is_non_null_type(type_) and definition.default_value is None,
                default=definition.default_value
                and value_from_ast_untyped(definition.default_value),
            )
            for definition in self.program.node.variable_definitions or ()
            if (type_ := self._input_type(definition.type)) is not None
        )

    @cached_property
    def surface(self) -> Surface | None:
        """The surface of the first root field that has one."""
        return next((one.surface for one in self._needs if one.surface is not None), None)

    @cached_property
    def operations(self) -> tuple[Flag, ...]:
        """The flags of the first root field, of which one suffices."""
        return next((one.operations for one in self._needs if one.surface is not None), ())

    @cached_property
    def refusal_depends_on_input(self) -> bool:
        """Whether the members of an input object decide which operation a refusal names."""
        return any(requirement.member_operations for requirement in self._needs)

    def admit(
        self,
        context: Context,
        given: Mapping[str, Any] = MappingProxyType({}),
        *,
        members: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """
        Pass the layers that need no parameters, for every root field that *given* lets run.

        *members* are those of the input object; a refusal names the operation that they need.

        Raises:
            Refusal: The first layer that refuses (decisions 2, steps 4 to 6).
        """
        for one in self.running_root_fields(given):
            if one.surface is not None:
                context.caller.admit(
                    one.surface, *self.requirements[one.name].operations_for(members)
                )

    async def execute(self, given: Mapping[str, Any], context: Context) -> OperationResult:
        """
        Run it with the variables *given*, for the JSON encoder.

        It never raises what the caller's input caused.
        """
        context.request_log.root_fields, context.request_log.variables = (
            self.running_root_fields(given),
            given,
        )
        if None in [given.get(name, True) for name in self.program.conditions]:
            # A default lets it be absent, never null: below a mutation, that is found out too late.
            return OperationResult(None, (self._unfit(given, context),))
        if context.wait_for_capacity is not None and self.kind == "mutation":
            try:
                await context.wait_for_capacity()
            except Refusal as refusal:
                return OperationResult(None, (self._refused(refusal, context),))
        return self._outcome(await self.program.run(given, context), given, context)

    async def run(self, given: Mapping[str, Any], context: Context) -> OperationResult:
        """Run it like `answer`, for readers: the data is plain."""
        outcome = await self.execute(given, context)
        return OperationResult(to_plain(outcome.data), outcome.errors)

    def access(self, context: Context) -> dict[str, Any]:
        """Say what is hidden on the surfaces this operation touches, for `extensions.access`."""
        surfaces = dict.fromkeys(one.surface for one in self._needs if one.surface is not None)
        told: dict[str, Any] = {
            "hiddenFields": masks.by_type(context.hidden, surfaces),
        }
        sentences = [context.caller.access_info(surface) for surface in surfaces]
        if any(sentences):
            told["accessInfo"] = " ".join(sentence for sentence in sentences if sentence)
        return told

    @cached_property
    def root_fields(self) -> tuple[request_log.RootField, ...]:
        """What it asks, one per root field."""
        return request_log.root_fields(self.program.node, self.program.document, self.requirements)

    def running_root_fields(self, given: Mapping[str, Any]) -> tuple[request_log.RootField, ...]:
        """Return those of `root_fields` that run with the variables *given*."""
        if not self._chooses:
            return self.root_fields
        running = {root.key for root in self.cost.running(given)}
        return tuple([one for one in self.root_fields if one.key in running])

    @cached_property
    def _chooses(self) -> bool:
        return any(part.conditions for parts in self.cost.parts.values() for part in parts)

    @cached_property
    def _roots(self) -> Mapping[str, str]:
        return {root.key: root.name for root in self.cost.roots}

    @cached_property
    def _needs(self) -> list[Requirement]:
        return [self.requirements[name] for name in self._roots.values()]

    def _input_type(self, node: Any) -> GraphQLInputType | None:
        return cast("GraphQLInputType | None", type_from_ast(self.program.schema, node))

    def _outcome(
        self, result: ExecutionResult, given: Mapping[str, Any], context: Context
    ) -> OperationResult:
        if not result.errors:
            return OperationResult(result.data)
        if result.data is None and all(error.path is None for error in result.errors):
            return OperationResult(None, (self._unfit(given, context),))
        for error in result.errors:
            key = str(error.path[0]) if error.path else request_log.WHOLE_REQUEST
            problem = errors.cause(error)
            found = errors.denial(problem, surface=self._surface_at(error))
            key = request_log.WHOLE_REQUEST if found.code is Code.QUERY_TOO_COSTLY else key
            context.request_log.denials.setdefault(key, found)
            if context.request_log.causes is not None:
                context.request_log.causes.setdefault(key, problem)
        described = tuple(
            errors.describe(error, surface=self._surface_at(error), request_id=context.request_id)
            for error in result.errors
        )
        costly = [one for one in described if one["extensions"]["code"] == Code.QUERY_TOO_COSTLY]
        if costly:
            return OperationResult(None, (costly[0],))
        return OperationResult(result.data, described)

    def _unfit(self, given: Mapping[str, Any], context: Context) -> dict[str, Any]:
        types = {one.name: one.type for one in self.variables}
        types |= dict.fromkeys(self.program.conditions, GraphQLNonNull(GraphQLBoolean))
        problem = variables.describe_mismatch(
            types,
            frozenset(one.name for one in self.variables if not one.required),
            given,
        )
        return self._refused(problem, context)

    def _refused(self, problem: Refusal, context: Context) -> dict[str, Any]:
        """Describe what stopped the operation before it began."""
        context.request_log.denials[request_log.WHOLE_REQUEST] = errors.denial(
            problem, surface=self.surface
        )
        return {
            "message": problem.message,
            "extensions": errors.extensions(
                problem, surface=self.surface, request_id=context.request_id
            ),
        }

    def _surface_at(self, error: GraphQLError) -> Surface | None:
        if not error.path:
            return None
        name = self._roots.get(str(error.path[0]), "")
        need = self.requirements.get(name)
        return need.surface if need is not None else None


@dataclass(frozen=True, kw_only=True)
class RestOperation(Operation):
    """
    An operation of the REST table: its data goes to the JSON encoder and nowhere else.

    Attributes:
        omit_when_empty: Members of a root object that are left out when they are
            empty. Where a plan did not apply, the data is plain and they remain.
    """

    omit_when_empty: Collection[str] = ()

    async def run(self, given: Mapping[str, Any], context: Context) -> OperationResult:
        """Run it with the variables *given*, for the JSON encoder."""
        outcome = await self.execute(given, context)
        for key, value in (outcome.data or {}).items():
            if isinstance(value, msgspec.Struct) and context.plan is not None:
                self._omit(value, context.plan.names[key])
        return outcome

    def _omit(self, value: msgspec.Struct, names: Mapping[str, str]) -> None:
        for member in self.omit_when_empty:
            name = names.get(member)
            if name is not None and not getattr(value, name):
                setattr(value, name, msgspec.UNSET)
