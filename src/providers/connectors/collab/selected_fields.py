"""Selection options (``$select``, ``$expand``) for the wanted attributes of records."""

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
        "editors": ("lastModifiedBy",),
        "description": ("description",),
        "web_view_link": ("webUrl",),
        "download_link": (DOWNLOAD,),
        "etag": ("eTag",),
        "site": ("sharepointIds",),
        "list_id": ("sharepointIds",),
        "list_item_id": ("sharepointIds",),
    }
)
# Members that tell files from folders, and where an item is.
_ALWAYS = ("id", "file", "folder", "package", "root", "parentReference", "remoteItem")
_CONTENT_TYPE = "listItem($select=id,contentType)"

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

_LIST_ITEM: Mapping[str, tuple[str, ...]] = MappingProxyType(
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
_NAME_COLUMNS = ("Title", "FileLeafRef")  # a list item's name is taken from them
_DRIVE_ITEM = "driveItem($select=id,name,file,folder,package,root,parentReference,sharepointIds)"


@lru_cache(maxsize=512)
def file(projection: AbstractSet[str]) -> Params:
    """Return the options that select attributes of a file, or of every file of a listing."""
    names = [
        name for attribute, names in _FILE.items() if attribute in projection for name in names
    ]
    select = ("$select", ",".join(dict.fromkeys((*_ALWAYS, *names))))
    if "content_type_id" in projection:
        return (select, ("$expand", _CONTENT_TYPE))
    return (select,)


def list_item(projection: AbstractSet[str], columns: tuple[str, ...] | None) -> Params:
    """
    Return the options that select attributes of a list item.

    Args:
        projection: Attributes of `records.Row`.
        columns: The columns that `fields` must contain; None: every column.
    """
    names = [
        name for attribute, names in _LIST_ITEM.items() if attribute in projection for name in names
    ]
    parts = []
    if "fields" in projection and columns is None:
        parts.append("fields")
    elif {"fields", "name"} & projection or columns:
        naming = _NAME_COLUMNS if "name" in projection else ()
        parts.append(
            f"fields($select={','.join(dict.fromkeys((*(columns or ()), *naming))) or 'id'})"
        )
    if "file" in projection:
        parts.append(_DRIVE_ITEM)
    options = [("$select", ",".join(dict.fromkeys(("id", *names))))]
    if parts:
        options.append(("$expand", ",".join(parts)))
    return tuple(options)
