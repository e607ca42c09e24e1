"""The selection of list item values: what is requested, and what is null for this caller."""

import re
from collections.abc import Collection
from collections.abc import Set as AbstractSet

import msgspec

from providers.records.collab import Column

LOOKUPS = ("lookup", "person")
# Upstream returns these as well, and no list names them among its columns.
_UNLISTED_KEYS = ("Edit", "ItemChildCount", "FolderChildCount")
_UNLISTED_KEYS_OF_FILES = ("LinkFilenameNoMenu",)
_MAX_SELECT = 8000  # characters of names in one query


class FieldSelection(msgspec.Struct, frozen=True):
    """
    The requested part of an item's values.

    Attributes:
        requested: The keys to request; None: all of them, there being too many to name.
        nulled: The keys that are shown as null, whatever upstream has there.
    """

    requested: tuple[str, ...] | None
    nulled: tuple[str, ...]


ALL_FIELDS = FieldSelection(None, ())


def hidden_keys(columns: Collection[Column], hidden: AbstractSet[str]) -> frozenset[str]:
    """
    Return the keys of values that must not be shown when those under *hidden* must not.

    Besides *hidden* itself these are columns calculated from such a column, at any depth, and the
    texts of look-ups that show one of another list. Keys are upstream's: people and look-ups have
    two, `Name` and `NameLookupId`.
    """
    keys = set(hidden)
    keys |= {column.name for column in columns if column.looks_up in hidden}
    sources = [
        column for column in columns if column.name in hidden or f"{column.name}LookupId" in hidden
    ]
    while sources:
        names = [name for column in sources for name in (column.name, column.display_name) if name]
        mention = re.compile(
            "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names), re.IGNORECASE
        )
        sources = [
            column
            for column in columns
            if column.formula and column.name not in keys and mention.search(column.formula)
        ]
        keys |= {column.name for column in sources}
    return frozenset(keys)


def select_fields(
    columns: Collection[Column], hidden: AbstractSet[str], select: Collection[str] | None
) -> FieldSelection:
    """Split values into shown and hidden ones; *select*: the caller's columns, None: all."""
    hidden = hidden_keys(columns, hidden)
    keys = list(select) if select is not None else _all_keys(columns)
    nulled = tuple(dict.fromkeys(key for key in keys if key in hidden))
    requested = [key for key in keys if key not in hidden]
    if select is None and sum(map(len, requested)) > _MAX_SELECT:
        return FieldSelection(None, nulled)
    return FieldSelection(tuple(dict.fromkeys(requested)), nulled)


def _all_keys(columns: Collection[Column]) -> list[str]:
    """Return the keys under which upstream returns values when all are requested."""
    keys = [*(key for column in columns for key in _keys(column)), *_UNLISTED_KEYS]
    return [*keys, *_UNLISTED_KEYS_OF_FILES] if "LinkFilename" in keys else keys


def _keys(column: Column) -> tuple[str, ...]:
    if column.column_type not in LOOKUPS:
        return (column.name,)
    is_system_lookup = column.column_type == "lookup" and (column.read_only or column.hidden)
    if column.multiple or is_system_lookup:
        return (column.name, f"{column.name}LookupId")
    return (f"{column.name}LookupId",)
