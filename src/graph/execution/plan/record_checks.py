"""
What a type cannot check of the records it reads: that times are in UTC, and how many objects come.

Both walk level by level, over all objects of a level at once, and only where there is something.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta
from itertools import chain
from operator import attrgetter
from typing import Any

Read = Callable[[Any], Any]
_UTC = {UTC}
_AT_ZERO = timedelta(0)
_zone = attrgetter("tzinfo")


class PlanMismatch(Exception):
    """A record is not what the plan was made for: graphql-core completes it."""


@dataclass(frozen=True, slots=True)
class CheckedAttribute:
    """
    One attribute of the objects of a level.

    Attributes:
        read: Gets it from the object.
        lists: How many lists deep the values lie.
        zone: Gets the time zone of a time from the object; None for what is no time.
        below: The places within the values, when these are objects.
    """

    read: Read
    lists: int = 0
    zone: Read | None = None
    below: tuple["CheckedAttribute", ...] = ()

    @property
    def dated(self) -> bool:
        """Whether there are times, here or below."""
        return self.zone is not None or any(place.dated for place in self.below)

    @property
    def counted(self) -> bool:
        """Whether there are lists, here or below."""
        return self.lists > 0 or any(place.counted for place in self.below)


def require_utc(objects: Sequence[Any], places: Iterable[CheckedAttribute]) -> None:
    """
    Check that the times of *places* are written with `Z`; only places that are `dated`.

    Raises:
        Unexpected: One of them has another offset.
    """
    for place in places:
        if place.zone is not None and _are_utc(objects, place.zone):
            continue
        values: Iterable[Any] = map(place.read, objects)
        for _ in range(place.lists):
            values = chain.from_iterable(filter(None, values))
        found = list(filter(None, values))
        if place.below:
            require_utc(found, place.below)
        elif not _are_utc(found, _zone) and any(moment.utcoffset() != _AT_ZERO for moment in found):
            raise PlanMismatch


def _are_utc(objects: Sequence[Any], zone: Read) -> bool:
    """Say whether each of *objects* has a time, in UTC: at once, for that is the rule."""
    try:
        return set(map(zone, objects)) <= _UTC
    except AttributeError:  # none, or a list of them
        return False


def spend_budget(context: Any, objects: Sequence[Any], places: Sequence[CheckedAttribute]) -> bool:
    """
    Take the members of the lists at *places* off `context.budget`, if there is one.

    Returns:
        Whether there are that many left; if not, nothing is taken.
    """
    if context.budget is None or not places:
        return True
    counted = count_objects(objects, places)
    if counted > context.budget:
        return False
    context.budget -= counted
    return True


def count_objects(objects: Sequence[Any], places: Iterable[CheckedAttribute]) -> int:
    """Count the members of all lists at *places*, as graphql-core's executor would."""
    total = 0
    for place in places:
        values: list[Any] = list(map(place.read, objects))
        for _ in range(place.lists):
            lists = [value for value in values if value is not None]
            total += sum(len(value) for value in lists if isinstance(value, list | tuple))
            values = list(chain.from_iterable(lists))
        if place.below:
            total += count_objects([value for value in values if value is not None], place.below)
    return total
