"""
A selection as a type: its attributes are the record's, its JSON members are the response keys.

    { id sender: from { email } body }     with Email.body hidden

is read from a record by `msgspec.convert(record, Email, from_attributes=True)` with

    class Email(Struct):            # JSON
        is_record: UnsetType        # never     only records have it: nothing else is ever read
        id: str                     # "id"
        from_: Participant | None   # "sender"
        null_2: None                # "body"    a spare null of every record; `body` is not touched

A value of another type, a missing attribute, an exception: the conversion fails as a whole.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from graphql import GraphQLOutputType, is_list_type, is_non_null_type

from graph.execution.plan.record_checks import (
    CheckedAttribute,
    PlanMismatch,
    require_utc,
    spend_budget,
)

KEPT = 1024  # types; equal selections share one
_AS_THEY_ARE = (datetime,)  # or a text would be read as one


@dataclass(frozen=True, slots=True)
class Member:
    """
    One member of an object.

    Attributes:
        key: Its name in the response.
        name: The attribute of the shape: the record's own, or a spare null.
        type: What it is read as.
        default: What stands for it when records do not have it; `msgspec.NODEFAULT` when they must.
        place: What to look at besides, in records; None for what is not read from them.
    """

    key: str
    name: str
    type: Any
    default: Any = msgspec.NODEFAULT
    place: CheckedAttribute | None = None


@dataclass(frozen=True, slots=True)
class RecordReader:
    """
    Reads a record, or lists of records, into a shape in one step.

    Attributes:
        type: The shape, as often optional and in lists as the field is; null apart, see *nullable*.
        nullable: Whether there may be none at all. Said apart from the type: msgspec keeps what it
            knows of a class, but not of a union.
        dated: The places that hold times.
        counted: The places that hold lists.
    """

    type: Any
    nullable: bool
    dated: tuple[CheckedAttribute, ...]
    counted: tuple[CheckedAttribute, ...]

    @classmethod
    def of(
        cls, type_: Any, places: Sequence[CheckedAttribute], *, counts: bool = True
    ) -> "RecordReader":
        """Read *type_*, and look at *places* within; *counts* says whether to count lists."""
        inner, nullable = _without_none(type_)
        return cls(
            inner,
            nullable,
            dated=_only(places, lambda place: place.dated),
            counted=_only(places, lambda place: counts and place.counted),
        )

    def read(self, value: Any, context: Any) -> Any:
        """
        Read *value*, and take its objects off `context.budget` if there is one.

        Raises:
            Unexpected: It is not exactly what the type says, or more than is left.
        """
        if value is None and self.nullable:
            return None
        try:
            found = msgspec.convert(
                value, self.type, from_attributes=True, builtin_types=_AS_THEY_ARE
            )
            if self.dated:
                require_utc((value,), self.dated)
            within = spend_budget(context, (value,), self.counted)
        except Exception as problem:
            raise PlanMismatch from problem
        if not within:
            raise PlanMismatch
        return found


def wrapped(type_: GraphQLOutputType, inner: Any) -> Any:
    """Return *inner* as often optional and in lists as *type_* is."""
    if is_non_null_type(type_):
        return _bare(type_.of_type, inner)
    return _bare(type_, inner) | None


def depth(type_: GraphQLOutputType) -> int:
    """Return how many lists deep the values of *type_* lie."""
    if is_non_null_type(type_):
        return depth(type_.of_type)
    return 1 + depth(type_.of_type) if is_list_type(type_) else 0


def shape(name: str, members: Sequence[Member]) -> type[msgspec.Struct]:
    """Make the type of *members*, in their order; *name* is the GraphQL type's."""
    return _shape(
        name,
        tuple((member.name, member.type, member.default) for member in members),
        tuple((member.name, member.key) for member in members),
    )


def _without_none(type_: Any) -> tuple[Any, bool]:
    """Return *type_* without None, and whether it was there."""
    inner = [one for one in get_args(type_) if one is not NoneType]
    optional = isinstance(type_, UnionType) or get_origin(type_) is Union
    return (inner[0], True) if optional and len(inner) == 1 else (type_, False)


def _only(
    places: Sequence[CheckedAttribute], holds: Callable[[CheckedAttribute], bool]
) -> tuple[CheckedAttribute, ...]:
    return tuple(
        replace(place, below=_only(place.below, holds)) for place in places if holds(place)
    )


def _bare(type_: GraphQLOutputType, inner: Any) -> Any:
    if is_list_type(type_):
        return list[wrapped(type_.of_type, inner)]  # type: ignore[misc]  # a type made at run time
    return inner


@lru_cache(maxsize=KEPT)
def _shape(
    name: str, fields: tuple[tuple[str, Any, Any], ...], keys: tuple[tuple[str, str], ...]
) -> type[msgspec.Struct]:
    return msgspec.defstruct(
        name,
        [("is_record", msgspec.UnsetType), *fields],
        rename={**dict(keys), "is_record": "?"},  # no response key has this name
        kw_only=True,
        gc=False,
    )
