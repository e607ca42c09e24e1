"""JSON Schemas of GraphQL selections and input types, as OpenAPI 3.1 components."""

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import graphql

from rest_compat.documents import OMITTED_WHEN_EMPTY
from rest_compat.openapi.schema_values import JsonSchema, nullable, schema_ref

# Operation id, or the holder's name and the member -> the name of the schema, which generated
# clients use for their models. A selection of a type has the type's name; another one needs a row.
_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "getEmail": "EmailDetails",
        "modifyEmail": "ModifyEmailResult",
        "Thread.messages": "ThreadMessage",
        "listEventsByContact": "ContactEventList",
        "ContactEventList.events": "EventSummary",
        "TaskItem.subItems": "TaskSubItem",
        "TaskSubItem.subItems": "TaskItemReference",
        "shareFile": "FilePermissionResult",
        "updateFilePermission": "FilePermissionResult",
        "getSite": "CollabSiteDetails",
        "getCollabList": "CollabListDetails",
        "getCollabListItem": "CollabListItemDetails",
        "createListItem": "CollabListItemResult",
        "updateListItem": "CollabListItemResult",
    }
)


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
        "FileContent": {"type": "string", "contentEncoding": "base64"},
    }
)
_NOTHING: Mapping[str, JsonSchema] = MappingProxyType({})
_RANGE = re.compile(r"(\d[\d,]*) to (\d[\d,]*)\b")


class Components:
    """
    The named schemas of one description.

    A selection has the name of its type, unless `_NAMES` has another.

    Attributes:
        schemas: By name.
        coordinates: By the same name: member -> its coordinate in the GraphQL schema.
    """

    def __init__(self) -> None:
        self.schemas: dict[str, JsonSchema] = {}
        self.coordinates: dict[str, dict[str, str]] = {}

    def response_schema(
        self,
        kind: graphql.GraphQLOutputType,
        selection: graphql.SelectionSetNode | None,
        *,
        document: graphql.DocumentNode,
        path: str,
        extra: Mapping[str, JsonSchema] = _NOTHING,
    ) -> JsonSchema:
        """
        Describe the value of a *selection* of type *kind* at *path*, a key of `_NAMES`.

        *extra* are optional members beside those of the selection.
        """
        if isinstance(kind, graphql.GraphQLNonNull):
            return self._non_null_schema(kind.of_type, selection, document, path, extra)
        return nullable(self._non_null_schema(kind, selection, document, path, extra))

    def _non_null_schema(
        self,
        kind: Any,
        selection: graphql.SelectionSetNode | None,
        document: graphql.DocumentNode,
        path: str,
        extra: Mapping[str, JsonSchema],
    ) -> JsonSchema:
        if isinstance(kind, graphql.GraphQLList):
            items = self.response_schema(kind.of_type, selection, document=document, path=path)
            return {"type": "array", "items": items}
        if isinstance(kind, graphql.GraphQLObjectType):
            return self._object(kind, selection, document, path, extra)
        return self._leaf(kind)

    def _object(
        self,
        kind: graphql.GraphQLObjectType,
        selection: graphql.SelectionSetNode | None,
        document: graphql.DocumentNode,
        path: str,
        extra: Mapping[str, JsonSchema],
    ) -> JsonSchema:
        name = _NAMES.get(path, kind.name)
        members, coordinates, optional = {}, {}, set(extra)
        for node in _fields(selection, document):
            field = kind.fields[node.name.value]
            key = node.alias.value if node.alias else node.name.value
            schema = self.response_schema(
                field.type, node.selection_set, document=document, path=f"{name}.{key}"
            )
            members[key] = with_description(schema, field.description)
            coordinates[key] = f"{kind.name}.{node.name.value}"
            if key in OMITTED_WHEN_EMPTY and "." not in path:
                optional.add(key)
        schema = {
            "type": "object",
            "description": kind.description or "",
            "properties": {**members, **extra},
            "required": [key for key in members if key not in optional],
        }
        self.coordinates[name] = coordinates
        return self._register(name, schema)

    def input_schema(self, kind: graphql.GraphQLInputType, *, nested: bool = False) -> JsonSchema:
        """Describe the input values of type *kind*; *nested* is one of another input."""
        if isinstance(kind, graphql.GraphQLNonNull):
            kind = kind.of_type
        if isinstance(kind, graphql.GraphQLList):
            return {"type": "array", "items": self.input_schema(kind.of_type, nested=nested)}
        if not isinstance(kind, graphql.GraphQLInputObjectType):
            return self._leaf(kind)
        members = {}
        for name, member in kind.fields.items():
            description = member.description or ""
            if member.default_value not in {graphql.Undefined, None}:
                # Generators of TypeScript make a request's member with a "default" required.
                description += f" Default: `{json.dumps(member.default_value)}`."
            schema = self.input_schema(member.type, nested=True)
            if not isinstance(member.type, graphql.GraphQLNonNull):
                schema = nullable(schema)  # null counts as absent
            members[name] = with_description(schema, description.strip())
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
        name = kind.name if nested else f"{kind.name.removesuffix('Input')}Request"
        self.coordinates[name] = {member: f"{kind.name}.{member}" for member in members}
        return self._register(name, schema)

    def _leaf(self, kind: graphql.GraphQLNamedType) -> JsonSchema:
        if not isinstance(kind, graphql.GraphQLEnumType):
            return dict(_SCALARS[kind.name])
        schema = {"type": "string", "enum": list(kind.values)}
        return self._register(kind.name, with_description(schema, kind.description))

    def _register(self, name: str, schema: JsonSchema) -> JsonSchema:
        """Store *schema* under *name*; return a reference."""
        if self.schemas.setdefault(name, schema) != schema:
            raise ValueError(f"two schemas want the name {name}; see _NAMES")
        return schema_ref(name)


def parameter(
    components: Components, kind: graphql.GraphQLInputType, description: str | None, default: object
) -> JsonSchema:
    """
    Describe a path or query parameter; a description that starts "1 to 50" sets its range.

    A maximum to which larger values are lowered is not a maximum: a client may send them.
    """
    schema = components.input_schema(kind)
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
