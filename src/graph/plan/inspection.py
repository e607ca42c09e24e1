"""
What a type cannot check of the records it reads: that times are in UTC, and how many objects come.

Both walk level by level, over all objects of a level at once, and only where there is something.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC
from itertools import chain
from operator import attrgetter
from typing import Any

Read = Callable[[Any], Any]
_UTC = {UTC}
_zone = attrgetter("tzinfo")


class Unexpected(Exception):
    """A record is not what the plan was made for: graphql-core completes it."""


@dataclass(frozen=True, slots=True)
class Place:
    """
    One attribute of the objects of a level.

    Attributes:
        read: Gets it from the object.
        lists: How many lists deep the values lie.
        moment: Whether they are times.
        below: The places within the values, when these are objects.
    """

    read: Read
    lists: int = 0
    moment: bool = False
    below: tuple["Place", ...] = ()

    @property
    def dated(self) -> bool:
        """Whether there are times, here or below."""
        return self.moment or any(place.dated for place in self.below)

    @property
    def counted(self) -> bool:
        """Whether there are lists, here or below."""
        return self.lists > 0 or any(place.counted for place in self.below)


def check_moments(objects: Iterable[Any], places: Iterable[Place]) -> None:
    """
    Check that the times of *places* are written with `Z`; only places that are `dated`.

    Raises:
        Unexpected: One of them has another offset.
    """
    for place in places:
        values: Iterable[Any] = map(place.read, objects)
        for _ in range(place.lists):
            values = chain.from_iterable(filter(None, values))
        if place.below:
            check_moments(list(filter(None, values)), place.below)
            continue
        moments = list(filter(None, values))
        if set(map(_zone, moments)) <= _UTC:
            continue
        if any(moment.utcoffset() for moment in moments):
            raise Unexpected


def count(objects: Sequence[Any], places: Iterable[Place]) -> int:
    """Count the members of all lists at *places*, as graphql-core's executor would."""
    total = 0
    for place in places:
        values: list[Any] = list(map(place.read, objects))
        for _ in range(place.lists):
            lists = [value for value in values if value is not None]
            total += sum(len(value) for value in lists if isinstance(value, list | tuple))
            values = list(chain.from_iterable(lists))
        if place.below:
            total += count([value for value in values if value is not None], place.below)
    return total
