"""
A JSON body, checked against the GraphQL type of `$input` and named in REST words.

The graph would refuse the same values; checked here, every wrong member is named at once, by the
path a REST caller wrote (`to[0].email`). A null for a member that is not required counts as absent.
Source: decisions 0 and 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphql import (
    GraphQLBoolean,
    GraphQLEnumType,
    GraphQLError,
    GraphQLFloat,
    GraphQLID,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLInt,
    GraphQLList,
    GraphQLNonNull,
    GraphQLString,
    Undefined,
)

from rest_compat.body import invalid_body
from rest_compat.errors import WHOLE_BODY

DROP = object()  # stands for a member that is to be left out


def coerce_input(value: Any, kind: GraphQLInputType, *, strict: bool) -> Any:
    """
    Return *value* with only the members that *kind* knows, ready to be the variable `$input`.

    Raises:
        Problem: 400 `VALIDATION_ERROR` with one detail per wrong member; with *strict* also per
            unknown one, at every level.
    """
    check = _Check(strict=strict)
    conformed = check.value(value, kind, WHOLE_BODY)
    if check.wrong:
        raise invalid_body(check.wrong)
    return conformed


@dataclass(slots=True)
class _Check:
    """One pass over a body, gathering what is wrong with it."""

    strict: bool
    wrong: list[tuple[str, str]] = field(default_factory=list)

    def value(self, value: Any, kind: GraphQLInputType, path: str) -> Any:
        if isinstance(kind, GraphQLNonNull):
            kind = kind.of_type
            if value is None:
                return self.complain(path, "is required")
        if value is None:
            return None
        if isinstance(kind, GraphQLList):
            return self.items(value, kind.of_type, path)
        if isinstance(kind, GraphQLInputObjectType):
            return self.members(value, kind, path)
        return self.leaf(value, kind, path)

    def items(self, value: Any, kind: GraphQLInputType, path: str) -> Any:
        if not isinstance(value, list):
            return self.complain(path, "must be a list")
        return [self.value(item, kind, f"{path}[{at}]") for at, item in enumerate(value)]

    def members(self, value: Any, kind: GraphQLInputObjectType, path: str) -> Any:
        if not isinstance(value, dict):
            return self.complain(path, "must be an object")
        start = "" if path == WHOLE_BODY else f"{path}."
        if self.strict:
            for name in value.keys() - kind.fields.keys():
                self.complain(start + name, "is not known")
        given: dict[str, Any] = {}
        for name, member in kind.fields.items():
            required = isinstance(member.type, GraphQLNonNull) and (
                member.default_value is Undefined
            )
            if value.get(name) is not None:
                given[name] = self.value(value[name], member.type, start + name)
            elif required:
                self.complain(start + name, "is required")
        return given

    def leaf(self, value: Any, kind: GraphQLInputType, path: str) -> Any:
        wanted = _WANTED.get(kind.name) if hasattr(kind, "name") else None
        if wanted is not None:
            types, why = wanted
            fits = isinstance(value, types) and not (isinstance(value, bool) and bool not in types)
            if not fits:
                return self.complain(path, why)
        try:
            kind.parse_value(value)  # type: ignore[union-attr]  # lists and objects are done
        except (GraphQLError, ValueError, TypeError):
            return self.complain(path, _refusal(kind))
        return value

    def complain(self, path: str, why: str) -> None:
        self.wrong.append((path, why))


_WANTED: Mapping[str, tuple[tuple[type, ...], str]] = {
    GraphQLString.name: ((str,), "must be a string"),
    GraphQLID.name: ((str,), "must be a string"),
    GraphQLBoolean.name: ((bool,), "must be true or false"),
    GraphQLInt.name: ((int,), "must be an integer"),
    "Long": ((int,), "must be an integer"),
    GraphQLFloat.name: ((int, float), "must be a number"),
}


def _refusal(kind: GraphQLInputType) -> str:
    """Say what a value of this type must be."""
    if isinstance(kind, GraphQLEnumType):
        return f"must be one of {', '.join(kind.values)}"
    return _MUST_BE.get(str(kind), "has a value that is not allowed")


_MUST_BE = {
    "Int": "must be a 32-bit integer",
    "Long": "must be a 64-bit integer",
    "DateTime": "must be an ISO 8601 time",
}
