"""
The table of mask words and the schema fields they hide (docs/spec/masks.md).

Each field of an output type is declared as visible, or with the words that hide it
(`graph.output_types`). A masked field is null before its record is read, and its record attribute
is never requested upstream.
"""

from collections.abc import Callable, Container, Iterable
from functools import lru_cache
from typing import Any, Final

from graphql import (
    GraphQLField,
    GraphQLResolveInfo,
    GraphQLSchema,
    default_field_resolver,
    is_object_type,
)

from graph.coordinates import field_at, object_type, record_attribute, strawberry_field
from graph.edges import edge_of
from graph.output_types import words_of
from policy.grants import Grant
from policy.vocabulary import (
    WORD_TYPES,
    CalendarField,
    CollabField,
    EmailField,
    Field,
    Surface,
    TaskField,
)

_FIELD_TYPES = (EmailField, CalendarField, TaskField, CollabField)

# Coordinate -> the words that hide it, which it is made of: it is null when the token sees none of
# them. Filled by `apply`.
_hiding_words: Final[dict[str, tuple[Field, ...]]] = {}
# Such a coordinate -> the attributes of the record that nothing else than it and its like shows.
_attributes: Final[dict[str, frozenset[str]]] = {}


def apply(schema: GraphQLSchema) -> None:
    """Make every maskable field of *schema* answer null to callers it is hidden from."""
    _hiding_words.update(table(schema))
    for coordinate in _hiding_words:
        field = field_at(schema, coordinate)
        field.resolve = _unless_hidden(coordinate, field.resolve or default_field_resolver)
        owner = coordinate.partition(".")[0]
        visible = {
            attribute
            for name, other in object_type(schema, owner).fields.items()
            if f"{owner}.{name}" not in _hiding_words
            for attribute in _shown_attributes(other)
        }
        edge = edge_of(field)
        names = set(_shown_attributes(field) if edge is None else edge.attributes)
        _attributes[coordinate] = frozenset(names - visible)


def _shown_attributes(field: GraphQLField) -> Iterable[str]:
    """Return the attributes of a record that *field* tells, whatever other fields are hidden."""
    edge = edge_of(field)
    if edge is None:
        return filter(None, [record_attribute(field)])
    return [name for argument, name in edge.arguments.items() if argument not in edge.sources]


def table(schema: GraphQLSchema) -> dict[str, tuple[Field, ...]]:
    """
    Return coordinate -> the words that hide it together, of the fields that a word hides.

    Fields of one word come first, in the order of the vocabulary, then those of several.

    Raises:
        TypeError: A field of an output type is not declared by `visible` or `masked`.
    """
    words = {
        f"{type_.name}.{name}": _declared_words(f"{type_.name}.{name}", field)
        for type_ in schema.type_map.values()
        if is_object_type(type_) and not type_.name.startswith("__")
        for name, field in type_.fields.items()
    }
    masked = [item for item in words.items() if item[1]]
    return dict(sorted(masked, key=lambda item: _order(item[1])))


def hidden(grant: Grant) -> frozenset[str]:
    """Return the coordinates ("Email.body") that a token with *grant* may not see."""
    return _hidden(
        grant.visible_email_fields,
        grant.visible_calendar_fields,
        grant.visible_task_fields,
        grant.visible_collab_fields,
    )


@lru_cache(maxsize=1024)
def _hidden(*visible: frozenset[Field]) -> frozenset[str]:
    """Do it for the visible words of each surface, in the order of `_FIELD_TYPES`."""
    if not _hiding_words:
        raise RuntimeError("The schema is not built yet, so nothing is known of its masks.")
    seen = dict(zip(_FIELD_TYPES, visible, strict=True))
    return frozenset(
        coordinate
        for coordinate, words in _hiding_words.items()
        if not any(word in seen[type(word)] for word in words)
    )


@lru_cache(maxsize=4096)
def hidden_attributes(owner: str, grant: Grant) -> frozenset[str]:
    """Return the attributes of the record behind the type *owner* that *grant* hides."""
    prefix = f"{owner}."
    coordinates = [each for each in hidden(grant) if each.startswith(prefix)]
    return frozenset(name for each in coordinates for name in _attributes[each])


def words_hiding(coordinate: str) -> str:
    """Return the words that hide *coordinate*, separated by `, `."""
    return ", ".join(_hiding_words[coordinate])


def by_type(hidden: Container[str], surfaces: Container[Surface]) -> dict[str, list[str]]:
    """Group the *hidden* coordinates of *surfaces* by type, in the order of `table`."""
    grouped: dict[str, list[str]] = {}
    for coordinate, words in _hiding_words.items():
        if coordinate in hidden and WORD_TYPES[type(words[0])].surface in surfaces:
            owner, _, field = coordinate.partition(".")
            grouped.setdefault(owner, []).append(field)
    return grouped


def hiding_words(coordinates: Container[str], grant: Grant) -> dict[Surface, list[Field]]:
    """Return the words that hide some of *coordinates* from *grant*, in their order."""
    by_surface: dict[Surface, dict[Field, None]] = {}
    for coordinate, (word, *others) in _hiding_words.items():
        if coordinate in coordinates and not others and not grant.sees(word):
            by_surface.setdefault(WORD_TYPES[type(word)].surface, {})[word] = None
    return {surface: list(words) for surface, words in by_surface.items()}


def _order(words: tuple[Field, ...]) -> tuple[int, int, int]:
    kind = type(words[0])
    return len(words), _FIELD_TYPES.index(kind), list(kind).index(words[0])


def _declared_words(coordinate: str, field: GraphQLField) -> tuple[Field, ...]:
    edge = edge_of(field)
    words = words_of(strawberry_field(field) if edge is None else edge.shown)
    if words is None:
        raise TypeError(f"{coordinate} must be declared as `visible` or `masked`.")
    return words


def _unless_hidden(coordinate: str, resolve: Callable[..., Any]) -> Callable[..., Any]:
    def resolve_visible(source: Any, info: GraphQLResolveInfo[Any], **arguments: Any) -> Any:
        if coordinate in info.context.hidden:
            return None
        return resolve(source, info, **arguments)

    return resolve_visible
