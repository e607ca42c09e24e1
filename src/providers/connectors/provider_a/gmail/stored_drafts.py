"""
The drafts of one account: docs/spec/upstream/gmail.md#drafts.

A draft keeps its id; each change gives it another message, whose id is therefore the version.
"""

import re
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence

from providers.connectors.provider_a.gmail import draft_uploads, mapping
from providers.connectors.provider_a.gmail.draft_uploads import DRAFTS
from providers.connectors.provider_a.gmail.drafts import JSON_BYTES, MAX_MESSAGE_BYTES, DraftSender
from providers.connectors.provider_a.gmail.response_types import DraftPage, DraftReference, RawDraft
from providers.connectors.provider_a.paging import pages
from providers.failures import Broken, Missing, Refused, Stale
from providers.http.client import Upstream
from providers.ids import is_provider_a_id
from providers.mail.drafts import editing
from providers.ports.drafts import DraftChange, DraftIdentity
from providers.ports.mail import SendAttempt
from providers.records.mail import SentMessage

_MAX_LISTED = 2500  # drafts that are looked through for a message
_PAGE = 500
_MESSAGE_ID = re.compile(r"[0-9a-f]{1,32}")  # ids of drafts have another first letter
_LISTED = (("maxResults", str(_PAGE)), ("fields", "nextPageToken,drafts(id,message(id))"))
_NUMBER = re.compile(r"[0-9]{1,4}", re.ASCII)
_WHOLE = (("format", "raw"), ("fields", "id,message(id,threadId,raw)"))
_STATE = (("format", "minimal"), ("fields", "id,message(id)"))


class GmailDrafts:
    """Drafts of one connection; implements `providers.ports.drafts.DraftPort`."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def identities(self, message_ids: Sequence[str]) -> Mapping[str, DraftIdentity]:
        projection, by_message, listed = set(message_ids), dict[str, DraftIdentity](), 0
        async for page in pages(self._upstream, DRAFTS, _LISTED, DraftPage):
            for draft in page.drafts:
                identity = _identity(draft)
                if identity is not None and identity.message_id in projection:
                    by_message[identity.message_id] = identity
            listed += _PAGE
            if len(by_message) == len(projection) or listed >= _MAX_LISTED:
                break
        return by_message

    async def update(self, identity: DraftIdentity, change: DraftChange) -> DraftIdentity:
        response = await self._upstream.call(
            "GET", *DRAFTS, identity.id, params=_WHOLE, max_bytes=2 * MAX_MESSAGE_BYTES
        )
        message = response.decode(RawDraft).message
        if message.id != identity.message_id:
            raise Stale
        raw = mapping.decode_base64url(message.raw)
        removed = [_path(name, identity) for name in change.removed]
        edited = await editing.edit(raw, change, removed)
        if len(edited) > MAX_MESSAGE_BYTES:
            raise Refused("The message is too large for the provider.", status=413)
        return await self._put(identity.id, edited, message.thread_id)

    async def _put(self, draft_id: str, raw: bytes, thread_id: str | None) -> DraftIdentity:
        if len(raw) > JSON_BYTES:
            response = await draft_uploads.upload_whole(self._upstream, raw, thread_id, draft_id)
        else:
            message = {"raw": urlsafe_b64encode(raw).decode(), "threadId": thread_id}
            response = await self._upstream.call(
                "PUT", *DRAFTS, draft_id, json={"message": message}
            )
        identity = _identity(response.decode(DraftReference))
        if identity is None:
            raise Broken
        return identity

    async def send(self, draft_id: str, attempt: SendAttempt) -> SentMessage:
        known = draft_id if attempt.draft_id is None else attempt.draft_id
        return await DraftSender(self._upstream).send_existing(known, attempt)

    async def locate(self, draft_id: str) -> DraftIdentity:
        if _MESSAGE_ID.fullmatch(draft_id):
            by_message = await self.identities([draft_id])
            identity = by_message.get(draft_id)
        elif is_provider_a_id(draft_id):
            response = await self._upstream.call("GET", *DRAFTS, draft_id, params=_STATE)
            identity = _identity(response.decode(DraftReference))
        else:
            identity = None
        if identity is None:
            raise Missing
        return identity


def _path(attachment_id: str, identity: DraftIdentity) -> editing.Path:
    """Return where an attachment is in the message, by its id."""
    owner, _, part = attachment_id.partition(".")
    places = part.split(".")
    if owner != identity.message_id or not all(map(_NUMBER.fullmatch, places)):
        raise Missing
    return tuple(map(int, places))


def _identity(draft: DraftReference) -> DraftIdentity | None:
    message = draft.message
    if message is None or not (is_provider_a_id(draft.id) and is_provider_a_id(message.id)):
        return None
    return DraftIdentity(draft.id, message.id, version=message.id)
