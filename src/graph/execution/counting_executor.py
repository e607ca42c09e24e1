"""graphql-core's executor with a budget of returned objects, and the caller's shape."""

from typing import Any

from graphql import GraphQLResolveInfo, SchemaMetaFieldDef, TypeMetaFieldDef
from graphql.execution import Executor

from graph.shape import shape_of
from policy.refusals import InvalidInput
from policy.vocabulary import Code

MAX_OBJECTS = 25_000  # that one operation may return


class QueryTooCostly(InvalidInput):
    code = Code.QUERY_TOO_COSTLY


class CountingExecutor(Executor[None]):
    """
    Refuses a list that would bring the operation over its budget, before completing it.

    Introspection shows the shape of the caller's token (docs/spec/graphql.md#shape).
    """

    def build_resolve_info(
        self, field_def: Any, field_nodes: Any, parent_type: Any, path: Any
    ) -> GraphQLResolveInfo[Any]:
        """Let `__schema` and `__type` read the shape of the caller."""
        info = super().build_resolve_info(field_def, field_nodes, parent_type, path)
        if field_def is SchemaMetaFieldDef or field_def is TypeMetaFieldDef:
            return info._replace(schema=shape_of(self.schema, self.context_value.caller))
        return info

    def complete_list_value(self, return_type: Any, *args: Any, **kwargs: Any) -> Any:
        """Count the list, then complete it; nothing is counted when `context.budget` is None."""
        context = self.context_value
        result = kwargs["result"] if "result" in kwargs else args[3]
        if context.budget is not None and isinstance(result, list | tuple):
            context.budget -= len(result)
            if context.budget < 0:
                raise QueryTooCostly(f"The query returns more than {MAX_OBJECTS} objects.")
        return super().complete_list_value(return_type, *args, **kwargs)
