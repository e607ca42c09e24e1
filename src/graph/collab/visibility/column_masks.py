"""
Columns of list items that tell again what a word of the mask hides.

The values of an item hold the same creation time, people and name that its own fields do. Where a
word is hidden its columns are not fetched, are null in `fields`, and nothing is filtered or ordered
by them, nor by what is calculated from them. Source: decisions 8.2 and 16; design, 6.
"""

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from policy.caller import Caller
from policy.vocabulary import CollabField
from providers.content.field_selection import hidden_keys
from providers.records.collab import Column

# The provider's own columns, by the names that its API has for them. An address holds the name, the
# folder and itself.
_ADDRESSES = ("FileRef", "EncodedAbsUrl", "ServerUrl")
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
        CollabField.PARENT_FOLDER: (
            "FileDirRef",
            "ParentLeafName",
            "ParentLeafNameLookupId",
            "ParentUniqueId",
            *_ADDRESSES,
        ),
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
_WORDS = re.compile(r"'[^']*'|(\w+)")  # quoted text is no word


def masked_columns(caller: Caller) -> frozenset[str]:
    """Return the columns that tell what is hidden from *caller*."""
    return frozenset(
        name for word, names in COLUMNS_BY_WORD.items() if caller.hides(word) for name in names
    )


def require_unmasked(
    caller: Caller, *queries: str | None, columns: Collection[Column] | None = None
) -> None:
    """
    Let filters and orders of list items pass that look at nothing hidden.

    Args:
        caller: Who asks.
        queries: A filter, an order.
        columns: Those of the list; None while it was not read: what is calculated waits for it.

    Raises:
        FieldNotVisible: They would tell something.
    """
    looked_at = {name for query in queries for name in _WORDS.findall(query or "") if name}
    if not looked_at:
        return
    told = [
        word
        for word, names in COLUMNS_BY_WORD.items()
        if caller.hides(word) and looked_at & hidden_keys(columns or (), frozenset(names))
    ]
    caller.require_visible("A filter or an order", CollabField.FIELD_VALUES, *told)


def blank(fields: Mapping[str, Any], hidden: Collection[str]) -> dict[str, Any]:
    """Null the columns that tell what is hidden; the others stay."""
    return {name: None if name in hidden else value for name, value in fields.items()}
