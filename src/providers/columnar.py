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
from typing import Any, Generic, TypeVar, Union

from providers.bounded_map import BoundedMap
from providers.records.base import Record

R = TypeVar("R", bound=Record)

_PLANS = 256  # kept per type; selections have few different sets of attributes

Values = Callable[[Sequence[Any]], Iterable[object]]  # of an attribute, one per object
Column = Union[Values, "repeat[Any]"]  # or the one value of all objects
# The columns of one value, and the position, name and function of the others.
_Plan = tuple[list[Iterable[object]], list[tuple[int, str, Values]]]


class RecordBuilder(Generic[R]):
    """Maps decoded upstream objects to records of one type."""

    def __init__(
        self, kind: type[R], columns: Mapping[str, Column], *, always: AbstractSet[str]
    ) -> None:
        """
        Take the mapping of each attribute.

        Args:
            kind: The record type.
            columns: Attribute -> its column.
            always: Attributes that are mapped whether wanted or not. Others that are not wanted,
                and those without a column, are None.
        """
        self._kind: Callable[..., R] = kind
        self._indices = {name: at for at, name in enumerate(kind.__struct_fields__)}
        self._columns = columns
        self._always = always
        self._plans: BoundedMap[frozenset[str], _Plan] = BoundedMap(_PLANS)  # of wanted attributes

    def records(
        self,
        objects: Sequence[Any],
        projection: AbstractSet[str],
        known: Mapping[str, Iterable[object]] = MappingProxyType({}),
    ) -> list[R]:
        """
        Build one record per object, in order.

        Args:
            objects: As decoded from the upstream's response.
            projection: Attributes to map.
            known: Attribute -> values that are known already and replace its column.
        """
        key = frozenset(projection)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._plan(key | self._always)
        constants, mapped = plan
        columns = constants.copy()
        for at, name, column in mapped:
            if name not in known:
                columns[at] = column(objects)
        for name, values in known.items():
            columns[self._indices[name]] = values
        return list(map(self._kind, *columns))

    def _plan(self, projection: AbstractSet[str]) -> "_Plan":
        constants: list[Iterable[object]] = [_NOTHING] * len(self._indices)
        mapped: list[tuple[int, str, Values]] = []
        for name, column in self._columns.items():
            if name not in projection:
                continue
            if isinstance(column, repeat):
                constants[self._indices[name]] = column
            else:
                mapped.append((self._indices[name], name, column))
        return constants, mapped


_NOTHING = repeat(None)


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
    return repeat(value)
