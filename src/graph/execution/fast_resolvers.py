"""
Direct calls of resolvers that take only `info`, scalars and enums, without Strawberry's wrappers.

The wrappers read arguments, build containers and look for extensions. For leaves, which
graphql-core has parsed already, they only rename arguments, and they are most of the cost of such
a field. Here graphql-core passes the arguments under the resolver's names.
"""

from collections.abc import Callable
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLResolveInfo,
    GraphQLSchema,
    is_leaf_type,
    is_non_null_type,
    is_object_type,
)

from graph.context import Info
from graph.coordinates import strawberry_field
from graph.edges import edge_of


def apply(schema: GraphQLSchema) -> None:
    """Make *schema* call such resolvers directly; applied before masks."""
    for type_ in schema.type_map.values():
        if not is_object_type(type_) or type_.name.startswith("__"):
            continue
        for field in type_.fields.values():
            resolver = strawberry_field(field).base_resolver
            if edge_of(field) is None and resolver is not None and _takes_only_leaves(field):
                source = strawberry_field(field)
                for argument, named in zip(field.args.values(), source.arguments, strict=True):
                    argument.out_name = named.python_name
                field.resolve = _direct(resolver.wrapped_func, source)


def _takes_only_leaves(field: GraphQLField) -> bool:
    source = strawberry_field(field)
    parameters = {
        parameter.name for parameter in source.base_resolver.signature.parameters.values()
    }
    arguments = {argument.python_name for argument in source.arguments}
    return (
        parameters == arguments | {"info"}
        and not source.extensions
        and all(map(_is_leaf, field.args.values()))
    )


def _is_leaf(argument: GraphQLArgument) -> bool:
    type_ = argument.type
    return is_leaf_type(type_.of_type if is_non_null_type(type_) else type_)


def _direct(resolver: Callable[..., Any], source: Any) -> Callable[..., Any]:
    def resolve(_source: Any, info: GraphQLResolveInfo[Any], **arguments: Any) -> Any:
        return resolver(info=Info(info, source), **arguments)

    return resolve
