"""Which members to select, so that nothing comes that is not wanted. Source: wire report 1D."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from types import MappingProxyType

DOWNLOAD = "@microsoft.graph.downloadUrl"
Params = tuple[tuple[str, str], ...]

_FILE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "name": ("name",),
        "size": ("size",),
        "created_time": ("createdDateTime",),
        "modified_time": ("lastModifiedDateTime",),
        "owners": ("createdBy",),
        "description": ("description",),
        "web_view_link": ("webUrl",),
        "download_link": (DOWNLOAD,),
        "etag": ("eTag",),
        "site": ("sharepointIds",),
        "list_id": ("sharepointIds",),
        "list_item_id": ("sharepointIds",),
    }
)
# What tells files from folders, and one place from another.
_OF_FILES = ("id", "file", "folder", "package", "root", "parentReference", "remoteItem")
_TYPE_OF_FILE = "listItem($select=id,contentType)"

_SITE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "display_name": ("displayName",),
        "name": ("name",),
        "description": ("description",),
        "web_url": ("webUrl",),
        "created_date_time": ("createdDateTime",),
        "last_modified_date_time": ("lastModifiedDateTime",),
    }
)
SITE = (
    "$select",
    "id,name,displayName,description,webUrl,createdDateTime,lastModifiedDateTime,isPersonalSite",
)
DRIVE = ("$select", "id,name,description,webUrl,driveType,sharePointIds")
_TIMES = "createdDateTime,lastModifiedDateTime"
LIST = ("$select", f"id,name,displayName,description,webUrl,{_TIMES},list,parentReference")
COLUMN_MEMBERS = (
    "name,displayName,hidden,readOnly,required,indexed,defaultValue,boolean,calculated,choice,"
    "contentApprovalStatus,currency,dateTime,geolocation,hyperlinkOrPicture,lookup,number,"
    "personOrGroup,term,text,thumbnail"
)

_ROW: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "web_url": ("webUrl",),
        "content_type": ("contentType",),
        "content_type_id": ("contentType",),
        "created_date_time": ("createdDateTime",),
        "last_modified_date_time": ("lastModifiedDateTime",),
        "created_by": ("createdBy",),
        "last_modified_by": ("lastModifiedBy",),
    }
)
NAMING = ("Title", "FileLeafRef")  # the columns that a list item's name is taken from
_FACE = "driveItem($select=id,name,file,folder,package,root,parentReference,sharepointIds)"


@lru_cache(maxsize=512)
def file(wanted: AbstractSet[str]) -> Params:
    """Return the options that select what is wanted of a file or of each of a list."""
    names = [name for attribute, names in _FILE.items() if attribute in wanted for name in names]
    select = ("$select", ",".join(dict.fromkeys((*_OF_FILES, *names))))
    if "content_type_id" in wanted:
        return (select, ("$expand", _TYPE_OF_FILE))
    return (select,)


def row(wanted: AbstractSet[str], columns: tuple[str, ...] | None) -> Params:
    """
    Return the options that select what is wanted of a list item.

    Args:
        wanted: Attributes of `records_collab.Row`.
        columns: What `fields` must bring when they are asked for; None: every column.
    """
    names = [name for attribute, names in _ROW.items() if attribute in wanted for name in names]
    parts = []
    if "fields" in wanted and columns is None:
        parts.append("fields")
    elif {"fields", "name"} & wanted or columns:
        chosen = (columns or ()) if "fields" in wanted or columns else ()
        naming = NAMING if "name" in wanted else ()
        parts.append(f"fields($select={','.join(dict.fromkeys((*chosen, *naming))) or 'id'})")
    if "file" in wanted:
        parts.append(_FACE)
    options = [("$select", ",".join(dict.fromkeys(("id", *names))))]
    if parts:
        options.append(("$expand", ",".join(parts)))
    return tuple(options)
