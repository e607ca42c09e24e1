"""
The drafts of one account: docs/spec/upstream/outlook-mail.md#drafts.

A draft is a message; its change key is the version.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from providers.connectors.provider_b import batch
from providers.connectors.provider_b.account_cache import PREFER
from providers.connectors.provider_b.graph_user import GraphUser
from providers.connectors.provider_b.outlook_mail import attaching, mapping
from providers.connectors.provider_b.outlook_mail.drafts import DraftSender
from providers.connectors.provider_b.outlook_mail.response_types import (
    AttachmentPage,
    Message,
    decode_message,
)
from providers.failures import Missing
from providers.ids import is_provider_b_id
from providers.ports.drafts import DraftChange, DraftIdentity
from providers.ports.mail import SendAttempt
from providers.records.mail import SentMessage

_STATE = (("$select", "id,isDraft"),)


class OutlookDrafts:
    """Drafts of one connection; implements `providers.ports.drafts.DraftPort`."""

    def __init__(self, user: GraphUser) -> None:
        self._user = user
        self._call = partial(user.call, headers=PREFER)

    async def identities(self, message_ids: Sequence[str]) -> Mapping[str, DraftIdentity]:
        valid = list(filter(is_provider_b_id, message_ids))
        messages = await batch.messages(self._user, valid, _STATE)
        return {name: _identity(message) for name, message in messages.items() if message.is_draft}

    async def locate(self, draft_id: str) -> DraftIdentity:
        if not is_provider_b_id(draft_id):
            raise Missing
        response = await self._call("GET", *self._user.messages, draft_id, params=_STATE)
        message = decode_message(response)
        if not message.is_draft or not is_provider_b_id(message.id):
            raise Missing
        return _identity(message)

    async def update(self, identity: DraftIdentity, change: DraftChange) -> DraftIdentity:
        await self._require_attachments(identity.id, change.removed)
        members = _members(change)
        if members:
            tag = {"if-match": f'W/"{identity.version}"'}
            await self._call(
                "PATCH", *self._user.messages, identity.id, json=members, headers=PREFER | tag
            )
        for attachment in change.removed:
            await self._call("DELETE", *self._user.messages, identity.id, "attachments", attachment)
        for file in change.files:
            await attaching.attach(self._user, identity.id, file)
        return await self.locate(identity.id)

    async def send(self, draft_id: str, attempt: SendAttempt) -> SentMessage:
        return await DraftSender(self._user).send_existing(draft_id, attempt)

    async def _require_attachments(self, draft_id: str, attachments: Sequence[str]) -> None:
        """Check that a draft has the attachments, before anything is changed."""
        if attachments:
            params = (("$select", "id"),)
            response = await self._call(
                "GET", *self._user.messages, draft_id, "attachments", params=params
            )
            known = {attachment.id for attachment in response.decode(AttachmentPage).value}
            if not known.issuperset(attachments):
                raise Missing


def _members(change: DraftChange) -> dict[str, object]:
    """Return the members that Graph is to set."""
    recipients = {"to": change.to, "cc": change.cc, "bcc": change.bcc}
    members: dict[str, object] = {
        f"{name}Recipients": mapping.recipients(people)
        for name, people in recipients.items()
        if people is not None
    }
    texts = {"subject": change.subject, "importance": change.importance}
    members |= {name: text for name, text in texts.items() if text is not None}
    if change.body is not None:
        kind = "HTML" if change.body_type == "html" else "Text"
        members["body"] = {"contentType": kind, "content": change.body}
    return members


def _identity(message: Message) -> DraftIdentity:
    version = (message.etag or "").removeprefix("W/").strip('"')
    return DraftIdentity(message.id, message.id, version)
