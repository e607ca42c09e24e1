"""
Write endpoints of files and folders.

See docs/spec/upstream/microsoft-files.md#file-operations.
"""

import re
from typing import Any
from uuid import UUID, uuid4

import msgspec

from sandbox.collab import records as r
from sandbox.collab.errors import invalid_request, name_taken, not_found, quota_exceeded
from sandbox.collab.files import items
from sandbox.collab.files.content import mime_type
from sandbox.collab.ids import item_id
from sandbox.collab.requests import WRITE_FILES, CollabCall
from sandbox.collab.store import ContentStore, format_time
from sandbox.http import Response, Router
from sandbox.provider_b.odata.filter_terms import read_instant
from sandbox.provider_b.responses import GraphError, empty, ok

FOLDER_TYPE = "0x012000"
FILE_TYPE = "0x0101"
CONFLICT_BEHAVIOR = "@microsoft.graph.conflictBehavior"
_BEHAVIOURS = ("fail", "replace", "rename")
_FORBIDDEN = re.compile(r'["*:<>?/\\|\x00-\x1f]')
_RESERVED = re.compile(
    r"^(?:\.lock|con|prn|aux|nul|com\d|lpt\d|desktop\.ini|_vti_.*|.*_vti_.*|~\$.*)$", re.IGNORECASE
)
_MAX_PATH = 400  # characters


def install(routes: Router) -> None:
    """Register the write routes of items."""
    add = routes.add
    add("POST", "/drives/{drive}/items/{item}/children", create_folder)
    add("PATCH", "/drives/{drive}/items/{item}", update)
    add("DELETE", "/drives/{drive}/items/{item}", recycle)
    add("POST", "/drives/{drive}/items/{item}/permanentDelete", delete_permanently)
    add("GET", "/sites/{site}/recycleBin/items", recycle_bin)


def create_folder(call: CollabCall, drive: str, item: str) -> Response:
    """Create a folder in a folder."""
    parent = call.item(drive, item, scopes=WRITE_FILES)
    body = call.json()
    if not isinstance(body.get("folder"), dict):
        raise invalid_request("Only folders can be created here: the folder facet is missing.")
    behaviour = read_conflict_behaviour(body.get(CONFLICT_BEHAVIOR), "fail")
    name = validate_name(call.store, parent, body.get("name"))
    name, existing = resolve_name_conflict(call.store, parent, name, behaviour)
    if existing is not None:  # "replace" keeps the content of a folder
        if not existing.is_folder:
            raise name_taken()
        return _respond_with_item(call, existing, 200)
    folder = new_item(
        call, parent, name, is_folder=True, description=str(body.get("description") or "")
    )
    call.store.put(folder)
    return _respond_with_item(call, folder, 201)


def update(call: CollabCall, drive: str, item: str) -> Response:
    """Rename an item, move it within its library, or change its description."""
    existing_item = call.item_to_change(drive, item)
    body = call.json()
    parent = _destination(call, existing_item, body.get("parentReference"))
    name = existing_item.name
    if body.get("name") is not None:
        name = validate_name(call.store, parent, body["name"])
    if not existing_item.parent_id and (
        name != existing_item.name or parent.id != existing_item.parent_id
    ):
        raise invalid_request("The root of a library cannot be changed.")
    if name != existing_item.name or parent.id != existing_item.parent_id:
        behaviour = read_conflict_behaviour(
            body.get(CONFLICT_BEHAVIOR) or call.request.first(CONFLICT_BEHAVIOR) or None, "fail"
        )
        namesake = call.store.child(parent, name)
        if namesake is not None and namesake.id != existing_item.id:
            name, replaced = resolve_name_conflict(call.store, parent, name, behaviour)
            if replaced is not None:
                move_to_recycle_bin(call, replaced)
    modified = _parse_time(call.object_member(body, "fileSystemInfo").get("lastModifiedDateTime"))
    updated = msgspec.structs.replace(
        existing_item,
        name=name,
        parent_id=parent.id if existing_item.parent_id else "",
        description=str(body.get("description", existing_item.description) or ""),
        modified=modified or call.store.now_text(),
        editor=call.actor(),
        version=existing_item.version + 1,
        mime=existing_item.mime if existing_item.is_folder else mime_type(name, existing_item.mime),
    )
    call.store.put(updated)
    return _respond_with_item(call, updated, 200)


def recycle(call: CollabCall, drive: str, item: str) -> Response:
    """Move an item and its descendants to the recycle bin."""
    requested_item = call.item_to_change(drive, item)
    if not requested_item.parent_id:
        raise invalid_request("The root of a library cannot be deleted.")
    locked_file = next(
        (descendant for descendant in call.store.below(requested_item) if descendant.is_locked),
        None,
    )
    if locked_file is not None:
        raise GraphError(423, "resourceLocked", f"The file '{locked_file.name}' is checked out.")
    move_to_recycle_bin(call, requested_item)
    return empty(204)


def delete_permanently(call: CollabCall, drive: str, item: str) -> Response:
    """Delete an item and its descendants permanently."""
    requested_item = call.item_to_change(drive, item)
    for deleted in (*call.store.below(requested_item), requested_item):
        call.store.blobs.delete(deleted.blob)
        call.store.delete(deleted)
    return empty(204)


def recycle_bin(call: CollabCall, site: str) -> Response:
    """List the recycle bin of a site."""
    requested_site = call.site(site)
    drives = [
        library.id
        for library in call.store.every(r.Library)
        if library.site_id == requested_site.id
    ]
    value = [
        {
            "id": item.guid,
            "name": item.name,
            "title": item.name,
            "size": item.size,
            "deletedDateTime": item.gone,
        }
        for drive_id in drives
        for item in call.store.recycled(drive_id)
    ]
    return ok({"@odata.context": call.context("recycleBinItems"), "value": value})


def move_to_recycle_bin(call: CollabCall, item: r.Item) -> None:
    """Move an item and its descendants to the recycle bin."""
    now = call.store.now_text()
    recycled = [item, *call.store.below(item)]
    call.store.put_many(
        msgspec.structs.replace(recycled_item, gone=now) for recycled_item in recycled
    )


def _destination(call: CollabCall, item: r.Item, parent_reference: Any) -> r.Item:
    """Return the requested parent of an item, by default its current one."""
    if not isinstance(parent_reference, dict):
        return call.store.item(item.drive_id, item.parent_id) or item
    drive_id = parent_reference.get("driveId")
    if drive_id is not None and drive_id != item.drive_id:
        raise invalid_request("Cross drive moves are not supported. Copy the item and delete it.")
    path = str(parent_reference.get("path") or "").partition("root:")[2]
    reference = str(parent_reference.get("id") or (f"root:/{path.strip('/')}" if path else "root"))
    parent = call.item(item.drive_id, reference, scopes=WRITE_FILES)
    if not parent.is_folder:
        raise invalid_request("The destination is not a folder.")
    if parent.id == item.id or item.id in (
        ancestor.id for ancestor in call.store.ancestors(parent)
    ):
        raise invalid_request("A folder cannot be moved into itself.")
    return parent


def _parse_time(time: Any) -> str:
    """Parse a time into the stored format, "" for None."""
    if time is None:
        return ""
    try:
        return format_time(read_instant(str(time)).timestamp())
    except (ValueError, OverflowError):
        raise invalid_request("The time is not one.") from None


def _respond_with_item(call: CollabCall, item: r.Item, status: int) -> Response:
    context = call.context(f"drives('{item.drive_id}')/items/$entity")
    return ok({"@odata.context": context, **items.write_whole_item(call, item)}, status)


# -- also used by uploads


def read_conflict_behaviour(behaviour: Any, default: str) -> str:
    """
    Validate a conflict behaviour; *default* when it is absent.

    Raises:
        GraphError: The behaviour is unknown.
    """
    if behaviour in (None, ""):
        return default
    if behaviour not in _BEHAVIOURS:
        raise invalid_request("The conflict behaviour must be one of fail, replace or rename.")
    return str(behaviour)


def validate_name(store: ContentStore, parent: r.Item, name: Any) -> str:
    """
    Return *name* if it is valid in a folder.

    Raises:
        GraphError: The name is invalid, or the whole path is too long.
    """
    if not isinstance(name, str) or not name:
        raise invalid_request("A name must be provided.")
    wrong = (
        _FORBIDDEN.search(name)
        or _RESERVED.match(name)
        or name != name.strip()
        or name.endswith(".")
        or len(name) > 255
    )
    if wrong:
        raise invalid_request(
            "The provided name cannot contain these characters or is reserved.", "nameInvalid"
        )
    above = [ancestor.name for ancestor in (*store.ancestors(parent), parent)]
    if sum(len(ancestor_name) + 1 for ancestor_name in above) + len(name) > _MAX_PATH:
        raise invalid_request("The path of the item is too long.", "pathIsTooLong")
    return name


def resolve_name_conflict(
    store: ContentStore, parent: r.Item, name: str, behaviour: str
) -> tuple[str, r.Item | None]:
    """
    Return the name to use, and the existing item to replace, if any.

    Raises:
        GraphError: nameAlreadyExists (behaviour "fail").
    """
    existing = store.child(parent, name)
    if existing is None:
        return name, None
    if behaviour == "fail":
        raise name_taken()
    if behaviour == "replace":
        return existing.name, existing
    stem, dot, ending = name.rpartition(".")
    if not dot or existing.is_folder:
        stem, ending = name, ""
    number = 1
    while store.child(parent, f"{stem} {number}{dot if ending else ''}{ending}") is not None:
        number += 1
    return f"{stem} {number}{dot if ending else ''}{ending}", None


def new_item(call: CollabCall, parent: r.Item, name: str, **more: Any) -> r.Item:
    """Return a new item of a folder, without storing it."""
    drive = call.drive(parent.drive_id)
    guid = str(uuid4())
    now = call.store.now_text()
    is_folder = bool(more.get("is_folder"))
    return r.Item(
        id=item_id(drive.id, UUID(guid)),
        drive_id=drive.id,
        parent_id=parent.id,
        name=name,
        number=call.store.next_number(drive.list_id),
        guid=guid,
        created=now,
        modified=now,
        author=call.actor(),
        editor=call.actor(),
        content_type=FOLDER_TYPE if is_folder else FILE_TYPE,
        **more,
    )


def check_quota(call: CollabCall, drive_id: str, size: int, *, freed: int = 0) -> None:
    """
    Check that *size* bytes fit into a library after *freed* bytes are released.

    Raises:
        GraphError: quotaLimitReached.
    """
    drive = call.drive(drive_id)
    if call.store.used_bytes(drive.id) - freed + size > drive.quota:
        raise quota_exceeded()


def ensure_parent_folder(call: CollabCall, drive_id: str, reference: str) -> tuple[r.Item, str]:
    """
    Return the folder and the name of ``parent:/a/b/name``; create missing folders.

    Raises:
        GraphError: The parent is unknown, or a path segment is not a folder.
    """
    head, _, path = reference.partition(":/")
    names = [name for name in path.split("/") if name]
    if not names:
        raise not_found()
    folder = call.item(drive_id, head, scopes=WRITE_FILES)
    for name in names[:-1]:
        subfolder = call.store.child(folder, name)
        if subfolder is None:
            subfolder = new_item(
                call, folder, validate_name(call.store, folder, name), is_folder=True
            )
            call.store.put(subfolder)
        folder = subfolder
    if not folder.is_folder:
        raise invalid_request("The parent is not a folder.")
    return folder, names[-1]
