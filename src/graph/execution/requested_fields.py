"""
Which attributes of a record a selection asks for.

A connector fetches what is wanted and no more, so a hidden field is never asked for upstream. The
answer depends on the document, the variables of @skip and @include, and the mask alone, so a plan
can know it ahead.
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

from graph.documents.coordinates import field_at, record_attribute

# Field -> the Email attributes it is made of, where that is not the attribute of its name.
_MADE_OF: Mapping[str, tuple[str, ...]] = MappingProxyType(
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
    Return the attributes of the record behind *type_name*, anywhere below the field of *info*.

    Hidden fields want nothing, whatever asks for them. Root fields are answered by the plan.
    """
    plan = info.context.plan
    if plan is not None and info.path.prev is None:
        known: Mapping[str, frozenset[str]] = plan.wanted[info.path.key]
        return known.get(type_name, NOTHING)

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
    found = attributes(
        info.schema, get_named_type(info.return_type), details, collect, info.context.hidden
    )
    return found.get(type_name, NOTHING)


def attributes(
    schema: GraphQLSchema,
    owner: GraphQLNamedType,
    details: FieldDetailsList,
    collect: Collect,
    hidden: Container[str],
) -> Mapping[str, frozenset[str]]:
    """Return what the selection of *owner* in *details* wants of every type: type -> attributes."""
    if not is_object_type(owner) or owner.name.startswith("__"):
        return {}
    found: dict[str, set[str]] = {}
    for coordinate in _coordinates(owner, details, collect, hidden):
        for source in _MADE_OF.get(coordinate, (coordinate,)):
            attribute = record_attribute(field_at(schema, source))
            if source not in hidden and attribute is not None:
                found.setdefault(source.partition(".")[0], set()).add(attribute)
    return {name: frozenset(names) for name, names in found.items()}


def _coordinates(
    owner: GraphQLObjectType, details: FieldDetailsList, collect: Collect, hidden: Container[str]
) -> set[str]:
    """Collect what is selected of *owner* and of every object below it."""
    found = set[str]()
    for group in collect(owner, details).values():
        name = group[0].node.name.value
        field = owner.fields.get(name)
        if field is None:  # __typename
            continue
        coordinate = f"{owner.name}.{name}"
        found.add(coordinate)
        below = get_named_type(field.type)
        if coordinate not in hidden and is_object_type(below):
            found |= _coordinates(below, group, collect, hidden)
    return found
