"""JSON Schemas of GraphQL selections and input types, as OpenAPI 3.1 components."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import graphql

from rest_compat.openapi.schema_values import JsonSchema, nullable

_SCALARS: Mapping[str, JsonSchema] = MappingProxyType(
    {
        "String": {"type": "string"},
        "ID": {"type": "string"},
        "Boolean": {"type": "boolean"},
        "Int": {"type": "integer", "format": "int32"},
        "Long": {"type": "integer", "format": "int64"},
        "Float": {"type": "number"},
        "DateTime": {"type": "string", "format": "date-time"},
        "JSON": {},
    }
)
_RANGE = re.compile(r"(\d[\d,]*) to (\d[\d,]*)\b")


class Components:
    """
    The named schemas of one description.

    The first selection of a type has the type's name; other selections of the type are named after
    the member that holds them.
    """

    def __init__(self) -> None:
        self.schemas: dict[str, JsonSchema] = {}

    def response_schema(
        self,
        kind: graphql.GraphQLOutputType,
        selection: graphql.SelectionSetNode | None,
        *,
        document: graphql.DocumentNode,
        name: str,
        optional: frozenset[str] = frozenset(),
    ) -> JsonSchema:
        """
        Describe the value of a *selection* of type *kind*.

        *name* is used when another selection has the type's own name; *optional* are the members
        that may be absent.
        """
        if isinstance(kind, graphql.GraphQLNonNull):
            return self._non_null_schema(kind.of_type, selection, document, name, optional)
        return nullable(self._non_null_schema(kind, selection, document, name, optional))

    def _non_null_schema(
        self,
        kind: Any,
        selection: graphql.SelectionSetNode | None,
        document: graphql.DocumentNode,
        name: str,
        optional: frozenset[str],
    ) -> JsonSchema:
        if isinstance(kind, graphql.GraphQLList):
            items = self.response_schema(kind.of_type, selection, document=document, name=name)
            return {"type": "array", "items": items}
        if isinstance(kind, graphql.GraphQLObjectType):
            return self._object(kind, _fields(selection, document), document, name, optional)
        return self._leaf(kind)

    def _object(
        self,
        kind: graphql.GraphQLObjectType,
        selected: list[graphql.FieldNode],
        document: graphql.DocumentNode,
        name: str,
        optional: frozenset[str],
    ) -> JsonSchema:
        members = {}
        for node in selected:
            field = kind.fields[node.name.value]
            key = node.alias.value if node.alias else node.name.value
            schema = self.response_schema(
                field.type,
                node.selection_set,
                document=document,
                name=f"{kind.name}{key[0].upper()}{key[1:]}",
            )
            members[key] = with_description(schema, field.description)
        schema = {
            "type": "object",
            "description": kind.description or "",
            "properties": members,
            "required": [key for key in members if key not in optional],
        }
        return self.register(kind.name, schema, otherwise=name)

    def input_schema(self, kind: graphql.GraphQLInputType) -> JsonSchema:
        """Describe the input values of type *kind*."""
        if isinstance(kind, graphql.GraphQLNonNull):
            kind = kind.of_type
        if isinstance(kind, graphql.GraphQLList):
            return {"type": "array", "items": self.input_schema(kind.of_type)}
        if not isinstance(kind, graphql.GraphQLInputObjectType):
            return self._leaf(kind)
        members = {}
        for name, member in kind.fields.items():
            schema = with_description(self.input_schema(member.type), member.description)
            if member.default_value not in {graphql.Undefined, None}:
                schema = {**schema, "default": _text(member.default_value)}
            members[name] = schema
        schema = {
            "type": "object",
            "description": kind.description or "",
            "properties": members,
            "required": [
                name
                for name, member in kind.fields.items()
                if isinstance(member.type, graphql.GraphQLNonNull)
                and member.default_value is graphql.Undefined
            ],
            "additionalProperties": False,
        }
        return self.register(
            kind.name.removesuffix("Input") + "Request", schema, otherwise=kind.name
        )

    def register(self, name: str, schema: JsonSchema, *, otherwise: str) -> JsonSchema:
        """Store *schema* under *name*, or *otherwise* when *name* is taken; return a reference."""
        if self.schemas.setdefault(name, schema) != schema:
            name = otherwise
            if self.schemas.setdefault(name, schema) != schema:
                raise ValueError(f"two schemas want the name {name}")
        return {"$ref": f"#/components/schemas/{name}"}

    def _leaf(self, kind: graphql.GraphQLNamedType) -> JsonSchema:
        if isinstance(kind, graphql.GraphQLEnumType):
            return {"type": "string", "enum": list(kind.values)}
        return dict(_SCALARS[kind.name])


def parameter(
    kind: graphql.GraphQLInputType, description: str | None, default: object
) -> JsonSchema:
    """
    Describe a path or query parameter; a description that starts "1 to 50" sets its range.

    A maximum to which larger values are lowered is none: a client may send them.
    """
    schema = Components().input_schema(kind)
    match = _RANGE.match(description or "")
    if match and schema.get("type") == "integer":
        low, high = (int(number.replace(",", "")) for number in match.groups())
        schema |= {"minimum": low}
        if "is lowered to" not in (description or ""):
            schema |= {"maximum": high}
    if default is not None:
        schema["default"] = _text(default)
    return schema


def with_description(schema: JsonSchema, description: str | None) -> JsonSchema:
    """Return *schema* with a description, if there is one."""
    return {**schema, "description": description} if description else schema


def _text(value: Any) -> Any:
    """Return a default value as JSON has it."""
    return str(value) if isinstance(value, str) else value


def _fields(
    selection: graphql.SelectionSetNode | None, document: graphql.DocumentNode
) -> list[graphql.FieldNode]:
    """Return the fields of *selection* in order, with fragments expanded."""
    fields: list[graphql.FieldNode] = []
    for node in selection.selections if selection else ():
        if isinstance(node, graphql.FieldNode):
            fields.append(node)
        elif isinstance(node, graphql.FragmentSpreadNode):
            (fragment,) = (
                definition
                for definition in document.definitions
                if isinstance(definition, graphql.FragmentDefinitionNode)
                and definition.name.value == node.name.value
            )
            fields += _fields(fragment.selection_set, document)
    return fields
