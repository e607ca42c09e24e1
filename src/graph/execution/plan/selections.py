"""
Taking a selection apart: what is read from the record in one step, and what has a resolver.

    pure     plain attributes alone, all the way down
    mixed    the plain part is read first, in one step; then the resolvers are called
    opaque   nothing is plain: graphql-core goes through it

A hidden field is a constant null in the first two; what stands below it is not looked at.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Literal

from graphql import (
    GraphQLField,
    GraphQLObjectType,
    get_named_type,
    is_non_null_type,
    is_object_type,
)
from graphql.execution.collect_fields import FieldDetailsList, GroupedFieldSet

from graph.documents.coordinates import plain_attribute
from graph.execution.plan.leaves import exact_type, is_datetime
from graph.execution.plan.record_checks import CheckedAttribute
from graph.execution.plan.shapes import Member, depth, shape, wrapped
from providers.records.base import SPARE_NULLS

Collect = Callable[[GraphQLObjectType, FieldDetailsList], GroupedFieldSet]


@dataclass(frozen=True, slots=True)
class RemainingField:
    """
    A field of a mixed selection that is not done with when the record is read.

    Attributes:
        name: Where its value goes: the attribute of the shape.
        place: Of lists that were read: they must be counted when it is their turn. None for
            fields that graphql-core executes.
    """

    name: str
    key: str
    details: FieldDetailsList
    place: CheckedAttribute | None = None


@dataclass(frozen=True, slots=True)
class SplitSelection:
    """
    A selection, taken apart.

    Attributes:
        shape: The type with a member per response key, in order.
        names: Response key -> attribute of the shape.
        places: What to look at in the records besides; empty when nothing is read from them.
        parts: In order.
        pure: Whether reading it is all there is to do.
    """

    shape: Any
    names: tuple[tuple[str, str], ...]
    places: tuple[CheckedAttribute, ...]
    parts: tuple[RemainingField, ...]
    pure: bool


@dataclass(frozen=True, slots=True)
class SelectionSplitter:
    """
    Takes the selections of one operation apart.

    Attributes:
        collect: Graphql-core's own, so fragments, merged fields and directives are exact.
    """

    collect: Collect
    hidden: frozenset[str]
    _known: dict[tuple[str, int], SplitSelection] = field(default_factory=dict)

    def of(self, owner: GraphQLObjectType, details: FieldDetailsList) -> SplitSelection:
        """Take apart what *details* select of *owner*."""
        key = owner.name, id(details)
        if key not in self._known:
            self._known[key] = self._take_apart(owner, self.collect(owner, details))
        return self._known[key]

    def _take_apart(self, owner: GraphQLObjectType, grouped: GroupedFieldSet) -> SplitSelection:
        if len(grouped) > SPARE_NULLS:  # not enough to spare: graphql-core goes through it
            left = tuple(RemainingField("", key, details) for key, details in grouped.items())
            return SplitSelection(shape=None, names=(), places=(), parts=left, pure=False)
        members: list[Member] = []
        parts: list[RemainingField] = []
        for index, (key, details) in enumerate(grouped.items()):
            null = f"null_{index}"
            member = self._member(owner, key, details, null)
            again = member is not None and any(member.name == other.name for other in members)
            if member is None or again:  # an attribute has one member: its alias is a part
                parts.append(RemainingField(null, key, details))
                member = Member(key, null, Any)
            elif member.place is not None and member.place.counted:
                parts.append(RemainingField(member.name, key, details, member.place))
            members.append(member)
        return SplitSelection(
            shape=shape(owner.name, members),
            names=tuple((member.key, member.name) for member in members),
            places=tuple(one.place for one in members if one.place is not None),
            parts=tuple(parts),
            pure=all(part.place for part in parts) and owner.is_type_of is None,
        )

    def _member(
        self, owner: GraphQLObjectType, key: str, details: FieldDetailsList, null: str
    ) -> Member | None:
        """Return the member that a field becomes; None when graphql-core must execute it."""
        node = details[0].node
        name = node.name.value
        if name == "__typename":
            return Member(key, f"typename_{key}", Literal[owner.name], default=owner.name)
        defined = owner.fields.get(name)
        if defined is None or defined.args or node.arguments:
            return None
        if f"{owner.name}.{name}" in self.hidden:
            return None if is_non_null_type(defined.type) else Member(key, null, None)
        attribute = plain_attribute(defined)
        return None if attribute is None else self._read(key, attribute, defined, details)

    def _read(
        self, key: str, attribute: str, defined: GraphQLField, details: FieldDetailsList
    ) -> Member | None:
        """Return the member for a plain attribute; None when what stands below is not plain."""
        named = get_named_type(defined.type)
        zone = attrgetter(f"{attribute}.tzinfo") if is_datetime(named) else None
        place = CheckedAttribute(attrgetter(attribute), lists=depth(defined.type), zone=zone)
        if not is_object_type(named):
            type_ = exact_type(named)
            return type_ and Member(key, attribute, wrapped(defined.type, type_), place=place)
        below = self.of(named, details)
        if not below.pure:
            return None
        place = CheckedAttribute(place.read, lists=place.lists, below=below.places)
        return Member(key, attribute, wrapped(defined.type, below.shape), place=place)
