"""
Endpoints that create drafts, replies and forwards, and send messages.

A sent message is stored in Sent Items under the immutable id of its draft, and delivered to the
sandbox's own mailboxes. See docs/spec/upstream/outlook-mail.md#send.
"""

import binascii
import secrets
from base64 import b64decode
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

from sandbox.http import Response
from sandbox.mail import delivery
from sandbox.mail.ids import PROVIDER_B
from sandbox.mail.mime import Address, parse
from sandbox.mail.store import StoredMail
from sandbox.provider_b.endpoint import UserCall, UserEndpoints
from sandbox.provider_b.mailbox_rights import Right
from sandbox.provider_b.odata.query_options import Options
from sandbox.provider_b.outlook_mail import attachments, compose, replies, rfc822
from sandbox.provider_b.outlook_mail.compose import ComposedMessage
from sandbox.provider_b.outlook_mail.content import Content
from sandbox.provider_b.outlook_mail.mailbox import SEND, WRITE, Mailbox
from sandbox.provider_b.responses import GraphError, empty, not_found, ok

MAX_SENT = 35 * 1024 * 1024  # bytes of a message; Exchange Online sends no larger ones
MAX_ATTACHED = 3 * 1024 * 1024  # bytes of one attachment; a larger one needs an upload session

AnswerWith = Callable[..., Response]


class SendEndpoints:
    """The endpoints that create and send messages."""

    def __init__(self, mailbox: Mailbox, answer_with: AnswerWith) -> None:
        self._mailbox = mailbox
        self._mails = mailbox.state.mails
        self._answer_with = answer_with

    def add_routes(self, endpoints: UserEndpoints) -> None:
        """Add the routes."""
        add = endpoints.routes.add
        add("POST", "/sendMail", self.send_mail)
        for root in ("/messages", "/mailFolders/{folder}/messages"):
            add("POST", root, self.create)
            add("POST", f"{root}/{{message}}/send", self.send_draft)
            add("POST", f"{root}/{{message}}/attachments", self.attach)
            add("DELETE", f"{root}/{{message}}/attachments/{{attachment}}", self.detach)
            for word, operation in _REPLY_OPERATIONS.items():
                add("POST", f"{root}/{{message}}/{word}", self._endpoint(operation))

    def send_mail(self, call: UserCall) -> Response:
        """``POST /sendMail``: JSON or base64 MIME; 202 without a body."""
        call.require_scope(*SEND)
        if call.is_mime:
            self._send(call, _read_mime(call))
            return empty(202)
        parameters = {name.lower(): value for name, value in call.json().items() if "@" not in name}
        message, save = parameters.get("message"), parameters.get("savetosentitems", True)
        if not isinstance(message, dict):
            raise GraphError(
                400, "ErrorInvalidParameter", "The value of the parameter 'Message' is empty."
            )
        composed = compose.apply_members(ComposedMessage(), message)
        self._send(call, self._raw(call, composed), save=save is not False)
        return empty(202)

    def create(self, call: UserCall, folder: str = "") -> Response:
        """``POST /messages``: a draft, from JSON or base64 MIME; 201."""
        call.require_scope(*WRITE)
        target = self._mailbox.folder_key(folder) if folder else "drafts"
        if call.is_mime:
            return self._drafted(call, _read_mime(call), target)
        wanted = call.json()
        composed = compose.apply_members(ComposedMessage(body_type="text"), wanted)
        labels = wanted.get("categories") or ()
        return self._drafted(call, self._raw(call, composed), target, labels=labels)

    def send_draft(self, call: UserCall, message: str, folder: str = "") -> Response:  # noqa: ARG002 - part of the path
        """``POST /messages/{id}/send``: 202; the draft becomes the copy in Sent Items."""
        call.require_scope(*SEND)
        mail = self._mailbox.mail(message)
        if mail.folder != "drafts":
            raise GraphError(400, "ErrorInvalidOperation", "Only a draft can be sent.")
        self._send(call, mail.raw, draft=mail)
        return empty(202)

    def attach(self, call: UserCall, message: str, folder: str = "") -> Response:  # noqa: ARG002 - part of the path
        """``POST /messages/{id}/attachments``: adds a file to a draft; 201."""
        call.require_scope(*WRITE)
        mail = self._mailbox.mail(message)
        if mail.folder != "drafts":
            raise not_found()
        file = compose.read_attachment(call.json())
        if len(file.data) >= MAX_ATTACHED:
            raise GraphError(413, "RequestEntityTooLarge", "The request entity is too large.")
        composed = compose.from_content(self._mailbox.contents(mail))
        raw = rfc822.to_bytes(replace(composed, files=(*composed.files, file)))
        changed = self._mails.update(mail.mailbox, mail.id, raw=raw)
        context = call.odata_context(f"messages('{message}')/attachments/$entity")
        return ok({"@odata.context": context, **self._last_attachment(call, changed)}, 201)

    def detach(
        self,
        call: UserCall,
        message: str,
        attachment: str,
        folder: str = "",  # noqa: ARG002 - part of the path
    ) -> Response:
        """``DELETE /messages/{id}/attachments/{id}``: removes a file of a draft; 204."""
        call.require_scope(*WRITE)
        mail = self._mailbox.mail(message)
        part = attachments.find_attachment(self._mailbox.view(mail), attachment)
        if mail.folder != "drafts" or part is None:
            raise not_found()
        content = self._mailbox.contents(mail)
        files = (compose.from_part(other) for other in content.attachments if other is not part)
        composed = replace(compose.from_content(content), files=tuple(files))
        self._mails.update(mail.mailbox, mail.id, raw=rfc822.to_bytes(composed))
        return empty(204)

    def _last_attachment(self, call: UserCall, mail: StoredMail) -> dict[str, Any]:
        part = self._mailbox.contents(mail).attachments[-1]
        return attachments.attachment_record(
            mail, part, Options(expand={}), immutable=call.immutable
        )

    def _endpoint(self, operation: "ReplyOperation") -> Callable[..., Response]:
        def endpoint(call: UserCall, message: str, folder: str = "") -> Response:  # noqa: ARG001 - part of the path
            call.require_scope(*(WRITE if operation.draft else SEND))
            mail = self._mailbox.mail(message)
            raw = self._raw(call, operation.compose(call, mail, self._mailbox.contents(mail)))
            if operation.draft:
                return self._drafted(call, raw, "drafts", thread_id=mail.thread_id)
            self._send(call, raw, thread_id=mail.thread_id)
            return empty(202)

        return endpoint

    def _raw(self, call: UserCall, composed: ComposedMessage) -> bytes:
        if composed.sender and composed.sender.address.casefold() != call.user.email.casefold():
            raise GraphError(
                403,
                "ErrorSendAsDenied",
                "The user account which was used to submit this request does not have the right "
                "to send mail on behalf of the specified sending account.",
            )
        named = composed.message_id or _new_message_id(call)
        return rfc822.to_bytes(replace(composed, sender=None, message_id=named))

    def _drafted(
        self,
        call: UserCall,
        raw: bytes,
        folder: str,
        *,
        thread_id: str | None = None,
        labels: tuple[str, ...] = (),
    ) -> Response:
        draft = self._mails.add(
            self._mailbox.name,
            raw,
            folder="drafts",
            is_read=True,
            thread_id=thread_id,
            labels=labels,
        )
        if folder != "drafts":
            draft = self._mails.update(draft.mailbox, draft.id, folder=folder)
        return self._answer_with(call, draft, status=201)

    def _send(
        self,
        call: UserCall,
        raw: bytes,
        *,
        draft: StoredMail | None = None,
        thread_id: str | None = None,
        save: bool = True,
    ) -> None:
        recipients = delivery.parse_recipients(raw)
        if not recipients or not all(_deliverable(address) for address in recipients):
            raise GraphError(
                400,
                "ErrorInvalidRecipients",
                "At least one recipient isn't valid., A message can't be sent unless all of its "
                "recipients are valid.",
            )
        if len(raw) > MAX_SENT:
            raise GraphError(
                413, "ErrorMessageSizeExceeded", "The message exceeds the maximum supported size."
            )
        now = self._mailbox.state.clock()
        raw = rfc822.stamp(
            raw,
            sender=Address(call.user.name, call.user.email),
            date=format_datetime(datetime.fromtimestamp(now, UTC)),
            message_id=_new_message_id(call),
            agent=self._agent(call),
        )
        received = int(now * 1000)
        if draft is not None:
            self._mails.update(
                draft.mailbox,
                draft.id,
                folder="sent",
                raw=raw,
                is_read=True,
                received_ms=received,
                new_id=True,
            )
        elif save:
            self._mails.add(
                self._mailbox.name,
                raw,
                folder="sent",
                is_read=True,
                received_ms=received,
                thread_id=thread_id,
            )
        delivery.deliver(self._mails, raw, received_ms=received)

    def _agent(self, call: UserCall) -> Address | None:
        """Return the person who sends on behalf of the mailbox; None: as the mailbox."""
        if call.rights is None or Right.SEND_AS in call.rights:
            return None
        person = call.request.grant.account if call.request.grant else ""
        own = self._mails.account(PROVIDER_B)
        return Address(own.name if own.has_address(person) else "", person)


class ReplyOperation:
    """One of the six endpoints that reply to a message or forward it."""

    def __init__(self, *, draft: bool, everyone: bool = False, forwards: bool = False) -> None:
        self.draft = draft
        self._everyone = everyone
        self._forwards = forwards

    def compose(self, call: UserCall, mail: StoredMail, content: Content) -> ComposedMessage:
        """
        Compose the reply or forward that the call's body describes.

        Raises:
            GraphError: There are both a comment and a body, or the recipients of a forward are
                given twice or not at all.
        """
        parameters = {name.lower(): value for name, value in call.json().items() if "@" not in name}
        comment, message = parameters.get("comment") or "", parameters.get("message") or {}
        if not isinstance(comment, str) or not isinstance(message, dict):
            raise _invalid("The request body is not of the expected form.")
        if comment and message.get("body"):
            raise _invalid("Specify either a comment or the body of the message, not both.")
        if not self._forwards:
            composed = replies.reply(
                content, mail, account=call.user.email, comment=comment, everyone=self._everyone
            )
            return compose.apply_members(composed, message)
        composed = replies.forward(content, mail, comment=comment)
        return compose.apply_members(composed, self._with_recipients(parameters, message))

    def _with_recipients(
        self, parameters: Mapping[str, Any], message: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        outside, inside = parameters.get("torecipients"), message.get("toRecipients")
        if outside and inside:
            raise _invalid("Specify toRecipients either as a parameter or in the message.")
        if not outside and not inside and not self.draft:
            raise _invalid("The parameter toRecipients is missing.")
        return {**message, "toRecipients": outside} if outside else message


_REPLY_OPERATIONS = {
    "reply": ReplyOperation(draft=False),
    "replyAll": ReplyOperation(draft=False, everyone=True),
    "forward": ReplyOperation(draft=False, forwards=True),
    "createReply": ReplyOperation(draft=True),
    "createReplyAll": ReplyOperation(draft=True, everyone=True),
    "createForward": ReplyOperation(draft=True, forwards=True),
}


def _invalid(message: str) -> GraphError:
    return GraphError(400, "ErrorInvalidRequest", message)


def _new_message_id(call: UserCall) -> str:
    return f"<{secrets.token_hex(16).upper()}@{call.user.email.rpartition('@')[2]}>"


def _deliverable(address: str) -> bool:
    local, at, domain = address.rpartition("@")
    return bool(local and at and domain) and not any(mark in address for mark in ' <>,;"')


def _read_mime(call: UserCall) -> bytes:
    """Decode a base64 MIME body, which may have line breaks."""
    text = b"".join(call.request.body.split())
    try:
        raw = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if not raw:
        raise GraphError(
            400,
            "ErrorMimeContentInvalidBase64String",
            "The MIME content is not a valid base64 string.",
        )
    if not parse(raw).headers:
        raise GraphError(400, "ErrorMimeContentInvalid", "The MIME content is not valid.")
    return raw
