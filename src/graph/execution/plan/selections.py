"""
Splits selections into attributes that are read in one step and fields that are executed.

    pure     only plain attributes, at every level
    mixed    the plain attributes are read first, in one step; then the resolvers are called
    opaque   no plain attribute: graphql-core executes all fields

A hidden field is a constant null in the first two; the selection below it is ignored.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from operator import attrgetter
from types import MappingProxyType
from typing import Annotated, Any, Literal

import graphql
import msgspec
from graphql import GRAPHQL_MAX_INT, GRAPHQL_MIN_INT, GraphQLEnumType, GraphQLNamedType
from graphql.execution.collect_fields import FieldDetailsList, GroupedFieldSet
from msgspec import Meta

from graph.coordinates import plain_attribute
from graph.execution.plan import whole_records
from graph.execution.plan.record_checks import CheckedAttribute
from graph.execution.plan.shapes import Member, depth, shape, wrapped
from providers.records.base import SPARE_NULLS, Long, Mark

Collect = Callable[[graphql.GraphQLObjectType, FieldDetailsList], GroupedFieldSet]


class RemainingField(msgspec.Struct, frozen=True):
    """
    A field of a mixed selection that needs work after the record was read.

    Attributes:
        name: The attribute of the shape that takes its value.
        lists: Lists that were read already and are counted at the field's turn; None for a
            field that graphql-core executes.
    """

    name: str
    key: str
    details: FieldDetailsList
    lists: CheckedAttribute | None = None


class SplitSelection(msgspec.Struct, frozen=True):
    """
    A split selection.

    Attributes:
        shape: The type with a member per response key, in order.
        passing: The same, with records that are passed on.
        mark: The mark of the records that are this selection themselves, if there are any.
        names: Pairs of response key and attribute of the shape.
        attributes: The attributes read from records; empty when none is read.
        remaining: The fields that need work after reading, in order.
        pure: Whether reading is all there is to do.
    """

    shape: Any
    passing: Any
    mark: type[Mark] | None
    names: tuple[tuple[str, str], ...]
    attributes: tuple[CheckedAttribute, ...]
    remaining: tuple[RemainingField, ...]
    pure: bool


class SelectionSplitter(msgspec.Struct, frozen=True):
    """
    Splits the selections of one operation.

    Attributes:
        collect: Collects fields by graphql-core, so fragments and directives are exact.
    """

    collect: Collect
    hidden: frozenset[str]
    _splits: dict[tuple[str, int], SplitSelection] = msgspec.field(default_factory=dict)

    def split(self, owner: graphql.GraphQLObjectType, details: FieldDetailsList) -> SplitSelection:
        key = owner.name, id(details)
        if key not in self._splits:
            self._splits[key] = self._split(owner, self.collect(owner, details))
        return self._splits[key]

    def _split(self, owner: graphql.GraphQLObjectType, grouped: GroupedFieldSet) -> SplitSelection:
        if len(grouped) > SPARE_NULLS:  # too few spare nulls: graphql-core executes all fields
            fields = tuple(RemainingField("", key, details) for key, details in grouped.items())
            return SplitSelection(
                shape=None,
                passing=None,
                mark=None,
                names=(),
                attributes=(),
                remaining=fields,
                pure=False,
            )
        members: list[Member] = []
        remaining: list[RemainingField] = []
        for index, (key, details) in enumerate(grouped.items()):
            null = f"null_{index}"
            member = self._member(owner, key, details, null)
            again = member is not None and any(member.name == other.name for other in members)
            if member is None or again:  # an attribute has one member: its alias is executed
                remaining.append(RemainingField(null, key, details))
                member = Member(key, null, Any)
            elif member.attribute is not None and member.attribute.has_lists:
                remaining.append(RemainingField(member.name, key, details, member.attribute))
            members.append(member)
        return SplitSelection(
            shape=shape(owner.name, members),
            passing=shape(owner.name, [member.passing_on for member in members]),
            mark=whole_records.mark(
                owner.name, [(member.key, member.name, member.type) for member in members]
            ),
            names=tuple((member.key, member.name) for member in members),
            attributes=tuple(
                member.attribute for member in members if member.attribute is not None
            ),
            remaining=tuple(remaining),
            pure=all(field.lists for field in remaining) and owner.is_type_of is None,
        )

    def _member(
        self, owner: graphql.GraphQLObjectType, key: str, details: FieldDetailsList, null: str
    ) -> Member | None:
        """Return the member of a field; None when graphql-core must execute the field."""
        node = details[0].node
        name = node.name.value
        if name == "__typename":
            return Member(key, f"typename_{key}", Literal[owner.name], default=owner.name)
        defined = owner.fields.get(name)
        if defined is None or defined.args or node.arguments:
            return None
        if f"{owner.name}.{name}" in self.hidden:
            return None if graphql.is_non_null_type(defined.type) else Member(key, null, None)
        attribute = plain_attribute(defined)
        return None if attribute is None else self._read(key, attribute, defined, details)

    def _read(
        self, key: str, attribute: str, defined: graphql.GraphQLField, details: FieldDetailsList
    ) -> Member | None:
        """Return the member of a plain attribute; None when the selection below is not pure."""
        named = graphql.get_named_type(defined.type)
        zone = attrgetter(f"{attribute}.tzinfo") if _is_datetime(named) else None
        checked = CheckedAttribute(attrgetter(attribute), lists=depth(defined.type), zone=zone)
        if not graphql.is_object_type(named):
            type_ = _exact_type(named)
            return type_ and Member(key, attribute, wrapped(defined.type, type_), attribute=checked)
        below = self.split(named, details)
        if not below.pure:
            return None
        checked = CheckedAttribute(checked.read, lists=checked.lists, below=below.attributes)
        return Member(
            key,
            attribute,
            wrapped(defined.type, below.shape),
            attribute=checked,
            passing=wrapped(defined.type, below.mark or below.passing),
        )


# Whole numbers below it are exact as floats; larger ones may be rounded without an error of the
# conversion. Infinity and NaN are not below it either.
_EXACT = 2**53

# A value of this type is written to JSON as GraphQL would write it. Other values that the scalar
# accepts (an int for a String) are left to graphql-core.
_SCALARS: Mapping[str, Any] = MappingProxyType(
    {
        "String": str,
        "ID": str,
        "Boolean": bool,
        "Int": Annotated[int, Meta(ge=GRAPHQL_MIN_INT, le=GRAPHQL_MAX_INT)],
        "Float": Annotated[float, Meta(gt=-_EXACT, lt=_EXACT)],
        "Long": Long,
        "DateTime": Annotated[datetime, Meta(tz=True)],
        "JSON": dict[str, Any] | list[Any] | str | bool | int | float,
    }
)


def _exact_type(type_: GraphQLNamedType) -> Any | None:
    """Return the Python type of exact values of a scalar or enum; None when there is none."""
    if isinstance(type_, GraphQLEnumType):
        names = tuple(type_.values)
        are_names = all(value.value == name for name, value in type_.values.items())
        return Literal[names] if are_names else None
    return _SCALARS.get(type_.name)


def _is_datetime(type_: GraphQLNamedType) -> bool:
    """Return whether the values are times, whose zone no type can check."""
    return type_.name == "DateTime"
