"""
The columns of a project: fields of every task first, then the project's custom fields.

A custom field with one choice is a status, one with several a dropdown.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from providers.connectors.projects import response_types
from providers.item_visibility import COMPUTED, Column

ASSIGNEE, DUE, NOTES, DONE, TAGS = "assignee", "due_on", "notes", "completed", "tags"

OWN: tuple[Column, ...] = (
    Column(id=ASSIGNEE, title="Assignee", native="assignee", type="people", writable=True),
    Column(id=DUE, title="Due date", native="due_on", type="date", writable=True),
    Column(id=NOTES, title="Description", native="notes", type="long_text", writable=True),
    Column(id=DONE, title="Completed", native="completed", type="checkbox", writable=True),
    Column(id=TAGS, title="Tags", native="tags", type="tags", writable=False),
)

# Upstream's word -> ours, and the properties that hold a value.
TYPES: Mapping[str, str] = MappingProxyType(
    {
        "text": "text",
        "number": "number",
        "enum": "status",
        "multi_enum": "dropdown",
        "date": "date",
        "people": "people",
    }
)
VALUES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "text": ("text_value",),
        "number": ("number_value",),
        "enum": ("enum_value.name",),
        "multi_enum": ("multi_enum_values.name",),
        "date": ("date_value",),
        "people": ("people_value.name",),
    }
)


def columns(settings: Iterable[response_types.Setting]) -> tuple[Column, ...]:
    """Return the columns of a project with these custom fields."""
    return (*OWN, *(_column(setting.custom_field) for setting in settings))


def options(column: Column) -> tuple[tuple[str, str], ...]:
    """Return the choices of a custom field as (id, name)."""
    found: tuple[tuple[str, str], ...] = column.settings or ()
    return found


def _column(field: response_types.Field) -> Column:
    chosen = tuple(
        (enum_option.gid, enum_option.name)
        for enum_option in field.enum_options or ()
        if enum_option.enabled
    )
    chooses = field.type in {"enum", "multi_enum"}
    computed = field.is_formula_field
    return Column(
        id=field.gid,
        title=field.name,
        native=field.type,
        type="formula" if computed else TYPES.get(field.type, "other"),
        writable=field.type in TYPES and not computed and not field.is_value_read_only,
        options=tuple(name for _, name in chosen) if chooses else None,
        shows=COMPUTED if computed else frozenset(),
        settings=chosen,
    )
