"""Endpoints of Gmail labels: list, read, create, rename, delete."""

from typing import Any

from sandbox.http import Request
from sandbox.mail.ids import PROVIDER_A
from sandbox.mail.store import Label
from sandbox.provider_a.errors import GoogleError, NotFound, require_scope
from sandbox.provider_a.gmail import labels
from sandbox.provider_a.gmail.labels import SYSTEM_LABELS
from sandbox.provider_a.gmail.writing import read_body
from sandbox.state import SandboxState

_READ = ("gmail.readonly", "gmail.modify", "gmail.metadata", "gmail.labels")
_WRITE = ("gmail.modify", "gmail.labels")
_MAX_NAME_LENGTH = 225


class LabelEndpoints:
    """The endpoints; each returns JSON content, None for 204."""

    def __init__(self, state: SandboxState) -> None:
        self._mails = state.mails

    def list(self, request: Request) -> Any:
        require_scope(request.grant, *_READ)
        system = [labels.resource(name, name) for name in SYSTEM_LABELS]
        user = [labels.resource(label.id, label.name) for label in self._user()]
        return {"labels": [*system, *user]}

    def get(self, request: Request, label: str) -> Any:
        require_scope(request.grant, *_READ)
        name = label if label in SYSTEM_LABELS else self._existing(label).name
        labelled = [
            (mail, "UNREAD" in ids)
            for mail in self._mails.all(PROVIDER_A)
            if label in (ids := labels.label_ids(mail, self._mails))
        ]
        counts = {
            "messagesTotal": len(labelled),
            "messagesUnread": sum(unread for _, unread in labelled),
            "threadsTotal": len({mail.thread_id for mail, _ in labelled}),
            "threadsUnread": len({mail.thread_id for mail, unread in labelled if unread}),
        }
        return labels.resource(label, name, counts)

    def create(self, request: Request) -> Any:
        require_scope(request.grant, *_WRITE)
        name = self._free_name(read_body(request))
        label = self._mails.add_label(PROVIDER_A, name)
        return labels.resource(label.id, label.name)

    def change(self, request: Request, label: str) -> Any:
        require_scope(request.grant, *_WRITE)
        old = self._existing(label)
        content = read_body(request)
        name = old.name
        if content.get("name") not in {None, old.name}:
            name = self._free_name(content, own_name=old.name)
            self._mails.rename_label(PROVIDER_A, old.name, name)
        return labels.resource(label, name)

    def delete(self, request: Request, label: str) -> None:
        require_scope(request.grant, *_WRITE)
        self._mails.delete_label(PROVIDER_A, self._existing(label).name)

    def _user(self) -> tuple[Label, ...]:
        return self._mails.user_labels(PROVIDER_A)

    def _existing(self, label: str) -> Label:
        if label in SYSTEM_LABELS:
            raise GoogleError(400, "Invalid delete request", "invalidArgument")
        user_label = next((candidate for candidate in self._user() if candidate.id == label), None)
        if user_label is None:
            raise NotFound
        return user_label

    def _free_name(self, content: dict[str, Any], own_name: str = "") -> str:
        name = content.get("name")
        if not isinstance(name, str) or not name.strip() or len(name) > _MAX_NAME_LENGTH:
            raise GoogleError(400, "Invalid label name", "invalidArgument")
        if name.upper() in SYSTEM_LABELS:
            raise GoogleError(400, "Invalid label name", "invalidArgument")
        taken = {label.name.casefold() for label in self._user() if label.name != own_name}
        if name.casefold() in taken:
            raise GoogleError(409, "Label name exists or conflicts", "aborted")
        return name
