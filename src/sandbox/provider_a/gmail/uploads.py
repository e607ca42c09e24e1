"""
Messages as uploads: media, multipart and resumable.

See docs/spec/upstream/gmail.md#send, and ``mediaUpload`` in Google's discovery document.
"""

import re
from dataclasses import dataclass, field, replace
from email import message_from_bytes
from email.message import Message
from typing import Any
from uuid import uuid4

from sandbox.http import Handler, Request, Response
from sandbox.provider_a.errors import GoogleError, NotFound, require_scope
from sandbox.provider_a.gmail.drafts import DraftEndpoints, read_message
from sandbox.provider_a.gmail.messages import MessageViews
from sandbox.provider_a.gmail.reading import ReadEndpoints
from sandbox.provider_a.gmail.routes import respond
from sandbox.provider_a.gmail.writing import (
    MAX_MESSAGE_BYTES,
    MODIFY,
    SEND,
    WriteEndpoints,
    read_body,
    read_thread_id,
)
from sandbox.state import SandboxState

_MESSAGES = ("upload", "gmail", "v1", "users")
PART_MULTIPLE = 256 * 1024  # bytes; every part of a resumable upload but the last is a multiple
_CONTENT_RANGE = re.compile(r"bytes (?:(\d{1,12})-(\d{1,12})|\*)/(\d{1,12})", re.ASCII)


def create_handler(state: SandboxState) -> Handler:
    """Return the handler of paths below ``upload/gmail``."""
    messages = MessageViews(state)
    reading = ReadEndpoints(state, messages)
    writing = WriteEndpoints(state, messages, reading)
    uploads = _Uploads(writing, DraftEndpoints(state, messages, reading))

    async def handle(request: Request) -> Response | None:
        segments = request.segments
        is_update = request.method == "PUT" and segments[5:6] == ("drafts",) and len(segments) == 7
        if segments[:4] != _MESSAGES or (
            not is_update
            and segments[5:]
            not in {("messages", "send"), ("messages", "import"), ("messages",), ("drafts",)}
        ):
            return None
        if request.first("uploadType") == "resumable":
            unfinished = uploads.start(request) or uploads.receive(request)
            if unfinished is not None:
                return unfinished
        return respond(state, request, lambda: uploads.take(request))

    return handle


@dataclass(slots=True)
class _Session:
    metadata: dict[str, Any]
    received: bytearray = field(default_factory=bytearray)


class _Uploads:
    def __init__(self, writing: WriteEndpoints, drafts: DraftEndpoints) -> None:
        self._writing = writing
        self._drafts = drafts
        self._sessions: dict[str, _Session] = {}

    def start(self, request: Request) -> Response | None:
        """Open a resumable session; None when the call belongs to one."""
        if request.method != "POST" or request.first("upload_id"):
            return None
        name = uuid4().hex
        try:
            self._sessions[name] = _Session(read_body(request))
        except GoogleError as error:
            return error.response()
        location = request.link(upload_id=name)
        return Response(headers={"location": location, "x-guploader-uploadid": name})

    def receive(self, request: Request) -> Response | None:
        """Store a part of a session; None when its message is complete, or there is no session."""
        place = request.headers.get("content-range")
        session = self._sessions.get(request.first("upload_id"))
        if session is None or place is None:
            return None
        match = _CONTENT_RANGE.fullmatch(place)
        if match is None:
            problem = "Failed to parse Content-Range header."
            return GoogleError(400, problem, "badRequest").response()
        first, last, total = match.groups()
        if first is not None:
            is_next = int(first) == len(session.received)
            is_last = int(last) + 1 == int(total)
            fits = int(last) - int(first) + 1 == len(request.body)
            if not is_next or not fits or not (is_last or len(request.body) % PART_MULTIPLE == 0):
                problem = "Invalid request. The part does not continue the upload."
                return GoogleError(400, problem, "badRequest").response()
            session.received += request.body
        if len(session.received) == int(total):
            return None
        stored = {"range": f"bytes=0-{len(session.received) - 1}"} if session.received else {}
        return Response(status=308, headers=stored)

    def take(self, request: Request) -> Any:
        """Send or insert the uploaded message, or make a draft of it, as the path says."""
        content, raw = self._read(request)
        if len(raw) > MAX_MESSAGE_BYTES:
            raise GoogleError(413, "Request payload size exceeds the limit.", "uploadTooLarge")
        if not raw:
            raise GoogleError(400, "Media upload is empty", "invalidArgument")
        if request.segments[-2] == "drafts":
            return self._drafts.update_raw(request, request.segments[-1], raw)
        if request.segments[-1] == "drafts":
            return self._drafts.create_raw(request, raw, read_message(content))
        if request.segments[-1] == "send":
            require_scope(request.grant, *SEND)
            return self._writing.send_raw(raw, read_thread_id(content))
        require_scope(request.grant, "gmail.insert", MODIFY)
        usual = "dateHeader" if request.segments[-1] == "import" else "receivedTime"
        source = request.first("internalDateSource", usual)
        return self._writing.insert_raw(raw, content, dated=source == "dateHeader")

    def _read(self, request: Request) -> tuple[dict[str, Any], bytes]:
        kind = request.headers.get("content-type", "")
        name = request.first("upload_id")
        if name:
            if name not in self._sessions:
                raise NotFound
            session = self._sessions.pop(name)
            return session.metadata, bytes(session.received) or request.body
        if not kind.startswith("multipart/"):
            return {}, request.body
        head = f"Content-Type: {kind}\r\n\r\n".encode("latin-1")
        outer = message_from_bytes(head + request.body)
        parts = outer.get_payload()
        if not isinstance(parts, list) or len(parts) != 2:
            raise GoogleError(400, "Malformed multipart body.", "badRequest")
        first = parts[0].get_payload(decode=True) if isinstance(parts[0], Message) else b""
        metadata_request = replace(request, body=first if isinstance(first, bytes) else b"")
        return read_body(metadata_request), _second_part(request.body, kind)


def _second_part(body: bytes, kind: str) -> bytes:
    """Return the bytes of the second part unparsed: the parser would alter the message."""
    boundary = message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode("latin-1")).get_boundary()
    pieces = body.split(b"--" + (boundary or "").encode("latin-1"))
    part = pieces[2] if len(pieces) > 2 else b""
    for blank in (b"\r\n\r\n", b"\n\n"):
        before, separator, after = part.lstrip(b"\r\n").partition(blank)
        if separator and b"\n\n" not in before.replace(b"\r\n", b"\n"):
            return after.removesuffix(b"\n").removesuffix(b"\r")
    return b""
