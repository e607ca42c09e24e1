"""An operation ready to run: by its plan if it has one, by graphql-core alone otherwise."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import isawaitable
from typing import Any

from graphql import (
    DirectiveNode,
    DocumentNode,
    ExecutionResult,
    FragmentDefinitionNode,
    FragmentSpreadNode,
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
from graphql.execution.values import VariableValues, VariableValuesOrErrors, get_variable_values

from graph.context import Context
from graph.execution.counting_executor import CountingExecutor
from graph.execution.plan.cache import PlanCache
from graph.execution.plan.executor import PlannedExecutor
from graph.execution.plan.inputs import VariableCoercer
from graph.execution.plan.planning import Plan, Planner

MAX_ERRORS = 50  # of variables, per request; graphql-core's own default


@dataclass(frozen=True, eq=False)
class Program:
    """
    One operation of a valid document. Its identity is part of the key of its plans.

    Attributes:
        plans: The cache of plans; None for an operation that is not worth a plan.
    """

    schema: GraphQLSchema
    document: DocumentNode
    node: OperationDefinitionNode
    plans: PlanCache | None

    async def run(self, given: Mapping[str, Any], context: Context) -> ExecutionResult:
        """Run with the variables *given*; the data may hold shapes (see `plan.executor`)."""
        values = self.coerce(given)
        if isinstance(values, list):
            return ExecutionResult(None, values)
        plan = context.plan = self.plan(values, context.hidden)
        if plan is None:
            return await self.interpret(given, context)
        executor = PlannedExecutor(
            self.schema,
            self.definitions,
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
        executor.use_plan(plan)
        return await executor.run()

    async def interpret(self, given: Mapping[str, Any], context: Context) -> ExecutionResult:
        """Run on graphql-core alone; `run` must give the same result."""
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
        choices = tuple([values.coerced.get(name) for name in self.conditions])
        key = (self, choices, hidden)
        known = self.plans.get(key)
        if known is not None:
            return known

        def make() -> Plan | None:
            return Planner(
                schema=self.schema,
                operation=self.node,
                fragments=self._fragments,
                variables=values,
                hidden=hidden,
            ).plan()

        return self.plans.get_or_make(key, make)

    def preplan(self, hidden: frozenset[str]) -> None:
        """Make the plan for *hidden* ahead, unless it depends on a variable."""
        if not self.conditions:
            self.plan(VariableValues({}, {}), hidden)

    @cached_property
    def conditions(self) -> tuple[str, ...]:
        """
        Its variables in @skip and @include, also those in spread fragments.

        Other operations of the document are left out: their variables may have the same names
        and types whose values are not hashable.
        """
        collector = _ConditionCollector(self.definitions)
        visit(self.node, collector)
        return tuple(sorted(collector.names))

    def coerce(self, given: Mapping[str, Any]) -> VariableValuesOrErrors:
        """Return the values of the variables, or a list of errors when *given* do not fit."""
        values = self._variables.coerce(given) if self._variables is not None else None
        if values is not None:
            return values
        return get_variable_values(
            self.schema,
            self.node.variable_definitions or (),
            dict(given),
            max_errors=MAX_ERRORS,
            hide_suggestions=True,
        )

    @cached_property
    def _variables(self) -> VariableCoercer | None:
        return VariableCoercer.of(self.schema, self.node.variable_definitions or ())

    @cached_property
    def definitions(self) -> dict[str, FragmentDefinitionNode]:
        """The fragments of the document, by name."""
        return {
            definition.name.value: definition
            for definition in self.document.definitions
            if isinstance(definition, FragmentDefinitionNode)
        }

    @cached_property
    def _fragments(self) -> dict[str, FragmentDetails]:
        return {name: FragmentDetails(node) for name, node in self.definitions.items()}


class _ConditionCollector(Visitor):
    def __init__(self, fragments: Mapping[str, FragmentDefinitionNode]) -> None:
        super().__init__()
        self.names: set[str] = set()
        self._unvisited = dict(fragments)

    def enter_fragment_spread(self, node: FragmentSpreadNode, *_: Any) -> None:
        """Visit the fragment, once."""
        fragment = self._unvisited.pop(node.name.value, None)
        if fragment is not None:
            visit(fragment, self)

    def enter_directive(self, node: DirectiveNode, *_: Any) -> None:
        """Collect the variables of a directive; @skip and @include are the only executable ones."""
        for argument in node.arguments or ():
            if isinstance(argument.value, VariableNode):
                self.names.add(argument.value.name.value)
