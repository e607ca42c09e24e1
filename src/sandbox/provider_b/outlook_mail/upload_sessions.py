"""
Upload sessions of large attachments: docs/spec/upstream/outlook-mail.md#attachments-of-a-draft.

The address of a session authorizes by itself, on the origin of pre-authenticated URLs; sessions are
held in memory.
"""

import re
import secrets
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from sandbox.http import Handler, Request, Response
from sandbox.provider_b.endpoint import UserCall, UserEndpoints
from sandbox.provider_b.outlook_mail import compose, rfc822
from sandbox.provider_b.outlook_mail.compose import FileAttachment
from sandbox.provider_b.outlook_mail.mailbox import WRITE, Mailbox
from sandbox.provider_b.responses import GraphError, empty, error_response, not_found, ok
from sandbox.state import SandboxState

PREFIX = ("attachmentUploads",)
MIN_BYTES = 3 * 1024 * 1024  # a smaller file is attached in one call
MAX_BYTES = 150 * 1024 * 1024
MAX_PART_BYTES = 4 * 1024 * 1024
_LIFETIME_SECONDS = 3 * 60 * 60
_CONTENT_RANGE = re.compile(r"^bytes (\d{1,12})-(\d{1,12})/(\d{1,12})$", re.ASCII)


@dataclass(slots=True, kw_only=True)
class UploadSession:
    """A session; *received* are the bytes so far, and *draft* is the immutable id of the draft."""

    mailbox: Mailbox
    draft: str
    name: str
    content_type: str
    size: int
    expires: float
    received: bytearray = field(default_factory=bytearray)

    def progress(self) -> dict[str, Any]:
        """Return where the next bytes go: a single position, unlike with files."""
        expires = datetime.fromtimestamp(self.expires, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return {"expirationDateTime": expires, "nextExpectedRanges": [str(len(self.received))]}


class UploadSessionEndpoints:
    """The endpoint that creates sessions."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox

    def add_routes(self, endpoints: UserEndpoints) -> None:
        """Add the routes."""
        for root in ("/messages", "/mailFolders/{folder}/messages"):
            endpoints.routes.add(
                "POST", f"{root}/{{message}}/attachments/createUploadSession", self.create
            )

    def create(self, call: UserCall, message: str, folder: str = "") -> Response:  # noqa: ARG002 - part of the path
        """``POST …/attachments/createUploadSession``: 201."""
        call.require_scope(*WRITE)
        mail = self._mailbox.mail(message)
        if mail.folder != "drafts":
            raise not_found()
        members = {name.lower(): value for name, value in call.json().items()}
        item = members.get("attachmentitem")
        if not isinstance(item, dict) or item.get("attachmentType") != "file":
            raise _invalid("The AttachmentItem is missing, or is of a type that has no session.")
        name, size = item.get("name"), item.get("size")
        if not isinstance(name, str) or not name or not isinstance(size, int):
            raise GraphError(400, "ErrorRequiredPropertyMissing", "Required property is missing.")
        if not MIN_BYTES <= size <= MAX_BYTES:
            word = "LessThanMinimum" if size < MIN_BYTES else "GreaterThanMaximum"
            raise GraphError(
                400, f"ErrorAttachmentSizeShouldNotBe{word}Size", "The size is not in the range."
            )
        state = self._mailbox.state
        session = UploadSession(
            mailbox=self._mailbox,
            draft=mail.immutable_id,
            name=name,
            content_type=str(item.get("contentType") or "application/octet-stream"),
            size=size,
            expires=state.clock() + _LIFETIME_SECONDS,
        )
        token = secrets.token_urlsafe(24)
        state.attachment_uploads[token] = session
        body = {
            "@odata.context": call.odata_context("uploadSession"),
            "uploadUrl": f"{call.request.content}/{PREFIX[0]}/{token}?authtoken={token}",
            **session.progress(),
        }
        return ok(body, 201)


def create_upload_handler(state: SandboxState) -> Handler:
    """Return the handler of the addresses of sessions."""

    async def handle(request: Request) -> Response | None:
        try:
            return _answer(state, request)
        except GraphError as refusal:
            return error_response(refusal, request)

    return handle


def _answer(state: SandboxState, request: Request) -> Response:
    if "authorization" in request.headers:
        raise GraphError(401, "unauthenticated", "This address takes no credentials.")
    token = request.segments[-1]
    session = state.attachment_uploads.get(token)
    if session is None or session.expires < state.clock():
        raise not_found()
    match request.method:
        case "GET":
            return ok(session.progress())
        case "DELETE":
            del state.attachment_uploads[token]
            return empty(204)
        case "PUT":
            _receive(request, session)
            if len(session.received) < session.size:
                return ok(session.progress())
            del state.attachment_uploads[token]
            return _attach(request, session)
    raise GraphError(405, "BadRequest", "The HTTP method is not supported for this resource.")


def _receive(request: Request, session: UploadSession) -> None:
    """
    Append one part.

    Raises:
        GraphError: It is too large, or not the next one.
    """
    if len(request.body) > MAX_PART_BYTES:
        raise GraphError(413, "RequestEntityTooLarge", "The request entity is too large.")
    match = _CONTENT_RANGE.fullmatch(request.headers.get("content-range", ""))
    if match is None:
        raise _invalid("The Content-Range is missing or malformed.")
    start, end, total = map(int, match.groups())
    if total != session.size or end - start + 1 != len(request.body):
        raise _invalid("The Content-Range does not fit the session or the body.")
    if start != len(session.received):
        raise GraphError(416, "invalidRange", "The part is not the next one.")
    session.received += request.body


def _attach(request: Request, session: UploadSession) -> Response:
    mailbox = session.mailbox
    mails = mailbox.state.mails
    mail = mailbox.mail(session.draft)
    file = FileAttachment(
        name=session.name, content_type=session.content_type, data=bytes(session.received)
    )
    composed = compose.from_content(mailbox.contents(mail))
    raw = rfc822.to_bytes(replace(composed, files=(*composed.files, file)))
    mails.update(mail.mailbox, mail.id, raw=raw)
    place = f"{request.content}/api/v2.0/Messages('{mail.id}')/Attachments('{len(composed.files)}')"
    return Response(status=201, headers={"location": place})


def _invalid(message: str) -> GraphError:
    return GraphError(400, "ErrorInvalidRequest", message)
