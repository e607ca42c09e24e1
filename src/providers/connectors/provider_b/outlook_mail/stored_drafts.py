"""
The drafts of one account: docs/spec/upstream/outlook-mail.md#drafts.

A draft is a message; its change key is the version.
"""

from collections.abc import Mapping, Sequence

from providers.connectors.provider_b import batch
from providers.connectors.provider_b.account_cache import MESSAGES, PREFER
from providers.connectors.provider_b.outlook_mail.response_types import Message, decode_message
from providers.failures import Missing
from providers.http.client import Upstream
from providers.ids import is_provider_b_id
from providers.ports.drafts import DraftIdentity

_STATE = (("$select", "id,isDraft"),)


class OutlookDrafts:
    """Drafts of one connection; implements `providers.ports.drafts.DraftPort`."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def identities(self, message_ids: Sequence[str]) -> Mapping[str, DraftIdentity]:
        valid = list(filter(is_provider_b_id, message_ids))
        messages = await batch.messages(self._upstream, valid, _STATE)
        return {name: _identity(message) for name, message in messages.items() if message.is_draft}

    async def locate(self, draft_id: str) -> DraftIdentity:
        if not is_provider_b_id(draft_id):
            raise Missing
        response = await self._upstream.call(
            "GET", *MESSAGES, draft_id, params=_STATE, headers=PREFER
        )
        message = decode_message(response)
        if not message.is_draft or not is_provider_b_id(message.id):
            raise Missing
        return _identity(message)


def _identity(message: Message) -> DraftIdentity:
    version = (message.etag or "").removeprefix("W/").strip('"')
    return DraftIdentity(message.id, message.id, version)
