"""
Checks a JSON body against the GraphQL type of `$input`.

The graph would refuse the same values; this check names every wrong member at once, by its REST
path (`to[0].email`). Null for an optional member counts as absent
(docs/spec/requests.md#json-bodies).
"""

from collections.abc import Mapping
from typing import Any

import graphql
import msgspec

from graph.errors import MAX_DETAILS
from policy.vocabulary import not_known
from rest_compat.body import invalid_body
from rest_compat.errors import WHOLE_BODY

MAX_ITEMS = 500  # of any list of an input; docs/spec/requests.md#json-bodies


def coerce_input(value: Any, kind: graphql.GraphQLInputType) -> Any:
    """
    Return *value* without members that are null, to be the variable `$input`.

    Raises:
        Refusal: 400 `VALIDATION_ERROR` with a detail per wrong or unknown member, at every level.
            The walk ends at the last detail that is shown.
    """
    check = _Check()
    coerced = check.value(value, kind, WHOLE_BODY)
    if check.problems:
        raise invalid_body(check.problems)
    return coerced


def problems_of(value: Any, kind: graphql.GraphQLInputType, path: str) -> list[tuple[str, str]]:
    """
    Return what of *value* at *path* does not fit *kind*: each path, and what is wrong with it.

    Raises:
        Refusal: 400 `VALIDATION_ERROR` at the last detail that is shown.
    """
    check = _Check()
    check.value(value, kind, path)
    return check.problems


class _Check(msgspec.Struct):
    """Walk over a body that collects (path, what is wrong) of every wrong member."""

    problems: list[tuple[str, str]] = msgspec.field(default_factory=list)

    def value(self, value: Any, kind: graphql.GraphQLInputType, path: str) -> Any:
        if isinstance(kind, graphql.GraphQLNonNull):
            kind = kind.of_type
            if value is None:
                return self.add(path, "is required")
        if value is None:
            return None
        if isinstance(kind, graphql.GraphQLList):
            return self.items(value, kind.of_type, path)
        if isinstance(kind, graphql.GraphQLInputObjectType):
            return self.members(value, kind, path)
        return self.leaf(value, kind, path)

    def items(self, value: Any, kind: graphql.GraphQLInputType, path: str) -> Any:
        if not isinstance(value, list):
            return self.add(path, "must be a list")
        if len(value) > MAX_ITEMS:
            return self.add(path, f"may have at most {MAX_ITEMS} entries")
        return [self.value(item, kind, f"{path}[{index}]") for index, item in enumerate(value)]

    def members(self, value: Any, kind: graphql.GraphQLInputObjectType, path: str) -> Any:
        if not isinstance(value, dict):
            return self.add(path, "must be an object")
        start = "" if path == WHOLE_BODY else f"{path}."
        for name in value:
            if name not in kind.fields:
                self.add(start + name, not_known(kind.fields))
        members: dict[str, Any] = {}
        for name, member in kind.fields.items():
            required = isinstance(member.type, graphql.GraphQLNonNull) and (
                member.default_value is graphql.Undefined
            )
            if value.get(name) is not None:
                members[name] = self.value(value[name], member.type, start + name)
            elif required:
                self.add(start + name, "is required")
        return members

    def leaf(self, value: Any, kind: graphql.GraphQLInputType, path: str) -> Any:
        expected = _PYTHON_TYPES.get(kind.name) if hasattr(kind, "name") else None
        if expected is not None:
            types, reason = expected
            fits = isinstance(value, types) and not (isinstance(value, bool) and bool not in types)
            if not fits:
                return self.add(path, reason)
        try:
            kind.parse_value(value)  # type: ignore[union-attr]  # lists and objects are done
        except (graphql.GraphQLError, ValueError, TypeError):
            return self.add(path, _expectation(kind))
        return value

    def add(self, path: str, reason: str) -> None:
        self.problems.append((path, reason))
        if len(self.problems) == MAX_DETAILS:
            raise invalid_body(self.problems)


_PYTHON_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    graphql.GraphQLString.name: ((str,), "must be a string"),
    graphql.GraphQLID.name: ((str,), "must be a string"),
    graphql.GraphQLBoolean.name: ((bool,), "must be true or false"),
    graphql.GraphQLInt.name: ((int,), "must be an integer"),
    "Long": ((int,), "must be an integer"),
    graphql.GraphQLFloat.name: ((int, float), "must be a number"),
}


def _expectation(kind: graphql.GraphQLInputType) -> str:
    """Return what a value of this type must be, as the end of a sentence."""
    if isinstance(kind, graphql.GraphQLEnumType):
        return f"must be one of {', '.join(kind.values)}"
    return _MUST_BE.get(str(kind), "has a value that is not allowed")


_MUST_BE = {
    "Int": "must be a 32-bit integer",
    "Long": "must be a 64-bit integer",
    "DateTime": "must be an ISO 8601 time",
}
