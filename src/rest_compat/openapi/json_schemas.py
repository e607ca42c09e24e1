"""JSON Schemas of what documents select and what inputs take, as OpenAPI 3.1 components."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNamedType,
    GraphQLNonNull,
    GraphQLObjectType,
    GraphQLOutputType,
    SelectionSetNode,
    Undefined,
)

JsonSchema = dict[str, Any]

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
    The schemas of one description, each under one name.

    A type that documents select in one way keeps its own name; another selection of the same type
    is named after where it stands.
    """

    def __init__(self) -> None:
        self.schemas: dict[str, JsonSchema] = {}

    def answer(
        self,
        kind: GraphQLOutputType,
        selection: SelectionSetNode | None,
        *,
        document: DocumentNode,
        place: str,
        optional: frozenset[str] = frozenset(),
    ) -> JsonSchema:
        """
        Describe what *selection* of *kind* answers.

        *place* names the schema when the type's own name is taken by another selection;
        *optional* are the members that may be absent.
        """
        if isinstance(kind, GraphQLNonNull):
            return self._answered(kind.of_type, selection, document, place, optional)
        return nullable(self._answered(kind, selection, document, place, optional))

    def _answered(
        self,
        kind: Any,
        selection: SelectionSetNode | None,
        document: DocumentNode,
        place: str,
        optional: frozenset[str],
    ) -> JsonSchema:
        if isinstance(kind, GraphQLList):
            items = self.answer(kind.of_type, selection, document=document, place=place)
            return {"type": "array", "items": items}
        if isinstance(kind, GraphQLObjectType):
            return self._object(kind, _fields(selection, document), document, place, optional)
        return self._leaf(kind)

    def _object(
        self,
        kind: GraphQLObjectType,
        selected: list[FieldNode],
        document: DocumentNode,
        place: str,
        optional: frozenset[str],
    ) -> JsonSchema:
        members = {}
        for node in selected:
            field = kind.fields[node.name.value]
            key = node.alias.value if node.alias else node.name.value
            schema = self.answer(
                field.type,
                node.selection_set,
                document=document,
                place=f"{kind.name}{key[0].upper()}{key[1:]}",
            )
            members[key] = with_description(schema, field.description)
        schema = {
            "type": "object",
            "description": kind.description or "",
            "properties": members,
            "required": [key for key in members if key not in optional],
        }
        return self.named(kind.name, schema, otherwise=place)

    def taken(self, kind: GraphQLInputType) -> JsonSchema:
        """Describe what may be sent where *kind* is read."""
        if isinstance(kind, GraphQLNonNull):
            kind = kind.of_type
        if isinstance(kind, GraphQLList):
            return {"type": "array", "items": self.taken(kind.of_type)}
        if not isinstance(kind, GraphQLInputObjectType):
            return self._leaf(kind)
        members = {}
        for name, member in kind.fields.items():
            schema = with_description(self.taken(member.type), member.description)
            if member.default_value not in {Undefined, None}:
                schema = {**schema, "default": _text(member.default_value)}
            members[name] = schema
        schema = {
            "type": "object",
            "description": kind.description or "",
            "properties": members,
            "required": [
                name
                for name, member in kind.fields.items()
                if isinstance(member.type, GraphQLNonNull) and member.default_value is Undefined
            ],
        }
        return self.named(kind.name.removesuffix("Input") + "Request", schema, otherwise=kind.name)

    def named(self, name: str, schema: JsonSchema, *, otherwise: str) -> JsonSchema:
        """Keep *schema* under *name*, or *otherwise* when another schema has it; refer to it."""
        if self.schemas.setdefault(name, schema) != schema:
            name = otherwise
            if self.schemas.setdefault(name, schema) != schema:
                raise ValueError(f"two schemas want the name {name}")
        return {"$ref": f"#/components/schemas/{name}"}

    def _leaf(self, kind: GraphQLNamedType) -> JsonSchema:
        if isinstance(kind, GraphQLEnumType):
            return {"type": "string", "enum": list(kind.values)}
        return dict(_SCALARS[kind.name])


def parameter(kind: GraphQLInputType, description: str | None, default: object) -> JsonSchema:
    """Describe a path or query parameter; "1 to 50" in its description is its range."""
    schema = Components().taken(kind)
    found = _RANGE.match(description or "")
    if found and schema.get("type") == "integer":
        low, high = (int(number.replace(",", "")) for number in found.groups())
        schema |= {"minimum": low, "maximum": high}
    if default is not None:
        schema["default"] = _text(default)
    return schema


def nullable(schema: JsonSchema) -> JsonSchema:
    """Return *schema* or null."""
    if not schema:
        return schema
    if "enum" in schema:
        return {**schema, "type": [schema["type"], "null"], "enum": [*schema["enum"], None]}
    if "type" in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def with_description(schema: JsonSchema, description: str | None) -> JsonSchema:
    """Return *schema* with a description of its place."""
    return {**schema, "description": description} if description else schema


def _text(value: Any) -> Any:
    """Return a default as JSON writes it."""
    return str(value) if isinstance(value, str) else value


def _fields(selection: SelectionSetNode | None, document: DocumentNode) -> list[FieldNode]:
    """Return the fields of *selection* in order, fragments opened."""
    found: list[FieldNode] = []
    for node in selection.selections if selection else ():
        if isinstance(node, FieldNode):
            found.append(node)
        elif isinstance(node, FragmentSpreadNode):
            (fragment,) = (
                one
                for one in document.definitions
                if isinstance(one, FragmentDefinitionNode) and one.name.value == node.name.value
            )
            found += _fields(fragment.selection_set, document)
    return found
