"""Changes to files and folders: made, renamed, moved, deleted. Source: wire report 1D.4."""

import re
from typing import Any
from uuid import UUID, uuid4

import msgspec

from sandbox.collab import records as r
from sandbox.collab.endpoint import Door
from sandbox.collab.errors import bad, full, name_taken, not_found
from sandbox.collab.files import items
from sandbox.collab.files.content import mime_of
from sandbox.collab.ids import item_id
from sandbox.collab.requests import WRITE_FILES, Call
from sandbox.collab.store import ContentStore, stamp
from sandbox.http import Response
from sandbox.provider_b.odata.filter_terms import instant
from sandbox.provider_b.responses import Refusal, empty, ok

FOLDER_TYPE = "0x012000"
FILE_TYPE = "0x0101"
CONFLICT = "@microsoft.graph.conflictBehavior"
_BEHAVIOURS = ("fail", "replace", "rename")
_FORBIDDEN = re.compile(r'["*:<>?/\\|\x00-\x1f]')
_RESERVED = re.compile(
    r"^(?:\.lock|con|prn|aux|nul|com\d|lpt\d|desktop\.ini|_vti_.*|.*_vti_.*|~\$.*)$", re.IGNORECASE
)
_MOST_PATH = 400  # characters


def install(door: Door) -> None:
    """Add the paths that change items."""
    add = door.routes.add
    add("POST", "/drives/{drive}/items/{item}/children", create_folder)
    add("PATCH", "/drives/{drive}/items/{item}", change)
    add("DELETE", "/drives/{drive}/items/{item}", recycle)
    add("POST", "/drives/{drive}/items/{item}/permanentDelete", destroy)
    add("GET", "/sites/{site}/recycleBin/items", recycle_bin)


def create_folder(call: Call, drive: str, item: str) -> Response:
    """Make a folder in a folder."""
    parent = call.item(drive, item, scopes=WRITE_FILES)
    body = call.json()
    if not isinstance(body.get("folder"), dict):
        raise bad("Only folders can be created here: the folder facet is missing.")
    behaviour = conflict_behaviour(body.get(CONFLICT), "fail")
    name = checked_name(call.store, parent, body.get("name"))
    name, there = free_name(call.store, parent, name, behaviour)
    if there is not None:  # "replace" of a folder keeps what is in it
        if not there.is_folder:
            raise name_taken()
        return _one(call, there, 200)
    made = new_item(
        call, parent, name, is_folder=True, description=str(body.get("description") or "")
    )
    call.store.put(made)
    return _one(call, made, 201)


def change(call: Call, drive: str, item: str) -> Response:
    """Rename, move within the library, or describe."""
    found = call.changeable(drive, item)
    body = call.json()
    parent = _destination(call, found, body.get("parentReference"))
    name = found.name
    if body.get("name") is not None:
        name = checked_name(call.store, parent, body["name"])
    if not found.parent_id and (name != found.name or parent.id != found.parent_id):
        raise bad("The root of a library cannot be changed.")
    if name != found.name or parent.id != found.parent_id:
        behaviour = conflict_behaviour(
            body.get(CONFLICT) or call.request.first(CONFLICT) or None, "fail"
        )
        same = call.store.child(parent, name)
        if same is not None and same.id != found.id:
            name, there = free_name(call.store, parent, name, behaviour)
            if there is not None:
                put_away(call, there)
    modified = _moment(call.inner(body, "fileSystemInfo").get("lastModifiedDateTime"))
    changed = msgspec.structs.replace(
        found,
        name=name,
        parent_id=parent.id if found.parent_id else "",
        description=str(body.get("description", found.description) or ""),
        modified=modified or call.store.now(),
        editor=call.by(),
        version=found.version + 1,
        mime=found.mime if found.is_folder else mime_of(name, found.mime),
    )
    call.store.put(changed)
    return _one(call, changed, 200)


def recycle(call: Call, drive: str, item: str) -> Response:
    """Put an item, and all in it, into the recycle bin."""
    found = call.changeable(drive, item)
    if not found.parent_id:
        raise bad("The root of a library cannot be deleted.")
    held = next((one for one in call.store.below(found) if one.is_locked), None)
    if held is not None:
        raise Refusal(423, "resourceLocked", f"The file '{held.name}' is checked out.")
    put_away(call, found)
    return empty(204)


def destroy(call: Call, drive: str, item: str) -> Response:
    """Delete for good."""
    found = call.changeable(drive, item)
    for one in (*call.store.below(found), found):
        call.store.blobs.drop(one.blob)
        call.store.drop(one)
    return empty(204)


def recycle_bin(call: Call, site: str) -> Response:
    """List what was deleted in a site."""
    found = call.site(site)
    drives = [one.id for one in call.store.every(r.Library) if one.site_id == found.id]
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


def put_away(call: Call, item: r.Item) -> None:
    """Put an item, and all in it, into the recycle bin."""
    now = call.store.now()
    gone = [item, *call.store.below(item)]
    call.store.put_many(msgspec.structs.replace(one, gone=now) for one in gone)


def _destination(call: Call, item: r.Item, wanted: Any) -> r.Item:
    """Return the folder that an item is to lie in."""
    if not isinstance(wanted, dict):
        return call.store.item(item.drive_id, item.parent_id) or item
    drive_id = wanted.get("driveId")
    if drive_id is not None and drive_id != item.drive_id:
        raise bad("Cross drive moves are not supported. Copy the item and delete it.")
    path = str(wanted.get("path") or "").partition("root:")[2]
    reference = str(wanted.get("id") or (f"root:/{path.strip('/')}" if path else "root"))
    parent = call.item(item.drive_id, reference, scopes=WRITE_FILES)
    if not parent.is_folder:
        raise bad("The destination is not a folder.")
    if parent.id == item.id or item.id in (
        ancestor.id for ancestor in call.store.ancestors(parent)
    ):
        raise bad("A folder cannot be moved into itself.")
    return parent


def _moment(given: Any) -> str:
    """Return a time as it is kept, "" for none."""
    if given is None:
        return ""
    try:
        return stamp(instant(str(given)).timestamp())
    except (ValueError, OverflowError):
        raise bad("The time is not one.") from None


def _one(call: Call, item: r.Item, status: int) -> Response:
    context = call.context(f"drives('{item.drive_id}')/items/$entity")
    return ok({"@odata.context": context, **items.full(call, item)}, status)


# -- shared with uploads


def conflict_behaviour(given: Any, usual: str) -> str:
    """
    Read what to do when the name is taken.

    Raises:
        Refusal: It is no such word.
    """
    if given in (None, ""):
        return usual
    if given not in _BEHAVIOURS:
        raise bad("The conflict behaviour must be one of fail, replace or rename.")
    return str(given)


def checked_name(store: ContentStore, parent: r.Item, name: Any) -> str:
    """
    Return a name that may be used in a folder.

    Raises:
        Refusal: It may not, or the whole path would be too long.
    """
    if not isinstance(name, str) or not name:
        raise bad("A name must be provided.")
    wrong = (
        _FORBIDDEN.search(name)
        or _RESERVED.match(name)
        or name != name.strip()
        or name.endswith(".")
        or len(name) > 255
    )
    if wrong:
        raise bad(
            "The provided name cannot contain these characters or is reserved.", "nameInvalid"
        )
    above = [ancestor.name for ancestor in (*store.ancestors(parent), parent)]
    if sum(len(one) + 1 for one in above) + len(name) > _MOST_PATH:
        raise bad("The path of the item is too long.", "pathIsTooLong")
    return name


def free_name(
    store: ContentStore, parent: r.Item, name: str, behaviour: str
) -> tuple[str, r.Item | None]:
    """
    Return the name to use, and the item to replace when there is one of it.

    Raises:
        Refusal: nameAlreadyExists.
    """
    there = store.child(parent, name)
    if there is None:
        return name, None
    if behaviour == "fail":
        raise name_taken()
    if behaviour == "replace":
        return there.name, there
    stem, dot, ending = name.rpartition(".")
    if not dot or there.is_folder:
        stem, ending = name, ""
    number = 1
    while store.child(parent, f"{stem} {number}{dot if ending else ''}{ending}") is not None:
        number += 1
    return f"{stem} {number}{dot if ending else ''}{ending}", None


def new_item(call: Call, parent: r.Item, name: str, **more: Any) -> r.Item:
    """Return a new item of a folder, not yet kept."""
    drive = call.drive(parent.drive_id)
    guid = str(uuid4())
    now = call.store.now()
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
        author=call.by(),
        editor=call.by(),
        content_type=FOLDER_TYPE if is_folder else FILE_TYPE,
        **more,
    )


def check_room(call: Call, drive_id: str, size: int, *, freed: int = 0) -> None:
    """
    Refuse what does not fit into a library.

    Raises:
        Refusal: quotaLimitReached.
    """
    drive = call.drive(drive_id)
    if call.store.used(drive.id) - freed + size > drive.quota:
        raise full()


def folders_to(call: Call, drive_id: str, reference: str) -> tuple[r.Item, str]:
    """
    Return the folder that ``parent:/a/b/name`` leads to, and the name; missing folders are made.

    Raises:
        Refusal: The start is unknown, or something on the way is no folder.
    """
    head, _, path = reference.partition(":/")
    names = [name for name in path.split("/") if name]
    if not names:
        raise not_found()
    at = call.item(drive_id, head, scopes=WRITE_FILES)
    for name in names[:-1]:
        inside = call.store.child(at, name)
        if inside is None:
            inside = new_item(call, at, checked_name(call.store, at, name), is_folder=True)
            call.store.put(inside)
        at = inside
    if not at.is_folder:
        raise bad("The parent is not a folder.")
    return at, names[-1]
