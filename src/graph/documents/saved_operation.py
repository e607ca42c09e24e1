"""
The operation of a saved document: within the limits of callers' documents, answered as REST.

See docs/spec/saved-documents.md#documents.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import graphql

from graph.context import Context
from graph.documents.operation import OperationResult
from graph.documents.rest_operation import RestOperation
from graph.execution.counting_executor import MAX_OBJECTS
from policy.refusals import InvalidInput, Refusal
from policy.vocabulary import Code


@dataclass(frozen=True, kw_only=True, eq=False)
class SavedOperation(RestOperation):
    """An operation with one root field, whose value is the response."""

    @property
    def root_name(self) -> str:
        """The name of its root field."""
        return self.root_fields[0].name

    @property
    def charges(self) -> Mapping[str, int]:
        """The requests that it counts as by bucket, whatever its variables are."""
        return self.cost.charges({})

    async def run(self, given: Mapping[str, Any], context: Context) -> OperationResult:
        """Run the operation within the limits that depend on variables."""
        if not self._is_always_within_limits:
            try:
                self.cost.check(given)
            except Refusal as refusal:
                return self.refused(refusal, context)
        context.budget = MAX_OBJECTS
        return await super().run(given, context)

    @cached_property
    def _is_always_within_limits(self) -> bool:
        """Whether no values of the variables exceed a limit."""
        # Such a number is the highest `limit`, and as a condition it holds.
        highest = dict.fromkeys((variable.name for variable in self.variables), MAX_OBJECTS)
        try:
            self.cost.check(highest)
        except Refusal:
            return False
        return True

    def require_savable(self) -> None:
        """
        Check what a saved document needs besides being valid.

        Raises:
            InvalidInput: It has several root fields, or the root field has conditions; or it is a
                mutation with an edge, which could fail after the mutation was done.
        """
        selections = self.program.node.selection_set.selections
        if (
            len(selections) != 1
            or not isinstance(selections[0], graphql.FieldNode)
            or selections[0].directives
            or not self.root_fields
        ):
            raise _not_savable(
                "A saved document selects one root field, outside of fragments and without "
                "directives."
            )
        if self.kind == "mutation" and self.cost.edges:
            raise _not_savable(
                f"A saved mutation selects no edge, such as {self.cost.edges[0].name}: it could "
                "fail after the mutation was done."
            )


def _not_savable(message: str) -> InvalidInput:
    return InvalidInput(message, code=Code.GRAPHQL_VALIDATION_FAILED)
