"""What can be asked of a record: its members and their kinds, and what a bad question is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


class QueryError(Exception):
    """
    A query option that upstream refuses with 400.

    Attributes:
        code: The word of the error body; None where each workload has its own for bad queries.
    """

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Kind(StrEnum):
    """The type of a value, spelt as error messages spell it."""

    STRING = "Edm.String"
    BOOLEAN = "Edm.Boolean"
    NUMBER = "Edm.Int32"
    INSTANT = "Edm.DateTimeOffset"
    DATE = "Edm.Date"
    NULL = "Null"
    UNKNOWN = "Edm.Untyped"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shape:
    """
    What can be asked of one record type.

    Attributes:
        name: The type's full name, for error messages.
        members: Property name to its kind, or to the shape of a complex value.
        collections: The properties that hold several values of their kind or shape.
        exact: Properties whose texts are compared with case; all others ignore it.
        open: Whether unlisted properties may be named too (of unknown kind).
        parts: What can be expanded inside it when it is itself expanded.
    """

    name: str
    members: Mapping[str, "Kind | Shape"]
    collections: frozenset[str] = frozenset()
    exact: frozenset[str] = frozenset()
    open: bool = False
    parts: Mapping[str, "Shape"] = field(default_factory=dict)

    def member(self, name: str) -> "Kind | Shape":
        """
        Return what *name* holds.

        Raises:
            QueryError: There is no such property.
        """
        kind = self.members.get(name)
        if kind is not None:
            return kind
        if self.open:
            return Kind.UNKNOWN
        raise QueryError(f"Could not find a property named '{name}' on type '{self.name}'.")


class Record(Protocol):
    """What a filter asks: a JSON object, or a view that makes its members when they are asked."""

    def get(self, name: str, /) -> Any: ...
