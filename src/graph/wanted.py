"""
Which attributes of a record a selection asks for.

A connector fetches what is wanted and no more, so a hidden field is never asked for upstream. The
answer depends on the document, the variables of @skip and @include, and the mask alone, so a plan
can know it ahead.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

from graphql import GraphQLObjectType, GraphQLResolveInfo, get_named_type, is_object_type
from graphql.execution.collect_fields import (
    FieldDetails,
    FieldDetailsList,
    FragmentDetails,
    collect_subfields,
)

from graph.coordinates import attribute as record_attribute
from graph.coordinates import field_at

# Field -> the Email attributes it is made of, where that is not the attribute of its name.
_MADE_OF: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Thread.subject": ("Email.subject",),
        "Thread.participants": ("Email.from", "Email.to", "Email.cc"),
        "Thread.lastMessageAt": ("Email.receivedAt",),
    }
)


def wanted(info: GraphQLResolveInfo[Any], type_name: str) -> frozenset[str]:
    """
    Return the attributes of the record behind *type_name*, anywhere below the field of *info*.

    Hidden fields want nothing, whatever asks for them.
    """
    details = [FieldDetails(node, None) for node in info.field_nodes]
    return_type = cast("GraphQLObjectType", get_named_type(info.return_type))
    coordinates = _coordinates(info, return_type, details)
    return frozenset(
        attribute
        for coordinate in coordinates
        for source in _MADE_OF.get(coordinate, (coordinate,))
        if source not in info.context.hidden
        and source.startswith(f"{type_name}.")
        and (attribute := record_attribute(field_at(info.schema, source))) is not None
    )


def _coordinates(
    info: GraphQLResolveInfo[Any], owner: GraphQLObjectType, details: FieldDetailsList
) -> set[str]:
    """Collect what is selected of *owner* and of every object below it."""
    collected = collect_subfields(
        info.schema,
        {name: FragmentDetails(fragment) for name, fragment in info.fragments.items()},
        info.variable_values,
        info.operation,
        owner,
        details,
    )
    found = set[str]()
    for group in collected.grouped_field_set.values():
        name = group[0].node.name.value
        field = owner.fields.get(name)
        if field is None:  # __typename
            continue
        coordinate = f"{owner.name}.{name}"
        found.add(coordinate)
        below = get_named_type(field.type)
        if coordinate not in info.context.hidden and is_object_type(below):
            found |= _coordinates(info, below, group)
    return found
