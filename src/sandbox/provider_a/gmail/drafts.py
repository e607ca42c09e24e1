"""Endpoints of Gmail drafts."""

from typing import Any

from sandbox.http import Request
from sandbox.mail import delivery
from sandbox.mail.ids import PROVIDER_A
from sandbox.mail.store import NEW_THREAD, StoredMail
from sandbox.provider_a.errors import GoogleError, NotFound, require_scope
from sandbox.provider_a.gmail import sending
from sandbox.provider_a.gmail.messages import MessageViews
from sandbox.provider_a.gmail.paging import cut_page
from sandbox.provider_a.gmail.reading import ReadEndpoints
from sandbox.provider_a.gmail.writing import MODIFY, read_body, read_raw, read_thread_id
from sandbox.state import SandboxState

_WRITE = ("gmail.compose", MODIFY)
_READ = ("gmail.readonly", *_WRITE)


class DraftEndpoints:
    """The endpoints; each returns JSON content, None for 204."""

    def __init__(self, state: SandboxState, messages: MessageViews, reading: ReadEndpoints) -> None:
        self._state = state
        self._reading = reading
        self._mails = state.mails
        self._messages = messages

    def create(self, request: Request) -> Any:
        message = read_message(read_body(request))
        return self.create_raw(request, read_raw(message), message)

    def create_raw(self, request: Request, raw: bytes, message: dict[str, Any]) -> Any:
        """Make a draft of *raw*, in the thread that *message* names."""
        require_scope(request.grant, *_WRITE)
        return self._written(self._made(raw, read_thread_id(message)))

    def list(self, request: Request) -> Any:
        require_scope(request.grant, *_READ)
        drafts = (mail for mail in self._reading.matching(request) if mail.folder == "drafts")
        page, token, total = cut_page(request, drafts)
        references = [
            {"id": _draft_id(draft), "message": {"id": draft.id, "threadId": draft.thread_id}}
            for draft in page
        ]
        content: dict[str, Any] = {"drafts": references} if references else {}
        if token:
            content["nextPageToken"] = token
        return {**content, "resultSizeEstimate": total}

    def get(self, request: Request, draft: str) -> Any:
        require_scope(request.grant, *_READ)
        mail = self._existing(draft)
        form = request.first("format", "full").lower()
        return {"id": draft, "message": self._messages.write(mail, form)}

    def update(self, request: Request, draft: str) -> Any:
        return self.update_raw(request, draft, read_raw(read_message(read_body(request))))

    def update_raw(self, request: Request, draft: str, raw: bytes) -> Any:
        """Replace the message of a draft by another one, with an id of its own."""
        require_scope(request.grant, *_WRITE)
        mail = self._existing(draft)
        return self._written(self._mails.update(PROVIDER_A, mail.id, raw=raw, new_id=True))

    def delete(self, request: Request, draft: str) -> None:
        require_scope(request.grant, *_WRITE)
        self._mails.delete(PROVIDER_A, self._existing(draft).id)

    def send(self, request: Request) -> Any:
        require_scope(request.grant, *_WRITE)
        mail = self._existing(str(read_body(request).get("id") or ""))
        account = self._mails.account(PROVIDER_A)
        ready = sending.complete_headers(mail.raw, account, self._state.clock())
        sent = delivery.send(self._mails, PROVIDER_A, ready, thread_id=mail.thread_id)
        self._mails.delete(PROVIDER_A, mail.id)
        return self._messages.brief(sent)

    def _made(self, raw: bytes, thread_id: str | None) -> StoredMail:
        thread = sending.choose_thread(self._mails, raw, thread_id) if thread_id else NEW_THREAD
        return self._mails.add(PROVIDER_A, raw, folder="drafts", is_read=True, thread_id=thread)

    def _written(self, mail: StoredMail) -> Any:
        return {"id": _draft_id(mail), "message": self._messages.brief(mail)}

    def _existing(self, draft: str) -> StoredMail:
        mail_id = f"{int(draft[1:]):016x}" if draft[:1] == "r" and draft[1:].isdigit() else ""
        mail = self._mails.find(PROVIDER_A, mail_id)
        if mail is None or mail.folder != "drafts":
            raise NotFound
        return mail


def read_message(content: dict[str, Any]) -> dict[str, Any]:
    """
    Return the message of a draft in a request body.

    Raises:
        GoogleError: 400, it is no object.
    """
    message = content.get("message") or {}
    if not isinstance(message, dict):
        raise GoogleError(400, "Invalid value at 'draft.message'", "invalidArgument")
    return message


def _draft_id(mail: StoredMail) -> str:
    return f"r{int(mail.immutable_id, 16)}"
