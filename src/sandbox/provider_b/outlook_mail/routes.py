"""
Routes of mail, and the endpoints that read, change, move and delete messages.

See docs/spec/upstream/outlook-mail.md.
"""

from typing import Any

from sandbox.http import Handler, Request, Response
from sandbox.mail.ids import PROVIDER_B, SHARED_B
from sandbox.mail.mime import Part
from sandbox.mail.store import StoredMail
from sandbox.provider_b import directory, people
from sandbox.provider_b.endpoint import UserCall, UserEndpoints
from sandbox.provider_b.odata import query_options
from sandbox.provider_b.outlook_mail import attachments, changes, sending, upload_sessions
from sandbox.provider_b.outlook_mail.content import ContentCache
from sandbox.provider_b.outlook_mail.delta_endpoints import DeltaEndpoints
from sandbox.provider_b.outlook_mail.folder_endpoints import FolderEndpoints
from sandbox.provider_b.outlook_mail.folders import Folders
from sandbox.provider_b.outlook_mail.listing import MessageLists
from sandbox.provider_b.outlook_mail.mailbox import READ, READ_BASIC, WRITE, Mailbox, check_id
from sandbox.provider_b.outlook_mail.messages import etag
from sandbox.provider_b.responses import GraphError, empty, not_found, ok
from sandbox.state import SandboxState


def create_handler(state: SandboxState) -> Handler:
    """Return the handler of mail, folders and the directory below ``/v1.0``."""
    contents = ContentCache(state.trees)
    shared, own = (_endpoints(state, name, contents) for name in (SHARED_B, PROVIDER_B))

    async def handle(request: Request) -> Response | None:
        return shared.answer(request) or own.answer(request)

    return handle


def _endpoints(state: SandboxState, name: str, contents: ContentCache) -> UserEndpoints:
    endpoints = UserEndpoints(state, name)
    mailbox = _mailbox(state, name, contents)
    lists = MessageLists(state.mails, name, contents)
    messages, folders = MessageEndpoints(mailbox, lists), FolderEndpoints(mailbox)
    DeltaEndpoints(mailbox, lists, folders).add_routes(endpoints)
    messages.add_routes(endpoints)
    sending.SendEndpoints(mailbox, messages.answer_with).add_routes(endpoints)
    upload_sessions.UploadSessionEndpoints(mailbox).add_routes(endpoints)
    folders.add_routes(endpoints)
    directory.DirectoryEndpoints(state, name).add_routes(endpoints)
    people.PeopleEndpoints(state).add_routes(endpoints)
    return endpoints


def _mailbox(state: SandboxState, name: str, contents: ContentCache) -> Mailbox:
    folders = Folders(state.database, name)
    return Mailbox(name=name, state=state, contents=contents, folders=folders)


class MessageEndpoints:
    """
    The endpoints of messages and their attachments.

    Attributes:
        listing: Lists of messages.
    """

    def __init__(self, mailbox: Mailbox, listing: MessageLists) -> None:
        self._mailbox = mailbox
        self._mails = mailbox.state.mails
        self.listing = listing

    def add_routes(self, endpoints: UserEndpoints) -> None:
        """Add the routes."""
        add = endpoints.routes.add
        for root in ("/messages", "/mailFolders/{folder}/messages"):
            add("GET", root, self.list)
            add("GET", f"{root}/$count", self.count)
            add("GET", f"{root}/{{message}}", self.get)
            add("PATCH", f"{root}/{{message}}", self.patch)
            add("DELETE", f"{root}/{{message}}", self.delete)
            add("POST", f"{root}/{{message}}/permanentDelete", self.delete)
            add("GET", f"{root}/{{message}}/$value", self.mime)
            add("POST", f"{root}/{{message}}/move", self.move)
            add("POST", f"{root}/{{message}}/copy", self.copy)
            add("GET", f"{root}/{{message}}/attachments", self.attachments)
            add("GET", f"{root}/{{message}}/attachments/{{attachment}}", self.attachment)
            add("GET", f"{root}/{{message}}/attachments/{{attachment}}/$value", self.content)

    def list(self, call: UserCall, folder: str = "") -> Response:
        """``GET …/messages``."""
        call.require_scope(*READ_BASIC)
        return self.listing.page(call, self._mailbox.folder_key(folder) if folder else None)

    def count(self, call: UserCall, folder: str = "") -> Response:
        """``GET …/messages/$count``: the number as plain text."""
        call.require_scope(*READ_BASIC)
        number = self.listing.count(call, self._mailbox.folder_key(folder) if folder else None)
        return Response(body=str(number).encode(), headers={"content-type": "text/plain"})

    def get(self, call: UserCall, message: str, folder: str = "") -> Response:
        """``GET …/messages/{id}``."""
        call.require_scope(*READ_BASIC)
        return self.answer_with(call, self._mail(message, folder))

    def patch(self, call: UserCall, message: str, folder: str = "") -> Response:
        """``PATCH …/messages/{id}``: the state of any message, every member of a draft."""
        call.require_scope(*WRITE)
        mail = self._mail(message, folder)
        changes.check_etag(call, mail)
        wanted = {name: value for name, value in call.json().items() if "@" not in name}
        changes.check_settable(mail, wanted)
        raw = changes.rewrite_raw(mail, self._mailbox.contents(mail), wanted)
        changed = self._mails.update(
            mail.mailbox, mail.id, **changes.read_stored_members(wanted), raw=raw
        )
        return self.answer_with(call, changed)

    def delete(self, call: UserCall, message: str, folder: str = "") -> Response:
        """``DELETE …/messages/{id}``: removed from every visible folder."""
        call.require_scope(*WRITE)
        mail = self._mail(message, folder)
        changes.check_etag(call, mail)
        self._mails.delete(mail.mailbox, mail.id)
        return empty(204)

    def mime(self, call: UserCall, message: str, folder: str = "") -> Response:
        """``GET …/messages/{id}/$value``: the message as MIME."""
        call.require_scope(*READ)
        mail = self._mail(message, folder)
        return Response(body=mail.raw, headers={"content-type": "text/plain"})

    def move(self, call: UserCall, message: str, folder: str = "") -> Response:
        """``POST …/move``: the plain id changes, the immutable id stays."""
        call.require_scope(*WRITE)
        mail = self._mail(message, folder)
        target = self._mailbox.folder_key(_destination(call))
        moved = self._mails.update(mail.mailbox, mail.id, folder=target, new_id=True)
        return self.answer_with(call, moved, status=201)

    def copy(self, call: UserCall, message: str, folder: str = "") -> Response:
        """``POST …/copy``: a new message in the same conversation."""
        call.require_scope(*WRITE)
        mail = self._mail(message, folder)
        target = self._mailbox.folder_key(_destination(call))
        copied = self._mails.add(
            mail.mailbox,
            mail.raw,
            folder="archive",  # the store files new mail in its own folders only
            labels=mail.labels,
            is_read=mail.is_read,
            is_starred=mail.is_starred,
            received_ms=mail.received_ms,
            thread_id=mail.thread_id,
        )
        copied = self._mails.update(copied.mailbox, copied.id, folder=target)
        return self.answer_with(call, copied, status=201)

    def attachments(self, call: UserCall, message: str, folder: str = "") -> Response:
        """``GET …/attachments``."""
        call.require_scope(*READ)
        view = self._mailbox.view(self._mail(message, folder))
        options = query_options.parse(call.request.query, attachments.SHAPE, expandable={})
        body: dict[str, Any] = {
            "@odata.context": call.odata_context(f"messages('{message}')/attachments")
        }
        if options.count:
            body["@odata.count"] = len(view.content.attachments)
        body["value"] = attachments.attachment_records(view, options, immutable=call.immutable)
        return ok(body)

    def attachment(
        self, call: UserCall, message: str, attachment: str, folder: str = ""
    ) -> Response:
        """``GET …/attachments/{id}``."""
        mail, part = self._part(call, message, attachment, folder)
        options = query_options.parse(call.request.query, attachments.SHAPE, expandable={})
        context = call.odata_context(f"messages('{message}')/attachments/$entity")
        record = attachments.attachment_record(mail, part, options, immutable=call.immutable)
        return ok({"@odata.context": context, **record})

    def content(self, call: UserCall, message: str, attachment: str, folder: str = "") -> Response:
        """``GET …/attachments/{id}/$value``: the bytes."""
        _, part = self._part(call, message, attachment, folder)
        return Response(body=part.data, headers={"content-type": part.content_type})

    def answer_with(self, call: UserCall, mail: StoredMail, *, status: int = 200) -> Response:
        """Return one message by the query options of the call."""
        view = self.listing.view(mail)
        record = self.listing.record(call, view, self.listing.options(call))
        headers = {"etag": etag(mail)}
        if status == 201:
            headers["location"] = (
                f"{call.request.public}/v1.0/users('{call.user.id}')/messages('{record['id']}')"
            )
        context = {"@odata.context": call.odata_context("messages/$entity")}
        return ok({**context, **record}, status, headers)

    def _mail(self, message: str, folder: str) -> StoredMail:
        mail = self._mailbox.mail(message)
        if folder and mail.folder != self._mailbox.folder_key(folder):
            raise not_found()
        return mail

    def _part(
        self, call: UserCall, message: str, attachment: str, folder: str
    ) -> tuple[StoredMail, Part]:
        call.require_scope(*READ)
        mail = self._mail(message, folder)
        check_id(attachment)
        part = attachments.find_attachment(self._mailbox.view(mail), attachment)
        if part is None:
            raise not_found()
        return mail, part


def _destination(call: UserCall) -> str:
    wanted = call.json()
    target = next(
        (value for name, value in wanted.items() if name.lower() == "destinationid"), None
    )
    if not isinstance(target, str) or not target:
        raise GraphError(
            400, "ErrorInvalidRequest", "The parameter DestinationId is missing from the request."
        )
    return target
