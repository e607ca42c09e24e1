"""
Checks of records that a type cannot make: that times are in UTC, and how many objects there are.

Both checks walk level by level, over all objects of a level at once, and only where needed.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, timedelta
from itertools import chain
from operator import attrgetter
from typing import Any

import msgspec

Read = Callable[[Any], Any]
_LISTS = (list, tuple)
_UTC = {UTC}
_AT_ZERO = timedelta(0)
_zone = attrgetter("tzinfo")


class PlanMismatch(Exception):
    """A record does not fit the plan: graphql-core completes it."""


class CheckedAttribute(msgspec.Struct, frozen=True):
    """
    One attribute of the objects of a level.

    Attributes:
        read: Gets the attribute from an object.
        lists: How many lists deep the values lie.
        zone: Gets the time zone of a time from an object; None when the value is not a time.
        below: The attributes of the values, when these are objects.
    """

    read: Read
    lists: int = 0
    zone: Read | None = None
    below: tuple["CheckedAttribute", ...] = ()

    @property
    def has_times(self) -> bool:
        """Whether the attribute or an attribute below it holds times."""
        return self.zone is not None or any(attribute.has_times for attribute in self.below)

    @property
    def has_lists(self) -> bool:
        """Whether the attribute or an attribute below it holds lists."""
        return self.lists > 0 or any(attribute.has_lists for attribute in self.below)


def require_utc(objects: Sequence[Any], attributes: Iterable[CheckedAttribute]) -> None:
    """
    Check that all times are in UTC; every attribute must have `has_times`.

    Raises:
        PlanMismatch: A time has another offset.
    """
    for attribute in attributes:
        if attribute.zone is not None and _are_utc(objects, attribute.zone):
            continue
        nested: Iterable[Any] = map(attribute.read, objects)
        for _ in range(attribute.lists):
            nested = chain.from_iterable(filter(None, nested))
        values = list(filter(None, nested))
        if attribute.below:
            require_utc(values, attribute.below)
        elif not _are_utc(values, _zone) and any(time.utcoffset() != _AT_ZERO for time in values):
            raise PlanMismatch


def _are_utc(objects: Sequence[Any], zone: Read) -> bool:
    """Return quickly whether each of *objects* has a time whose zone is the object `UTC`."""
    try:
        return set(map(zone, objects)) <= _UTC
    except AttributeError:  # None, or a list of times
        return False


def spend_budget(
    context: Any, objects: Sequence[Any], attributes: Sequence[CheckedAttribute]
) -> bool:
    """
    Subtract the number of list members from `context.budget`, if there is one.

    Returns:
        Whether the budget suffices; if not, it is unchanged.
    """
    if context.budget is None or not attributes:
        return True
    spent = count_objects(objects, attributes)
    if spent > context.budget:
        return False
    context.budget -= spent
    return True


def count_objects(objects: Sequence[Any], attributes: Iterable[CheckedAttribute]) -> int:
    """Count the members of all lists in *attributes*, as graphql-core's executor would."""
    total = 0
    for attribute in attributes:
        values: Iterable[Any] = map(attribute.read, objects)
        for _ in range(attribute.lists):
            lists = list(filter(None, values))
            for value in lists:
                if isinstance(value, _LISTS):
                    total += len(value)
            values = chain.from_iterable(lists)
        if attribute.below:
            total += count_objects(list(filter(None, values)), attribute.below)
    return total
