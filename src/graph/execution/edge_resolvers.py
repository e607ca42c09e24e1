"""Resolvers of edges: each calls the resolver of its root field."""

from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from graphql import GraphQLField, GraphQLResolveInfo, GraphQLSchema

from graph.context import Info
from graph.coordinates import object_type, record_attribute, strawberry_field
from graph.edge_table import Edge
from graph.edges import edge_fields, is_first_entry, root_field
from graph.execution.requested_fields import projection, response_keys
from graph.masking.guards import requirement_of


def apply(schema: GraphQLSchema) -> None:
    """Give the edges of *schema* their resolvers; applied after `fast_resolvers`."""
    for edge, field in edge_fields(schema):
        field.resolve = _resolver(schema, edge, root_field(schema, edge))


def _resolver(schema: GraphQLSchema, edge: Edge, root: GraphQLField) -> Callable[..., Any]:
    source, requirement = strawberry_field(root), requirement_of(root)
    resolve_root = source.base_resolver.wrapped_func
    # `fast_resolvers` has named the arguments of the root field, which are leaves.
    sources = {str(root.args[name].out_name): field for name, field in edge.sources.items()}
    attributes = {str(root.args[name].out_name): value for name, value in edge.arguments.items()}
    fixed = {str(root.args[name].out_name): value for name, value in edge.fixed.items()}
    is_page = "limit" in root.args
    is_first = is_first_entry(edge)
    member = edge.member and record_attribute(_member(schema, root, edge.member))

    async def resolve(record: Any, info: GraphQLResolveInfo[Any], **arguments: Any) -> Any:
        hidden = info.context.hidden
        filled: dict[str, Any] = {
            name: None if sources.get(name) in hidden else getattr(record, attribute)
            for name, attribute in attributes.items()
        }
        if not sources and not all(filled.values()):
            # A token without the operation learns nothing, not even that there is nothing.
            requirement.admit(info.context.caller)
            return None

        if edge.compared and (known := _known_email(info, *filled.values())) is not None:
            return known

        async def read() -> Any:
            return await resolve_root(
                info=Info(_raw_info=info, _field=source), **filled, **fixed, **arguments
            )

        if is_page:
            answer = await info.context.loaders.page(
                (response_keys(info.path), *filled.values(), *sorted(arguments.items())), read
            )
        else:
            answer = await read()
        value = getattr(answer, member) if member else answer
        return next(iter(value), None) if is_first else value

    return resolve if requirement.surface is not None or is_page else _without_task(resolve)


def _without_task(resolve: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Any]:
    """
    Return a function that runs *resolve*, which awaits nothing, and returns its result.

    An awaited result costs a task or two per edge. A root field that asks no provider awaits
    nothing.
    """

    def resolve_at_once(record: Any, info: GraphQLResolveInfo[Any], **arguments: Any) -> Any:
        running = resolve(record, info, **arguments)
        try:
            running.send(None)
        except StopIteration as end:
            return end.value
        running.close()
        raise RuntimeError(f"{info.parent_type}.{info.field_name} awaits something")

    return resolve_at_once


def _known_email(info: GraphQLResolveInfo[Any], address: str) -> Any:
    """Return the newest message with a person, if the page above shows it; see `Edge.compared`."""
    selected = projection(info, "Email") - {"body", "body_type"}  # which a listing leaves out
    email = info.context.loaders.newest_email(address, selected)
    if email is None or email.body is None:
        return email
    return msgspec.structs.replace(email, body=None, body_type=None)


def _member(schema: GraphQLSchema, root: GraphQLField, name: str) -> GraphQLField:
    field: GraphQLField = object_type(schema, str(root.type)).fields[name]
    return field
