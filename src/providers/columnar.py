"""
Records made column by column, each attribute of all of them at once.

So an attribute that is not wanted costs nothing, and one that upstream sends as it is needs no
Python per record: mapping is most of what a page costs (performance report, 7).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import repeat
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from providers.records.base import Record

R = TypeVar("R", bound=Record)

Column = Callable[[Sequence[Any]], Iterable[object]]


class RecordBuilder(Generic[R]):
    """How the attributes of one kind of record are read from what upstream sent."""

    def __init__(
        self, kind: type[R], columns: Mapping[str, Column], *, always: AbstractSet[str]
    ) -> None:
        """
        Take how each attribute is read; those without a column are always given, or None.

        Args:
            kind: What to make.
            columns: Attribute -> what gives its values, one for each thing that was sent.
            always: The attributes that are read whether wanted or not; others are None.
        """
        self._kind: Callable[..., R] = kind
        self._columns = [(name, columns.get(name, _none)) for name in kind.__struct_fields__]
        self._always = always

    def records(
        self,
        sent: Sequence[Any],
        wanted: AbstractSet[str],
        given: Mapping[str, Iterable[object]] = MappingProxyType({}),
    ) -> list[R]:
        """
        Make a record of each of *sent*, in order.

        Args:
            sent: What upstream sent.
            wanted: Which attributes to read.
            given: Attributes whose values are known already, which take the place of columns.
        """
        read = wanted | self._always
        columns = [
            given[name] if name in given else column(sent) if name in read else _NOTHING
            for name, column in self._columns
        ]
        return list(map(self._kind, *columns))


_NOTHING = repeat(None)


def _none(_: Sequence[Any]) -> Iterable[object]:
    return _NOTHING


def attribute(path: str, then: Callable[[Any], object] | None = None) -> Column:
    """Return the column of what lies at *path* (`a.b`), perhaps turned into what it means."""
    get = attrgetter(path)
    if then is None:
        return lambda sent: map(get, sent)
    return lambda sent: map(then, map(get, sent))


def computed(read: Callable[[Any], object]) -> Column:
    """Return the column of what *read* makes of each thing as a whole."""
    return lambda sent: map(read, sent)


def constant(value: object) -> Column:
    """Return the column of what is the same for all."""
    return lambda _: repeat(value)
