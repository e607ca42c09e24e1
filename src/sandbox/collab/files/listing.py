"""Libraries and what lies in them: drives, children, single items, search inside a library."""

import re
from typing import Any

from sandbox.collab import records as r
from sandbox.collab.endpoint import Door
from sandbox.collab.errors import bad
from sandbox.collab.files import items
from sandbox.collab.files.sharing import permissions_of
from sandbox.collab.lists.list_items import item_face
from sandbox.collab.paging import page
from sandbox.collab.requests import READ_FILES, Call
from sandbox.http import Response
from sandbox.provider_b.odata.query_options import Options, selected
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


def install(door: Door) -> None:
    """Add the paths of libraries and their items."""
    add = door.routes.add
    add("GET", "/me/drives", own_drives)
    add("GET", "/sites/{site}/drives", drives)
    add("GET", "/drives", all_drives)
    add("GET", "/drives/{drive}", drive_itself)
    add("GET", "/drives/{drive}/items/{item}", item_itself)
    add("GET", "/drives/{drive}/items/{item}/children", children)
    add("GET", "/drives/{drive}/items/{item}/search/{q}", search)
    add("GET", "/drives/{drive}/search/{q}", search_drive)


# -- libraries


def drives(call: Call, site: str) -> Response:
    """List a site's libraries."""
    found = call.site(site)
    return _drives(call, [library for library in _libraries(call) if library.site_id == found.id])


def own_drives(call: Call) -> Response:
    """List the caller's personal libraries."""
    return _drives(call, [call.own_drive()])


def all_drives(call: Call) -> Response:
    """List the root site's libraries: what an application sees here, whatever it was granted."""
    return drives(call, "root")


def drive_itself(call: Call, drive: str) -> Response:
    """Answer one library."""
    library = call.drive(drive)
    call.needs(READ_FILES, call.site_of(library))
    options, _ = call.options(DRIVE_SHAPE, expandable=_DRIVE_PARTS)
    return ok({"@odata.context": call.context("drives/$entity"), **_drive(call, library, options)})


def _libraries(call: Call) -> list[r.Library]:
    hidden = {one.id for one in call.store.every(r.SiteList) if one.is_system or one.is_hidden}
    return [one for one in call.store.every(r.Library) if one.list_id not in hidden]


def _drives(call: Call, found: list[r.Library]) -> Response:
    options, _ = call.options(DRIVE_SHAPE, expandable=_DRIVE_PARTS)
    ordered = sorted(found, key=lambda one: one.name.casefold()) if options.orderby else found
    return page(
        call,
        ordered,
        options,
        key=lambda one: one.id,
        write=lambda one: _drive(call, one, options),
        context="drives",
    )


def _drive(call: Call, library: r.Library, options: Options) -> dict[str, Any]:
    store, site = call.store, call.site_of(library)
    used = store.used(library.id)
    share = used / library.quota if library.quota else 1.0
    state = "exceeded" if share >= 1 else "nearing" if share > 0.9 else "normal"
    url = items.folder_url(store, _root(call, library))
    owner = items.identity(store, site.owner) if site.owner else _group(site)
    record: dict[str, Any] = {
        "createdDateTime": library.created,
        "description": library.description,
        "id": library.id,
        "lastModifiedDateTime": library.modified,
        "name": library.name,
        "webUrl": url,
        "driveType": library.kind,
        "createdBy": items.identity(store, library.author),
        "owner": owner,
        "quota": {
            "deleted": sum(one.size for one in store.recycled(library.id)),
            "remaining": max(0, library.quota - used),
            "state": state,
            "total": library.quota,
            "used": used,
        },
    }
    names = {path.partition("/")[0] for path in options.select}
    if "sharePointIds" in names:
        ids = items.sharepoint_ids(store, _root(call, library))
        record["sharePointIds"] = {
            name: value for name, value in ids.items() if not name.startswith("listItem")
        }
    shown = selected(record, options.select, always=("id",))
    if "root" in options.expand:
        shown["root"] = items.written(
            call, _root(call, library), options.expand["root"], frozenset()
        )
    if "list" in options.expand:
        shown["list"] = {"id": library.list_id, "name": library.segment}
    return shown


def _group(site: r.Site) -> dict[str, Any]:
    name = f"{site.title} Owners"
    return {"group": {"id": site.id.split(",")[1], "displayName": name}}


def _root(call: Call, library: r.Library) -> r.Item:
    found = call.store.item(library.id, library.root_id)
    if found is None:
        raise bad("The library has no root.", "generalException")
    return found


# -- items


def item_itself(call: Call, drive: str, item: str) -> Response:
    """Answer one file or folder."""
    found = call.item(drive, item)
    options, annotations = call.options(items.SHAPE, expandable=items.EXPANDABLE)
    context = call.context(f"drives('{found.drive_id}')/items/$entity")
    record = _expanded(call, found, options, annotations)
    headers = {"etag": items.etag(found)}
    return ok({"@odata.context": context, **record}, 200, headers)


def children(call: Call, drive: str, item: str) -> Response:
    """List a folder."""
    folder = call.item(drive, item)
    options, annotations = call.options(items.SHAPE, expandable=items.EXPANDABLE)
    _check(options)
    found = call.store.children(folder)
    if options.filter is not None:
        found = [one for one in found if options.filter.matches(items.full(call, one))]
    return page(
        call,
        items.sorted_by(found, options, call.store),
        options,
        key=lambda one: one.id,
        write=lambda one: _expanded(call, one, options, annotations),
        context=f"drives('{folder.drive_id}')/items('{folder.id}')/children",
    )


def _check(options: Options) -> None:
    if any(order.path not in items.SORTABLE for order in options.orderby):
        raise QueryError("The orderby parameter is not supported for this property.")
    if options.search is not None:
        raise QueryError("The $search parameter is not supported on this API.")


def _expanded(
    call: Call, item: r.Item, options: Options, annotations: frozenset[str]
) -> dict[str, Any]:
    record = items.written(call, item, options, annotations)
    if "listItem" in options.expand:
        record["listItem"] = item_face(call, item, options.expand["listItem"])
    if "permissions" in options.expand:
        record["permissions"] = permissions_of(call, item)
    if "thumbnails" in options.expand:
        record["thumbnails"] = []
    if "children" in options.expand:
        inner = options.expand["children"]
        record["children"] = [
            items.written(call, one, inner, frozenset())
            for one in items.sorted_by(call.store.children(item), inner, call.store)
        ]
    return record


# -- search


def search(call: Call, drive: str, item: str, q: str) -> Response:
    """Search below a folder, in names, descriptions and contents."""
    folder = call.item(drive, item)
    return _found(call, [one for one in call.store.below(folder) if _matches(one, q)], folder)


def search_drive(call: Call, drive: str, q: str) -> Response:
    """Search a library; in one's personal one also what others have shared with oneself."""
    library = call.drive(drive)
    root = call.item(library.id, "root")
    found = [one for one in call.store.below(root) if _matches(one, q)]
    site = call.site_of(library)
    shared = []
    if site.owner == call.account and not call.app_only:
        for share in call.store.every(r.Share):
            item = call.store.item(share.drive_id, share.item_id)
            foreign = share.drive_id != library.id and call.account in share.to
            if item is not None and foreign and _matches(item, q):
                shared.append(item)
    return _found(call, [*found, *shared], root)


def _found(call: Call, found: list[r.Item], folder: r.Item) -> Response:
    options, annotations = call.options(items.SHAPE, expandable=items.EXPANDABLE)
    _check(options)

    def write(item: r.Item) -> dict[str, Any]:
        if item.drive_id == folder.drive_id:
            return items.written(call, item, options, annotations, is_found=True)
        return _remote(call, item, folder.drive_id)

    if options.orderby:
        found = items.sorted_by(found, options, call.store)
    else:
        found = sorted(found, key=lambda one: (one.name.casefold(), one.id))
    return page(
        call,
        found,
        options,
        key=lambda one: one.id,
        write=write,
        context=f"drives('{folder.drive_id}')/items('{folder.id}')/search(q='')",
    )


def _remote(call: Call, item: r.Item, drive_id: str) -> dict[str, Any]:
    """Write another library's item as it shows in the caller's own."""
    whole = items.full(call, item, is_found=True)
    facet = {
        name: whole[name]
        for name in ("id", "name", "size", "file", "folder", "webUrl", "parentReference")
        if name in whole
    }
    outer = {
        name: whole[name]
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
    """Whether every word of *q* begins a word of what the item says."""
    text = f"{item.name} {item.description} {item.words}".casefold()
    said = set(re.findall(r"\w+", text))
    for word in re.findall(r"\w+", q.casefold()):
        if word not in said and not any(one.startswith(word) for one in said):
            return False
    return True
