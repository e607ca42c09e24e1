"""
Drafts that are sent once, or held once: docs/spec/upstream/gmail.md#send.

Gmail replaces the Message-ID of what is sent, so that a message cannot be looked up by it. A draft
has an id of its own, which is committed before the draft is sent. Sending a draft removes it: a
draft that is gone was sent. A draft keeps its Message-ID until it is sent, so that one to be held
can be looked up.
"""

from base64 import urlsafe_b64encode
from collections.abc import Sequence

from providers.connectors.provider_a.gmail import draft_uploads
from providers.connectors.provider_a.gmail.draft_uploads import DRAFTS
from providers.connectors.provider_a.gmail.response_types import (
    DraftPage,
    DraftReference,
    MessageReference,
)
from providers.failures import Broken, Missing, OutcomeUnknown, ProviderFailure, Refused
from providers.http.client import Upstream
from providers.ids import is_provider_a_id
from providers.mail import compose, delivery
from providers.mail.compose import OutgoingMessage, SerializedMessage
from providers.mail.deliver_once import WITHOUT_IDS, SentDrafts
from providers.outcomes import may_have_happened
from providers.ports.mail import WITHDRAWN, SendAttempt
from providers.records.mail import SentMessage

JSON_BYTES = 3 * 1024 * 1024  # of a raw message; larger ones go to the upload address
MAX_MESSAGE_BYTES = 36_700_160
_DRAFT_FIELDS = "id,message(id,threadId)"

# A message, and the thread that it joins; None: a new one.
Written = tuple[SerializedMessage, str | None]


class DraftSender(SentDrafts[Written, DraftReference]):
    """Sends the drafts of one account, or leaves them for a person to send."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def read(self, draft_id: str) -> DraftReference:
        params = (("format", "minimal"), ("fields", _DRAFT_FIELDS))
        response = await self._upstream.call("GET", *DRAFTS, draft_id, params=params)
        return response.decode(DraftReference)

    async def find_all(self, *message_ids: str) -> Sequence[DraftReference]:
        query = " OR ".join(f"rfc822msgid:{message_id}" for message_id in message_ids)
        params = (("q", query), ("fields", f"drafts({_DRAFT_FIELDS})"))
        response = await self._upstream.call("GET", *DRAFTS, params=params)
        drafts = response.decode(DraftPage).drafts
        return [draft for draft in drafts if is_provider_a_id(draft.id)]

    def held_message(self, draft: DraftReference) -> SentMessage:
        ids = sent_message(draft.message) if draft.message is not None else WITHOUT_IDS
        return SentMessage(email_id=ids.email_id, thread_id=ids.thread_id, held=True)

    def may_have_created(self, failure: ProviderFailure) -> bool:
        return may_have_happened(failure)

    async def create(self, new: Written, message_id: str) -> DraftReference:
        del message_id  # the message has it
        serialized, thread_id = new
        if not serialized.is_in_memory:
            response = await draft_uploads.upload_in_slices(self._upstream, serialized, thread_id)
        elif serialized.size > JSON_BYTES:
            response = await draft_uploads.upload_whole(
                self._upstream, serialized.whole(), thread_id
            )
        else:
            message = {"raw": urlsafe_b64encode(serialized.whole()).decode()}
            if thread_id is not None:
                message["threadId"] = thread_id
            response = await self._upstream.call("POST", *DRAFTS, json={"message": message})
        draft = response.decode(DraftReference)
        if not is_provider_a_id(draft.id):
            raise Broken
        return draft

    async def send(self, draft_id: str) -> SentMessage:
        try:
            response = await self._upstream.call("POST", *DRAFTS, "send", json={"id": draft_id})
            return sent_message(response.decode(MessageReference))
        except Missing:  # another call has sent it
            return WITHOUT_IDS

    async def settle(
        self, draft_id: str, attempt: SendAttempt, failure: ProviderFailure
    ) -> SentMessage:
        in_doubt = delivery.is_ambiguous(failure)
        if in_doubt and await delivery.poll(lambda: self._sent_or_none(draft_id)):
            return WITHOUT_IDS
        if not in_doubt and not isinstance(failure, Refused) and attempt.store_draft is not None:
            raise delivery.not_sent(failure)
        await attempt.store(WITHDRAWN)
        try:
            await self.delete(draft_id)
        except Missing:
            return WITHOUT_IDS
        except ProviderFailure:
            if in_doubt:
                raise OutcomeUnknown from failure
        await attempt.store(None)
        raise delivery.not_sent(failure)

    async def was_sent(self, draft_id: str) -> bool:
        try:
            await self.read(draft_id)
        except Missing:
            return True
        return False

    async def delete(self, draft_id: str) -> None:
        await self._upstream.call("DELETE", *DRAFTS, draft_id)


def serialize(message: OutgoingMessage) -> SerializedMessage:
    """
    Serialize a message for the calls that create a draft.

    Raises:
        Refused: It is too large.
    """
    serialized = compose.serialize(message)
    if serialized.size > MAX_MESSAGE_BYTES:
        raise Refused("The message is too large for the provider.", status=413)
    return serialized


def sent_message(sent: MessageReference) -> SentMessage:
    """Return the ids of a sent message; invalid ids become None, since the message was sent."""
    thread_id = sent.thread_id
    return SentMessage(
        email_id=sent.id if is_provider_a_id(sent.id) else None,
        thread_id=thread_id if thread_id and is_provider_a_id(thread_id) else None,
    )
