"""
JSON representation of list items: rows of lists, files and folders.

See docs/spec/upstream/microsoft-files.md#list-items.
"""

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from sandbox.collab import records as r
from sandbox.collab.files import items
from sandbox.collab.lists import columns
from sandbox.collab.requests import CollabCall
from sandbox.collab.store import ContentStore
from sandbox.provider_b.odata.query_options import Options, select_members
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
EXPANDABLE = {"fields": items.FIELDS, "driveItem": items.SHAPE}
FIRST_PERSON = 6  # lookup id of the first person in the directory


def etag(entry: Entry) -> str:
    """Return a list item's eTag, quotes included."""
    return f'"{entry.guid},{entry.version}"'


def person_number(store: ContentStore, email: str) -> str:
    """Return the lookup id of a person, "1" for an unknown one."""
    for number, person in enumerate(store.every(r.Person), FIRST_PERSON):
        if person.email == email:
            return str(number)
    return "1"


def column_values(store: ContentStore, site_list: r.SiteList, entry: Entry) -> dict[str, Any]:
    """Return an item's values by column name."""
    title = entry.fields.get("Title")
    shown = title
    values: dict[str, Any] = {"id": str(entry.number)}
    children: list[r.Item] = []
    if isinstance(entry, r.Item):
        children = store.children(entry)
        shown = entry.name
        values |= {
            "FileLeafRef": entry.name,
            "LinkFilename": entry.name,
            "LinkFilenameNoMenu": entry.name,
            "FSObjType": "1" if entry.is_folder else "0",
            "DocIcon": "" if entry.is_folder else entry.name.rpartition(".")[2].lower(),
            "FileSizeDisplay": "" if entry.is_folder else str(entry.size),
        }
    values |= entry.fields
    return values | {
        "ContentType": content_type_of(site_list, entry).name,
        "Modified": entry.modified,
        "Created": entry.created,
        "AuthorLookupId": person_number(store, entry.author),
        "EditorLookupId": person_number(store, entry.editor),
        "_UIVersionString": f"{entry.version}.0",
        "Attachments": False,
        "Edit": "",
        **({} if shown is None else {"LinkTitle": shown, "LinkTitleNoMenu": shown}),
        "ItemChildCount": str(sum(not item.is_folder for item in children)),
        "FolderChildCount": str(sum(item.is_folder for item in children)),
    }


def write_fields(
    store: ContentStore, site_list: r.SiteList, entry: Entry, select: Sequence[str]
) -> dict[str, Any]:
    """Return the field value set; an empty *select* means the default columns."""
    texts = lookup_texts(store, site_list, entry)
    fields = {**column_values(store, site_list, entry), **texts}
    if select and "*" not in select:
        fields = {name: fields[name] for name in select if name in fields}
    else:  # single lookups show the number only, unless selected by name
        plain_lookups = {
            column.name for column in columns.all_columns(site_list) if _is_plain_lookup(column)
        }
        fields = {name: value for name, value in fields.items() if name not in plain_lookups}
    return {"@odata.etag": etag(entry), **fields}


def lookup_texts(store: ContentStore, site_list: r.SiteList, entry: Entry) -> dict[str, Any]:
    """
    Return the texts of an item's lookup columns, by column name.

    A column with `primaryLookupColumnId` shows another column of the item that the primary lookup
    refers to.
    """
    texts_by_column: dict[str, Any] = {}
    for column in columns.all_columns(site_list):
        if column.kind != "lookup":
            continue
        stored = entry.fields.get(
            f"{column.facet.get('primaryLookupColumnId', column.name)}LookupId"
        )
        numbers = stored if isinstance(stored, list) else [] if stored is None else [stored]
        texts = [
            {"LookupId": int(number), "LookupValue": row.fields.get(_shown_column(column))}
            for number in numbers
            if (row := store.row(str(column.facet.get("listId", "")), int(number))) is not None
        ]
        if stored is numbers:
            texts_by_column[column.name] = texts
        elif texts:
            texts_by_column[column.name] = texts[0]["LookupValue"]
    return texts_by_column


def _shown_column(column: r.Column) -> str:
    return str(column.facet.get("columnName", "Title"))


def _is_plain_lookup(column: r.Column) -> bool:
    several = column.facet.get("allowMultipleValues", False)
    return column.kind == "lookup" and not several and not column.is_read_only


def content_type_of(site_list: r.SiteList, entry: Entry) -> r.ContentType:
    """Return an item's content type."""
    content_types = columns.content_types(site_list)
    for content_type in content_types:
        if entry.content_type == content_type.id:
            return content_type
    if isinstance(entry, r.Item):
        return content_types[-1] if entry.is_folder else content_types[0]
    return content_types[0]


def item_url(call: CollabCall, site_list: r.SiteList, entry: Entry) -> str:
    """Return the URL of an item in the browser."""
    if isinstance(entry, r.Item):
        return items.web_url(call.store, entry)
    return f"{list_url(call.store, site_list)}/{entry.number}_.000"


def list_url(store: ContentStore, site_list: r.SiteList) -> str:
    """Return the URL of a list in the browser."""
    site = store.get(r.Site, site_list.site_id)
    base = site.url if site else ""
    if site_list.drive_id:
        drive = store.get(r.Library, site_list.drive_id)
        root = store.item(site_list.drive_id, drive.root_id) if drive else None
        return items.web_url(store, root) if root else base
    return f"{base}/Lists/{quote(site_list.name)}"


def sharepoint_ids(site_list: r.SiteList, entry: Entry) -> dict[str, Any]:
    """Return the ids of a list item."""
    _, collection, web = site_list.site_id.split(",")
    return {
        "listId": site_list.id,
        "listItemId": str(entry.number),
        "listItemUniqueId": entry.guid,
        "siteId": collection,
        "webId": web,
    }


def write_list_item(
    call: CollabCall, site_list: r.SiteList, entry: Entry, options: Options
) -> dict[str, Any]:
    """Return the members of a list item that the query options select."""
    content_type = content_type_of(site_list, entry)
    record: dict[str, Any] = {
        "@odata.etag": etag(entry),
        "createdDateTime": entry.created,
        "eTag": etag(entry),
        "id": str(entry.number),
        "lastModifiedDateTime": entry.modified,
        "webUrl": item_url(call, site_list, entry),
        "createdBy": items.write_identity(call.store, entry.author),
        "lastModifiedBy": items.write_identity(call.store, entry.editor),
        "parentReference": {"id": site_list.id, "siteId": site_list.site_id},
        "contentType": {"id": content_type.id, "name": content_type.name},
    }
    selected_names = {path.partition("/")[0] for path in options.select}
    if "sharepointIds" in selected_names:
        record["sharepointIds"] = sharepoint_ids(site_list, entry)
    shown = select_members(record, options.select, always=("id",))
    if "fields" in options.expand or "fields" in selected_names:
        field_options = options.expand.get("fields")
        select = field_options.select if field_options else ()
        shown["fields@odata.context"] = call.context(
            f"sites('{site_list.site_id}')/lists('{site_list.id}')/items('{entry.number}')/fields/$entity"
        )
        shown["fields"] = write_fields(call.store, site_list, entry, select)
    if "driveItem" in options.expand and isinstance(entry, r.Item):
        shown["driveItem"] = items.write_item(
            call, entry, options.expand["driveItem"], frozenset((items.DOWNLOAD_URL,))
        )
    return shown
