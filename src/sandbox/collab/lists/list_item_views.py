"""
List items as the wire writes them: rows of lists, and the list-item face of files and folders.

Source: wire report 1D.5.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from sandbox.collab import records as r
from sandbox.collab.files import items
from sandbox.collab.lists import columns
from sandbox.collab.requests import CollabCall
from sandbox.collab.store import ContentStore
from sandbox.provider_b.odata.query_options import Options, selected
from sandbox.provider_b.odata.schema import Kind, Shape

Entry = r.Row | r.Item

SHAPE = Shape(
    name="microsoft.graph.listItem",
    members={
        **dict.fromkeys(("id", "name", "webUrl", "description", "eTag"), Kind.STRING),
        **dict.fromkeys(("createdDateTime", "lastModifiedDateTime"), Kind.INSTANT),
        "fields": items.FIELDS,
        **dict.fromkeys(
            ("contentType", "createdBy", "lastModifiedBy", "parentReference", "sharepointIds"),
            Kind.UNKNOWN,
        ),
    },
    parts={"fields": items.FIELDS, "driveItem": items.SHAPE},
)
EXPANDABLE = {
    "fields": items.FIELDS,
    "driveItem": items.SHAPE,
}
FIRST_PERSON = 6  # the id of the first person of the directory, as a lookup


def etag(entry: Entry) -> str:
    """Return a list item's eTag, with its quotes."""
    return f'"{entry.guid},{entry.version}"'


def person_number(store: ContentStore, email: str) -> str:
    """Return the id that a person has as a lookup."""
    for number, person in enumerate(store.every(r.Person), FIRST_PERSON):
        if person.email == email:
            return str(number)
    return "1"


def column_values(store: ContentStore, one: r.SiteList, entry: Entry) -> dict[str, Any]:
    """Return what stands in an item's columns, by their API names."""
    title = entry.fields.get("Title")
    shown = title
    found: dict[str, Any] = {"id": str(entry.number)}
    inside: list[r.Item] = []
    if isinstance(entry, r.Item):
        inside = store.children(entry)
        shown = entry.name
        found |= {
            "FileLeafRef": entry.name,
            "LinkFilename": entry.name,
            "LinkFilenameNoMenu": entry.name,
            "FSObjType": "1" if entry.is_folder else "0",
            "DocIcon": "" if entry.is_folder else entry.name.rpartition(".")[2].lower(),
            "FileSizeDisplay": "" if entry.is_folder else str(entry.size),
        }
    found |= entry.fields
    return found | {
        "ContentType": content_type_of(one, entry).name,
        "Modified": entry.modified,
        "Created": entry.created,
        "AuthorLookupId": person_number(store, entry.author),
        "EditorLookupId": person_number(store, entry.editor),
        "_UIVersionString": f"{entry.version}.0",
        "Attachments": False,
        "Edit": "",
        **({} if shown is None else {"LinkTitle": shown, "LinkTitleNoMenu": shown}),
        "ItemChildCount": str(sum(not item.is_folder for item in inside)),
        "FolderChildCount": str(sum(item.is_folder for item in inside)),
    }


def write_fields(
    store: ContentStore, one: r.SiteList, entry: Entry, select: Sequence[str]
) -> dict[str, Any]:
    """Write the field value set, of the columns in *select* alone when there are any."""
    texts = lookup_texts(store, one, entry)
    whole = {**column_values(store, one, entry), **texts}
    if select and "*" not in select:
        whole = {name: whole[name] for name in select if name in whole}
    else:  # a look-up of one item is its number, unless its text is asked for by name
        plain = {column.name for column in columns.all_columns(one) if _is_plain_lookup(column)}
        whole = {name: value for name, value in whole.items() if name not in plain}
    return {"@odata.etag": etag(entry), **whole}


def lookup_texts(store: ContentStore, one: r.SiteList, entry: Entry) -> dict[str, Any]:
    """
    Return what the look-up columns of an item repeat of items in other lists.

    A column that `primaryLookupColumnId` names the look-up of shows another text of its item.
    """
    found: dict[str, Any] = {}
    for column in columns.all_columns(one):
        if column.kind != "lookup":
            continue
        held = entry.fields.get(f"{column.facet.get('primaryLookupColumnId', column.name)}LookupId")
        numbers = held if isinstance(held, list) else [] if held is None else [held]
        texts = [
            {"LookupId": int(number), "LookupValue": row.fields.get(_shown(column))}
            for number in numbers
            if (row := store.row(str(column.facet.get("listId", "")), int(number))) is not None
        ]
        if held is numbers:
            found[column.name] = texts
        elif texts:
            found[column.name] = texts[0]["LookupValue"]
    return found


def _shown(column: r.Column) -> str:
    return str(column.facet.get("columnName", "Title"))


def _is_plain_lookup(column: r.Column) -> bool:
    several = column.facet.get("allowMultipleValues", False)
    return column.kind == "lookup" and not several and not column.is_read_only


def content_type_of(one: r.SiteList, entry: Entry) -> r.ContentType:
    """Return an item's content type."""
    types = columns.content_types(one)
    for kind in types:
        if entry.content_type == kind.id:
            return kind
    if isinstance(entry, r.Item):
        return types[-1] if entry.is_folder else types[0]
    return types[0]


def item_url(call: CollabCall, one: r.SiteList, entry: Entry) -> str:
    """Return the address of an item in the browser."""
    if isinstance(entry, r.Item):
        return items.web_url(call.store, entry)
    return f"{list_url(call.store, one)}/{entry.number}_.000"


def list_url(store: ContentStore, one: r.SiteList) -> str:
    """Return the address of a list in the browser."""
    site = store.get(r.Site, one.site_id)
    base = site.url if site else ""
    if one.drive_id:
        drive = store.get(r.Library, one.drive_id)
        root = store.item(one.drive_id, drive.root_id) if drive else None
        return items.web_url(store, root) if root else base
    return f"{base}/Lists/{quote(one.name)}"


def sharepoint_ids(one: r.SiteList, entry: Entry) -> dict[str, Any]:
    """Write the ids of a list item."""
    _, collection, web = one.site_id.split(",")
    return {
        "listId": one.id,
        "listItemId": str(entry.number),
        "listItemUniqueId": entry.guid,
        "siteId": collection,
        "webId": web,
    }


def write_list_item(
    call: CollabCall, one: r.SiteList, entry: Entry, options: Options
) -> dict[str, Any]:
    """Write a list item as the query options ask for it."""
    kind = content_type_of(one, entry)
    record: dict[str, Any] = {
        "@odata.etag": etag(entry),
        "createdDateTime": entry.created,
        "eTag": etag(entry),
        "id": str(entry.number),
        "lastModifiedDateTime": entry.modified,
        "webUrl": item_url(call, one, entry),
        "createdBy": items.write_identity(call.store, entry.author),
        "lastModifiedBy": items.write_identity(call.store, entry.editor),
        "parentReference": {"id": one.id, "siteId": one.site_id},
        "contentType": {"id": kind.id, "name": kind.name},
    }
    names = {path.partition("/")[0] for path in options.select}
    if "sharepointIds" in names:
        record["sharepointIds"] = sharepoint_ids(one, entry)
    shown = selected(record, options.select, always=("id",))
    if "fields" in options.expand or "fields" in names:
        inner = options.expand.get("fields")
        select = inner.select if inner else ()
        shown["fields@odata.context"] = call.context(
            f"sites('{one.site_id}')/lists('{one.id}')/items('{entry.number}')/fields/$entity"
        )
        shown["fields"] = write_fields(call.store, one, entry, select)
    if "driveItem" in options.expand and isinstance(entry, r.Item):
        shown["driveItem"] = items.write_item(
            call, entry, options.expand["driveItem"], frozenset((items.DOWNLOAD_URL,))
        )
    return shown
