"""graphql-core's executor, which takes the steps of a plan instead of going value by value."""

from collections.abc import Awaitable, Sequence
from typing import Any

import msgspec
from graphql import ExecutionResult, GraphQLError, OperationType
from graphql.pyutils import Path, gather_with_cancel

from graph.execution.counting_executor import CountingExecutor
from graph.execution.plan.planning import Plan
from graph.execution.plan.record_checks import PlanMismatch, spend_budget
from graph.execution.plan.selections import RemainingField


class PlannedExecutor(CountingExecutor):
    """
    Executes one operation by its plan.

    In its data, objects that were read in one step are shapes, which msgspec's JSON encoder and
    `msgspec.to_builtins` write as plain objects.
    """

    plan: Plan

    def use_plan(self, plan: Plan) -> None:
        """Execute by *plan*, which was made for this operation."""
        self.plan = plan
        self._relevant_sub_fields = plan.collected

    async def run(self) -> ExecutionResult:
        """Do the same as `execute_operation`, with the root fields that the plan collected."""
        try:
            data = await self._roots()
        except GraphQLError as error:
            self.collected_errors.add(error, None)
            data = None
        return ExecutionResult(data, self.collected_errors.errors or None)

    async def _roots(self) -> dict[str, Any]:
        serially = self.operation.operation is OperationType.MUTATION
        data: Any = self.execute_root_grouped_field_set(
            self.plan.root_type, self.root_value, self.plan.roots, serially, None
        )
        return dict(await data if self.is_awaitable(data) else data)

    def execute_field(
        self, parent_type: Any, source: Any, field_details_list: Any, path: Any, *rest: Any
    ) -> Any:
        """Call a field with its prepared arguments; without them as graphql-core does."""
        call = self.plan.calls.get(id(field_details_list))
        arguments = call.arguments(self.variable_values) if call is not None else None
        if call is None or arguments is None:
            return super().execute_field(parent_type, source, field_details_list, path, *rest)
        type_ = call.field.type
        info = self.build_resolve_info(call.field, call.nodes, parent_type, path)
        resolve = call.field.resolve or self.field_resolver
        try:
            result = resolve(source, info, **arguments)
            if not self.is_awaitable(result):  # then it is a leaf; see `planning`
                return self.complete_value(type_, field_details_list, info, path, result, *rest)
        except Exception as error:  # noqa: BLE001 - graphql-core's own boundary
            self.handle_field_error(error, type_, field_details_list, path)
            return None
        return self.complete_awaitable_value(type_, field_details_list, info, path, result, *rest)

    def complete_value(
        self, return_type: Any, field_details_list: Any, info: Any, path: Any, *rest: Any
    ) -> Any:
        """Take the step of a field and execute its remaining fields; fall back to graphql-core."""
        step = self.plan.steps.get(id(field_details_list))
        if step is not None and return_type is step.type:
            try:
                shape = step.reader.read(rest[0], self.context_value)
            except PlanMismatch:
                pass
            else:
                if not step.remaining:
                    return shape
                return self._resolve(step.remaining, shape, step.owner, rest[0], path)
        return super().complete_value(return_type, field_details_list, info, path, *rest)

    def execute_fields(
        self, parent_type: Any, source_value: Any, path: Any, grouped_field_set: Any, *rest: Any
    ) -> Any:
        """Read the plain part of a mixed selection, then execute the fields with resolvers."""
        step = self.plan.mixed_steps.get(id(grouped_field_set))
        if step is not None:
            try:
                shape = step.reader.read(source_value, self.context_value)
            except PlanMismatch:
                pass
            else:
                return self._resolve(step.remaining, shape, parent_type, source_value, path)
        return super().execute_fields(parent_type, source_value, path, grouped_field_set, *rest)

    def _resolve(
        self,
        remaining: Sequence[RemainingField],
        shape: Any,
        parent_type: Any,
        source_value: Any,
        path: Any,
    ) -> Any:
        """Do the same as `execute_fields`, for the fields that reading has left."""
        pending: dict[str, Awaitable[Any]] = {}
        context, sources = self.context_value, (source_value,)
        try:
            for field in remaining:
                if field.lists and spend_budget(context, sources, (field.lists,)):
                    continue
                below = Path(path, field.key, parent_type.name)
                value = self.execute_field(parent_type, source_value, field.details, below, None)
                if self.is_awaitable(value):
                    pending[field.name] = value
                else:
                    setattr(shape, field.name, value)
        except Exception:
            if pending:
                self.settle_in_background(list(pending.values()))
            raise
        return _fill(shape, pending) if pending else shape


async def _fill(shape: Any, pending: dict[str, Awaitable[Any]]) -> Any:
    if len(pending) == 1:
        values = [await next(iter(pending.values()))]
    else:
        values = await gather_with_cancel(*pending.values())
    for name, value in zip(pending, values, strict=True):
        setattr(shape, name, value)
    return shape


def to_plain(data: Any) -> Any:
    """Return *data* as plain dicts, lists and values, shapes included."""
    return msgspec.to_builtins(data)
