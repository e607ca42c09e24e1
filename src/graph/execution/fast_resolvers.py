"""
Resolvers that take nothing but `info` and scalars are called without Strawberry's layers between.

Those read arguments, build containers and look for extensions: for scalars, which graphql-core has
read already, all they do is to rename them, and it is most of the cost of such a field. Here
graphql-core names them as the resolver does.
"""

from collections.abc import Callable
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLField,
    GraphQLResolveInfo,
    GraphQLSchema,
    is_non_null_type,
    is_object_type,
    is_scalar_type,
)

from graph.context import Info
from graph.documents.coordinates import strawberry_field


def apply(schema: GraphQLSchema) -> None:
    """Call every such resolver of *schema* directly; before masks are applied."""
    for type_ in schema.type_map.values():
        if not is_object_type(type_) or type_.name.startswith("__"):
            continue
        for field in type_.fields.values():
            resolver = strawberry_field(field).base_resolver
            if resolver is not None and _takes_scalars_alone(field):
                made_of = strawberry_field(field)
                for argument, named in zip(field.args.values(), made_of.arguments, strict=True):
                    argument.out_name = named.python_name
                field.resolve = _calling(resolver.wrapped_func, made_of)


def _takes_scalars_alone(field: GraphQLField) -> bool:
    made_of = strawberry_field(field)
    named = {parameter.name for parameter in made_of.base_resolver.signature.parameters.values()}
    known = {argument.python_name for argument in made_of.arguments} | {"info"}
    return (
        "info" in named
        and named == known
        and not made_of.extensions
        and all(map(_is_scalar, field.args.values()))
    )


def _is_scalar(argument: GraphQLArgument) -> bool:
    type_ = argument.type
    return is_scalar_type(type_.of_type if is_non_null_type(type_) else type_)


def _calling(resolver: Callable[..., Any], made_of: Any) -> Callable[..., Any]:
    def resolve(_source: Any, info: GraphQLResolveInfo[Any], **arguments: Any) -> Any:
        return resolver(info=Info(_raw_info=info, _field=made_of), **arguments)

    return resolve
