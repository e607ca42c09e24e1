"""
Records built column by column: each attribute of all of them at once.

An attribute that is not wanted costs nothing, and one that upstream sends ready for use needs no
Python per record: docs/spec/performance.md#mapping-upstream-data.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import repeat
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from providers.bounded_map import BoundedMap
from providers.records.base import Record

R = TypeVar("R", bound=Record)

_PLANS = 256  # kept per type; selections have few different sets of attributes

Column = Callable[[Sequence[Any]], Iterable[object]]


class RecordBuilder(Generic[R]):
    """Maps decoded upstream objects to records of one type."""

    def __init__(
        self, kind: type[R], columns: Mapping[str, Column], *, always: AbstractSet[str]
    ) -> None:
        """
        Take the mapping of each attribute.

        Args:
            kind: The record type.
            columns: Attribute -> function that returns its values, one per object.
            always: Attributes that are mapped whether wanted or not. Others that are not wanted,
                and those without a column, are None.
        """
        self._kind: Callable[..., R] = kind
        self._columns = [(name, columns.get(name, _none)) for name in kind.__struct_fields__]
        self._always = always
        # Wanted attributes -> every attribute's column.
        self._plans: BoundedMap[frozenset[str], list[tuple[str, Column]]] = BoundedMap(_PLANS)

    def records(
        self,
        objects: Sequence[Any],
        wanted: AbstractSet[str],
        known: Mapping[str, Iterable[object]] = MappingProxyType({}),
    ) -> list[R]:
        """
        Build one record per object, in order.

        Args:
            objects: As decoded from the upstream's response.
            wanted: Attributes to map.
            known: Attribute -> values that are known already and replace its column.
        """
        key = frozenset(wanted)
        plan = self._plans.get(key)
        if plan is None:
            mapped = key | self._always
            plan = self._plans[key] = [
                (name, column if name in mapped else _none) for name, column in self._columns
            ]
        if known:
            columns = [known[name] if name in known else column(objects) for name, column in plan]
        else:
            columns = [column(objects) for _, column in plan]
        return list(map(self._kind, *columns))


_NOTHING = repeat(None)


def _none(_: Sequence[Any]) -> Iterable[object]:
    return _NOTHING


def attribute(path: str, then: Callable[[Any], object] | None = None) -> Column:
    """Return the column of the attribute at *path* (`a.b`), converted by *then*."""
    get = attrgetter(path)
    if then is None:
        return partial(map, get)
    return lambda objects: map(then, map(get, objects))


def computed(convert: Callable[[Any], object]) -> Column:
    """Return the column of *convert* applied to each object."""
    return partial(map, convert)


def constant(value: object) -> Column:
    """Return the column in which every record has *value*."""
    return lambda _: repeat(value)
