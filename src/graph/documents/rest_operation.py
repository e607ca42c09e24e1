"""The operation of a REST call: its gates before parameters, and members that it leaves out."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import graphql
import msgspec

from graph import errors, request_log
from graph.context import Context
from graph.documents.operation import Operation, OperationResult
from policy.refusals import Refusal


@dataclass(frozen=True, kw_only=True, eq=False)
class RestOperation(Operation):
    """
    An operation of the REST table: its data goes to the JSON encoder and nowhere else.

    Attributes:
        omit_when_empty: Members of a root object that are left out when they are
            empty. Where a plan did not apply, the data is plain and they remain.
    """

    omit_when_empty: Collection[str] = ()

    run = Operation.execute  # the result is for msgspec's JSON encoder

    def check_gates(self, context: Context, given: Mapping[str, Any]) -> None:
        """
        Check the gates, that of saved documents first, and note the refusal.

        *given* are empty before the body is read; afterwards a refusal names the operation that
        the members of `$input` need.

        Raises:
            Refusal: The first gate that refuses (docs/spec/requests.md#order-of-checks).
        """
        log = context.request_log
        log.variables = given or log.variables
        try:
            context.check_saved_document()
            self.admit(context, given, members=given.get("input", {}))
        except Refusal as refusal:
            log.denials[request_log.WHOLE_REQUEST] = errors.denial(refusal, surface=self.surface)
            raise

    def _result(
        self, result: graphql.ExecutionResult, given: Mapping[str, Any], context: Context
    ) -> OperationResult:
        self._shown(result.data, context)
        return super()._result(result, given, context)

    def _shown(self, data: dict[str, Any] | None, context: Context) -> dict[str, Any] | None:
        plan = context.plan
        if data is None or plan is None:
            return data
        for key, value in data.items():
            if isinstance(value, msgspec.Struct):
                names = plan.names[key]
                for member in self.omit_when_empty:
                    name = names.get(member)
                    if name is not None and not getattr(value, name):
                        setattr(value, name, msgspec.UNSET)
        return data
