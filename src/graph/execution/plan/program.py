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
from graphql.execution.values import VariableValues, VariableValuesOrErrors, get_variable_values
from graphql.pyutils import Path

from graph.context import Context
from graph.execution.counting_executor import CountingExecutor
from graph.execution.plan.cache import PlanCache
from graph.execution.plan.executor import PlannedExecutor
from graph.execution.plan.inputs import FieldCall, VariableCoercer
from graph.execution.plan.planning import Plan, Planner, SingleRoot
from graph.execution.plan.record_checks import PlanMismatch, spend_budget

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
        coercer = self._variables
        coerced = coercer.coerce(given) if coercer is not None else None
        values = self.coerce(given) if coerced is None else coerced
        if isinstance(values, list):
            return ExecutionResult(None, values)
        plan = context.caller.bound.get(self) if self._is_bound else None
        plan = context.plan = plan or self._plan_of(context, values)
        if plan is None:
            return await self.interpret(given, context)
        root = plan.single_root
        arguments = root.call.arguments(values) if root is not None else None
        if root is None or arguments is None:
            return await self._executor(plan, values, context).run()
        info = self._info(root.call, plan.root_type, root.path, values, context)
        resolve: Any = root.call.field.resolve
        try:
            running = resolve(None, info, **arguments)
            del arguments  # the resolver has its own: many calls wait here for upstream
            result = await running
        except Exception as error:  # noqa: BLE001 - graphql-core's own boundary
            result = error
        else:
            budget = context.budget
            try:
                return ExecutionResult({root.key: self._read(root, result, values, context)}, None)
            except PlanMismatch:
                context.budget = budget
        # No executor is needed when the value of the only root field can be read directly.
        return await self._executor(plan, values, context).complete_root(root, info, result)

    def _plan_of(self, context: Context, values: VariableValues) -> Plan | None:
        plan = self.plan(values, context.hidden)
        if plan is not None and self._is_bound:
            context.caller.bound[self] = plan
        return plan

    @cached_property
    def _is_bound(self) -> bool:
        """Whether a caller has one plan, and keeps it until the next commit."""
        return self.plans is not None and self.plans.kept_by_callers and not self.conditions

    def _read(self, root: SingleRoot, result: Any, values: VariableValues, context: Context) -> Any:
        """
        Read the value of the only root field.

        Raises:
            PlanMismatch: graphql-core must do it.
        """
        if root.reader is None:
            raise PlanMismatch
        shape = root.reader.read(result, context)
        if shape is None:
            return None
        budgeted = context.budget is not None
        for field in root.direct:
            if field.lists is not None:
                if budgeted and not spend_budget(context, (result,), (field.lists,)):
                    raise PlanMismatch
            elif field.call is not None:
                bound = context.caller.bound if field.of_caller else {}
                resolve = field.call.field.resolve
                if resolve in bound:
                    text = bound[resolve]
                else:
                    info = self._info(field.call, root.owner, field.path, values, context)
                    text = bound[resolve] = _text(field.call, result, info)
                setattr(shape, field.name, text)
        return shape

    def _info(
        self, call: FieldCall, owner: Any, path: Path, values: VariableValues, context: Context
    ) -> GraphQLResolveInfo[Context]:
        name, type_, nodes = call.nodes[0].name.value, call.field.type, call.nodes
        # Without the Python function that the class of a named tuple is called by.
        info: GraphQLResolveInfo[Context] = tuple.__new__(
            GraphQLResolveInfo,
            (name, nodes, type_, owner, path, *self._before, values, context, *self._after),
        )
        return info

    def _executor(
        self, plan: Plan | None, values: VariableValues, context: Context | None
    ) -> PlannedExecutor:
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
        if plan is not None:
            executor.use_plan(plan)
        return executor

    @cached_property
    def _idle(self) -> PlannedExecutor:
        """An executor that never runs; it provides what resolver infos take from an executor."""
        return self._executor(None, VariableValues({}, {}), None)

    @cached_property
    def _before(self) -> tuple[Any, ...]:
        """The values that resolver infos hold between path and variables."""
        return self.schema, self.definitions, None, self.node

    @cached_property
    def _after(self) -> tuple[Any, ...]:
        """The values that resolver infos hold behind the context."""
        return self._idle.is_awaitable, None, self._idle.async_helpers

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


def _text(call: FieldCall, source: Any, info: GraphQLResolveInfo[Context]) -> str | None:
    """
    Call the resolver of a text.

    Raises:
        PlanMismatch: It failed, or returned something else.
    """
    resolve: Any = call.field.resolve
    try:
        text = resolve(source, info)
    except Exception as error:
        raise PlanMismatch from error
    if text is not None and type(text) is not str:
        raise PlanMismatch
    return text


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
