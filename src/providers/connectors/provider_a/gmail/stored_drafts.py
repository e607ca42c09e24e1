"""
The drafts of one account: docs/spec/upstream/gmail.md#drafts.

A draft keeps its id; each change gives it another message, whose id is therefore the version.
"""

import re
from collections.abc import Mapping, Sequence

from providers.connectors.provider_a.gmail.draft_uploads import DRAFTS
from providers.connectors.provider_a.gmail.response_types import DraftPage, DraftReference
from providers.connectors.provider_a.paging import pages
from providers.failures import Missing
from providers.http.client import Upstream
from providers.ids import is_provider_a_id
from providers.ports.drafts import DraftIdentity

_MAX_LISTED = 2500  # drafts that are looked through for a message
_PAGE = 500
_MESSAGE_ID = re.compile(r"[0-9a-f]{1,32}")  # ids of drafts have another first letter
_LISTED = (("maxResults", str(_PAGE)), ("fields", "nextPageToken,drafts(id,message(id))"))
_STATE = (("format", "minimal"), ("fields", "id,message(id)"))


class GmailDrafts:
    """Drafts of one connection; implements `providers.ports.drafts.DraftPort`."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def identities(self, message_ids: Sequence[str]) -> Mapping[str, DraftIdentity]:
        wanted, by_message, listed = set(message_ids), dict[str, DraftIdentity](), 0
        async for page in pages(self._upstream, DRAFTS, _LISTED, DraftPage):
            for draft in page.drafts:
                identity = _identity(draft)
                if identity is not None and identity.message_id in wanted:
                    by_message[identity.message_id] = identity
            listed += _PAGE
            if len(by_message) == len(wanted) or listed >= _MAX_LISTED:
                break
        return by_message

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


def _identity(draft: DraftReference) -> DraftIdentity | None:
    message = draft.message
    if message is None or not (is_provider_a_id(draft.id) and is_provider_a_id(message.id)):
        return None
    return DraftIdentity(draft.id, message.id, version=message.id)
