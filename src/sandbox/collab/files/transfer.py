"""
Upload and download: `/content`, and the start of an upload session.

Pre-authenticated URLs (downloads, the parts of a session) are in `signed_urls`.
See docs/spec/upstream/microsoft-files.md#upload.
"""

from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import msgspec

from sandbox.collab import records as r
from sandbox.collab.errors import invalid_request, name_taken, not_found
from sandbox.collab.files import changes, content, items
from sandbox.collab.files.changes import CONFLICT_BEHAVIOR
from sandbox.collab.requests import CollabCall
from sandbox.collab.store import ContentStore, format_time
from sandbox.http import Response, Router
from sandbox.provider_b.responses import GraphError, ok

MAX_SIMPLE_UPLOAD = 250 * 1024 * 1024  # bytes; docs/spec/upstream/microsoft-files.md#small-files
_STAMPED = frozenset((".docx", ".xlsx", ".pptx"))


def install(routes: Router) -> None:
    """Register the routes of file contents."""
    add = routes.add
    add("GET", "/drives/{drive}/items/{item}/content", download)
    add("PUT", "/drives/{drive}/items/{item}/content", upload)
    add("POST", "/drives/{drive}/items/{item}/createUploadSession", create_session)


def download(call: CollabCall, drive: str, item: str) -> Response:
    """Redirect to the pre-authenticated download URL."""
    file = call.item(drive, item)
    if file.target is not None:
        raise not_found()  # a shortcut has no bytes: those of its target have another address
    if file.is_folder or file.package:
        raise invalid_request("You cannot get content for a folder.", "notSupported")
    return Response(status=302, headers={"location": items.download_url(call, file)})


async def upload(call: CollabCall, drive: str, item: str) -> Response:
    """Upload a new file (``parent:/name:``), or new bytes of an existing file."""
    declared = int(call.request.headers.get("content-length") or 0)
    _check_size(declared)
    behaviour = changes.read_conflict_behaviour(
        call.request.first(CONFLICT_BEHAVIOR) or None, "replace"
    )
    parent, name, existing = _target(call, drive, item, behaviour)
    changes.check_quota(call, parent.drive_id, declared, freed=existing.size if existing else 0)
    blob = call.store.blobs.create()
    try:
        size = await call.store.blobs.append(blob, 0, call.request.pieces())
        _check_size(size)
        changes.check_quota(call, parent.drive_id, size, freed=existing.size if existing else 0)
        # Another request may have created the file meanwhile.
        if existing is None:
            name, existing = changes.resolve_name_conflict(call.store, parent, name, behaviour)
    except BaseException:
        call.store.blobs.delete(blob)
        raise
    content_type = call.request.headers.get("content-type", "")
    file = store_upload(call, parent, name, existing, blob=blob, size=size, mime=content_type)
    context = call.context(f"drives('{file.drive_id}')/items/$entity")
    body = {"@odata.context": context, **items.write_whole_item(call, file)}
    return ok(body, 200 if existing else 201)


def _check_size(size: int) -> None:
    if size > MAX_SIMPLE_UPLOAD:
        raise GraphError(413, "invalidRequest", "The request is too large: use an upload session.")


def create_session(call: CollabCall, drive: str, item: str) -> Response:
    """Create an upload session."""
    body = call.json()
    upload_properties = body.get("item")
    upload_properties = upload_properties if isinstance(upload_properties, dict) else {}
    behaviour = changes.read_conflict_behaviour(upload_properties.get(CONFLICT_BEHAVIOR), "fail")
    parent, name, existing = _target(call, drive, item, behaviour, is_session=True)
    requested_name = upload_properties.get("name")
    if requested_name is not None and requested_name != name and existing is None:
        name = changes.validate_name(call.store, parent, requested_name)
    size = upload_properties.get("fileSize")
    if isinstance(size, int) and not isinstance(size, bool):
        changes.check_quota(call, parent.drive_id, size, freed=existing.size if existing else 0)
    session = r.Upload(
        token=uuid4().hex,
        drive_id=parent.drive_id,
        parent_id=parent.id,
        name=name,
        conflict=behaviour,
        by=call.actor(),
        blob=call.store.blobs.create(),
        expires=call.store.now_seconds() + call.store.settings.session_seconds,
        existing_id=existing.id if existing and ":/" not in item else "",
        description=str(upload_properties.get("description") or ""),
    )
    call.store.put(session)
    query = urlencode({"guid": session.token, "tempauth": items.sign(call.store, session.token)})
    response_body = {
        "@odata.context": call.context("microsoft.graph.uploadSession"),
        "uploadUrl": f"{call.request.content}/content/uploadSession?{query}",
        **write_progress(session),
    }
    return ok(response_body)


def write_progress(session: r.Upload) -> dict[str, Any]:
    """
    Return the progress of an upload session.

    The range is closed once the size is known: some clients cannot parse open ranges.
    """
    end = str(session.total - 1) if session.total else ""
    return {
        "expirationDateTime": format_time(session.expires),
        "nextExpectedRanges": [f"{session.received}-{end}"],
    }


def _target(
    call: CollabCall, drive: str, item: str, behaviour: str, *, is_session: bool = False
) -> tuple[r.Item, str, r.Item | None]:
    """Return the folder, the name to use, and the existing file to replace, if any."""
    if ":/" not in item:
        file = call.item_to_change(drive, item)
        if file.is_folder or file.package:
            raise invalid_request("A folder has no content.")
        parent = call.store.item(file.drive_id, file.parent_id)
        return parent or file, file.name, file
    parent, requested_name = changes.ensure_parent_folder(call, drive, item)
    name = changes.validate_name(call.store, parent, requested_name)
    if is_session and behaviour == "fail":
        # A session may start with a taken name: the conflict is reported at its end.
        existing = call.store.child(parent, name)
        return parent, name, existing if existing and existing.is_folder else None
    name, existing = changes.resolve_name_conflict(call.store, parent, name, behaviour)
    if existing is not None:
        if existing.is_folder or existing.package:
            raise name_taken()
        call.item_to_change(drive, existing.id)
    return parent, name, existing


def store_upload(
    call: CollabCall,
    parent: r.Item,
    name: str,
    existing: r.Item | None,
    *,
    blob: str,
    size: int,
    mime: str,
    description: str = "",
) -> r.Item:
    """Store an uploaded blob as a new file, or as the new bytes of an *existing* one."""
    store = call.store
    if store.settings.stamps_office_files and content.suffix(name) in _STAMPED:
        size += store.blobs.append_bytes(blob, b"\0" * 64)
    contents = {
        "size": size,
        "blob": blob,
        "source": (),
        "quick_hash": store.blobs.quick_hash(blob),
        "mime": content.mime_type(name, mime),
        "words": extract_words(store, name, blob),
    }
    if existing is None:
        file = changes.new_item(call, parent, name, description=description, **contents)
    else:
        store.blobs.delete(existing.blob)
        file = msgspec.structs.replace(
            existing,
            modified=store.now_text(),
            editor=call.actor(),
            version=existing.version + 1,
            content_version=existing.content_version + 1,
            **contents,
        )
    store.put(file)
    return file


def extract_words(store: ContentStore, name: str, blob: str) -> str:
    """Return the searchable text of an uploaded file."""
    return content.extract_text(name, store.blobs.read_head(blob, content.MAX_INDEXED_BYTES))[
        :20_000
    ]
