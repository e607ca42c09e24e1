"""Generated tokens with their shapes, and documents that are generated from an introspection."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import graphql
import orjson
import whole_world
import world as worlds

from policy.vocabulary import (
    CalendarAccessLevel,
    CalendarField,
    CollabField,
    CollabOp,
    EmailField,
    EmailOp,
    TaskField,
    TaskOp,
)

KINDS = {"email": "PROVIDER_A", "calendar": "PROVIDER_A", "tasks": "BOARDS", "collab": "COLLAB"}
# Codes of the layers surface, connection kind and operation.
CLOSED = frozenset(
    {
        *(f"{surface}_NOT_ENABLED" for surface in ("EMAIL", "CALENDAR", "COLLAB")),
        *(f"NO_{surface}_PROVIDER" for surface in ("EMAIL", "CALENDAR", "TASK", "COLLAB")),
        "OPERATION_NOT_ALLOWED",
    }
)
_DEEPEST = 4  # levels of objects
_SCALARS = {
    "String": ['"oars"', '"a@b.example"', '"2026-11-20"'],
    "ID": ['"oars"'],
    "Int": ["1", "2"],
    "Long": ["1", "7"],
    "Float": ["1.5"],
    "Boolean": ["true", "false"],
    "DateTime": ['"2026-11-20"', '"2026-11-20T12:00:00Z"'],
    "JSON": ['"a"', "{a: 1}"],
    "FileContent": ['"aGVsbG8="'],
}


def settings(random: Random) -> dict[str, Any]:
    """Return the settings of a token that may do some things and see some fields."""

    def some(words: Any) -> list[str]:
        share = random.choice([0.1, 0.5, 0.9])
        return [str(word) for word in words if random.random() < share]

    return {
        "emailAccessEnabled": random.random() < 0.8,
        "allowedEmailOperations": some(EmailOp),
        "visibleEmailFields": some(EmailField),
        "calendarAccessEnabled": random.random() < 0.8,
        "calendarAccessLevel": str(random.choice(list(CalendarAccessLevel))),
        "visibleCalendarFields": some(CalendarField),
        "allowedTaskOperations": some(TaskOp),
        "visibleTaskFields": some(TaskField),
        "collabAccessEnabled": random.random() < 0.8,
        "allowedCollabOperations": some(CollabOp),
        "visibleCollabFields": some(CollabField),
        "collabAllowAllDefault": random.random() < 0.7,
        "maskMode": random.choice(["strict", "basic"]),
    }


def resources_by_kind(world: whole_world.WholeWorld) -> Mapping[str, int]:
    """Make a resource for each kind of connection, with one connection of the kind."""
    return {kind: _resource(world, kind, provider) for kind, provider in KINDS.items()}


def _resource(world: whole_world.WholeWorld, kind: str, provider: str) -> int:
    operator = world.world.operator_id
    new, _ = world.call("POST", "/api/resources", json={"name": kind, "operatorIds": [operator]})
    resource = int(new.json()["id"])
    connection = {
        "resourceId": resource,
        "operatorId": operator,
        "kind": kind,
        "provider": provider,
        "accountEmail": f"{kind}@world.example",
        "grantedScopes": [],
        "credentials": {"apiToken" if kind == "tasks" else "accessToken": f"unknown {kind}"},
    }
    made, _ = world.call("POST", "/api/connections", json=connection)
    assert made.status_code == 201, made.text
    return resource


@dataclass(frozen=True)
class Token:
    """
    A generated token and what it was shown.

    Attributes:
        kinds: The kinds of connections on its resources.
        shape: The schema of its introspection.
    """

    world: whole_world.WholeWorld
    settings: Mapping[str, Any]
    kinds: tuple[str, ...]
    secret: str
    shape: graphql.GraphQLSchema

    def ask(self, text: str) -> list[dict[str, Any]]:
        """Run a document; return its errors."""
        answer = self.get("POST", "/graphql", {"query": text})
        errors: list[dict[str, Any]] = answer.get("errors", [])
        return errors

    def marks(self, text: str, path: list[str | int]) -> bool:
        """Tell whether the field of document *text* at *path* of an answer is marked as masked."""
        operation = graphql.parse(text).definitions[0]
        assert isinstance(operation, graphql.OperationDefinitionNode)
        named = {
            (node.alias or node.name).value: node.name.value
            for node in operation.selection_set.selections
            if isinstance(node, graphql.FieldNode)
        }
        root = self.shape.get_root_type(operation.operation)
        assert root is not None
        first, *names = (name for name in path if isinstance(name, str))
        field = root.fields[named[first]]
        for name in names:
            field = graphql.get_named_type(field.type).fields[name]  # type: ignore[union-attr]  # an object has fields
        return "Hidden from this token by the mask word" in (field.description or "")

    def get(self, method: str, path: str, body: Any = None) -> Any:
        """Call with the token; return the JSON."""
        return orjson.loads(call(self.world, self.secret, method, path, body).content)


def call(
    world: whole_world.WholeWorld,
    secret: str,
    method: str,
    path: str,
    body: Any = None,
    *,
    headers: Mapping[str, str] | None = None,
):
    """Call with the token *secret*; *body* is JSON, or bytes."""
    content = {"content": body} if isinstance(body, bytes) else {"json": body}

    async def run():
        async with world.world.client(secret) as client:
            return await client.request(method, path, headers=headers, **content)

    return world.runner.run(run())


def token(world: whole_world.WholeWorld, random: Random, resources: Mapping[str, int]) -> Token:
    """Make a token with generated settings, on all accounts or on those of some kinds."""
    kinds = tuple(kind for kind in KINDS if random.random() < 0.7)
    own = settings(random)
    on = tuple(resources[kind] for kind in kinds) if random.random() < 0.6 else (worlds.MAIN,)
    secret = world.runner.run(world.world.token(own, resources=on))
    query = {"query": graphql.get_introspection_query()}
    shown = orjson.loads(call(world, secret, "POST", "/graphql", query).content)
    shape = graphql.build_client_schema(shown["data"])
    return Token(world, own, kinds if on != (worlds.MAIN,) else tuple(KINDS), secret, shape)


def document(shape: graphql.GraphQLSchema, random: Random) -> str:
    """Write a document of a few root fields of *shape*, with fields and edges at random."""
    if shape.mutation_type is not None and random.random() < 0.25:
        name = random.choice(list(shape.mutation_type.fields))
        called = _field(name, shape.mutation_type.fields[name], random, _DEEPEST)
        return f"mutation {{ {called} }}"
    query = shape.query_type
    assert query is not None
    names = [random.choice(list(query.fields)) for _ in range(random.randint(1, 2))]
    calls = [
        f"d{number}: {_field(name, query.fields[name], random, _DEEPEST)}"
        for number, name in enumerate(names)
    ]
    return f"{{ {' '.join(calls)} }}"


def _field(name: str, field: graphql.GraphQLField, random: Random, levels: int) -> str:
    written = [
        f"{argument}: {_value(value.type, random)}"
        for argument, value in field.args.items()
        if graphql.is_required_argument(value) or random.random() < 0.3
    ]
    arguments = f"({', '.join(written)})" if written else ""
    return f"{name}{arguments}{_selection(field.type, random, levels)}"


def _selection(type_: Any, random: Random, levels: int) -> str:
    named = graphql.get_named_type(type_)
    if graphql.is_leaf_type(named):
        return ""
    chosen = [
        _field(name, field, random, levels - 1)
        for name, field in named.fields.items()
        if graphql.is_leaf_type(graphql.get_named_type(field.type))
        or (levels > 0 and random.random() < 0.3)
        if random.random() < 0.6
    ]
    return f" {{ __typename {' '.join(chosen)} }}"


def _value(type_: Any, random: Random) -> str:
    type_ = graphql.get_nullable_type(type_)
    if graphql.is_list_type(type_):
        return f"[{_value(type_.of_type, random)}]"
    if isinstance(type_, graphql.GraphQLEnumType):
        return random.choice(list(type_.values))
    if isinstance(type_, graphql.GraphQLInputObjectType):
        members = [
            f"{name}: {_value(member.type, random)}"
            for name, member in type_.fields.items()
            if graphql.is_required_input_field(member) or random.random() < 0.5
        ]
        return f"{{{', '.join(members)}}}"
    return random.choice(_SCALARS[type_.name])
