"""
Records made column by column, each attribute of all of them at once.

So an attribute that is not wanted costs nothing, and one that upstream sends as it is needs no
Python per record: mapping is most of what a page costs (performance report, 7).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import repeat
from operator import attrgetter
from typing import Any, Generic, TypeVar

from providers.records import Record

R = TypeVar("R", bound=Record)

Column = Callable[[Sequence[Any]], Iterable[object]]


class Columns(Generic[R]):
    """How the attributes of one kind of record are read from what upstream sent."""

    def __init__(
        self, kind: type[R], columns: Mapping[str, Column], *, always: AbstractSet[str]
    ) -> None:
        """
        Take a column for every attribute of *kind*.

        Args:
            kind: What to make.
            columns: Attribute -> what gives its values, one for each thing that upstream sent.
            always: The attributes that are read whether wanted or not; others are None.
        """
        self._kind: Callable[..., R] = kind
        self._columns = [(name, columns[name]) for name in kind.__struct_fields__]
        self._always = always

    def records(self, sent: Sequence[Any], wanted: AbstractSet[str]) -> list[R]:
        """Make a record of each of *sent*, in order, with what is *wanted*."""
        read = wanted | self._always
        columns = [column(sent) if name in read else _NOTHING for name, column in self._columns]
        return list(map(self._kind, *columns))


_NOTHING = repeat(None)


def member(path: str, then: Callable[[Any], object] | None = None) -> Column:
    """Return the column of what lies at *path* (`a.b`), perhaps turned into what it means."""
    get = attrgetter(path)
    if then is None:
        return lambda sent: map(get, sent)
    return lambda sent: map(then, map(get, sent))


def each(read: Callable[[Any], object]) -> Column:
    """Return the column of what *read* makes of each thing as a whole."""
    return lambda sent: map(read, sent)


def constant(value: object) -> Column:
    """Return the column of what is the same for all."""
    return lambda _: repeat(value)
