"""The cost of one root field or edge, and the conditions under which it runs."""

from collections.abc import Iterable, Iterator, Mapping

import graphql
import msgspec
from msgspec.structs import replace

from policy.vocabulary import Surface

MIN_LISTING = 100  # objects that an edge to a list counts as, at least


class Condition(msgspec.Struct, frozen=True):
    """
    A @skip or @include: holds when *value* is *expected*.

    Attributes:
        value: A literal, or the name of a variable.
    """

    expected: bool
    value: bool | str

    def holds(self, variables: Mapping[str, object]) -> bool:
        """Return whether the condition holds with *variables*; a missing variable holds."""
        value = variables.get(self.value) if isinstance(self.value, str) else self.value
        return value is self.expected if isinstance(value, bool) else True


def conditions_of(directives: Iterable[graphql.DirectiveNode] | None) -> Iterator[Condition]:
    """Yield the conditions of @skip and @include among *directives*."""
    for directive in directives or ():
        expected = {"include": True, "skip": False}.get(directive.name.value)
        for argument in directive.arguments or ():
            if expected is None or argument.name.value != "if":
                continue
            if isinstance(argument.value, graphql.BooleanValueNode):
                yield Condition(expected, argument.value.value)
            elif isinstance(argument.value, graphql.VariableNode):
                yield Condition(expected, argument.value.name.value)


class FieldCost(msgspec.Struct, frozen=True, kw_only=True):
    """
    The cost of one root field or edge.

    Attributes:
        path: The response keys that lead to it, its own included: of a root field its key, of an
            edge from the field above, which is a root field or an edge.
        name: Of an edge its coordinate, like "Email.thread".
        surface: None when it calls no provider, or those of *reads*.
        reads: The surfaces that it calls instead.
        conditions: All must hold for it to run; of an edge those below the field above.
        limit: The argument `limit`: a number, a variable's name, or None for the default.
        default_limit: The default of `limit`; None when the field takes no `limit`.
        max_limit: A higher `limit` is lowered to it.
        single, listed: Objects below it: outside and inside the lists that `limit` bounds. Those
            below an edge are the edge's.
        edges: The edges below it, and not below another one of them.
        in_list: Whether it is an edge of the entries of a list.
    """

    path: tuple[str, ...]
    name: str
    surface: Surface | None
    conditions: tuple[Condition, ...]
    limit: int | str | None
    default_limit: int | None
    max_limit: int
    single: int
    listed: int
    edges: tuple["FieldCost", ...] = ()
    in_list: bool = False
    reads: tuple[Surface, ...] = ()

    @property
    def surfaces(self) -> tuple[Surface, ...]:
        """The surfaces that it is charged to."""
        return self.reads if self.surface is None else (self.surface,)

    @property
    def key(self) -> str:
        """Its name in the log: its path."""
        return ".".join(self.path)

    def estimate_objects(self, variables: Mapping[str, object]) -> int:
        """Estimate the number of returned objects, those of its edges included."""
        entries = self._entries(variables)
        return (
            1
            + self.single
            + entries * self.listed
            + sum(self.estimate_edge(edge, variables) for edge in self.running_edges(variables))
        )

    def estimate_edge(self, edge: "FieldCost", variables: Mapping[str, object]) -> int:
        """Estimate the number of objects that one of its edges returns, over all entries."""
        objects = edge.estimate_objects(variables)
        if (
            edge.default_limit is not None and edge.surfaces
        ):  # each of its lists is read by calls of its own
            objects = max(objects, MIN_LISTING)
        return objects * (self._entries(variables) if edge.in_list else 1)

    def running_edges(self, variables: Mapping[str, object]) -> Iterator["FieldCost"]:
        """Yield the edges right below it whose conditions hold."""
        for edge in self.edges:
            if all(condition.holds(variables) for condition in edge.conditions):
                yield edge

    def every_edge(self, variables: Mapping[str, object]) -> Iterator["FieldCost"]:
        """Yield all edges below it whose conditions hold, with their whole paths."""
        for edge in self.running_edges(variables):
            whole = replace(edge, path=(*self.path, *edge.path))
            yield whole
            yield from whole.every_edge(variables)

    def _entries(self, variables: Mapping[str, object]) -> int:
        limit = variables.get(self.limit) if isinstance(self.limit, str) else self.limit
        if not isinstance(limit, int | float) or limit < 1:  # an Int may be written as 50.0
            limit = self.default_limit or 1
        return int(min(limit, self.max_limit))
