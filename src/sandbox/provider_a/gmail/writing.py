"""Endpoints that send, insert, label, trash and delete Gmail messages and threads."""

from collections.abc import Sequence
from typing import Any

from sandbox.http import Request
from sandbox.mail import dates, delivery
from sandbox.mail.ids import PROVIDER_A
from sandbox.mail.mime import parse
from sandbox.mail.store import StoredMail
from sandbox.provider_a.errors import FULL_SCOPE, GoogleError, require_scope
from sandbox.provider_a.gmail import labels, sending
from sandbox.provider_a.gmail.labels import BadLabels
from sandbox.provider_a.gmail.messages import MessageViews, decode_base64url
from sandbox.provider_a.gmail.reading import ReadEndpoints
from sandbox.state import SandboxState

MODIFY = "gmail.modify"
SEND = ("gmail.send", "gmail.compose", MODIFY)
MAX_MESSAGE_BYTES = 36_700_160  # discovery document, messages.send
_MAX_IDS = 1000


class WriteEndpoints:
    """The endpoints; each returns JSON content, None for 204."""

    def __init__(self, state: SandboxState, messages: MessageViews, reading: ReadEndpoints) -> None:
        self._state = state
        self._mails = state.mails
        self._messages = messages
        self._reading = reading

    def send(self, request: Request) -> Any:
        require_scope(request.grant, *SEND)
        content = read_body(request)
        return self.send_raw(read_raw(content), read_thread_id(content))

    def send_raw(self, raw: bytes, thread_id: str | None) -> Any:
        """Send a message; returns its ids and labels."""
        account = self._mails.account(PROVIDER_A)
        ready = sending.complete_headers(raw, account, self._state.clock())
        thread = sending.choose_thread(self._mails, ready, thread_id)
        return self._messages.brief(delivery.send(self._mails, PROVIDER_A, ready, thread_id=thread))

    def insert(self, request: Request) -> Any:
        require_scope(request.grant, "gmail.insert", MODIFY)
        content = read_body(request)
        return self.insert_raw(
            read_raw(content), content, dated=request.first("internalDateSource") == "dateHeader"
        )

    def import_(self, request: Request) -> Any:
        require_scope(request.grant, "gmail.insert", MODIFY)
        content = read_body(request)
        source = request.first("internalDateSource", "dateHeader")
        return self.insert_raw(read_raw(content), content, dated=source == "dateHeader")

    def insert_raw(self, raw: bytes, content: dict[str, Any], *, dated: bool) -> Any:
        """Add a message to the mailbox; *dated* takes the received time from its Date header."""
        (ids,) = check_labels(self._state, content.get("labelIds"), internal=True)
        thread = read_thread_id(content)
        added = self._mails.add(
            PROVIDER_A,
            raw,
            **labels.stored_state(self._mails, ids),
            received_ms=_date_header_ms(raw) if dated else None,
            thread_id=sending.choose_thread(self._mails, raw, thread) if thread else None,
        )
        return self._messages.brief(added)

    def modify(self, request: Request, message: str) -> Any:
        require_scope(request.grant, MODIFY)
        mail = self._reading.existing(message)
        content = read_body(request)
        return self._messages.brief(self._relabelled([mail], content)[0])

    def batch_modify(self, request: Request) -> None:
        require_scope(request.grant, MODIFY)
        content = read_body(request)
        # Gmail ignores unknown ids.
        mails = [self._mails.find(PROVIDER_A, mail_id) for mail_id in _ids(content)]
        self._relabelled([mail for mail in mails if mail is not None], content)

    def batch_delete(self, request: Request) -> None:
        require_scope(request.grant, FULL_SCOPE)
        for mail_id in _ids(read_body(request)):
            if self._mails.find(PROVIDER_A, mail_id) is not None:
                self._mails.delete(PROVIDER_A, mail_id)

    def trash(self, request: Request, message: str) -> Any:
        require_scope(request.grant, MODIFY)
        return self._messages.brief(self._moved(self._reading.existing(message), trash=True))

    def untrash(self, request: Request, message: str) -> Any:
        require_scope(request.grant, MODIFY)
        return self._messages.brief(self._moved(self._reading.existing(message), trash=False))

    def delete(self, request: Request, message: str) -> None:
        require_scope(request.grant, FULL_SCOPE)
        self._mails.delete(PROVIDER_A, self._reading.existing(message).id)

    def modify_thread(self, request: Request, thread: str) -> Any:
        require_scope(request.grant, MODIFY)
        mails = self._reading.existing_thread(thread)
        return self._thread(thread, self._relabelled(mails, read_body(request)))

    def trash_thread(self, request: Request, thread: str) -> Any:
        require_scope(request.grant, MODIFY)
        mails = self._reading.existing_thread(thread)
        return self._thread(thread, [self._moved(mail, trash=True) for mail in mails])

    def untrash_thread(self, request: Request, thread: str) -> Any:
        require_scope(request.grant, MODIFY)
        mails = self._reading.existing_thread(thread)
        return self._thread(thread, [self._moved(mail, trash=False) for mail in mails])

    def delete_thread(self, request: Request, thread: str) -> None:
        require_scope(request.grant, FULL_SCOPE)
        for mail in self._reading.existing_thread(thread):
            self._mails.delete(PROVIDER_A, mail.id)

    def _thread(self, thread: str, mails: Sequence[StoredMail]) -> Any:
        return {
            "id": thread,
            "historyId": str(max(mail.change for mail in mails)),
            "messages": [self._messages.brief(mail) for mail in mails],
        }

    def _moved(self, mail: StoredMail, *, trash: bool) -> StoredMail:
        add, remove = (("TRASH",), ()) if trash else ((), ("TRASH",))
        return labels.change(self._mails, mail, add=add, remove=remove)

    def _relabelled(self, mails: Sequence[StoredMail], content: dict[str, Any]) -> list[StoredMail]:
        add, remove = check_labels(
            self._state, content.get("addLabelIds"), content.get("removeLabelIds")
        )
        if not add and not remove:
            raise GoogleError(400, "No label add or removes specified", "invalidArgument")
        if set(add) & set(remove):
            raise GoogleError(400, "Cannot both add and remove the same label", "invalidArgument")
        return [labels.change(self._mails, mail, add=add, remove=remove) for mail in mails]


def read_body(request: Request) -> dict[str, Any]:
    """
    Return the JSON object of a request body.

    Raises:
        GoogleError: 400, the body is no JSON object.
    """
    try:
        content = request.json()
    except ValueError:
        raise GoogleError(400, "Invalid JSON payload received.", "badRequest") from None
    if not isinstance(content, dict):
        raise GoogleError(400, "Invalid JSON payload received.", "badRequest")
    return content


def read_raw(content: dict[str, Any]) -> bytes:
    """
    Return the decoded ``raw`` message of a request body.

    Raises:
        GoogleError: 400, ``raw`` is missing or not base64.
    """
    text = content.get("raw")
    if not isinstance(text, str) or not text:
        raise GoogleError(
            400,
            "'raw' RFC822 payload message string or uploading message via /upload/* URL required",
            "invalidArgument",
        )
    try:
        return decode_base64url(text)
    except ValueError:
        raise GoogleError(400, "Invalid value at 'raw': not base64", "invalidArgument") from None


def read_thread_id(content: dict[str, Any]) -> str | None:
    """
    Return the threadId of a request body; None when there is none.

    Raises:
        GoogleError: 400, it is no string.
    """
    thread = content.get("threadId")
    if thread is not None and not isinstance(thread, str):
        raise GoogleError(400, "Invalid value at 'threadId'", "invalidArgument")
    return thread


def check_labels(
    state: SandboxState, *groups: Any, internal: bool = False
) -> tuple[tuple[str, ...], ...]:
    """
    Return lists of label ids.

    Raises:
        GoogleError: 400, `labels.check` rejects them.
    """
    try:
        return labels.check(state.mails, *groups, internal=internal)
    except BadLabels as problem:
        raise GoogleError(400, str(problem), "invalidArgument") from None


def _ids(content: dict[str, Any]) -> list[str]:
    ids = content.get("ids") or []
    if not isinstance(ids, list) or len(ids) > _MAX_IDS:
        raise GoogleError(400, "Invalid value at 'ids'", "invalidArgument")
    return [str(mail_id) for mail_id in ids]


def _date_header_ms(raw: bytes) -> int | None:
    return dates.parse_ms(parse(raw).header("date") or "")
