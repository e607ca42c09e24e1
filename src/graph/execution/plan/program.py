"""An operation ready to run: by its plan where it has one, by graphql-core alone where not."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import isawaitable
from typing import Any, cast

from graphql import (
    DirectiveNode,
    DocumentNode,
    ExecutionResult,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLResolveInfo,
    GraphQLSchema,
    OperationDefinitionNode,
    VariableNode,
    Visitor,
    default_field_resolver,
    default_type_resolver,
    execute,
    visit,
)
from graphql.execution.collect_fields import FragmentDetails
from graphql.execution.values import (
    VariableValues,
    VariableValuesOrErrors,
    get_variable_values,
)

from graph.context import Context
from graph.execution.counting_executor import CountingExecutor
from graph.execution.plan.cache import PlanCache
from graph.execution.plan.executor import PlannedExecutor
from graph.execution.plan.inputs import VariableCoercer
from graph.execution.plan.planning import Plan, Planner, SingleRoot
from graph.execution.plan.record_checks import PlanMismatch

MOST_ERRORS = 50  # of variables, per request; graphql-core's own default


@dataclass(frozen=True, eq=False)
class Program:
    """
    One operation of a valid document. Plans are kept by its identity.

    Attributes:
        plans: Where they are kept; None for an operation that is not worth one.
    """

    schema: GraphQLSchema
    document: DocumentNode
    node: OperationDefinitionNode
    plans: PlanCache | None

    async def run(self, given: Mapping[str, Any], context: Context) -> ExecutionResult:
        """Run it with the variables *given*; the data may hold shapes (see `plan.executor`)."""
        values = self._coerced(given)
        if isinstance(values, list):
            return ExecutionResult(None, values)
        plan = context.plan = self.plan(values, context.hidden)
        if plan is None:
            return await self.interpret(given, context)
        alone = plan.alone
        arguments = alone.call.arguments(values) if alone is not None else None
        if alone is None or arguments is None:
            return await self._executor(plan, values, context).run()
        return await self._call(plan, alone, arguments, values, context)

    async def _call(
        self,
        plan: Plan,
        alone: SingleRoot,
        arguments: dict[str, Any],
        values: VariableValues,
        context: Context,
    ) -> ExecutionResult:
        """Call the only root field: when its value is read in one step, nothing is executed."""
        call, idle = alone.call, self._idle
        info = GraphQLResolveInfo(
            call.nodes[0].name.value,
            call.nodes,
            call.field.type,
            plan.root_type,
            alone.path,
            self.schema,
            self._definitions,
            None,
            self.node,
            values,
            context,
            idle.is_awaitable,
            None,
            idle.async_helpers,
        )
        try:
            found = await cast("Any", call.field.resolve)(None, info, **arguments)
        except Exception as error:  # noqa: BLE001 - graphql-core's own boundary
            found = error
        else:
            if alone.reader is not None:
                try:
                    return ExecutionResult({alone.key: alone.reader.read(found, context)}, None)
                except PlanMismatch:
                    pass
        return await self._executor(plan, values, context).complete_root(alone, info, found)

    def _executor(
        self, plan: Plan | None, values: VariableValues, context: Context | None
    ) -> PlannedExecutor:
        executor = PlannedExecutor(
            self.schema,
            self._definitions,
            self._fragments,
            None,
            context,
            self.node,
            values,
            default_field_resolver,
            default_type_resolver,
            default_field_resolver,
            hide_suggestions=True,
        )
        if plan is not None:
            executor.follow(plan)
        return executor

    @cached_property
    def _idle(self) -> PlannedExecutor:
        """An executor that never runs: what resolvers are told of theirs is the same of any."""
        return self._executor(None, VariableValues({}, {}), None)

    async def interpret(self, given: Mapping[str, Any], context: Context) -> ExecutionResult:
        """Run it on graphql-core alone: what `run` must agree with in everything but time."""
        context.plan = None
        result = execute(
            self.schema,
            self.document,
            context_value=context,
            variable_values=dict(given),
            operation_name=self.node.name.value if self.node.name else None,
            executor_class=CountingExecutor,
            hide_suggestions=True,
        )
        return await result if isawaitable(result) else result

    def plan(self, values: VariableValues, hidden: frozenset[str]) -> Plan | None:
        """Return the plan for *hidden* and the @skip and @include variables among *values*."""
        if self.plans is None:
            return None

        def make() -> Plan | None:
            return Planner(
                schema=self.schema,
                operation=self.node,
                fragments=self._fragments,
                variables=values,
                hidden=hidden,
            ).plan()

        choices = tuple([values.coerced.get(name) for name in self.conditions])
        return self.plans.find((self, choices, hidden), make)

    def preplan(self, hidden: frozenset[str]) -> None:
        """Make the plan for *hidden* ahead, if no variable decides about it."""
        if not self.conditions:
            self.plan(VariableValues({}, {}), hidden)

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """
        Its variables that decide about @skip and @include, in the fragments that it spreads too.

        Another operation's may have the same names and other types, whose values are no keys.
        """
        found = _Conditions(self._definitions)
        visit(self.node, found)
        return tuple(sorted(found.names))

    def _coerced(self, given: Mapping[str, Any]) -> VariableValuesOrErrors:
        found = self._variables.coerce(given) if self._variables is not None else None
        if found is not None:
            return found
        return get_variable_values(
            self.schema,
            self.node.variable_definitions or (),
            dict(given),
            max_errors=MOST_ERRORS,
            hide_suggestions=True,
        )

    @cached_property
    def _variables(self) -> VariableCoercer | None:
        return VariableCoercer.of(self.schema, self.node.variable_definitions or ())

    @cached_property
    def _definitions(self) -> dict[str, FragmentDefinitionNode]:
        return {
            one.name.value: one
            for one in self.document.definitions
            if isinstance(one, FragmentDefinitionNode)
        }

    @cached_property
    def _fragments(self) -> dict[str, FragmentDetails]:
        return {name: FragmentDetails(one) for name, one in self._definitions.items()}


class _Conditions(Visitor):
    def __init__(self, fragments: Mapping[str, FragmentDefinitionNode]) -> None:
        super().__init__()
        self.names: set[str] = set()
        self._left = dict(fragments)

    def enter_fragment_spread(self, node: FragmentSpreadNode, *_: Any) -> None:
        """Go through the fragment, once."""
        fragment = self._left.pop(node.name.value, None)
        if fragment is not None:
            visit(fragment, self)

    def enter_directive(self, node: DirectiveNode, *_: Any) -> None:
        """Note the variables of any directive: @skip and @include are the executable ones."""
        for argument in node.arguments or ():
            if isinstance(argument.value, VariableNode):
                self.names.add(argument.value.name.value)
