"""Record types that queries are checked against, and the error of a query."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


class QueryError(Exception):
    """
    A query option that Graph rejects with 400.

    Attributes:
        code: The error code; None for the default code of the workload.
    """

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Kind(StrEnum):
    """The type of a value, by its name in error messages."""

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
    A record type: the properties that queries may name.

    Attributes:
        name: The type's full name, for error messages.
        members: Property name to its kind, or to the shape of a complex value.
        collections: The properties that hold a collection of their kind or shape.
        exact: The string properties that compare with case.
        open: Whether queries may name unlisted properties, of unknown kind.
        parts: The properties that nested `$expand` accepts, with their shapes.
    """

    name: str
    members: Mapping[str, "Kind | Shape"]
    collections: frozenset[str] = frozenset()
    exact: frozenset[str] = frozenset()
    open: bool = False
    parts: Mapping[str, "Shape"] = field(default_factory=dict)

    def member(self, name: str) -> "Kind | Shape":
        """
        Return the kind or shape of the property *name*.

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
    """A record under a filter: a JSON object, or a view that computes members on access."""

    def get(self, name: str, /) -> Any: ...
