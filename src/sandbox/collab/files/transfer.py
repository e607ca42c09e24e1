"""
Bytes in and out: `/content`, and upload sessions as far as they are asked for with a token.

What has an address of its own (downloads, the chunks of a session) is in `places`.
Source: wire report 1D.3, 1D.4.
"""

from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import msgspec

from sandbox.collab import records as r
from sandbox.collab.endpoint import Door
from sandbox.collab.errors import bad, name_taken
from sandbox.collab.files import changes, content, items
from sandbox.collab.files.changes import CONFLICT
from sandbox.collab.requests import Call
from sandbox.collab.store import ContentStore, stamp
from sandbox.http import Response
from sandbox.provider_b.responses import Refusal, ok

MOST_AT_ONCE = 250 * 1024 * 1024  # bytes; wire report 1D.4
_STAMPED = frozenset((".docx", ".xlsx", ".pptx"))


def install(door: Door) -> None:
    """Add the paths of contents."""
    add = door.routes.add
    add("GET", "/drives/{drive}/items/{item}/content", download)
    add("PUT", "/drives/{drive}/items/{item}/content", upload)
    add("POST", "/drives/{drive}/items/{item}/createUploadSession", create_session)


def download(call: Call, drive: str, item: str) -> Response:
    """Lead to the bytes."""
    found = call.item(drive, item)
    if found.is_folder or found.package:
        raise bad("You cannot get content for a folder.", "notSupported")
    return Response(status=302, headers={"location": items.download_url(call, found)})


async def upload(call: Call, drive: str, item: str) -> Response:
    """Put the bytes of a new file (``parent:/name:``), or of one that is there."""
    declared = int(call.request.headers.get("content-length") or 0)
    _check_size(declared)
    behaviour = changes.conflict_behaviour(call.request.first(CONFLICT) or None, "replace")
    parent, name, there = _target(call, drive, item, behaviour)
    changes.check_room(call, parent.drive_id, declared, freed=there.size if there else 0)
    blob = call.store.blobs.new()
    try:
        size = await call.store.blobs.append(blob, 0, call.request.pieces())
        _check_size(size)
        changes.check_room(call, parent.drive_id, size, freed=there.size if there else 0)
        # Others may have put a file there meanwhile.
        if there is None:
            name, there = changes.free_name(call.store, parent, name, behaviour)
    except BaseException:
        call.store.blobs.drop(blob)
        raise
    stated = call.request.headers.get("content-type", "")
    made = keep(call, parent, name, there, blob=blob, size=size, mime=stated)
    context = call.context(f"drives('{made.drive_id}')/items/$entity")
    body = {"@odata.context": context, **items.full(call, made)}
    return ok(body, 200 if there else 201)


def _check_size(size: int) -> None:
    if size > MOST_AT_ONCE:
        raise Refusal(413, "invalidRequest", "The request is too large: use an upload session.")


def create_session(call: Call, drive: str, item: str) -> Response:
    """Begin an upload in parts."""
    body = call.json()
    wanted = body.get("item")
    wanted = wanted if isinstance(wanted, dict) else {}
    behaviour = changes.conflict_behaviour(wanted.get(CONFLICT), "fail")
    parent, name, there = _target(call, drive, item, behaviour, is_session=True)
    named = wanted.get("name")
    if named is not None and named != name and there is None:
        name = changes.checked_name(call.store, parent, named)
    size = wanted.get("fileSize")
    if isinstance(size, int) and not isinstance(size, bool):
        changes.check_room(call, parent.drive_id, size, freed=there.size if there else 0)
    session = r.Upload(
        token=uuid4().hex,
        drive_id=parent.drive_id,
        parent_id=parent.id,
        name=name,
        conflict=behaviour,
        by=call.by(),
        blob=call.store.blobs.new(),
        expires=call.store.seconds() + call.store.settings.session_seconds,
        existing_id=there.id if there and ":/" not in item else "",
        description=str(wanted.get("description") or ""),
    )
    call.store.put(session)
    query = urlencode({"guid": session.token, "tempauth": items.sign(call.store, session.token)})
    answer = {
        "@odata.context": call.context("microsoft.graph.uploadSession"),
        "uploadUrl": f"{call.request.content}/content/uploadSession?{query}",
        **progress(session),
    }
    return ok(answer)


def progress(session: r.Upload) -> dict[str, Any]:
    """
    Write how far a session is.

    The range is closed as soon as the size is known: a client that cannot read open ones exists.
    """
    end = str(session.total - 1) if session.total else ""
    return {
        "expirationDateTime": stamp(session.expires),
        "nextExpectedRanges": [f"{session.received}-{end}"],
    }


def _target(
    call: Call, drive: str, item: str, behaviour: str, *, is_session: bool = False
) -> tuple[r.Item, str, r.Item | None]:
    """Return the folder, the name to use, and the file that is replaced."""
    if ":/" not in item:
        found = call.changeable(drive, item)
        if found.is_folder or found.package:
            raise bad("A folder has no content.")
        parent = call.store.item(found.drive_id, found.parent_id)
        return parent or found, found.name, found
    parent, wanted = changes.folders_to(call, drive, item)
    name = changes.checked_name(call.store, parent, wanted)
    if is_session and behaviour == "fail":
        # A session begins whatever the name: the conflict shows at its end.
        there = call.store.child(parent, name)
        return parent, name, there if there and there.is_folder else None
    name, there = changes.free_name(call.store, parent, name, behaviour)
    if there is not None:
        if there.is_folder or there.package:
            raise name_taken()
        call.changeable(drive, there.id)
    return parent, name, there


def keep(
    call: Call,
    parent: r.Item,
    name: str,
    there: r.Item | None,
    *,
    blob: str,
    size: int,
    mime: str,
    description: str = "",
) -> r.Item:
    """Make the uploaded blob a file's bytes, of a new one or of the one that is *there*."""
    store = call.store
    if store.settings.stamps_office_files and content.suffix(name) in _STAMPED:
        size += store.blobs.lengthen(blob, b"\0" * 64)
    facts = {
        "size": size,
        "blob": blob,
        "source": (),
        "quick_hash": store.blobs.quick_hash(blob),
        "mime": content.mime_of(name, mime),
        "words": words(store, name, blob),
    }
    if there is None:
        made = changes.new_item(call, parent, name, description=description, **facts)
    else:
        store.blobs.drop(there.blob)
        made = msgspec.structs.replace(
            there,
            modified=store.now(),
            editor=call.by(),
            version=there.version + 1,
            content_version=there.content_version + 1,
            **facts,
        )
    store.put(made)
    return made


def words(store: ContentStore, name: str, blob: str) -> str:
    """Return what search is to know of a file's bytes."""
    return content.words_in(name, store.blobs.head(blob, content.MOST_READ))[:20_000]
