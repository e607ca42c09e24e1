"""
List columns that repeat a masked field.

An item's column values hold the same creation time, people and name as its own fields. The columns
of a hidden mask word are not fetched, are null in `fields`, and cannot be used in a filter or an
order; neither can what is calculated from them: docs/spec/masks.md#collab-columns.
"""

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from policy.caller import Caller
from policy.vocabulary import CollabField
from providers.content.field_selection import hidden_keys
from providers.records.collab import Column

# An address holds the name, the folder and itself.
_ADDRESSES = ("FileRef", "EncodedAbsUrl", "ServerUrl")
# The path of the folder, list and site around an item is in each of these.
PATH_COLUMNS = frozenset(
    {"FileDirRef", "ParentLeafName", "ParentLeafNameLookupId", "ParentUniqueId", *_ADDRESSES}
)
# Mask word -> the columns that repeat its fields, by the names in the provider's API.
COLUMNS_BY_WORD: Mapping[CollabField, tuple[str, ...]] = MappingProxyType(
    {
        CollabField.NAME: (
            "Title",
            "LinkTitle",
            "LinkTitleNoMenu",
            "LinkTitle2",
            "FileLeafRef",
            "LinkFilename",
            "LinkFilenameNoMenu",
            "LinkFilename2",
            "BaseName",
            *_ADDRESSES,
        ),
        CollabField.MIME_TYPE: ("DocIcon", "File_x0020_Type", "HTML_x0020_File_x0020_Type"),
        CollabField.SIZE: (
            "FileSizeDisplay",
            "File_x0020_Size",
            "SMTotalSize",
            "SMTotalFileStreamSize",
        ),
        CollabField.CREATED_TIME: ("Created", "Created_x0020_Date"),
        CollabField.MODIFIED_TIME: ("Modified", "Last_x0020_Modified", "SMLastModifiedDate"),
        CollabField.OWNERS: (
            "Author",
            "AuthorLookupId",
            "Editor",
            "EditorLookupId",
            "Created_x0020_By",
            "Modified_x0020_By",
            "AppAuthor",
            "AppAuthorLookupId",
            "AppEditor",
            "AppEditorLookupId",
        ),
        CollabField.SHARED_WITH: (
            "SharedWithUsers",
            "SharedWithUsersLookupId",
            "SharedWithDetails",
        ),
        CollabField.DESCRIPTION: ("_ExtendedDescription",),
        CollabField.WEB_VIEW_LINK: (*_ADDRESSES, "_dlc_DocIdUrl"),
        CollabField.PARENT_FOLDER: tuple(sorted(PATH_COLUMNS)),
        CollabField.SENSITIVITY_LABEL: (
            "_DisplayName",
            "_IpLabelId",
            "_IpLabelHash",
            "_IpLabelAssignmentMethod",
            "_IpLabelPromotionCtagVersion",
        ),
        CollabField.CONTENT_TYPE: ("ContentType", "ContentTypeId"),
    }
)
_NAMES = re.compile(r"'[^']*'|(\w+)")  # skips quoted text


def masked_columns(caller: Caller) -> frozenset[str]:
    """Return the columns that repeat fields hidden from *caller*; none if `maskMode` is `basic`."""
    if not caller.strict:
        return frozenset()
    return frozenset(
        name for word, names in COLUMNS_BY_WORD.items() if caller.hides(word) for name in names
    )


def require_unmasked(
    caller: Caller, *queries: str | None, columns: Collection[Column] | None = None
) -> None:
    """
    Raise FieldNotVisible if *queries*, a filter and an order, use a masked column.

    *columns* are those of the list, where some are calculated from others; None before it is read.
    """
    used = column_names(*queries)
    if not used:
        return
    masked = [
        word
        for word, names in COLUMNS_BY_WORD.items()
        if caller.hides(word) and used & hidden_keys(columns or (), frozenset(names))
    ]
    caller.require_visible("A filter or an order", CollabField.FIELD_VALUES, *masked)


def column_names(*queries: str | None) -> frozenset[str]:
    """Return every name outside quoted text in *queries*, a filter and an order."""
    return frozenset(name for query in queries for name in _NAMES.findall(query or "") if name)


def blank(fields: Mapping[str, Any], hidden: Collection[str]) -> dict[str, Any]:
    """Return *fields* with the *hidden* columns set to None."""
    return {name: None if name in hidden else value for name, value in fields.items()}
