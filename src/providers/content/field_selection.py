"""Which columns of a list show what others hold, and what is left to ask for without them."""

import re
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from providers.records.collab import Column

LOOKUPS = ("lookup", "person")
# Upstream brings these as well, and no list names them among its columns.
_UNLISTED = ("Edit", "ItemChildCount", "FolderChildCount", "LinkFilenameNoMenu")
_MOST_ASKED = 8000  # characters of names in one query


@dataclass(frozen=True, slots=True)
class FieldSelection:
    """
    The part of an item's values that is asked for.

    Attributes:
        asked: The keys to ask for; None: all of them, there being too many to name.
        nulls: The keys that are shown as null, whatever upstream has there.
    """

    asked: tuple[str, ...] | None
    nulls: tuple[str, ...]


ALL_FIELDS = FieldSelection(None, ())


def hidden_keys(columns: Collection[Column], hidden: AbstractSet[str]) -> frozenset[str]:
    """
    Return the keys of values that must not be shown when those under *hidden* must not.

    Besides *hidden* itself: what is calculated from such a column, step by step, and the texts of
    look-ups that show one of another list. Keys are upstream's: of people and look-ups there are
    two, `Name` and `NameLookupId`.
    """
    found = set(hidden)
    found |= {one.name for one in columns if one.looks_up in hidden}
    held = [one for one in columns if one.name in hidden or f"{one.name}LookupId" in hidden]
    while held:
        names = [name for one in held for name in (one.name, one.display_name) if name]
        mentioned = re.compile(
            "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names), re.IGNORECASE
        )
        held = [
            one
            for one in columns
            if one.formula and one.name not in found and mentioned.search(one.formula)
        ]
        found |= {one.name for one in held}
    return frozenset(found)


def select_fields(
    columns: Collection[Column], hidden: AbstractSet[str], select: Collection[str] | None
) -> FieldSelection:
    """Part what may be shown from what may not; *select*: the caller's columns, None: all."""
    out = hidden_keys(columns, hidden)
    keys = list(select) if select is not None else _all_keys(columns)
    nulls = tuple(dict.fromkeys(key for key in keys if key in out))
    asked = [key for key in keys if key not in out]
    if select is None and sum(map(len, asked)) > _MOST_ASKED:
        return FieldSelection(None, nulls)
    return FieldSelection(tuple(dict.fromkeys(asked)), nulls)


def _all_keys(columns: Collection[Column]) -> list[str]:
    """Return where upstream puts values when it is asked for all."""
    return [*(key for one in columns for key in _keys(one)), *_UNLISTED]


def _keys(one: Column) -> tuple[str, ...]:
    """Return where upstream puts the values of a column then."""
    if one.column_type not in LOOKUPS:
        return (one.name,)
    looked_up = one.column_type == "lookup" and (one.read_only or one.hidden)  # by upstream itself
    if one.multiple or looked_up:
        return (one.name, f"{one.name}LookupId")
    return (f"{one.name}LookupId",)
