"""Records for any type of a schema: right ones, and wrong ones in every way that was thought of."""

from asyncio import CancelledError
from collections import deque
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import IntEnum, StrEnum
from functools import cache
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
from graphql import (
    Undefined,
    get_named_type,
    is_enum_type,
    is_list_type,
    is_non_null_type,
    is_object_type,
    is_union_type,
)

from graph.coordinates import strawberry_field
from graph.execution.plan import whole_records
from providers.records.base import Record

MOMENT = datetime(2026, 11, 20, 12, tzinfo=UTC)
DEEPEST = 3


class Words(StrEnum):
    RED = "red"
    OTHER = "other"


class Text(str):
    __slots__ = ()


class Number(int):
    pass


class Real(float):
    __slots__ = ()


class Moment(datetime):
    pass


class Rank(IntEnum):
    FIRST = 1


class Nowhere(tzinfo):
    """A zone that does not know its offset: times in it are naive, though they have a zone."""

    def utcoffset(self, moment):
        return None


class Lost(tzinfo):
    """A zone that fails."""

    def utcoffset(self, moment):
        raise ValueError("the zone is not at hand")


class Loud:
    """An object all of whose attributes raise."""

    def __getattr__(self, name):
        raise RuntimeError(f"{name} is out of reach")


class Row(tuple):
    __slots__ = ()


class Later:
    """Items that come one by one."""

    def __init__(self, items) -> None:
        self.items = iter(items)

    def __aiter__(self):
        return self

    async def __anext__(self):
        for item in self.items:
            return item
        raise StopAsyncIteration


class Values:
    """
    Gives the same values again for the same seed.

    Attributes:
        wrong: How often a value is wrong, 0 to 1.
    """

    def __init__(self, schema, seed: str, *, wrong: float) -> None:
        self.schema = schema
        self.random = Random(seed)
        self.wrong = wrong

    def of(self, type_, depth: int = 0) -> Any:
        """Give a value for an output type."""
        if self.random.random() < self.wrong:
            return self.anything(type_, depth)
        return self.right(type_, depth)

    def right(self, type_, depth: int) -> Any:
        if is_non_null_type(type_):
            return self._present(type_.of_type, depth)
        if depth > DEEPEST or self.random.random() < 0.15:
            return None
        return self._present(type_, depth)

    def _present(self, type_, depth: int) -> Any:
        if is_list_type(type_):
            return self.random.choice((tuple, tuple, list))(self._items(type_, depth))
        if is_object_type(type_):
            return self.record(type_, depth + 1)
        if is_enum_type(type_):
            return self.random.choice([value.value for value in type_.values.values()])
        if type_.name in _RIGHT:
            return self.random.choice(_RIGHT[type_.name])
        return self._one_of(type_, depth)

    def _items(self, type_, depth: int) -> list:
        length = 0 if depth > DEEPEST else self.random.randint(0, 3)
        return [self.of(type_.of_type, depth + 1) for _ in range(length)]

    def _one_of(self, type_, depth: int) -> Any:
        """Give an object of an abstract type, of the class that Strawberry knows it by."""
        chosen = self.random.choice(self.schema.get_possible_types(type_))
        origin = chosen.extensions["strawberry-definition"].origin
        if not is_union_type(type_) and self.random.random() < self.wrong:
            return self.record(chosen, depth + 1)
        fields = {
            strawberry_field(field).python_name: self.of(field.type, depth + 1)
            for field in chosen.fields.values()
        }
        return origin(**fields)

    def record(self, type_, depth: int) -> Any:
        """
        Give a record; attributes that only resolvers are asked for hold what nobody may see.

        When something is wrong, an attribute may be missing, or made anew each time it is read.
        When nothing is, a record that plans may pass on is of our own class.
        """
        members = {}
        for field in type_.fields.values():
            made_of = strawberry_field(field)
            value = "TRAP" if made_of.base_resolver else self.of(field.type, depth)
            members[made_of.python_name] = value
        made = {}
        if members and self.random.random() < self.wrong:
            value = members.pop(name := self.random.choice(sorted(members)))
            made = self.random.choice(({}, {name: lambda: value}, {name: _fail}))
        own = None if made else _own_record(type_.name, members)
        if own is not None:
            return own
        record = _record_type(type_.name, tuple(sorted(members)))
        return (_making(record, **made) if made else record)(**members)

    def anything(self, type_, depth: int) -> Any:
        """Give a wrong value, or one that is right in an unusual way."""
        named = get_named_type(type_)
        if named.name in _NEARLY and named is _nullable(type_) and self.random.random() < 0.8:
            return self.random.choice(_NEARLY[named.name])
        choices = [
            lambda: None,
            lambda: None,
            self.random.choice(_ODD),
            self.random.choice(_ODD),
            lambda: ValueError("returned"),
            lambda: Soon(lambda: self.right(type_, depth)),
            lambda: Soon(_fail),
            lambda: Soon(_cancel),
            lambda: [self.of(type_, depth + 1)],
            lambda: {self.right(named, depth)} if not is_object_type(named) else Loud(),
            lambda: (item for item in [self.right(named, depth)]),
        ]
        bare = _nullable(type_)
        if is_list_type(bare):
            unusual = self.random.choice(_UNUSUAL)
            choices += [lambda: unusual(self._items(bare, depth))] * 4
        if is_object_type(named):
            choices += [lambda: self._as_dict(named, depth), lambda: self._as_dict(named, depth)]
        value = self.random.choice(choices)()
        # A decimal is the number or its text in JSON, by who writes it; no resolver returns one.
        return None if isinstance(value, Decimal) and named.name == "JSON" else value

    def _as_dict(self, type_, depth: int) -> dict:
        return {name: self.right(field.type, depth + 1) for name, field in type_.fields.items()}


_RIGHT = {
    "String": ["", "text", 'quo"te\\', "ünï ☃", "line\nbreak"],
    "ID": ["id-1", "7"],
    "Int": [0, -1, 42, 2**31 - 1, -(2**31)],
    "Long": [0, 2**31, 2**40, 2**63 - 1, -(2**63)],
    "Float": [0.0, -0.0, -1.5, 1e16, 1e-7, 3],
    "Boolean": [True, False],
    "DateTime": [MOMENT, MOMENT.replace(microsecond=120), datetime(1, 1, 1, tzinfo=UTC)],
    "JSON": [{"a": [1, None]}, [], "json", 1, False],
}

# Wrong by a hair, or right in an unusual way.
_NEARLY = {
    "String": [7, True, Text("own text"), Words.OTHER, "\ud800", b"text"],
    "ID": [7, True, Text("own id")],
    "Int": [2**31, -(2**31) - 1, 2**40, True, 1.0, 1.5, "7", Number(3), Rank.FIRST],
    "Long": [2**63, -(2**63) - 1, 2.0, 2.5, True, "7", Number(3), Rank.FIRST],
    "Float": [2**53, 2**53 + 1, 10**400, 1e300, float("nan"), float("inf"), Real(1.5), True, "1"],
    "Boolean": [0, 1, 1.0, "true"],
    "DateTime": [
        "2026-11-20T12:00:00Z",
        MOMENT.replace(tzinfo=None),
        MOMENT.astimezone(timezone(timedelta(hours=5, minutes=30))),
        MOMENT.astimezone(timezone(timedelta(seconds=30))),
        MOMENT.astimezone(timezone(timedelta(0), "zero")),
        MOMENT.astimezone(ZoneInfo("Europe/London")),
        MOMENT.replace(month=7).astimezone(ZoneInfo("Europe/London")),
        MOMENT.replace(tzinfo=Nowhere()),
        MOMENT.replace(tzinfo=Lost()),
        datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))),
        Moment(2026, 11, 20, tzinfo=UTC),
    ],
    "Colour": ["RED", "blue", Words.RED, Words.OTHER, ["red"]],
    "Shade": ["LIGHT", "light-shade", Words.RED],
}

_ODD = [
    lambda: 7,
    lambda: -(2**31) - 1,
    lambda: 2**31,
    lambda: 2**40,
    lambda: 2**63,
    lambda: -(2**70),
    lambda: True,
    lambda: 1.0,
    lambda: 1.5,
    lambda: float("nan"),
    lambda: float("inf"),
    lambda: "",
    lambda: "7",
    lambda: "red",
    lambda: "RED",
    lambda: "2026-11-20T12:00:00Z",
    lambda: "\ud800",
    lambda: b"bytes",
    lambda: Words.RED,
    lambda: Words.OTHER,
    lambda: Text("own text"),
    lambda: Number(3),
    lambda: Decimal("2.0"),
    lambda: date(2026, 11, 20),
    lambda: timedelta(1),
    lambda: (),
    lambda: ("a", None),
    lambda: {"a": 1},
    lambda: {"a"},
    lambda: frozenset({"b"}),
    lambda: deque("ab"),
    lambda: range(2),
    lambda: object,
    lambda: Undefined,
    Loud,
]


# Items in what is no list: some can be gone through only once.
_UNUSUAL: list[Callable[[list], Any]] = [
    iter,
    deque,
    Row,
    lambda items: (item for item in items),
    lambda items: dict(enumerate(items)).values(),
    lambda items: dict(enumerate(items)),
    Later,
]


@cache
def _record_type(name: str, fields: tuple[str, ...]) -> type:
    return msgspec.defstruct(
        f"{name}Record",
        [(field, Any) for field in fields],
        bases=(Record,),
        frozen=True,
        kw_only=True,
        gc=False,
    )


def _own_record(name: str, members: dict[str, Any]) -> Any:
    """Return the record of the class that plans may pass on; None when the members do not fit."""
    kind = whole_records.RECORDS.get(name)
    fields = {} if kind is None else {field: members.get(field) for field in kind.__struct_fields__}
    if kind is None or not {type(value) for value in fields.values()} <= _BUILT_IN:
        return None
    try:
        msgspec.convert(
            list(fields.values()), msgspec.defstruct("A", _typed(kind), array_like=True)
        )
    except msgspec.ValidationError:
        return None
    return kind(**fields)


_BUILT_IN = {str, int, bool, type(None)}


def _typed(kind: type) -> list[tuple[str, Any]]:
    return [(field.name, field.type) for field in msgspec.structs.fields(kind)]


def _making(record: type, **made: Callable[[], Any]) -> type:
    """Return a subclass of *record* whose attributes *made* are made when they are read."""
    properties = {name: property(lambda _, make=make: make()) for name, make in made.items()}
    return type(record.__name__, (record,), properties, frozen=True, gc=False)


def _nullable(type_: Any) -> Any:
    return type_.of_type if is_non_null_type(type_) else type_


class Soon:
    """Awaitable, without the warning of a coroutine that nobody awaits."""

    def __init__(self, give: Callable[[], Any]) -> None:
        self.give = give

    def __await__(self):
        yield from ()
        return self.give()


def _fail() -> None:
    raise LookupError("in vain")


def _cancel() -> None:
    raise CancelledError
