"""The same schema served by Strawberry's router with its two caches."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import strawberry
from fastapi import FastAPI
from strawberry.extensions import ParserCache, ValidationCache
from strawberry.fastapi import BaseContext, GraphQLRouter

from graph.context import Context
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
    masks.apply(made._schema)  # noqa: SLF001 - there is no public access
    return made


def build(context: Callable[[], Context]) -> FastAPI:
    """Build the application; *context* returns the context of a request."""

    async def custom() -> Context:
        return context()

    app = FastAPI()
    app.include_router(GraphQLRouter(schema(), path="/graphql", context_getter=custom))
    return app
