"""graphql-core's executor with a budget of returned objects."""

from typing import Any

from graphql.execution import Executor

from policy.refusals import InvalidInput
from policy.vocabulary import Code

MAX_OBJECTS = 25_000  # that one operation may return


class QueryTooCostly(InvalidInput):
    code = Code.QUERY_TOO_COSTLY


class CountingExecutor(Executor[None]):
    """Refuses a list that would bring the operation over its budget, before completing it."""

    def complete_list_value(self, return_type: Any, *args: Any, **kwargs: Any) -> Any:
        """Count the list, then complete it; nothing is counted when `context.budget` is None."""
        context = self.context_value
        result = kwargs["result"] if "result" in kwargs else args[3]
        if context.budget is not None and isinstance(result, list | tuple):
            context.budget -= len(result)
            if context.budget < 0:
                raise QueryTooCostly(f"The query returns more than {MAX_OBJECTS} objects.")
        return super().complete_list_value(return_type, *args, **kwargs)
