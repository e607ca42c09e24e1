"""The same schema served by Strawberry's router with its two caches."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import strawberry
from fastapi import FastAPI
from graphql import GraphQLField, GraphQLSchema
from strawberry.extensions import ParserCache, ValidationCache
from strawberry.fastapi import BaseContext, GraphQLRouter

from graph import edges
from graph.context import Context
from graph.edge_table import Edge
from graph.masking import masks
from graph.schema import Mutation, Query
from graph.schema import _strawberry_schema as strawberry_schema


@dataclass(kw_only=True)
class RouterContext(Context, BaseContext):
    """Request context of the type that the router requires."""


@cache
def schema() -> strawberry.Schema:
    """Build the schema; masks are wrapped resolvers, the cheapest kind."""
    made = strawberry.Schema(
        Query,
        Mutation,
        config=strawberry_schema().config,
        extensions=[ParserCache(maxsize=128), ValidationCache(maxsize=128)],
    )
    edges.add(made._schema)  # noqa: SLF001 - there is no public access
    _resolve_edges(made._schema)  # noqa: SLF001 - as above
    masks.apply(made._schema)  # noqa: SLF001 - as above
    return made


def build(context: Callable[[], Context]) -> FastAPI:
    """Build the application; *context* returns the context of a request."""

    async def custom() -> Context:
        return context()

    app = FastAPI()
    app.include_router(GraphQLRouter(schema(), path="/graphql", context_getter=custom))
    return app


def _resolve_edges(schema: GraphQLSchema) -> None:
    """Resolve the edges that lead to the whole value of a root field, as `person` and `thread`."""
    for edge, field in edges.edge_fields(schema):
        if not (edge.member or edge.fixed or edge.sources):
            field.resolve = _resolver(edge, edges.root_field(schema, edge))


def _resolver(edge: Edge, root: GraphQLField) -> Callable[..., Any]:
    resolve_root = root.resolve
    if resolve_root is None:
        raise AssertionError(edge.root)

    def resolve(record: Any, info: Any, **arguments: Any) -> Any:
        filled = {name: getattr(record, attribute) for name, attribute in edge.arguments.items()}
        return resolve_root(None, info, **filled, **arguments) if all(filled.values()) else None

    return resolve
