"""
Pre-authenticated URLs: downloads, and the parts of an upload session.

They are on another origin than the API and refuse requests with credentials.
See docs/spec/upstream/README.md#pre-authenticated-addresses.
"""

import hmac
import re
from dataclasses import dataclass
from urllib.parse import quote

import msgspec

from sandbox.collab import records as r
from sandbox.collab.errors import invalid_request, locked, name_taken, not_found, quota_exceeded
from sandbox.collab.files import changes, content, items
from sandbox.collab.files.transfer import store_upload, write_progress
from sandbox.collab.requests import CollabCall
from sandbox.collab.store import ContentStore
from sandbox.http import Handler, Request, Response
from sandbox.provider_b.responses import GraphError, empty, error_response, ok
from sandbox.state import SandboxState

PART_MULTIPLE = 320 * 1024  # bytes; every part except the last is a multiple of this
MAX_PART_SIZE = 60 * 1024 * 1024  # bytes
_CONTENT_RANGE = re.compile(r"^bytes (\d{1,15})-(\d{1,15})/(\d{1,15})$", re.ASCII)
_RANGE = re.compile(r"^bytes=(\d{0,15})-(\d{0,15})$", re.ASCII)


def create_handler(state: SandboxState) -> Handler:
    """Return the request handler of ``/content``."""
    urls = _SignedUrls(state.content)

    async def handle(request: Request) -> Response | None:
        state.content.refresh()
        if "authorization" in request.headers:
            refusal = GraphError(401, "unauthenticated", "This address takes no credentials.")
            return error_response(refusal, request)
        try:
            return await urls.answer(request)
        except GraphError as refusal:
            return error_response(refusal, request)

    return handle


@dataclass(frozen=True, slots=True)
class _Part:
    """A `Content-Range`; *end* is inclusive."""

    start: int
    end: int
    total: int


class _SignedUrls:
    def __init__(self, store: ContentStore) -> None:
        self._store = store

    async def answer(self, request: Request) -> Response:
        match (request.segments[1:], request.method):
            case (("download.aspx",), "GET" | "HEAD"):
                return self._download(request)
            case (("uploadSession",), "GET"):
                return ok(write_progress(self._session(request)))
            case (("uploadSession",), "PUT"):
                return await self._receive_part(request, self._session(request))
            case (("uploadSession",), "DELETE"):
                self._end_session(self._session(request))
                return empty(204)
        raise not_found()

    # -- downloads

    def _download(self, request: Request) -> Response:
        drive_id, item_id, expires = (*request.first("at").rsplit(".", 2), "", "", "")[:3]
        signature = items.sign(self._store, f"{drive_id} {item_id} {expires}")
        if not hmac.compare_digest(signature, request.first("tempauth")):
            raise GraphError(401, "unauthenticated", "The address is not one of ours.")
        if int(expires) < self._store.now_seconds():
            raise GraphError(401, "unauthenticated", "The address has expired.")
        item = self._store.item(drive_id, item_id)
        if item is None or item.is_folder:
            raise not_found()
        start, end, status = _parse_range(request.headers.get("range"), item.size)
        headers = {
            "content-type": item.mime or "application/octet-stream",
            "content-length": str(end - start),
            "content-disposition": f"attachment; filename*=UTF-8''{quote(item.name, safe='')}",
            "accept-ranges": "bytes",
            "etag": items.etag(item),
            "cache-control": "private, max-age=0",
        }
        if status == 206:
            headers["content-range"] = f"bytes {start}-{end - 1}/{item.size}"
        pieces = content.read_chunks(self._store.blobs, item, start, end)
        return Response(status=status, headers=headers, pieces=pieces)

    # -- upload sessions

    def _session(self, request: Request) -> r.Upload:
        token = request.first("guid")
        if not hmac.compare_digest(items.sign(self._store, token), request.first("tempauth")):
            raise GraphError(401, "unauthenticated", "The address is not one of ours.")
        session = self._store.get(r.Upload, token)
        if session is None or session.expires < self._store.now_seconds():
            raise not_found("The upload session was not found")
        return session

    async def _receive_part(self, request: Request, session: r.Upload) -> Response:
        part = _parse_part(request, session)
        size = part.end - part.start + 1
        if not session.total:
            self._check_room(session, part.total)
        received_bytes = await self._store.blobs.append(
            session.blob, session.received, request.pieces()
        )
        if received_bytes != size:
            self._store.blobs.truncate(session.blob, session.received)
            raise invalid_request("The Content-Range does not go with the length of the body.")
        session = msgspec.structs.replace(
            session, received=session.received + size, total=part.total
        )
        if session.received < session.total:
            self._store.put(session)
            return ok(write_progress(session), 202)
        return self._finish(request, session)

    def _check_room(self, session: r.Upload, total: int) -> None:
        existing = self._store.item(session.drive_id, session.existing_id)
        drive = self._store.get(r.Library, session.drive_id)
        freed = existing.size if existing else 0
        if drive and self._store.used_bytes(drive.id) - freed + total > drive.quota:
            self._end_session(session)
            raise quota_exceeded()

    def _finish(self, request: Request, session: r.Upload) -> Response:
        store = self._store
        call = CollabCall(
            request=request,
            store=store,
            version="v1.0",
            account=session.by,
            scopes=frozenset(),
            app_only=False,
        )
        parent = store.item(session.drive_id, session.parent_id)
        if parent is None:
            self._end_session(session)
            raise not_found()
        existing = store.item(session.drive_id, session.existing_id)
        name = session.name
        if existing is None:
            try:
                name, existing = changes.resolve_name_conflict(
                    store, parent, name, session.conflict
                )
            except GraphError:
                self._end_session(session)
                raise
        if existing is not None and (existing.is_folder or existing.is_locked):
            self._end_session(session)
            raise locked() if existing.is_locked else name_taken()
        file = store_upload(
            call,
            parent,
            name,
            existing,
            blob=session.blob,
            size=session.total,
            mime=session.mime,
            description=session.description,
        )
        store.delete(session)
        return ok(items.write_whole_item(call, file), 200 if existing else 201)

    def _end_session(self, session: r.Upload) -> None:
        self._store.blobs.delete(session.blob)
        self._store.delete(session)


def _parse_part(request: Request, session: r.Upload) -> _Part:
    """
    Parse and validate the `Content-Range` of an uploaded part.

    Raises:
        GraphError: It is malformed, too large, of a wrong size, or not the expected part.
    """
    match = _CONTENT_RANGE.match(request.headers.get("content-range", ""))
    if match is None:
        raise invalid_request("The Content-Range header is missing or malformed.")
    part = _Part(*map(int, match.groups()))
    length = request.headers.get("content-length")
    if length is None:
        raise GraphError(411, "invalidRequest", "The Content-Length header is missing.")
    if part.end < part.start or part.end >= part.total:
        raise invalid_request("The Content-Range header is malformed.")
    size = part.end - part.start + 1
    if int(length) != size:
        raise invalid_request("The Content-Range does not go with the length of the body.")
    if size > MAX_PART_SIZE:
        raise GraphError(413, "invalidRequest", "The part is larger than 60 MiB.")
    if session.total and part.total != session.total:
        raise invalid_request("The size of the file differs from the one of the parts before.")
    if part.start != session.received:
        raise GraphError(416, "invalidRange", "The uploaded fragment overlaps with existing data.")
    if part.end + 1 < part.total and size % PART_MULTIPLE:
        raise invalid_request(f"Every part but the last is a multiple of {PART_MULTIPLE} bytes.")
    return part


def _parse_range(range_header: str | None, size: int) -> tuple[int, int, int]:
    """Return start, end (exclusive) and HTTP status of a `Range` header."""
    match = _RANGE.match(range_header or "")
    if match is None or match[1] == match[2] == "":
        return 0, size, 200
    if not match[1]:
        start, end = max(0, size - int(match[2])), size
    else:
        start, end = int(match[1]), min(size, int(match[2]) + 1 if match[2] else size)
    if start >= size or end <= start:
        raise GraphError(
            416,
            "invalidRange",
            "The range is not within the file.",
            headers={"content-range": f"bytes */{size}"},
        )
    return start, end, 206
