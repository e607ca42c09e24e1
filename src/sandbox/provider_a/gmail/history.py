"""
The endpoint of a mailbox's history. See docs/spec/upstream/gmail.md#history.

A record belongs to one change of one message. The vendor says that its messages typically have
`id` and `threadId` only; in practice most have `labelIds`, and nothing says of which moment. So
here they are those of then, those of now, or absent, by turns.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.http import Request
from sandbox.mail.history import MailEvent, MailState
from sandbox.mail.ids import PROVIDER_A
from sandbox.provider_a.errors import GoogleError, NotFound, require_scope
from sandbox.provider_a.gmail.labels import FOLDER_LABELS, SYSTEM_LABELS, label_ids, user_labels
from sandbox.provider_a.gmail.paging import read_size
from sandbox.state import SandboxState

_TYPES = {
    "messageAdded": "messagesAdded",
    "messageDeleted": "messagesDeleted",
    "labelAdded": "labelsAdded",
    "labelRemoved": "labelsRemoved",
}
_READ = ("gmail.readonly", "gmail.modify", "gmail.metadata")


@dataclass(frozen=True, slots=True)
class _Moment:
    """One change of a message: the labels that it had before and has then, None for no message."""

    change: int
    seq: int
    id: str
    thread_id: str
    before: list[str] | None
    after: list[str] | None


class HistoryEndpoint:
    """The endpoint; returns JSON content."""

    def __init__(self, state: SandboxState) -> None:
        self._mails = state.mails

    def page(self, request: Request) -> Any:
        """``GET history``: records after a history id, oldest first."""
        require_scope(request.grant, *_READ)
        start = request.first("startHistoryId")
        if not re.fullmatch(r"\d{1,18}", start):
            raise GoogleError(400, "Missing required parameter: startHistoryId", "required")
        size, last = read_size(request), self._mails.last_change()
        after = max(int(start), _read_token(request.first("pageToken"), start))
        names, label = _record_names(request), request.first("labelId")
        if int(start) > last or not self._mails.history.reaches(PROVIDER_A, int(start)):
            raise NotFound
        moments = sorted(self._moments(int(start)), key=lambda moment: moment.change)
        records = [
            record
            for moment in moments
            if moment.change > after and (record := self._record(moment, names, label))
        ]
        content: dict[str, Any] = {"history": records[:size]} if records else {}
        if len(records) > size:
            content["nextPageToken"] = _write_token(start, records[size - 1]["id"])
        return {**content, "historyId": str(last)}

    def _moments(self, since: int) -> Iterator[_Moment]:
        events: dict[int, list[MailEvent]] = {}
        for event in self._mails.history.since(PROVIDER_A, since):
            events.setdefault(event.seq, []).append(event)
        for seq, of_message in events.items():
            first = of_message[0]
            if first.created_change > since:
                yield self._added(first, seq)
            for event in of_message:
                yield from self._changed(event)
        for mail in self._mails.all(PROVIDER_A):
            if mail.created_change > since and mail.seq not in events:
                labels = label_ids(mail, self._mails)
                yield _Moment(mail.change, mail.seq, mail.id, mail.thread_id, None, labels)

    def _added(self, first: MailEvent, seq: int) -> _Moment:
        labels = self._labels(first.before)
        return _Moment(first.created_change, seq, first.id_before, first.thread_id, None, labels)

    def _changed(self, event: MailEvent) -> Iterator[_Moment]:
        before = self._labels(event.before)
        after = None if event.after is None else self._labels(event.after)
        if event.id_after not in {event.id_before, ""}:  # the edit of a draft: another message
            yield _Moment(event.change, event.seq, event.id_before, event.thread_id, before, None)
            yield _Moment(event.change, event.seq, event.id_after, event.thread_id, None, after)
        else:
            yield _Moment(event.change, event.seq, event.id_before, event.thread_id, before, after)

    def _record(self, moment: _Moment, names: Sequence[str], label: str) -> dict[str, Any] | None:
        """Return the record of a change; None if it has none of *names*, or not the *label*."""
        before, after = moment.before or [], moment.after or []
        if label and label not in before + after:
            return None
        ids = {"id": moment.id, "threadId": moment.thread_id}
        message = {**ids, **self._shown_labels(moment)}
        added = [label_id for label_id in after if label_id not in before]
        removed = [label_id for label_id in before if label_id not in after]
        if moment.before is None:
            parts: dict[str, Any] = {"messagesAdded": [{"message": message}]}
        elif moment.after is None:
            parts = {"messagesDeleted": [{"message": message}]}
        else:
            parts = {"labelsAdded": [{"message": message, "labelIds": added}]} if added else {}
            if removed:
                parts["labelsRemoved"] = [{"message": message, "labelIds": removed}]
        parts = {name: part for name, part in parts.items() if name in names}
        return {"id": str(moment.change), "messages": [ids], **parts} if parts else None

    def _shown_labels(self, moment: _Moment) -> dict[str, Any]:
        labels = moment.before if moment.after is None else moment.after
        if moment.change % 4 == 0:
            return {}
        if moment.change % 4 == 1:
            mail = self._mails.find(PROVIDER_A, moment.id)
            labels = label_ids(mail, self._mails) if mail is not None else labels
        return {"labelIds": labels} if labels else {}

    def _labels(self, state: MailState) -> list[str]:
        """Return label ids; a user label that is no more is left out, unless it is an id."""
        ids = [FOLDER_LABELS[state.folder]] if state.folder in FOLDER_LABELS else []
        ids += [] if state.is_read else ["UNREAD"]
        ids += ["STARRED"] if state.is_starred else []
        known = {name.casefold(): number for name, number in user_labels(self._mails).ids.items()}
        for label in state.labels:
            is_id = label in SYSTEM_LABELS or re.fullmatch(r"Label_\d+", label)
            label_id = label if is_id else known.get(label.casefold())
            ids += [label_id] if label_id and label_id not in ids else []
        return ids


def _record_names(request: Request) -> Sequence[str]:
    types = request.every("historyTypes")
    for name in types:
        if name not in _TYPES:
            raise GoogleError(400, f"Invalid value at 'history_types': {name}", "invalidArgument")
    return [_TYPES[name] for name in types] or list(_TYPES.values())


def _write_token(start: str, last: str) -> str:
    return urlsafe_b64encode(f"{start}/{last}".encode()).decode().rstrip("=")


def _read_token(token: str, start: str) -> int:
    """Return the change after which a page begins; 0 for the first page."""
    if not token:
        return 0
    try:
        of, _, last = urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode().partition("/")
        if of == start:
            return int(last)
    except ValueError:
        pass
    raise GoogleError(400, "Invalid pageToken", "invalidArgument")
