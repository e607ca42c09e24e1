"""
JSON representation of files and folders.

See docs/spec/upstream/microsoft-files.md#file-fields.
"""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from sandbox.collab import records as r
from sandbox.collab.requests import READ_FILES, CollabCall
from sandbox.collab.store import ContentStore, person_id
from sandbox.provider_b.odata.query_options import Options, select_members
from sandbox.provider_b.odata.schema import Kind, Shape

DOWNLOAD_URL = "@microsoft.graph.downloadUrl"

SHAPE = Shape(
    name="microsoft.graph.driveItem",
    members={
        "id": Kind.STRING,
        "name": Kind.STRING,
        "size": Kind.NUMBER,
        "createdDateTime": Kind.INSTANT,
        "lastModifiedDateTime": Kind.INSTANT,
        "webUrl": Kind.STRING,
    },
    open=True,
)
FIELDS = Shape(name="microsoft.graph.fieldValueSet", members={}, open=True)
EXPANDABLE = {
    "listItem": Shape(
        name="microsoft.graph.listItem", members={}, open=True, parts={"fields": FIELDS}
    ),
    "permissions": Shape(name="microsoft.graph.permission", members={}, open=True),
    "children": SHAPE,
    "thumbnails": Shape(name="microsoft.graph.thumbnailSet", members={}, open=True),
}


def write_identity(store: ContentStore, email: str) -> dict[str, Any]:
    """Return the identity set of an author."""
    if "@" not in email or email == "app@sharepoint":
        return {"application": {"id": person_id(email), "displayName": "Application"}}
    user = {"email": email, "id": person_id(email), "displayName": store.display_name(email)}
    return {"user": user}


def etag(item: r.Item) -> str:
    """Return an item's eTag, quotes included."""
    return f'"{{{item.guid.upper()}}},{item.version}"'


def web_url(store: ContentStore, item: r.Item) -> str:
    """Return the URL of an item in the browser, "" when its site is gone."""
    drive = store.get(r.Library, item.drive_id)
    site = store.get(r.Site, drive.site_id) if drive else None
    if drive is None or site is None:
        return ""
    names = [ancestor.name for ancestor in (*store.ancestors(item)[1:], item) if ancestor.parent_id]
    path = "/".join(quote(name) for name in (drive.segment, *names))
    return f"{site.url}/{path}"


def reference_path(store: ContentStore, folder: r.Item) -> str:
    """Return a folder's `parentReference.path`."""
    names = [
        ancestor.name for ancestor in (*store.ancestors(folder)[1:], folder) if ancestor.parent_id
    ]
    tail = "".join(f"/{quote(name)}" for name in names)
    return f"/drives/{folder.drive_id}/root:{tail}"


def sharepoint_ids(store: ContentStore, item: r.Item) -> dict[str, Any]:
    """Return the ids of an item's list item."""
    drive = store.get(r.Library, item.drive_id)
    if drive is None:
        return {}
    _, collection, web = drive.site_id.split(",")
    site = store.get(r.Site, drive.site_id)
    return {
        "listId": drive.list_id,
        "listItemId": str(item.number),
        "listItemUniqueId": item.guid,
        "siteId": collection,
        "siteUrl": site.url if site else "",
        "webId": web,
    }


def write_parent_reference(
    store: ContentStore, item: r.Item, *, is_thin: bool = False
) -> dict[str, Any]:
    """Return `parentReference`, of a root its library only; *is_thin* as in search results."""
    drive = store.get(r.Library, item.drive_id)
    record: dict[str, Any] = {
        "driveType": drive.kind if drive else "documentLibrary",
        "driveId": item.drive_id,
    }
    if not item.parent_id:
        return record
    record["id"] = item.parent_id
    if is_thin:
        return {**record, "siteId": drive.site_id if drive else ""}
    parent = store.item(item.drive_id, item.parent_id)
    if parent is not None:
        record["name"] = (drive.segment if drive else "") if not parent.parent_id else parent.name
        record["path"] = reference_path(store, parent)
    return {**record, "siteId": drive.site_id.split(",")[1] if drive else ""}


def write_whole_item(call: CollabCall, item: r.Item, *, is_found: bool = False) -> dict[str, Any]:
    """Return all members of an item; *is_found* as in search results: thin, no download URL."""
    store = call.store
    record: dict[str, Any] = {}
    has_bytes = not (item.is_folder or item.package or item.target)
    if has_bytes and not (is_found or item.is_unaddressed):
        record[DOWNLOAD_URL] = download_url(call, item)
    record |= {
        "createdDateTime": item.created,
        "eTag": etag(item),
        "id": item.id,
        "lastModifiedDateTime": item.modified,
        "name": item.name if item.parent_id else "root",
        "webUrl": web_url(store, item),
        "cTag": f'"c:{{{item.guid.upper()}}},{item.content_version}"',
        "size": _size(store, item),
        "createdBy": write_identity(store, item.author),
        "lastModifiedBy": write_identity(store, item.editor),
        "parentReference": write_parent_reference(store, item, is_thin=is_found),
    }
    if item.description:
        record["description"] = item.description
    record["fileSystemInfo"] = {
        "createdDateTime": item.created,
        "lastModifiedDateTime": item.modified,
    }
    record |= _facets(store, item)
    if is_found:
        record["searchResult"] = {}
    return record


def _facets(store: ContentStore, item: r.Item) -> dict[str, Any]:
    facets: dict[str, Any] = {}
    if item.target is not None:
        return {"remoteItem": _remote(store, *item.target)}
    if not item.parent_id:
        facets["root"] = {}
    if item.package:
        facets["package"] = {"type": item.package}
    elif item.is_folder:
        facets["folder"] = {"childCount": len(store.children(item))}
    else:
        facets["file"] = {
            **({"mimeType": item.mime} if item.mime else {}),
            "hashes": {"quickXorHash": item.quick_hash},
        }
    shares = store.shares(item)
    if shares:
        scopes = {share.scope if share.kind == "link" else "users" for share in shares}
        widest = next(scope for scope in ("anonymous", "organization", "users") if scope in scopes)
        facets["shared"] = {"scope": widest}
    return facets


def _remote(store: ContentStore, drive_id: str, item_id: str) -> dict[str, Any]:
    """Return the target of a shortcut with its own facets; of one that is gone, its ids."""
    target = store.item(drive_id, item_id)
    if target is None:
        return {"id": item_id, "parentReference": {"driveId": drive_id}}
    return {
        "id": target.id,
        "name": target.name,
        "size": _size(store, target),
        "webUrl": web_url(store, target),
        "parentReference": write_parent_reference(store, target, is_thin=True),
        **_facets(store, target),
    }


def _size(store: ContentStore, item: r.Item) -> int:
    if not item.is_folder and not item.package:
        return item.size
    return sum(descendant.size for descendant in store.below(item))


def write_item(
    call: CollabCall,
    item: r.Item,
    options: Options,
    annotations: frozenset[str],
    *,
    is_found: bool = False,
) -> dict[str, Any]:
    """Return the members of an item that the query options select."""
    record = write_whole_item(call, item, is_found=is_found)
    selected_names = {path.partition("/")[0] for path in options.select}
    if "sharepointIds" in selected_names:
        record["sharepointIds"] = sharepoint_ids(call.store, item)
    if "webDavUrl" in selected_names:
        record["webDavUrl"] = record["webUrl"]
    if "sensitivityLabel" in selected_names and call.version == "beta":
        record["sensitivityLabel"] = write_beta_label(call.store, item)
    link = record.pop(DOWNLOAD_URL, None)
    shown = select_members(record, options.select, always=("@odata.etag",))
    wants_link = not options.select or "*" in options.select or bool(annotations & {DOWNLOAD_URL})
    if link is not None and (wants_link or "content.downloadUrl" in annotations):
        shown = {DOWNLOAD_URL: link, **shown}
    return shown


def write_beta_label(store: ContentStore, item: r.Item) -> dict[str, Any] | None:
    """Return the label facet of the beta version."""
    label = store.get(r.Label, item.label)
    if label is None:
        return None
    return {"id": label.id, "displayName": label.name, "protectionEnabled": label.is_protecting}


def sort_items(items: Sequence[r.Item], options: Options, store: ContentStore) -> list[r.Item]:
    """
    Return items in the order of `$orderby`, by default by name.

    Only names and addresses are orders; upstream ignores every other one without a word.
    """
    ordered = sorted(items, key=lambda item: (item.name.casefold(), item.id))
    keys: Mapping[str, Any] = {
        "name": lambda item: item.name.casefold(),
        "url": lambda item: web_url(store, item).casefold(),
        "webUrl": lambda item: web_url(store, item).casefold(),
    }
    for order in reversed(options.orderby):
        if order.path in keys:
            ordered.sort(key=keys[order.path], reverse=order.descending)
    return ordered


def download_url(call: CollabCall, item: r.Item) -> str:
    """Return a pre-authenticated download URL with an expiry time."""
    expires = int(call.store.now_seconds()) + call.store.settings.link_seconds
    key = f"{item.drive_id} {item.id} {expires}"
    query = urlencode(
        {"UniqueId": item.guid, "at": f"{item.drive_id}.{item.id}.{expires}"}
        | {"tempauth": sign(call.store, key)}
    )
    return f"{call.request.content}/content/download.aspx?{query}"


def sign(store: ContentStore, text: str) -> str:
    """Return the HMAC signature of *text*."""
    return hmac.new(store.secret(), text.encode(), hashlib.sha256).hexdigest()


def sees(call: CollabCall, item: r.Item) -> bool:
    """Whether the caller may read an item's site."""
    drive = call.store.get(r.Library, item.drive_id)
    if drive is None or not call.scopes & READ_FILES:
        return False
    return call.may_read(call.site_of(drive))
