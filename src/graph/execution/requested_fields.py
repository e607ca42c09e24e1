"""
The record attributes that a selection needs.

A connector fetches the wanted attributes and no more, so a hidden field is never read upstream.
The attributes depend only on the document, the variables of @skip and @include, and the mask, so
a plan has them precomputed.
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

from graph.coordinates import field_at, record_attribute

# Derived field -> the Email fields from which it is computed.
_SOURCES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Thread.subject": ("Email.subject",),
        "Thread.participants": ("Email.from", "Email.to", "Email.cc"),
        "Thread.lastMessageAt": ("Email.receivedAt",),
    }
)


NOTHING: frozenset[str] = frozenset()

Collect = Callable[[GraphQLObjectType, FieldDetailsList], GroupedFieldSet]


def wanted(info: GraphQLResolveInfo[Any], type_name: str) -> frozenset[str]:
    """
    Return the needed attributes of the record behind *type_name*, below the field of *info*.

    Hidden fields need no attribute. For root fields the plan has the result.
    """
    plan = info.context.plan
    if plan is not None and info.path.prev is None:
        planned: Mapping[str, frozenset[str]] = plan.wanted[info.path.key]
        return planned.get(type_name, NOTHING)

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
    by_type = attributes(
        info.schema, get_named_type(info.return_type), details, collect, info.context.hidden
    )
    return by_type.get(type_name, NOTHING)


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
        for source in _SOURCES.get(coordinate, (coordinate,)):
            attribute = record_attribute(field_at(schema, source))
            if source not in hidden and attribute is not None:
                by_type.setdefault(source.partition(".")[0], set()).add(attribute)
    return {name: frozenset(names) for name, names in by_type.items()}


def _coordinates(
    owner: GraphQLObjectType, details: FieldDetailsList, collect: Collect, hidden: Container[str]
) -> set[str]:
    """Collect the selected coordinates of *owner* and of every object below it."""
    coordinates = set[str]()
    for group in collect(owner, details).values():
        name = group[0].node.name.value
        field = owner.fields.get(name)
        if field is None:  # __typename
            continue
        coordinate = f"{owner.name}.{name}"
        coordinates.add(coordinate)
        below = get_named_type(field.type)
        if coordinate not in hidden and is_object_type(below):
            coordinates |= _coordinates(below, group, collect, hidden)
    return coordinates
