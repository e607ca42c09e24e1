"""
Sending: drafts, replies, forwards, and mail in one call.

What is sent is kept in Sent Items, under the immutable id of its draft, and delivered to the
sandbox's own mailboxes. Source: wire report 1A.5 to 1A.7.
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
from sandbox.provider_b.endpoint import Call, Door
from sandbox.provider_b.odata.query_options import Options
from sandbox.provider_b.outlook_mail import attachments, compose, replies, rfc822
from sandbox.provider_b.outlook_mail.compose import Letter
from sandbox.provider_b.outlook_mail.content import Content
from sandbox.provider_b.outlook_mail.mailbox import SEND, WRITE, Box
from sandbox.provider_b.responses import Refusal, empty, not_found, ok

AnswerWith = Callable[..., Response]


class Sending:
    """The endpoints that make and send messages."""

    def __init__(self, box: Box, answer_with: AnswerWith) -> None:
        self._box = box
        self._mails = box.state.mails
        self._answer_with = answer_with

    def join(self, door: Door) -> None:
        """Add the routes."""
        add = door.routes.add
        add("POST", "/sendMail", self.send_mail)
        for root in ("/messages", "/mailFolders/{folder}/messages"):
            add("POST", root, self.create)
            add("POST", f"{root}/{{message}}/send", self.send_draft)
            add("POST", f"{root}/{{message}}/attachments", self.attach)
            for word, answering in _ANSWERING.items():
                add("POST", f"{root}/{{message}}/{word}", self._endpoint(answering))

    def send_mail(self, call: Call) -> Response:
        """``POST /sendMail``: JSON or base64 MIME; 202 without a body."""
        call.needs(*SEND)
        if call.is_mime:
            self._send(call, _decoded(call))
            return empty(202)
        given = {name.lower(): value for name, value in call.json().items() if "@" not in name}
        message, save = given.get("message"), given.get("savetosentitems", True)
        if not isinstance(message, dict):
            raise Refusal(
                400, "ErrorInvalidParameter", "The value of the parameter 'Message' is empty."
            )
        letter = compose.changed(Letter(), message)
        self._send(call, self._raw(call, letter), save=save is not False)
        return empty(202)

    def create(self, call: Call, folder: str = "") -> Response:
        """``POST /messages``: a draft, from JSON or base64 MIME; 201."""
        call.needs(*WRITE)
        target = self._box.folder_key(folder) if folder else "drafts"
        if call.is_mime:
            return self._drafted(call, _decoded(call), target)
        wanted = call.json()
        letter = compose.changed(Letter(body_type="text"), wanted)
        labels = wanted.get("categories") or ()
        return self._drafted(call, self._raw(call, letter), target, labels=labels)

    def send_draft(self, call: Call, message: str, folder: str = "") -> Response:  # noqa: ARG002 - part of the path
        """``POST /messages/{id}/send``: 202; the draft becomes the copy in Sent Items."""
        call.needs(*SEND)
        mail = self._box.mail(message)
        if mail.folder != "drafts":
            raise Refusal(400, "ErrorInvalidOperation", "Only a draft can be sent.")
        self._send(call, mail.raw, draft=mail)
        return empty(202)

    def attach(self, call: Call, message: str, folder: str = "") -> Response:  # noqa: ARG002 - part of the path
        """``POST /messages/{id}/attachments``: a file onto a draft; 201."""
        call.needs(*WRITE)
        mail = self._box.mail(message)
        if mail.folder != "drafts":
            raise not_found()
        file = compose.attachment(call.json())
        letter = compose.of_content(self._box.contents(mail))
        raw = rfc822.written(replace(letter, files=(*letter.files, file)))
        changed = self._mails.update(PROVIDER_B, mail.id, raw=raw)
        context = call.context(f"messages('{message}')/attachments/$entity")
        return ok({"@odata.context": context, **self._last_attachment(call, changed)}, 201)

    def _last_attachment(self, call: Call, mail: StoredMail) -> dict[str, Any]:
        part = self._box.contents(mail).attachments[-1]
        return attachments.record(mail, part, Options(expand={}), immutable=call.immutable)

    def _endpoint(self, answering: "Answering") -> Callable[..., Response]:
        def endpoint(call: Call, message: str, folder: str = "") -> Response:  # noqa: ARG001 - part of the path
            call.needs(*(WRITE if answering.draft else SEND))
            mail = self._box.mail(message)
            raw = self._raw(call, answering.letter(call, mail, self._box.contents(mail)))
            if answering.draft:
                return self._drafted(call, raw, "drafts", thread_id=mail.thread_id)
            self._send(call, raw, thread_id=mail.thread_id)
            return empty(202)

        return endpoint

    def _raw(self, call: Call, letter: Letter) -> bytes:
        if letter.sender and letter.sender.address.casefold() != call.user.email.casefold():
            raise Refusal(
                403,
                "ErrorSendAsDenied",
                "The user account which was used to submit this request does not have the right "
                "to send mail on behalf of the specified sending account.",
            )
        named = letter.message_id or _new_id(call)
        return rfc822.written(replace(letter, sender=None, message_id=named))

    def _drafted(
        self,
        call: Call,
        raw: bytes,
        folder: str,
        *,
        thread_id: str | None = None,
        labels: tuple[str, ...] = (),
    ) -> Response:
        made = self._mails.add(
            PROVIDER_B, raw, folder="drafts", is_read=True, thread_id=thread_id, labels=labels
        )
        if folder != "drafts":
            made = self._mails.update(PROVIDER_B, made.id, folder=folder)
        return self._answer_with(call, made, status=201)

    def _send(
        self,
        call: Call,
        raw: bytes,
        *,
        draft: StoredMail | None = None,
        thread_id: str | None = None,
        save: bool = True,
    ) -> None:
        recipients = delivery.parse_recipients(raw)
        if not recipients or not all(_deliverable(address) for address in recipients):
            raise Refusal(
                400,
                "ErrorInvalidRecipients",
                "At least one recipient isn't valid., A message can't be sent unless all of its "
                "recipients are valid.",
            )
        now = self._box.state.clock()
        raw = rfc822.stamped(
            raw,
            sender=Address(call.user.name, call.user.email),
            date=format_datetime(datetime.fromtimestamp(now, UTC)),
            message_id=_new_id(call),
        )
        received = int(now * 1000)
        if draft is not None:
            self._mails.update(
                PROVIDER_B,
                draft.id,
                folder="sent",
                raw=raw,
                is_read=True,
                received_ms=received,
                new_id=True,
            )
        elif save:
            self._mails.add(
                PROVIDER_B,
                raw,
                folder="sent",
                is_read=True,
                received_ms=received,
                thread_id=thread_id,
            )
        delivery.deliver(self._mails, raw, received_ms=received)


class Answering:
    """One of the six ways to answer or pass on a message."""

    def __init__(self, *, draft: bool, everyone: bool = False, forwards: bool = False) -> None:
        self.draft = draft
        self._everyone = everyone
        self._forwards = forwards

    def letter(self, call: Call, mail: StoredMail, content: Content) -> Letter:
        """
        Write the answer that the call's body asks for.

        Raises:
            Refusal: Comment and body together; a forward's recipients twice, or nowhere.
        """
        given = {name.lower(): value for name, value in call.json().items() if "@" not in name}
        comment, message = given.get("comment") or "", given.get("message") or {}
        if not isinstance(comment, str) or not isinstance(message, dict):
            raise _invalid("The request body is not of the expected form.")
        if comment and message.get("body"):
            raise _invalid("Specify either a comment or the body of the message, not both.")
        if not self._forwards:
            letter = replies.reply(
                content,
                mail,
                account=call.user.email,
                comment=comment,
                everyone=self._everyone,
            )
            return compose.changed(letter, message)
        letter = replies.forward(content, mail, comment=comment)
        return compose.changed(letter, self._with_recipients(given, message))

    def _with_recipients(
        self, given: Mapping[str, Any], message: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        outside, inside = given.get("torecipients"), message.get("toRecipients")
        if outside and inside:
            raise _invalid("Specify toRecipients either as a parameter or in the message.")
        if not outside and not inside and not self.draft:
            raise _invalid("The parameter toRecipients is missing.")
        return {**message, "toRecipients": outside} if outside else message


_ANSWERING = {
    "reply": Answering(draft=False),
    "replyAll": Answering(draft=False, everyone=True),
    "forward": Answering(draft=False, forwards=True),
    "createReply": Answering(draft=True),
    "createReplyAll": Answering(draft=True, everyone=True),
    "createForward": Answering(draft=True, forwards=True),
}


def _invalid(message: str) -> Refusal:
    return Refusal(400, "ErrorInvalidRequest", message)


def _new_id(call: Call) -> str:
    return f"<{secrets.token_hex(16).upper()}@{call.user.email.rpartition('@')[2]}>"


def _deliverable(address: str) -> bool:
    local, at, domain = address.rpartition("@")
    return bool(local and at and domain) and not any(mark in address for mark in ' <>,;"')


def _decoded(call: Call) -> bytes:
    """Read a base64 MIME body; line breaks in it are allowed."""
    text = b"".join(call.request.body.split())
    try:
        raw = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if not raw:
        raise Refusal(
            400,
            "ErrorMimeContentInvalidBase64String",
            "The MIME content is not a valid base64 string.",
        )
    if not parse(raw).headers:
        raise Refusal(400, "ErrorMimeContentInvalid", "The MIME content is not valid.")
    return raw
