"""The schemas of the differential test; every resolver is replaced by one that gives cases."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Annotated

import strawberry
from graphql import GraphQLSchema, get_named_type, is_non_null_type, is_object_type
from plan_cases.values import Soon
from strawberry.schema.config import StrawberryConfig

from graph import schema as real
from graph.coordinates import field_at, is_asynchronous, strawberry_field
from graph.execution.requested_fields import projection
from graph.masking import masks
from graph.scalars import JSON, SCALARS, Long


@strawberry.enum(graphql_name_from="value")
class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


@strawberry.enum
class Shade(StrEnum):
    LIGHT = "light-shade"
    DARK = "dark-shade"


@strawberry.interface
class Animal:
    name: str


@strawberry.type
class Cat(Animal):
    lives: int


@strawberry.type
class Stone:
    weight: int | None
    colour: Colour | None


def never(info: strawberry.Info) -> None:
    """Stands for a resolver; the case's own takes its place."""


async def never_soon(info: strawberry.Info) -> None:
    """Stands for an asynchronous one."""


async def fetch(info: strawberry.Info) -> "Node | None":
    """Stands for one that gets another node."""


@strawberry.type
class Leaf:
    id: strawberry.ID
    text: str | None
    must: str
    number: int | None
    count_: int = strawberry.field(name="count")
    large: Long | None
    flag: bool | None
    real: float | None
    moment: datetime | None
    stamps: list[datetime | None] | None
    colour: Colour | None
    shade: Shade | None
    texts: list[str | None] | None
    grid: list[list[int]] | None
    hues: list[Colour] | None
    said: str | None = strawberry.field(resolver=never)


@strawberry.type
class Plain:
    text: str | None
    number: int
    moment: datetime | None
    owner: "Plain | None"
    friends: list["Plain"] | None
    rows: list[list["Plain"] | None] | None
    times: list[list[datetime | None]] | None


@strawberry.type
class Participant:
    """Has the name of a type whose records are passed on, and one field that they do not have."""

    email: str
    name: str | None
    said: str | None = strawberry.field(resolver=never)


@strawberry.type
class Node:
    id: strawberry.ID
    name: str
    secret: str | None
    anything: JSON | None
    plain: Plain | None
    plains: list[Plain] | None
    must_plains: list[Plain]
    rows: list[list["Node | None"]] | None
    leaf: Leaf | None
    leaves: list[Leaf | None]
    child: "Node | None"
    children: list["Node"] | None
    said: str | None = strawberry.field(resolver=never)
    must_say: str = strawberry.field(resolver=never)
    soon: str | None = strawberry.field(resolver=never_soon)
    must_soon: int = strawberry.field(resolver=never_soon)
    fetched: "Node | None" = strawberry.field(resolver=fetch)
    owners: list[Plain] | None = strawberry.field(
        resolver=never_soon, graphql_type=list[Plain] | None
    )
    author: Participant | None
    readers: list[Participant | None] | None
    animal: Annotated[Cat | Stone, strawberry.union("Thing")] | None
    pet: Animal | None


@strawberry.input
class Filter:
    text: str | None = None
    number: int | None = 7
    colours: list[Colour | None] | None = None


async def with_arguments(  # noqa: PLR0917 - as many as there are kinds
    info: strawberry.Info,
    number: int,
    text: str | None = "none",
    colour: Colour | None = Colour.RED,
    since: datetime | None = None,
    many: list[int | None] | None = None,
    only: Filter | None = None,
) -> None:
    """Stands for a root field with arguments."""


@strawberry.type
class Query:
    node: Node | None = strawberry.field(resolver=never_soon, graphql_type=Node | None)
    must: Node = strawberry.field(resolver=never_soon, graphql_type=Node)
    plain: Plain | None = strawberry.field(resolver=with_arguments, graphql_type=Plain | None)
    plains: list[Plain | None] | None = strawberry.field(
        resolver=never_soon, graphql_type=list[Plain | None] | None
    )
    nodes: list[Node] | None = strawberry.field(
        resolver=with_arguments, graphql_type=list[Node] | None
    )
    leaves: list[Leaf] = strawberry.field(resolver=never, graphql_type=list[Leaf])
    grid: list[list[Plain | None]] | None = strawberry.field(
        resolver=never_soon, graphql_type=list[list[Plain | None]] | None
    )
    number: int | None = strawberry.field(resolver=never)


@strawberry.type
class Mutation:
    change: Plain | None = strawberry.field(resolver=with_arguments, graphql_type=Plain | None)
    turn: Node = strawberry.field(resolver=never_soon, graphql_type=Node)


@dataclass(frozen=True)
class Subject:
    """A schema, and the coordinates that a mask may hide."""

    schema: GraphQLSchema
    maskable: tuple[str, ...]


@cache
def invented() -> Subject:
    """Everything a schema can hold, our own scalars included."""
    built = strawberry.Schema(
        Query, Mutation, config=StrawberryConfig(scalar_map=SCALARS), types=[Cat]
    )._schema
    maskable = ("Node.secret", "Node.plains", "Node.child", "Node.soon", "Plain.text")
    maskable += (
        "Participant.name",
        "Plain.owner",
        "Plain.moment",
        "Leaf.number",
        "Leaf.said",
        "Leaf.texts",
    )
    for coordinate in maskable:
        field = field_at(built, coordinate)
        assert not is_non_null_type(field.type)
    return _given(built, maskable)


@cache
def ours() -> Subject:
    """Return the gateway's own schema as a subject."""
    unplanned = real._strawberry_schema.__wrapped__()._schema
    return _given(unplanned, tuple(masks.table(unplanned)))


def _given(schema: GraphQLSchema, maskable: tuple[str, ...]) -> Subject:
    for owner in list(schema.type_map.values()):
        if not is_object_type(owner) or owner.name.startswith("__"):
            continue
        for field in owner.fields.values():
            if strawberry_field(field).base_resolver is not None:
                field.resolve = _giving(asynchronous=is_asynchronous(field))
    for coordinate in maskable:
        field = field_at(schema, coordinate)
        field.resolve = masks._unless_hidden(coordinate, field.resolve)
    return Subject(schema, maskable)


def _giving(*, asynchronous: bool) -> Callable:
    def give(source, info, **arguments):
        attributes = projection(info, get_named_type(info.return_type).name)
        call = (
            *(info.path.as_list(), sorted(attributes), repr(sorted(arguments.items()))),
            _told(info),
        )
        # A resolver that awaits nothing asks no provider: where a plan gives up after it called
        # one, graphql-core may call it again.
        if asynchronous or call not in info.context.log:
            info.context.log.append(call)
        return info.context.give(info)

    def give_soon(source, info, **arguments):
        return Soon(lambda: give(source, info, **arguments))

    return give_soon if asynchronous else give


def _told(info) -> tuple:
    """Return the rest of *info*, without the schema and the context."""
    return (
        info.field_name,
        str(info.return_type),
        info.parent_type.name,
        [node.loc.start for node in info.field_nodes],
        sorted(info.fragments),
        info.root_value,
        info.operation.loc.start,
        repr(sorted(info.variable_values.coerced.items())),
    )
