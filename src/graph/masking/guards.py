"""
Guards of root fields: checked before anything else, and printed into the SDL.

    @guarded(EmailOp.SEARCH_EMAILS, returns=EmailPage)
    async def emails(info: Info, …) -> …

becomes `emails(…): EmailPage @requires(operation: "search_emails")`. A dropped guard is a visible
diff of the committed schema.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from types import MappingProxyType
from typing import Any, Optional, ParamSpec, TypeVar, cast

import strawberry
from graphql import GraphQLField, GraphQLSchema
from strawberry.schema_directive import Location
from strawberry.types.base import has_object_definition
from strawberry.types.field import StrawberryField
from strawberry.utils.str_converters import to_camel_case

from graph import effects
from graph.coordinates import strawberry_field
from graph.masking import wellformed
from policy.vocabulary import WORD_TYPES, Operation, Surface

P = ParamSpec("P")
R = TypeVar("R")


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION],
    description=(
        "What the access token must allow: one operation, or any of several. A field with a "
        "surface alone needs the surface to be open and no operation."
    ),
)
class Requires:
    operation: str | None = strawberry.UNSET
    any_of: list[str] | None = strawberry.UNSET
    surface: str | None = strawberry.UNSET


@dataclass(frozen=True, slots=True)
class Requirement:
    """
    The surface and the operations that a root field requires of the token.

    Attributes:
        surface: None when any valid token will do.
        operations: Alternatives, one suffices; empty when the open surface is enough.
        max_limit: What a higher `limit` is lowered to; 1 when the field takes none.
        member_operations: Members of the input object, by API name, and the operation that each
            of them needs.
    """

    surface: Surface | None
    operations: tuple[Operation, ...] = ()
    max_limit: int = 1
    member_operations: Mapping[str, Operation] = field(default_factory=dict)

    def operations_for(self, members: Mapping[str, object]) -> tuple[Operation, ...]:
        """Return the operation that the first given member needs, or all alternatives."""
        for member, operation in self.member_operations.items():
            if members.get(member) is not None:
                return (operation,)
        return self.operations


def guarded(
    *operations: Operation,
    returns: object,
    surface: Surface | None = None,
    max_limit: int = 1,
    member_operations: Mapping[str, Operation] = MappingProxyType({}),
) -> Callable[[Callable[P, Awaitable[R]]], StrawberryField]:
    """
    Make a root field that runs only when the token allows one of *operations*.

    *returns* is the GraphQL type; the resolver returns records of the same shape. *surface* is
    needed only when there are no operations, which name theirs themselves. *max_limit* is what a
    higher `limit` argument is lowered to. *member_operations* names the operation that a member of
    the input object needs, so that a refusal names it too.
    """
    opened = surface or WORD_TYPES[type(operations[0])].surface
    requirement = Requirement(opened, operations, max_limit, member_operations)

    def field(resolver: Callable[P, Awaitable[R]]) -> StrawberryField:
        record_type: type[R] = resolver.__annotations__["return"]

        @wraps(resolver)
        async def admitted(*args: P.args, **kwargs: P.kwargs) -> R:
            info = cast("Any", kwargs["info"])
            context = info.context
            alternatives = operations
            if member_operations:
                alternatives = requirement.operations_for(_input_members(kwargs))
            context.caller.admit(opened, *alternatives)
            wellformed.check(kwargs, called=info.argument_name)
            if context.repeated is not None:
                return cast("R", context.repeated.repeat(record_type))
            result = await resolver(*args, **kwargs)
            if context.delivery is not None:
                context.effect = effects.of_record(result)
            return result

        return _field(admitted, returns, requirement, [_directive(requirement)])

    return field


def _input_members(arguments: Mapping[str, Any]) -> Mapping[str, object]:
    """Return the members of the input object among *arguments*, by API name."""
    inputs = [vars(value) for value in arguments.values() if has_object_definition(value)]
    return {to_camel_case(name): value for members in inputs for name, value in members.items()}


def unguarded(*, returns: object) -> Callable[[Callable[P, Awaitable[R]]], StrawberryField]:
    """Make a root field that is open to every valid token."""

    def field(resolver: Callable[P, Awaitable[R]]) -> StrawberryField:
        return _field(resolver, returns, Requirement(None), [])

    return field


def requirement_of(field: GraphQLField) -> Requirement:
    """Return what the root field *field* asks of the token."""
    return cast("Requirement", strawberry_field(field).metadata["requirement"])


def requirements(schema: GraphQLSchema) -> Mapping[str, Requirement]:
    """Return the requirement of every root field, queries first, in schema order."""
    return MappingProxyType(
        {
            name: requirement_of(field)
            for root in (schema.query_type, schema.mutation_type)
            if root is not None
            for name, field in root.fields.items()
        }
    )


def _directive(requirement: Requirement) -> Requires:
    if not requirement.operations:
        return Requires(surface=str(requirement.surface))
    if len(requirement.operations) == 1:
        return Requires(operation=requirement.operations[0].value)
    return Requires(any_of=[operation.value for operation in requirement.operations])


def _field(
    resolver: Callable[..., Awaitable[object]],
    returns: object,
    requirement: Requirement,
    directives: list[object],
) -> StrawberryField:
    return strawberry.field(
        resolver,
        graphql_type=Optional[returns],  # noqa: UP045 - a refused field is null, its siblings answer
        description=(resolver.__doc__ or "").strip(),
        directives=directives,
        metadata={"requirement": requirement},
    )
