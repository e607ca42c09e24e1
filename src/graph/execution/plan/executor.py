"""graphql-core's executor, taking the steps of a plan where it would go value by value."""

from collections.abc import Awaitable, Sequence
from typing import Any

import msgspec
from graphql import ExecutionResult, GraphQLError, OperationType
from graphql.pyutils import Path, gather_with_cancel

from graph.execution.counting_executor import CountingExecutor
from graph.execution.plan.planning import Plan, SingleRoot
from graph.execution.plan.record_checks import PlanMismatch, spend_budget
from graph.execution.plan.selections import RemainingField


class PlannedExecutor(CountingExecutor):
    """
    Executes one operation by its plan.

    In its data, objects that were read in one step are shapes: JSON encoders and
    `msgspec.to_builtins` take them as what they stand for.
    """

    plan: Plan

    def follow(self, plan: Plan) -> None:
        """Take the steps of *plan*, which was made for this operation."""
        self.plan = plan
        self._relevant_sub_fields = plan.collected

    async def run(self) -> ExecutionResult:
        """Do what `execute_operation` does, with the root fields that the plan collected."""
        return await self._result(self._roots())

    async def complete_root(self, alone: SingleRoot, info: Any, found: Any) -> ExecutionResult:
        """Complete what the only root field *found*; an exception stands for that it was raised."""
        return await self._result(self._root(alone, info, found))

    async def _result(self, running: Awaitable[dict[str, Any]]) -> ExecutionResult:
        try:
            data = await running
        except GraphQLError as error:
            self.collected_errors.add(error, None)
            data = None
        return ExecutionResult(data, self.collected_errors.errors or None)

    async def _root(self, alone: SingleRoot, info: Any, found: Any) -> dict[str, Any]:
        type_ = alone.call.field.type
        try:
            value = self.complete_value(type_, alone.details, info, alone.path, found, None)
            if self.is_awaitable(value):
                value = await value
        except Exception as error:  # noqa: BLE001 - graphql-core's own boundary
            self.handle_field_error(error, type_, alone.details, alone.path)
            value = None
        return {alone.key: value}

    async def _roots(self) -> dict[str, Any]:
        serially = self.operation.operation is OperationType.MUTATION
        data: Any = self.execute_root_grouped_field_set(
            self.plan.root_type, self.root_value, self.plan.roots, serially, None
        )
        return dict(await data if self.is_awaitable(data) else data)

    def execute_field(
        self, parent_type: Any, source: Any, field_details_list: Any, path: Any, *rest: Any
    ) -> Any:
        """Call a field with the arguments that are ready; otherwise as graphql-core does."""
        call = self.plan.calls.get(id(field_details_list))
        arguments = call.arguments(self.variable_values) if call is not None else None
        if call is None or arguments is None:
            return super().execute_field(parent_type, source, field_details_list, path, *rest)
        type_ = call.field.type
        info = self.build_resolve_info(call.field, call.nodes, parent_type, path)
        resolve = call.field.resolve or self.field_resolver
        try:
            result = resolve(source, info, **arguments)
            if not self.is_awaitable(result):  # a leaf then: see `planning`
                return self.complete_value(type_, field_details_list, info, path, result, *rest)
        except Exception as error:  # noqa: BLE001 - graphql-core's own boundary
            self.handle_field_error(error, type_, field_details_list, path)
            return None
        return self.complete_awaitable_value(type_, field_details_list, info, path, result, *rest)

    def complete_value(
        self, return_type: Any, field_details_list: Any, info: Any, path: Any, *rest: Any
    ) -> Any:
        """Take the step of a field, then do what it leaves; the unexpected is graphql-core's."""
        step = self.plan.steps.get(id(field_details_list))
        if step is not None and return_type is step.type:
            try:
                found = step.reader.read(rest[0], self.context_value)
            except PlanMismatch:
                pass
            else:
                if not step.parts:
                    return found
                return self._resolve(step.parts, found, step.owner, rest[0], path)
        return super().complete_value(return_type, field_details_list, info, path, *rest)

    def execute_fields(
        self, parent_type: Any, source_value: Any, path: Any, grouped_field_set: Any, *rest: Any
    ) -> Any:
        """Read the plain part of a mixed selection, then execute the fields with resolvers."""
        mixture = self.plan.mixtures.get(id(grouped_field_set))
        if mixture is not None:
            try:
                found = mixture.reader.read(source_value, self.context_value)
            except PlanMismatch:
                pass
            else:
                return self._resolve(mixture.parts, found, parent_type, source_value, path)
        return super().execute_fields(parent_type, source_value, path, grouped_field_set, *rest)

    def _resolve(
        self,
        parts: Sequence[RemainingField],
        found: Any,
        parent_type: Any,
        source_value: Any,
        path: Any,
    ) -> Any:
        """Do what `execute_fields` does, for what reading has left to do."""
        waiting: dict[str, Awaitable[Any]] = {}
        try:
            for part in parts:
                if part.place and spend_budget(self.context_value, (source_value,), (part.place,)):
                    continue
                below = Path(path, part.key, parent_type.name)
                value = self.execute_field(parent_type, source_value, part.details, below, None)
                if self.is_awaitable(value):
                    waiting[part.name] = value
                else:
                    setattr(found, part.name, value)
        except Exception:
            if waiting:
                self.settle_in_background(list(waiting.values()))
            raise
        return _filled(found, waiting) if waiting else found


async def _filled(found: Any, waiting: dict[str, Awaitable[Any]]) -> Any:
    if len(waiting) == 1:
        values = [await next(iter(waiting.values()))]
    else:
        values = await gather_with_cancel(*waiting.values())
    for name, value in zip(waiting, values, strict=True):
        setattr(found, name, value)
    return found


def to_plain(data: Any) -> Any:
    """Return *data* as plain dicts, lists and values, shapes included."""
    return msgspec.to_builtins(data)
