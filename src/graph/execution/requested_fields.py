"""
The record attributes that a selection needs.

A connector fetches the wanted attributes and no more, so a hidden field is never read upstream.
The attributes depend only on the document, the variables of @skip and @include, and the mask, so
a plan keeps them. What an edge leads to is another record: the record before it needs the
attributes that fill the edge's arguments.
"""

from collections.abc import Callable, Container, Mapping
from types import MappingProxyType
from typing import Any

from graphql import (
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLResolveInfo,
    GraphQLSchema,
    get_named_type,
    is_object_type,
)
from graphql.execution.collect_fields import (
    FieldDetails,
    FieldDetailsList,
    FragmentDetails,
    GroupedFieldSet,
    collect_subfields,
)
from graphql.pyutils import Path

from graph.coordinates import field_at, record_attribute
from graph.edges import edge_of
from graph.masking.guards import requirement_of

# Derived field -> the Email fields from which it is computed.
_SOURCES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Email.text": ("Email.body", "Email.bodyType", "Email.subject"),
        "Thread.subject": ("Email.subject",),
        "Thread.participants": ("Email.from", "Email.to", "Email.cc"),
        "Thread.lastMessageAt": ("Email.receivedAt",),
    }
)


NOTHING: frozenset[str] = frozenset()

Collect = Callable[[GraphQLObjectType, FieldDetailsList], GroupedFieldSet]


def projection(info: GraphQLResolveInfo[Any], type_name: str) -> frozenset[str]:
    """
    Return the needed attributes of the record behind *type_name*, below the field of *info*.

    Hidden fields need no attribute. The plan has the result for root fields, and keeps it for
    edges.
    """
    plan = info.context.plan
    if plan is None:
        return _by_type(info).get(type_name, NOTHING)
    key = info.path.key if info.path.prev is None else response_keys(info.path)
    by_type: Mapping[str, frozenset[str]] | None = plan.projection.get(key)
    if by_type is None:
        by_type = plan.projection[key] = _by_type(info)
    return by_type.get(type_name, NOTHING)


def response_keys(path: Path | None) -> tuple[str, ...]:
    """Return the response keys on *path*, the innermost first, without the indices of lists."""
    keys: list[str] = []
    while path is not None:
        if isinstance(path.key, str):
            keys.append(path.key)
        path = path.prev
    return tuple(keys)


def _by_type(info: GraphQLResolveInfo[Any]) -> Mapping[str, frozenset[str]]:
    """Return the attributes that the selection below the field of *info* needs, by type name."""

    def collect(owner: GraphQLObjectType, details: FieldDetailsList) -> GroupedFieldSet:
        return collect_subfields(
            info.schema,
            {name: FragmentDetails(fragment) for name, fragment in info.fragments.items()},
            info.variable_values,
            info.operation,
            owner,
            details,
        ).grouped_field_set

    details = [FieldDetails(node, None) for node in info.field_nodes]
    return attributes(
        info.schema, get_named_type(info.return_type), details, collect, info.context.hidden
    )


def attributes(
    schema: GraphQLSchema,
    owner: GraphQLNamedType,
    details: FieldDetailsList,
    collect: Collect,
    hidden: Container[str],
) -> Mapping[str, frozenset[str]]:
    """Return the attributes that the selection of *owner* in *details* needs, by type name."""
    if not is_object_type(owner) or owner.name.startswith("__"):
        return {}
    by_type: dict[str, set[str]] = {}
    for coordinate in _coordinates(owner, details, collect, hidden):
        edge = edge_of(field_at(schema, coordinate))
        if edge is not None and coordinate not in hidden:
            unseen = {
                record_attribute(field_at(schema, source))
                for source in edge.sources.values()
                if source in hidden
            }
            by_type.setdefault(edge.owner, set()).update(set(edge.attributes) - unseen)
        for source in () if coordinate in hidden else _SOURCES.get(coordinate, (coordinate,)):
            attribute = record_attribute(field_at(schema, source))
            if source not in hidden and attribute is not None:
                by_type.setdefault(source.partition(".")[0], set()).add(attribute)
    foreseen = _foreseen(schema, owner, details, collect, hidden)
    return {**{name: frozenset(names) for name, names in by_type.items()}, **foreseen}


def _foreseen(
    schema: GraphQLSchema,
    owner: GraphQLObjectType,
    details: FieldDetailsList,
    collect: Collect,
    hidden: Container[str],
) -> dict[str, frozenset[str]]:
    """
    Return the attributes by which a page above may answer edges, by their coordinates.

    See `Edge.compared`. Edges that ask no provider are followed.
    """
    foreseen: dict[str, frozenset[str]] = {}
    for group in collect(owner, details).values():
        field = owner.fields.get(group[0].node.name.value)
        below = get_named_type(field.type) if field is not None else None
        if field is None or not is_object_type(below):
            continue
        edge = edge_of(field)
        if edge is not None and edge.compared:
            compared = {record_attribute(field_at(schema, name)) or "" for name in edge.compared}
            selected = attributes(schema, below, group, collect, hidden).get(below.name, NOTHING)
            seen = foreseen.get(edge.coordinate, NOTHING)
            if not any(name in hidden for name in edge.compared):
                foreseen[edge.coordinate] = seen | selected | compared
        elif edge is None or requirement_of(field).surface is None:
            for name, names in _foreseen(schema, below, group, collect, hidden).items():
                foreseen[name] = foreseen.get(name, NOTHING) | names
    return foreseen


def _coordinates(
    owner: GraphQLObjectType, details: FieldDetailsList, collect: Collect, hidden: Container[str]
) -> set[str]:
    """Collect the selected coordinates of *owner* and of the objects below it, up to edges."""
    coordinates = set[str]()
    for group in collect(owner, details).values():
        name = group[0].node.name.value
        field = owner.fields.get(name)
        if field is None:  # __typename
            continue
        coordinate = f"{owner.name}.{name}"
        coordinates.add(coordinate)
        below = get_named_type(field.type)
        if coordinate not in hidden and is_object_type(below) and edge_of(field) is None:
            coordinates |= _coordinates(below, group, collect, hidden)
    return coordinates
