"""Read endpoints of libraries: drives, items, children, search in a library."""

import re
from typing import Any

from sandbox.collab import records as r
from sandbox.collab.errors import invalid_request, not_found
from sandbox.collab.files import items
from sandbox.collab.files.sharing import write_permissions
from sandbox.collab.lists.list_items import write_list_item_of_file
from sandbox.collab.paging import respond_with_page
from sandbox.collab.requests import READ_FILES, CollabCall
from sandbox.http import Response, Router
from sandbox.provider_b.odata.query_options import Options, select_members
from sandbox.provider_b.odata.schema import Kind, QueryError, Shape
from sandbox.provider_b.responses import ok

DRIVE_SHAPE = Shape(
    name="microsoft.graph.drive",
    members={
        "id": Kind.STRING,
        "name": Kind.STRING,
        "description": Kind.STRING,
        "driveType": Kind.STRING,
        "webUrl": Kind.STRING,
        "createdDateTime": Kind.INSTANT,
        "lastModifiedDateTime": Kind.INSTANT,
        "createdBy": Kind.UNKNOWN,
        "lastModifiedBy": Kind.UNKNOWN,
        "owner": Kind.UNKNOWN,
        "quota": Kind.UNKNOWN,
        "sharePointIds": Kind.UNKNOWN,
        "system": Kind.UNKNOWN,
        "parentReference": Kind.UNKNOWN,
    },
)
_DRIVE_PARTS = {
    "root": items.SHAPE,
    "list": Shape(name="microsoft.graph.list", members={}, open=True),
}


def install(routes: Router) -> None:
    """Register the read routes of libraries and their items."""
    add = routes.add
    add("GET", "/me/drives", list_own_drives)
    add("GET", "/sites/{site}/drives", list_drives)
    add("GET", "/drives", list_root_drives)
    add("GET", "/drives/{drive}", get_drive)
    add("GET", "/drives/{drive}/items/{item}", get_item)
    add("GET", "/drives/{drive}/items/{item}/children", list_children)
    add("GET", "/drives/{drive}/items/{item}/search/{q}", search_folder)
    add("GET", "/drives/{drive}/search/{q}", search_drive)


# -- libraries


def list_drives(call: CollabCall, site: str) -> Response:
    """List a site's libraries."""
    requested_site = call.site(site)
    return _respond_with_drives(
        call, [library for library in _libraries(call) if library.site_id == requested_site.id]
    )


def list_own_drives(call: CollabCall) -> Response:
    """List the caller's personal libraries."""
    return _respond_with_drives(call, [call.own_drive()])


def list_root_drives(call: CollabCall) -> Response:
    """List the root site's libraries, as upstream does for applications."""
    return list_drives(call, "root")


def get_drive(call: CollabCall, drive: str) -> Response:
    """Return one library."""
    library = call.drive(drive)
    call.require_scopes(READ_FILES, call.site_of(library))
    options, _ = call.options(DRIVE_SHAPE, expandable=_DRIVE_PARTS)
    return ok(
        {"@odata.context": call.context("drives/$entity"), **_write_drive(call, library, options)}
    )


def _libraries(call: CollabCall) -> list[r.Library]:
    hidden_lists = {
        site_list.id
        for site_list in call.store.every(r.SiteList)
        if site_list.is_system or site_list.is_hidden
    }
    return [
        site_list
        for site_list in call.store.every(r.Library)
        if site_list.list_id not in hidden_lists
    ]


def _respond_with_drives(call: CollabCall, libraries: list[r.Library]) -> Response:
    options, _ = call.options(DRIVE_SHAPE, expandable=_DRIVE_PARTS)
    ordered = (
        sorted(libraries, key=lambda library: library.name.casefold())
        if options.orderby
        else libraries
    )
    return respond_with_page(
        call,
        ordered,
        options,
        key=lambda library: library.id,
        write_record=lambda library: _write_drive(call, library, options),
        context="drives",
    )


def _write_drive(call: CollabCall, library: r.Library, options: Options) -> dict[str, Any]:
    store, site = call.store, call.site_of(library)
    used = store.used_bytes(library.id)
    share = used / library.quota if library.quota else 1.0
    state = "exceeded" if share >= 1 else "nearing" if share > 0.9 else "normal"
    url = items.web_url(store, _root(call, library))
    owner = items.write_identity(store, site.owner) if site.owner else _group(site)
    record: dict[str, Any] = {
        "createdDateTime": library.created,
        "description": library.description,
        "id": library.id,
        "lastModifiedDateTime": library.modified,
        "name": library.name,
        "webUrl": url,
        "driveType": library.kind,
        "createdBy": items.write_identity(store, library.author),
        "owner": owner,
        "quota": {
            "deleted": sum(item.size for item in store.recycled(library.id)),
            "remaining": max(0, library.quota - used),
            "state": state,
            "total": library.quota,
            "used": used,
        },
    }
    selected_names = {path.partition("/")[0] for path in options.select}
    if "sharePointIds" in selected_names:
        ids = items.sharepoint_ids(store, _root(call, library))
        record["sharePointIds"] = {
            name: value for name, value in ids.items() if not name.startswith("listItem")
        }
    shown = select_members(record, options.select, always=("id",))
    if "root" in options.expand:
        shown["root"] = items.write_item(
            call, _root(call, library), options.expand["root"], frozenset()
        )
    if "list" in options.expand:
        shown["list"] = {"id": library.list_id, "name": library.segment}
    return shown


def _group(site: r.Site) -> dict[str, Any]:
    name = f"{site.title} Owners"
    return {"group": {"id": site.id.split(",")[1], "displayName": name}}


def _root(call: CollabCall, library: r.Library) -> r.Item:
    root = call.store.item(library.id, library.root_id)
    if root is None:
        raise invalid_request("The library has no root.", "generalException")
    return root


# -- items


def get_item(call: CollabCall, drive: str, item: str) -> Response:
    """Return one file or folder."""
    requested_item = call.item(drive, item)
    options, annotations = call.options(items.SHAPE, expandable=items.EXPANDABLE)
    context = call.context(f"drives('{requested_item.drive_id}')/items/$entity")
    record = write_expanded(call, requested_item, options, annotations)
    headers = {"etag": items.etag(requested_item)}
    return ok({"@odata.context": context, **record}, 200, headers)


def list_children(call: CollabCall, drive: str, item: str) -> Response:
    """List a folder."""
    folder = call.item(drive, item)
    if folder.target is not None:
        raise not_found()  # what is in its target has another address
    options, annotations = call.options(items.SHAPE, expandable=items.EXPANDABLE)
    _check(options)
    matching = call.store.children(folder)
    if options.filter is not None:
        matching = [
            child
            for child in matching
            if options.filter.matches(items.write_whole_item(call, child))
        ]
    return respond_with_page(
        call,
        items.sort_items(matching, options, call.store),
        options,
        key=lambda child: child.id,
        write_record=lambda child: write_expanded(call, child, options, annotations),
        context=f"drives('{folder.drive_id}')/items('{folder.id}')/children",
    )


def _check(options: Options) -> None:
    if options.search is not None:
        raise QueryError("The $search parameter is not supported on this API.")


def write_expanded(
    call: CollabCall, item: r.Item, options: Options, annotations: frozenset[str]
) -> dict[str, Any]:
    """Return an item with what the query options select and expand."""
    record = items.write_item(call, item, options, annotations)
    if "listItem" in options.expand:
        record["listItem"] = write_list_item_of_file(call, item, options.expand["listItem"])
    if "permissions" in options.expand:
        record["permissions"] = write_permissions(call, item)
    if "thumbnails" in options.expand:
        record["thumbnails"] = []
    if "children" in options.expand:
        inner = options.expand["children"]
        record["children"] = [
            items.write_item(call, child, inner, frozenset())
            for child in items.sort_items(call.store.children(item), inner, call.store)
        ]
    return record


# -- search


def search_folder(call: CollabCall, drive: str, item: str, q: str) -> Response:
    """Search the descendants of a folder by name, description and content."""
    folder = call.item(drive, item)
    _check_search(q)
    return _respond_with_matches(
        call,
        [descendant for descendant in call.store.below(folder) if _matches(descendant, q)],
        folder,
    )


def search_drive(call: CollabCall, drive: str, q: str) -> Response:
    """Search a library; the caller's own includes items shared with the caller."""
    library = call.drive(drive)
    _check_search(q)
    root = call.item(library.id, "root")
    matching = [descendant for descendant in call.store.below(root) if _matches(descendant, q)]
    site = call.site_of(library)
    shared = []
    if site.owner == call.account and not call.app_only:
        for share in call.store.every(r.Share):
            item = call.store.item(share.drive_id, share.item_id)
            foreign = share.drive_id != library.id and call.account in share.to
            if item is not None and foreign and _matches(item, q):
                shared.append(item)
    return _respond_with_matches(call, [*matching, *shared], root)


def _check_search(q: str) -> None:
    """Refuse separators of paths, which upstream takes for path segments even when encoded."""
    if "/" in q or "\\" in q:
        raise invalid_request("The request is malformed or incorrect.")


def _respond_with_matches(call: CollabCall, matching: list[r.Item], folder: r.Item) -> Response:
    options, annotations = call.options(items.SHAPE, expandable=items.EXPANDABLE)
    _check(options)
    if "listItem" in options.expand:
        raise invalid_request("The request is not supported by the system.", "notSupported")

    def write(item: r.Item) -> dict[str, Any]:
        if item.drive_id == folder.drive_id:
            return items.write_item(call, item, options, annotations, is_found=True)
        return _write_remote_item(call, item, folder.drive_id)

    if options.orderby:
        matching = items.sort_items(matching, options, call.store)
    else:
        matching = sorted(matching, key=lambda match: (match.name.casefold(), match.id))
    return respond_with_page(
        call,
        matching,
        options,
        key=lambda match: match.id,
        write_record=write,
        context=f"drives('{folder.drive_id}')/items('{folder.id}')/search(q='')",
    )


def _write_remote_item(call: CollabCall, item: r.Item, drive_id: str) -> dict[str, Any]:
    """Return a shared item as it appears in the caller's own library."""
    record = items.write_whole_item(call, item, is_found=True)
    facet = {
        name: record[name]
        for name in ("id", "name", "size", "file", "folder", "webUrl", "parentReference")
        if name in record
    }
    outer = {
        name: record[name]
        for name in ("createdDateTime", "lastModifiedDateTime", "name", "size", "webUrl")
    }
    return {
        **outer,
        "id": f"01SHARED{item.id[2:28]}",
        "parentReference": {"driveType": "business", "driveId": drive_id},
        "remoteItem": facet,
        "searchResult": {},
    }


def _matches(item: r.Item, q: str) -> bool:
    """Whether every word of *q* is a prefix of a word of the item."""
    text = f"{item.name} {item.description} {item.words}".casefold()
    item_words = set(re.findall(r"\w+", text))
    for word in re.findall(r"\w+", q.casefold()):
        if word not in item_words and not any(
            item_word.startswith(word) for item_word in item_words
        ):
            return False
    return True
