"""
Columns of a project: docs/spec/upstream/asana.md#columns.

Fields of every task come first, then the project's custom fields.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from providers.connectors.projects import response_types
from providers.item_visibility import COMPUTED, Column

ASSIGNEE, DUE, NOTES, DONE, TAGS = "assignee", "due_on", "notes", "completed", "tags"

TASK_COLUMNS: tuple[Column, ...] = (
    Column(id=ASSIGNEE, title="Assignee", native="assignee", type="people", writable=True),
    Column(id=DUE, title="Due date", native="due_on", type="date", writable=True),
    Column(id=NOTES, title="Description", native="notes", type="long_text", writable=True),
    Column(id=DONE, title="Completed", native="completed", type="checkbox", writable=True),
    Column(id=TAGS, title="Tags", native="tags", type="tags", writable=False),
)

# Asana's type of a custom field -> the gateway's type, and the property that holds the value.
CUSTOM_FIELDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "text": ("text", "text_value"),
        "number": ("number", "number_value"),
        "enum": ("status", "enum_value.name"),
        "multi_enum": ("dropdown", "multi_enum_values.name"),
        "date": ("date", "date_value"),
        "people": ("people", "people_value.name"),
    }
)


def columns(settings: Iterable[response_types.Setting]) -> tuple[Column, ...]:
    """Return the columns of a project with the custom fields of *settings*."""
    return (*TASK_COLUMNS, *(_column(setting.custom_field) for setting in settings))


def options(column: Column) -> tuple[tuple[str, str], ...]:
    """Return the enabled options of a custom field as (id, name)."""
    enabled: tuple[tuple[str, str], ...] = column.settings or ()
    return enabled


def _column(field: response_types.Field) -> Column:
    enabled = tuple(
        (option.gid, option.name) for option in field.enum_options or () if option.enabled
    )
    has_options = field.type in {"enum", "multi_enum"}
    computed = field.is_formula_field
    return Column(
        id=field.gid,
        title=field.name,
        native=field.type,
        type="formula" if computed else CUSTOM_FIELDS.get(field.type, ("other", ""))[0],
        writable=field.type in CUSTOM_FIELDS and not computed and not field.is_value_read_only,
        options=tuple(name for _, name in enabled) if has_options else None,
        shows=COMPUTED if computed else frozenset(),
        settings=enabled,
    )
