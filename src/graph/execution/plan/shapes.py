"""
A selection as a type: its attributes are the record's, its JSON members are the response keys.

    { id sender: from { email } body }     with Email.body hidden

is read from a record by `msgspec.convert(record, Email, from_attributes=True)` with

    class Email(Struct):            # JSON
        is_record: UnsetType        # never     only records have it, so nothing else is read
        id: str                     # "id"
        from_: Participant | None   # "sender"
        null_2: None                # "body"    a spare null of every record; `body` is not read

With a value of another type, a missing attribute or an exception the whole conversion fails.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec
from graphql import GraphQLOutputType, is_list_type, is_non_null_type
from msgspec.structs import replace

from graph.execution.plan.record_checks import (
    CheckedAttribute,
    PlanMismatch,
    require_utc,
    spend_budget,
)

CACHED = 1024  # types; equal selections share one
_NOT_PARSED = (datetime,)  # otherwise a text would be parsed as a time


class Member(msgspec.Struct, frozen=True):
    """
    One member of an object.

    Attributes:
        key: Its name in the response.
        name: The attribute of the shape: the record's own, or a spare null.
        type: The type as which the attribute is read.
        default: The value when records lack it; `msgspec.NODEFAULT` when they must have it.
        attribute: The attribute to check in records; None when it is not read from them.
        passing: The type that passes records on (`whole_records`); None for the same as *type*.
    """

    key: str
    name: str
    type: Any
    # By a factory: as a plain default, NODEFAULT means that the argument is required.
    default: Any = msgspec.field(default_factory=lambda: msgspec.NODEFAULT)
    attribute: CheckedAttribute | None = None
    passing: Any = None

    @property
    def passing_on(self) -> "Member":
        """The same member, of the type *passing*."""
        return replace(self, type=self.passing) if self.passing else self


class RecordReader(msgspec.Struct, frozen=True):
    """
    Reads a record, or lists of records, into a shape in one step.

    Attributes:
        type: The shape, optional and in lists like the field's type, but for *nullable*.
        passing: The same, with records that are passed on; None when there are none. It is tried
            first.
        nullable: Whether the value may be null. It is not in the type, because msgspec caches
            what it derives from a class, not from a union.
        times: The attributes that hold times.
        lists: The attributes that hold lists.
    """

    type: Any
    passing: Any
    nullable: bool
    times: tuple[CheckedAttribute, ...]
    lists: tuple[CheckedAttribute, ...]

    @classmethod
    def of(
        cls,
        type_: Any,
        passing: Any,
        attributes: Sequence[CheckedAttribute],
        *,
        counts: bool = True,
    ) -> "RecordReader":
        """Return a reader of *type_* that checks *attributes*; *counts*: also counts lists."""
        inner, nullable = _without_none(type_)
        return cls(
            inner,
            None if passing == type_ else _without_none(passing)[0],
            nullable,
            times=_only(attributes, lambda attribute: attribute.has_times),
            lists=_only(attributes, lambda attribute: counts and attribute.has_lists),
        )

    def read(self, value: Any, context: Any) -> Any:
        """
        Read *value* into the shape, and subtract its objects from `context.budget` if there is one.

        Raises:
            PlanMismatch: The value is not exactly of the type, or exceeds the budget.
        """
        if value is None and self.nullable:
            return None
        try:
            shape = self._convert(value)
            if self.times:
                require_utc((value,), self.times)
            is_within_budget = context.budget is None or spend_budget(context, (value,), self.lists)
        except Exception as problem:
            raise PlanMismatch from problem
        if not is_within_budget:
            raise PlanMismatch
        return shape

    def _convert(self, value: Any) -> Any:
        if self.passing is not None:
            try:
                return msgspec.convert(
                    value, self.passing, from_attributes=True, builtin_types=_NOT_PARSED
                )
            except msgspec.ValidationError:  # perhaps it has records of other types
                pass
        return msgspec.convert(value, self.type, from_attributes=True, builtin_types=_NOT_PARSED)


def wrapped(type_: GraphQLOutputType, inner: Any) -> Any:
    """Return *inner*, optional and in lists like *type_*."""
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
    inner = [member for member in get_args(type_) if member is not NoneType]
    optional = isinstance(type_, UnionType) or get_origin(type_) is Union
    return (inner[0], True) if optional and len(inner) == 1 else (type_, False)


def _only(
    attributes: Sequence[CheckedAttribute], holds: Callable[[CheckedAttribute], bool]
) -> tuple[CheckedAttribute, ...]:
    return tuple(
        replace(attribute, below=_only(attribute.below, holds))
        for attribute in attributes
        if holds(attribute)
    )


def _bare(type_: GraphQLOutputType, inner: Any) -> Any:
    if is_list_type(type_):
        return list[wrapped(type_.of_type, inner)]  # type: ignore[misc]  # a type made at run time
    return inner


@lru_cache(maxsize=CACHED)
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
