"""
One operation of a valid document: its requirements, variables and execution.

`execute` serves REST and GraphQL; `run` returns plain data for Python code.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any, cast

import graphql
import msgspec
from graphql.execution.values import get_argument_values
from msgspec.structs import replace

from graph import errors, kept_results, request_log
from graph.context import Context
from graph.documents import variables
from graph.documents.cost_limits import OperationCost
from graph.execution import not_found_delay
from graph.execution.plan.executor import to_plain
from graph.execution.plan.program import Program
from graph.masking import masks
from graph.masking.guards import Requirement
from policy.refusals import Refusal
from policy.vocabulary import Code, Surface
from policy.vocabulary import Operation as Flag
from providers.failures import without_frames


class Variable(msgspec.Struct, frozen=True):
    """
    One variable of an operation.

    Attributes:
        default: The default as a JSON value; None without one.
    """

    name: str
    type: graphql.GraphQLInputType
    required: bool
    default: object = None


class OperationResult(msgspec.Struct, frozen=True):
    """
    The result of an operation.

    Attributes:
        data: None when the operation did not run. From `Operation.execute` it is for msgspec's
            JSON encoder: parts of it may be shapes (see `graph.execution.plan`).
        errors: GraphQL errors as they are sent, in the order they happened.
        causes: The exceptions behind *errors*, in the same order.
        unlisted: The number of further errors.
    """

    data: dict[str, Any] | None
    errors: tuple[dict[str, Any], ...] = ()
    causes: tuple[BaseException, ...] = ()
    unlisted: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Operation:
    """One operation of a valid document; its identity is the key of what callers keep of it."""

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
                required=graphql.is_non_null_type(type_) and definition.default_value is None,
                default=definition.default_value
                and graphql.value_from_ast_untyped(definition.default_value),
            )
            for definition in self.program.node.variable_definitions or ()
            if (type_ := self._input_type(definition.type)) is not None
        )

    @cached_property
    def surface(self) -> Surface | None:
        """The surface of the first root field that has one."""
        return next((need.surface for need in self._needs if need.surface is not None), None)

    @cached_property
    def surfaces(self) -> tuple[Surface, ...]:
        """The surfaces of all its root fields and edges, in the order of the text."""
        edges = (edge.surface for edge in self._edges.values())
        surfaces = (*(need.surface for need in self._needs), *edges)
        return tuple(dict.fromkeys(surface for surface in surfaces if surface is not None))

    @cached_property
    def operations(self) -> tuple[Flag, ...]:
        """The alternative flags of the first root field with a surface; one flag suffices."""
        return next((need.operations for need in self._needs if need.surface is not None), ())

    @cached_property
    def refusal_depends_on_input(self) -> bool:
        """Whether the members of an input object decide which operation a refusal names."""
        return any(requirement.depends_on_input for requirement in self._needs)

    def admit(
        self,
        context: Context,
        given: Mapping[str, Any] = MappingProxyType({}),
        *,
        members: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """
        Check the gates that need no parameters, for each root field that runs with *given*.

        *members* are those of the input object; a refusal names the operation that they need.

        Raises:
            Refusal: The first gate that refuses (docs/spec/requests.md#order-of-checks).
        """
        for root in self.running_root_fields(given):
            self.requirements[root.name].admit(context.caller, members)

    async def execute(self, given: Mapping[str, Any], context: Context) -> OperationResult:
        """
        Run the operation; the result is for msgspec's JSON encoder.

        Invalid input is in the result's errors and never raised.
        """
        log = context.request_log
        log.fields, log.variables = self._constant_fields or self.running_fields(given), given
        if self._is_limited and (refused := await self._refusal(given, context)) is not None:
            return refused
        try:
            executed = await self.program.run(given, context)
        except asyncio.CancelledError:
            context.cancel_reads()
            raise
        if not executed.errors:
            return OperationResult(self._shown(executed.data, context))
        result = self._result(executed, given, context)
        if result.errors:
            await not_found_delay.delay(
                result.errors, context.started, context.not_found_step, are_all=not result.unlisted
            )
        return result

    async def _refusal(self, given: Mapping[str, Any], context: Context) -> OperationResult | None:
        """Return the refusal of values that are refused before anything runs, or of a write."""
        if self.program.conditions and None in [
            given.get(name, True) for name in self.program.conditions
        ]:
            # The variable of @skip or @include may be absent, not null. Standard GraphQL would
            # find a null below a mutation only after the mutation ran.
            return self._variables_error(given, context)
        if self._inputs and any(
            variables.has_long_list(given.get(name), type_) for name, type_ in self._inputs
        ):
            return self._variables_error(given, context)
        if context.wait_for_capacity is not None and self._is_mutation:
            try:
                await context.wait_for_capacity()
            except Refusal as refusal:
                return self.refused(refusal, context)
        return None

    def _shown(self, data: dict[str, Any] | None, _context: Context) -> dict[str, Any] | None:
        """Return the data of the result."""
        return data

    async def run(self, given: Mapping[str, Any], context: Context) -> OperationResult:
        """Run the operation like `execute`; the data is plain."""
        result = await self.execute(given, context)
        return replace(result, data=to_plain(result.data))

    def access(self, context: Context) -> dict[str, Any]:
        """Return `extensions.access`: the hidden fields of the surfaces of this operation."""
        access: dict[str, Any] = {"hiddenFields": masks.by_type(context.hidden, self.surfaces)}
        sentences = [context.caller.access_info(surface) for surface in self.surfaces]
        if any(sentences):
            access["accessInfo"] = " ".join(sentence for sentence in sentences if sentence)
        return access

    def root_call(self, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """
        Return the name of the first root field that runs with *given*, and its arguments.

        The arguments are coerced, by name, defaults included. None: no field runs, or the values
        do not fit.
        """
        running = {root.key: root.name for root in self.running_root_fields(given)}
        root_type = self.program.schema.get_root_type(self.program.node.operation)
        values = self.program.coerce(given)
        if root_type is None or isinstance(values, list):
            return None
        for node in request_log.field_nodes(
            self.program.node.selection_set, self.program.definitions
        ):
            name = running.get(node.alias.value if node.alias else node.name.value)
            if name != node.name.value:
                continue
            definition = root_type.fields[name]
            try:
                coerced = get_argument_values(definition, node, values)
            except graphql.GraphQLError:
                return None
            names = {argument.out_name or key: key for key, argument in definition.args.items()}
            return name, {names[key]: value for key, value in coerced.items()}
        return None

    @cached_property
    def root_fields(self) -> tuple[request_log.OperationField, ...]:
        """Its root fields, one per response key."""
        return request_log.root_fields(self.program.node, self.program.document, self.requirements)

    def running_root_fields(
        self, given: Mapping[str, Any]
    ) -> tuple[request_log.OperationField, ...]:
        """Return the root fields that run with the variables *given*."""
        if not self._has_conditions:
            return self.root_fields
        running = {cost.key for cost in self.cost.running_roots(given)}
        return tuple([root for root in self.root_fields if root.key in running])

    def running_fields(self, given: Mapping[str, Any]) -> tuple[request_log.OperationField, ...]:
        """Return the root fields that run with the variables *given*, then the edges."""
        roots = self.running_root_fields(given)
        if not self._edges:
            return roots
        running = (edge.key for edge in self.cost.running_edges(given))
        return (*roots, *(self._edges[key] for key in running if key in self._edges))

    @cached_property
    def _constant_fields(self) -> tuple[request_log.OperationField, ...]:
        """The fields that run with any variables; empty when it depends on the variables."""
        return () if self._has_conditions or self._edges else self.root_fields

    @cached_property
    def _edges(self) -> Mapping[str, request_log.OperationField]:
        """Every edge in the text that asks a provider, by its path."""
        return {
            edge.key: request_log.OperationField(
                key=edge.key, name=edge.name, surface=edge.surface, writes=False
            )
            for edge in self.cost.edges
            if edge.surface is not None
        }

    @cached_property
    def _is_mutation(self) -> bool:
        return self.kind == "mutation"

    @cached_property
    def _is_limited(self) -> bool:
        """Whether the operation may be refused before it runs."""
        return bool(self._is_mutation or self.program.conditions or self._inputs)

    @cached_property
    def _has_conditions(self) -> bool:
        selections = chain.from_iterable(self.cost.roots_by_fragment.values())
        return any(selection.conditions for selection in selections)

    @cached_property
    def _inputs(self) -> tuple[tuple[str, graphql.GraphQLInputType], ...]:
        """The variables that may hold lists."""
        return tuple(
            (variable.name, variable.type)
            for variable in self.variables
            if not graphql.is_leaf_type(graphql.get_nullable_type(variable.type))
        )

    @cached_property
    def _roots(self) -> Mapping[str, str]:
        return {root.key: root.name for root in self.cost.roots}

    @cached_property
    def _needs(self) -> list[Requirement]:
        return [self.requirements[name] for name in self._roots.values()]

    def _input_type(self, node: Any) -> graphql.GraphQLInputType | None:
        return cast(
            "graphql.GraphQLInputType | None", graphql.type_from_ast(self.program.schema, node)
        )

    def _result(
        self, result: graphql.ExecutionResult, given: Mapping[str, Any], context: Context
    ) -> OperationResult:
        failures = result.errors or ()
        if result.data is None and all(error.path is None for error in failures):
            return self._variables_error(given, context)
        log, shown = context.request_log, errors.listed(failures)
        for error in failures:
            key = self.key_of(error.path)
            problem = errors.cause(error)
            denial = errors.denial(problem, surface=self._surface_at(error))
            if denial.code is Code.QUERY_TOO_COSTLY:
                key, shown = request_log.WHOLE_REQUEST, [error]
            log.denials.setdefault(key, denial)
        described = tuple(
            errors.describe(error, surface=self._surface_at(error), request_id=context.request_id)
            for error in shown
        )
        causes = tuple(map(errors.cause, shown))
        for error in failures:
            without_frames(error)
            without_frames(errors.cause(error))
        if context.delivery is not None and not context.kept_result:
            roots = (error for error in described if len(error.get("path", ())) == 1)
            context.kept_result = next(map(kept_results.of_error, roots), b"")
        for error_ in described:
            if error_["extensions"]["code"] == Code.QUERY_TOO_COSTLY:
                return OperationResult(None, (error_,), causes)
        return OperationResult(result.data, described, causes, len(failures) - len(shown))

    def _variables_error(self, given: Mapping[str, Any], context: Context) -> OperationResult:
        types = {variable.name: variable.type for variable in self.variables}
        types |= dict.fromkeys(
            self.program.conditions, graphql.GraphQLNonNull(graphql.GraphQLBoolean)
        )
        optional = frozenset(variable.name for variable in self.variables if not variable.required)
        return self.refused(variables.describe_mismatch(types, optional, given), context)

    def refused(self, problem: Refusal, context: Context) -> OperationResult:
        """Return the result of an operation that is refused as a whole, and log it."""
        denial = errors.denial(problem, surface=self.surface)
        context.request_log.denials[request_log.WHOLE_REQUEST] = denial
        error = errors.described(problem, surface=self.surface, request_id=context.request_id)
        return OperationResult(None, (error,), (without_frames(problem),))

    def _surface_at(self, error: graphql.GraphQLError) -> Surface | None:
        key = self.key_of(error.path)
        name = self._edges[key].name if key in self._edges else self._roots.get(key, "")
        need = self.requirements.get(name)
        return need.surface if need is not None else None

    def key_of(self, path: Sequence[str | int] | None) -> str:
        """Return the key (see `OperationField`) of the edge or root field at or above *path*."""
        keys = [key for key in path or () if isinstance(key, str)]
        while len(keys) > 1 and ".".join(keys) not in self._edges:
            keys.pop()
        return ".".join(keys)  # empty, as `request_log.WHOLE_REQUEST` is, without a path
