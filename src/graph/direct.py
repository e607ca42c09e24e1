"""
Resolvers that take nothing but `info` are called without Strawberry's layers in between.

Those read arguments, build containers and look for extensions; where there is neither, they are
most of the cost of such a field.
"""

from collections.abc import Callable
from typing import Any

from graphql import GraphQLField, GraphQLResolveInfo, GraphQLSchema, is_object_type

from graph.context import Info
from graph.coordinates import declaration


def apply(schema: GraphQLSchema) -> None:
    """Call every such resolver of *schema* directly; before masks are applied."""
    for type_ in schema.type_map.values():
        if not is_object_type(type_) or type_.name.startswith("__"):
            continue
        for field in type_.fields.values():
            resolver = declaration(field).base_resolver
            if resolver is not None and _takes_info_alone(field):
                field.resolve = _calling(resolver.wrapped_func, declaration(field))


def _takes_info_alone(field: GraphQLField) -> bool:
    made_of = declaration(field)
    named = [parameter.name for parameter in made_of.base_resolver.signature.parameters.values()]
    return named == ["info"] and not made_of.extensions and not made_of.is_async


def _calling(resolver: Callable[[Info], Any], made_of: Any) -> Callable[..., Any]:
    def resolve(_source: Any, info: GraphQLResolveInfo[Any]) -> Any:
        return resolver(Info(_raw_info=info, _field=made_of))

    return resolve
