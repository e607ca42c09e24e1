"""JSON Schemas of the selections of saved documents, which an operator wrote."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import graphql

from rest_compat.documents import OMITTED_WHEN_EMPTY
from rest_compat.openapi.json_schemas import Components, with_description
from rest_compat.openapi.schema_values import JsonSchema, schema_ref

_SOMETIMES = (graphql.DirectiveNode(name=graphql.NameNode(value="include"), arguments=()),)


class SavedComponents(Components):
    """
    The named schemas of a description with saved documents.

    The schema of a selection has the name of its document and of its type: "SavedInboxEmail". A
    further selection of the type in the document has those of the members above it too.
    """

    def __init__(
        self, schemas: Mapping[str, JsonSchema], coordinates: Mapping[str, Mapping[str, str]]
    ) -> None:
        """*schemas* and *coordinates* are those of the description without saved documents."""
        super().__init__()
        self.schemas.update(schemas)
        self.coordinates.update({name: dict(members) for name, members in coordinates.items()})
        self._taken = {name.lower() for name in schemas}
        self._prefix = ""
        self._fragments: Mapping[str, graphql.FragmentDefinitionNode] = {}
        self._names: dict[str, list[str]] = {}  # of the document, by type

    def begin(self, prefix: str, document: graphql.DocumentNode) -> None:
        """Name the schemas that follow after *prefix*; they are those of *document*."""
        self._prefix, self._names = prefix, {}
        self._fragments = {
            node.name.value: node
            for node in document.definitions
            if isinstance(node, graphql.FragmentDefinitionNode)
        }

    def _object(
        self,
        kind: graphql.GraphQLObjectType,
        selection: graphql.SelectionSetNode | None,
        document: graphql.DocumentNode,
        path: str,
        extra: Mapping[str, JsonSchema],
    ) -> JsonSchema:
        """Describe a selection; a member that a directive may leave out is optional."""
        is_root = "." not in path
        name = self._reserve(kind.name, path)  # before those of its members
        members: dict[str, JsonSchema] = {}
        coordinates: dict[str, str] = {}
        optional = set(extra)
        for key, occurrences in self._by_key(selection).items():
            field_name = occurrences[0][0].name.value
            if all(is_conditional for _, is_conditional in occurrences):
                optional.add(key)
            if is_root and key in OMITTED_WHEN_EMPTY:
                optional.add(key)
            if field_name == "__typename":
                members[key] = {"type": "string"}
                continue
            field = kind.fields[field_name]
            schema = self.response_schema(
                field.type, _merged(occurrences), document=document, path=f"{path}.{key}"
            )
            members[key] = with_description(schema, field.description)
            coordinates[key] = f"{kind.name}.{field_name}"
        schema = {
            "type": "object",
            "description": kind.description or "",
            "properties": {**members, **extra},
            "required": [key for key in members if key not in optional],
        }
        return self._register_selection(name, kind.name, schema, coordinates)

    def _by_key(
        self, selection: graphql.SelectionSetNode | None
    ) -> dict[str, list[tuple[graphql.FieldNode, bool]]]:
        """Return the fields of *selection* by response key; whether each is conditional."""
        fields: dict[str, list[tuple[graphql.FieldNode, bool]]] = defaultdict(list)
        for node, is_conditional in self._expanded(selection, is_conditional=False):
            key = node.alias.value if node.alias else node.name.value
            fields[key].append((node, is_conditional))
        return fields

    def _expanded(
        self, selection: graphql.SelectionSetNode | None, *, is_conditional: bool
    ) -> Iterator[tuple[graphql.FieldNode, bool]]:
        # The limits of saved documents count fields after fragments are expanded.
        for node in selection.selections if selection else ():
            conditional = is_conditional or bool(node.directives)
            if isinstance(node, graphql.FieldNode):
                yield node, conditional
            elif isinstance(node, graphql.InlineFragmentNode):
                yield from self._expanded(node.selection_set, is_conditional=conditional)
            elif isinstance(node, graphql.FragmentSpreadNode):
                fragment = self._fragments[node.name.value]
                yield from self._expanded(fragment.selection_set, is_conditional=conditional)

    def _reserve(self, type_name: str, path: str) -> str:
        """Return a free name for the selection of a type at *path*, and take it."""
        names = _names(self._prefix, type_name, path.split(".")[1:])
        name = next(name for name in names if name.lower() not in self._taken)
        self._taken.add(name.lower())
        return name

    def _register_selection(
        self, name: str, type_name: str, schema: JsonSchema, coordinates: dict[str, str]
    ) -> JsonSchema:
        """Store *schema* under *name*, unless the document has it already; return a reference."""
        known = self._names.setdefault(type_name, [])
        for other in known:
            if self.schemas[other] == schema and self.coordinates[other] == coordinates:
                self._taken.remove(name.lower())
                return schema_ref(other)
        known.append(name)
        self.coordinates[name] = coordinates
        return self._register(name, schema)


def _names(prefix: str, type_name: str, keys: Sequence[str]) -> Iterator[str]:
    """Yield names for a selection of a type, which is below *keys*; the shortest first."""
    name = type_name
    yield prefix + name
    for key in reversed(keys):
        name = pascal_case(key, "_") + name
        yield prefix + name
    yield from numbered(prefix + name)


def numbered(name: str) -> Iterator[str]:
    """Yield "name2", "name3", …"""
    number = 1
    while True:
        number += 1
        yield f"{name}{number}"


def pascal_case(text: str, separator: str) -> str:
    """Return "InBox" for "in-box"."""
    return "".join(part[:1].upper() + part[1:] for part in text.split(separator))


def _merged(occurrences: list[tuple[graphql.FieldNode, bool]]) -> graphql.SelectionSetNode | None:
    """Return the selections of one response key as one."""
    if len(occurrences) == 1:
        return occurrences[0][0].selection_set
    selections = tuple(
        graphql.InlineFragmentNode(
            selection_set=node.selection_set, directives=_SOMETIMES if is_conditional else ()
        )
        for node, is_conditional in occurrences
        if node.selection_set is not None
    )
    return graphql.SelectionSetNode(selections=selections)
