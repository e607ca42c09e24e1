"""
Guards of root fields: checked before anything else, and printed into the SDL.

    @guarded(EmailOp.SEARCH_EMAILS)
    async def emails(info: Info, …) -> EmailPage

becomes `emails(…): EmailPage @requires(operation: "search_emails")`. A dropped guard is a visible
diff of the committed schema.
"""

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import wraps
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar, cast

import msgspec
import strawberry
from graphql import GraphQLField, GraphQLSchema
from strawberry.schema_directive import Location
from strawberry.types.base import has_object_definition
from strawberry.types.field import StrawberryField
from strawberry.utils.str_converters import to_camel_case

from graph import effects, kept_results
from graph.coordinates import strawberry_field
from graph.masking import wellformed
from graph.output_types import graphql_type, visible
from policy import gates
from policy.caller import Caller
from policy.vocabulary import WORD_TYPES, Field, Operation, Surface

P = ParamSpec("P")
R = TypeVar("R")


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION],
    description=(
        "What the access token must allow: one operation, or any of several. A field with a "
        "surface alone needs the surface to be open and no operation; one with a setting needs "
        "it to be true."
    ),
)
class Requires:
    operation: str | None = strawberry.UNSET
    any_of: list[str] | None = strawberry.UNSET
    surface: str | None = strawberry.UNSET
    setting: str | None = strawberry.UNSET


class Requirement(msgspec.Struct, frozen=True, eq=False):
    """
    The surface and the operations that a root field requires of the token.

    Attributes:
        surface: None when any valid token will do, and for operations of several surfaces.
        operations: Alternatives, one suffices; empty when the open surface is enough.
        max_limit: What a higher `limit` is lowered to; 1 when the field takes none.
        member_operations: Members of the input object, by API name, and the operation that each
            of them needs.
        further_operations: Members of the input object, and the operation that each of them needs
            besides those of the field.
        revealing: Arguments, by API name, and the mask words that each of them would reveal. The
            resolver refuses them; here they are declared for the shape of a token (`graph.shape`).
            A member of the input object is named like an argument.
        searching: Arguments and the mask words that they look at, one of which must be visible.
        searching_beyond: Operations with each of which these arguments look elsewhere too.
        reveals: Mask words that every answer would reveal, in the same way.
        shows: Mask words that every answer shows, which must be visible in every `maskMode`.
        creates_children: Whether the token must be allowed to create child tokens.
        subscribes: Whether it must be allowed to have URLs called when something changed.
    """

    surface: Surface | None
    operations: tuple[Operation, ...] = ()
    max_limit: int = 1
    member_operations: Mapping[str, Operation] = msgspec.field(default_factory=dict)
    further_operations: Mapping[str, Operation] = msgspec.field(default_factory=dict)
    revealing: Mapping[str, tuple[Field, ...]] = msgspec.field(default_factory=dict)
    searching: Mapping[str, tuple[Field, ...]] = msgspec.field(default_factory=dict)
    searching_beyond: tuple[Operation, ...] = ()
    reveals: tuple[Field, ...] = ()
    shows: tuple[Field, ...] = ()
    creates_children: bool = False
    subscribes: bool = False

    @property
    def reads(self) -> tuple[Surface, ...]:
        """The surfaces that it may read and is charged to, where *surface* does not say it."""
        return () if self.surface is not None else _surfaces(self.operations)

    def admit(self, caller: Caller, members: Mapping[str, object] = MappingProxyType({})) -> None:
        """
        Check the gates that need no parameters.

        *members* are those of the input object; a refusal names the operation that they need.

        Raises:
            Refusal: The first gate that refuses (docs/spec/requests.md#order-of-checks).
        """
        if self.creates_children:
            caller.require_children_allowed()
        if self.subscribes:
            gates.require_subscriptions_allowed(caller.grant)
        if self.reads:
            gates.passing(
                self.operations, lambda each: caller.admit(WORD_TYPES[type(each)].surface, each)
            )
        if self.surface is not None:
            caller.admit(self.surface, *self.operations_for(members))
            for member, operation in self.further_operations.items():
                if members.get(member) is not None:
                    caller.admit(self.surface, operation)

    @property
    def depends_on_input(self) -> bool:
        """Whether the members of an input object decide which operations are needed."""
        return bool(self.member_operations or self.further_operations)

    def operations_for(self, members: Mapping[str, object]) -> tuple[Operation, ...]:
        """Return the operation that the first given member needs, or all alternatives."""
        for member, operation in self.member_operations.items():
            if members.get(member) is not None:
                return (operation,)
        return self.operations

    def allowing_operation(self, caller: Caller, members: Mapping[str, object]) -> Operation | None:
        """Return the operation by which *caller* may run the root field."""
        return next(filter(caller.allows, self.operations_for(members)), None)


def guarded(  # noqa: PLR0913 - what a root field declares
    *operations: Operation,
    surface: Surface | None = None,
    max_limit: int = 1,
    member_operations: Mapping[str, Operation] = MappingProxyType({}),
    further_operations: Mapping[str, Operation] = MappingProxyType({}),
    revealing: Mapping[str, tuple[Field, ...]] = MappingProxyType({}),
    searching: Mapping[str, tuple[Field, ...]] = MappingProxyType({}),
    searching_beyond: tuple[Operation, ...] = (),
    reveals: tuple[Field, ...] = (),
    shows: tuple[Field, ...] = (),
) -> Callable[[Callable[P, Awaitable[R]]], StrawberryField]:
    """
    Make a root field that runs only when the token allows one of *operations*.

    Its type is that of the record that the resolver returns. *surface* is needed only when there
    are no operations, which name theirs themselves; they may be of several surfaces.
    *max_limit* is what a higher `limit` argument is lowered to. *member_operations* names the
    operation that a member of the input object needs, so that a refusal names it too. For the
    others see `Requirement`.
    """
    requirement = Requirement(
        surface or _only_surface(operations),
        operations,
        max_limit,
        member_operations,
        further_operations,
        revealing=revealing,
        searching=searching,
        searching_beyond=searching_beyond,
        reveals=reveals,
        shows=shows,
    )

    def field(resolver: Callable[P, Awaitable[R]]) -> StrawberryField:
        record_type: type[R] = resolver.__annotations__["return"]
        defaults, root = _defaults(resolver), to_camel_case(resolver.__name__)

        @wraps(resolver)
        def admitted(*args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
            info: Any = kwargs["info"]
            context = info.context
            members = _input_members(kwargs) if requirement.depends_on_input else _NO_MEMBERS
            requirement.admit(context.caller, members)
            wellformed.check(kwargs, root=root, called=info.argument_name)
            if context.repeated is context.effect_request is context.delivery is None:
                return resolver(*args, **kwargs)
            allowed_by = requirement.allowing_operation(context.caller, members)
            operation = effects.WriteOperation(
                surface=requirement.surface,
                name=info.field_name,
                arguments=_stated_arguments({**defaults, **kwargs}),
                allowed_by=allowed_by,
            )
            return _run_once(info, operation, record_type, lambda: resolver(*args, **kwargs))

        return _field(admitted, requirement, [_directive(requirement)])

    return field


async def _run_once(
    info: Any,
    operation: effects.WriteOperation,
    record_type: type[R],
    run: Callable[[], Awaitable[R]],
) -> R:
    """Run a mutation that is repeated, previewed or kept, and its edges, by *run*."""
    context = info.context
    if info.path.prev is not None:  # an edge below a mutation has no result of its own
        return await run()
    if context.repeated is not None:
        repeated = cast("R", context.repeated.repeat(record_type))
        context.held = getattr(repeated, "held", None) is not None
        return repeated
    if context.effect_request is not None:
        try:
            result = await effects.run(
                run,
                record_type,
                operation,
                request=context.effect_request,
                caller=context.caller,
                signer=context.sealer,
            )
        except effects.WriteHeld:
            context.held = True
            raise
    else:
        result = await run()
    if context.delivery is not None:
        context.kept_result = kept_results.of_record(result)
    return result


def _surfaces(operations: Sequence[Operation]) -> tuple[Surface, ...]:
    return tuple(dict.fromkeys(WORD_TYPES[type(each)].surface for each in operations))


def _only_surface(operations: Sequence[Operation]) -> Surface | None:
    surfaces = _surfaces(operations)
    return surfaces[0] if len(surfaces) == 1 else None


_NO_MEMBERS: Mapping[str, object] = MappingProxyType({})


def _input_members(arguments: Mapping[str, Any]) -> Mapping[str, object]:
    """Return the members of the input object among *arguments*, by API name."""
    inputs = [vars(value) for value in arguments.values() if has_object_definition(value)]
    return {to_camel_case(name): value for members in inputs for name, value in members.items()}


def _defaults(resolver: Callable[..., object]) -> Mapping[str, object]:
    """Return the arguments of *resolver* that have defaults."""
    parameters = inspect.signature(resolver).parameters.values()
    return {item.name: item.default for item in parameters if item.default is not item.empty}


def _stated_arguments(values: Mapping[str, object]) -> dict[str, Any]:
    """
    Return what arguments or members of an input object say, without absent and null ones.

    The bytes of an upload are left out, because they are a stream: its preview has their digest.
    """
    return {
        name: _stated_value(value)
        for name, value in values.items()
        if name != "info"
        and value is not None
        and value is not strawberry.UNSET
        and not callable(getattr(value, "chunks", None))
    }


def _stated_value(value: object) -> object:
    if has_object_definition(value):
        return _stated_arguments(vars(value))
    if isinstance(value, list):
        return list(map(_stated_value, value))
    return value


def unguarded(*, max_limit: int = 1) -> Callable[[Callable[P, Awaitable[R]]], StrawberryField]:
    """Make a root field that is open to every valid token."""

    def field(resolver: Callable[P, Awaitable[R]]) -> StrawberryField:
        return _field(resolver, Requirement(None, max_limit=max_limit), [])

    return field


def for_parents() -> Callable[[Callable[P, Awaitable[R]]], StrawberryField]:
    """Make a root field that is open to the tokens that may create child tokens."""
    requirement = Requirement(None, creates_children=True)
    return _without_effect(requirement, Requires(setting="allowChildren"))


def for_subscribers(
    *operations: Operation,
) -> Callable[[Callable[P, Awaitable[R]]], StrawberryField]:
    """Make a root field for tokens that may subscribe, and have one of *operations*, if any."""
    requirement = Requirement(None, operations, subscribes=True)
    any_of = [operation.value for operation in operations] or strawberry.UNSET
    return _without_effect(requirement, Requires(any_of=any_of, setting="subscriptionsEnabled"))


def _without_effect(
    requirement: Requirement, directive: Requires
) -> Callable[[Callable[P, Awaitable[R]]], StrawberryField]:
    """Make a root field that changes the gateway alone: its mutation has no effect to show."""

    def field(resolver: Callable[P, Awaitable[R]]) -> StrawberryField:
        root = to_camel_case(resolver.__name__)

        @wraps(resolver)
        async def admitted(*args: P.args, **kwargs: P.kwargs) -> R:
            info = cast("Any", kwargs["info"])
            requirement.admit(info.context.caller)
            wellformed.check(kwargs, root=root, called=info.argument_name)
            return await resolver(*args, **kwargs)

        return _field(admitted, requirement, [directive])

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
    resolver: Callable[..., Awaitable[object]], requirement: Requirement, directives: list[object]
) -> StrawberryField:
    field: StrawberryField = visible(
        (resolver.__doc__ or "").strip(),
        resolver=resolver,
        # A refused field is null, and its siblings answer.
        graphql_type=graphql_type(resolver.__annotations__["return"]) | None,
        directives=directives,
        metadata={"requirement": requirement},
    )
    return field
