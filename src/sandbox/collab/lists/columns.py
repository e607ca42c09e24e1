"""
JSON representation of columns and content types.

See docs/spec/upstream/microsoft-files.md#lists.
"""

from typing import Any
from uuid import NAMESPACE_URL, uuid5

from sandbox.collab import records as r
from sandbox.collab.records import Column, ContentType
from sandbox.provider_b.odata.schema import Kind, Shape

_DATE = {"displayAs": "default", "format": "dateTime"}
_PERSON = {"allowMultipleSelection": False, "chooseFromType": "peopleOnly"}
_COMPUTED = {"formula": "", "outputType": "text"}


def _system(
    name: str,
    title: str,
    kind: str,
    facet: dict[str, Any],
    *,
    is_hidden: bool = False,
    is_indexed: bool = False,
) -> Column:
    return Column(
        name=name,
        title=title,
        kind=kind,
        facet=facet,
        is_read_only=True,
        is_hidden=is_hidden,
        is_indexed=is_indexed,
    )


TITLE = Column(name="Title", title="Title", kind="text", facet={"maxLength": 255}, is_required=True)
# Columns of every list, besides its custom columns.
LIST_COLUMNS = (
    _system("ID", "ID", "number", {"decimalPlaces": "none"}, is_indexed=True),
    _system("ContentType", "Content Type", "text", {"maxLength": 255}),
    _system("Modified", "Modified", "dateTime", _DATE),
    _system("Created", "Created", "dateTime", _DATE),
    _system("Author", "Created By", "personOrGroup", _PERSON),
    _system("Editor", "Modified By", "personOrGroup", _PERSON),
    _system("_UIVersionString", "Version", "text", {"maxLength": 255}),
    _system("Attachments", "Attachments", "boolean", {}),
    _system("LinkTitle", "Title", "calculated", _COMPUTED),
    _system("LinkTitleNoMenu", "Title", "calculated", _COMPUTED, is_hidden=True),
    _system("_ModerationStatus", "Approval Status", "contentApprovalStatus", {}, is_hidden=True),
)
LIBRARY_COLUMNS = (
    Column(name="FileLeafRef", title="Name", kind="text", facet={"maxLength": 255}),
    _system("LinkFilename", "Name", "calculated", _COMPUTED),
    _system("DocIcon", "Type", "calculated", _COMPUTED),
    _system("FileSizeDisplay", "File Size", "calculated", _COMPUTED),
    _system("FSObjType", "Item Type", "lookup", {"columnName": "FSObjType"}, is_hidden=True),
)
DEFAULT_CONTENT_TYPES = (ContentType(id="0x0100", name="Item"),)
LIBRARY_CONTENT_TYPES = (
    ContentType(id="0x0101", name="Document"),
    ContentType(id="0x0120", name="Folder"),
)

SHAPE = Shape(
    name="microsoft.graph.columnDefinition",
    members={
        **dict.fromkeys(("id", "name", "displayName", "description", "columnGroup"), Kind.STRING),
        **dict.fromkeys(
            ("hidden", "readOnly", "required", "indexed", "enforceUniqueValues"), Kind.BOOLEAN
        ),
        **dict.fromkeys(
            (
                "boolean",
                "calculated",
                "choice",
                "contentApprovalStatus",
                "currency",
                "dateTime",
                "defaultValue",
                "geolocation",
                "hyperlinkOrPicture",
                "lookup",
                "number",
                "personOrGroup",
                "term",
                "text",
                "thumbnail",
                "type",
            ),
            Kind.UNKNOWN,
        ),
    },
)
CONTENT_TYPE_SHAPE = Shape(
    name="microsoft.graph.contentType",
    members={
        **dict.fromkeys(("id", "name", "description", "group", "parentId"), Kind.STRING),
        **dict.fromkeys(("hidden", "readOnly", "sealed", "isBuiltIn"), Kind.BOOLEAN),
    },
)


def all_columns(site_list: r.SiteList) -> tuple[Column, ...]:
    """Return all columns of a list: built-in ones, then custom ones."""
    own = {column.name for column in site_list.columns}
    shared = (TITLE, *LIST_COLUMNS, *(LIBRARY_COLUMNS if site_list.drive_id else ()))
    return (*(column for column in shared if column.name not in own), *site_list.columns)


def content_types(site_list: r.SiteList) -> tuple[ContentType, ...]:
    """Return the content types of a list, the default type first."""
    return site_list.content_types or (
        LIBRARY_CONTENT_TYPES if site_list.drive_id else DEFAULT_CONTENT_TYPES
    )


def write_column(site_list: r.SiteList, column: Column) -> dict[str, Any]:
    """Return the JSON object of a column."""
    built_in = column in (TITLE, *LIST_COLUMNS, *LIBRARY_COLUMNS)
    return {
        "columnGroup": "Base Columns" if built_in else "Custom Columns",
        "description": column.description,
        "displayName": column.title,
        "enforceUniqueValues": False,
        "hidden": column.is_hidden,
        "id": str(uuid5(NAMESPACE_URL, f"{site_list.id}/{column.name}")),
        "indexed": column.is_indexed,
        "name": column.name,
        "readOnly": column.is_read_only,
        "required": column.is_required,
        **({column.kind: column.facet} if column.kind else {}),
    }


def write_content_type(content_type: ContentType) -> dict[str, Any]:
    """Return the JSON object of a content type."""
    return {
        "description": "",
        "group": "List Content Types",
        "hidden": False,
        "id": content_type.id,
        "isBuiltIn": len(content_type.id) <= len("0x0120"),
        "name": content_type.name,
        "parentId": content_type.id[:-34] if len(content_type.id) > 40 else "0x01",
        "readOnly": False,
        "sealed": False,
    }
