"""
Drafts that are sent once, or held once: docs/spec/upstream/gmail.md#send.

Gmail replaces the Message-ID of what is sent, so that a message cannot be looked up by it. A draft
has an id of its own, which is committed before the draft is sent. Sending a draft removes it: a
draft that is gone was sent. A draft keeps its Message-ID until it is sent, so that one to be held
can be looked up.
"""

from base64 import urlsafe_b64encode
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

from providers.connectors.provider_a.gmail import draft_uploads
from providers.connectors.provider_a.gmail.draft_uploads import DRAFTS
from providers.connectors.provider_a.gmail.response_types import (
    DraftPage,
    DraftReference,
    MessageReference,
)
from providers.failures import (
    Broken,
    Missing,
    OutcomeUnknown,
    ProviderFailure,
    Refused,
    without_frames,
)
from providers.http.client import Upstream
from providers.ids import is_provider_a_id
from providers.mail import compose, delivery
from providers.mail.compose import OutgoingMessage, SerializedMessage
from providers.outcomes import may_have_happened
from providers.ports.mail import CREATING, WITHDRAWN, SendAttempt
from providers.records import mail as mail_records
from providers.write_previews import current_preview

JSON_BYTES = 3 * 1024 * 1024  # of a raw message; larger ones go to the upload address
MAX_MESSAGE_BYTES = 36_700_160
_WITHOUT_IDS = mail_records.SentMessage()
_DRAFT_FIELDS = "id,message(id,threadId)"

# A message, and the thread that it joins; None: a new one.
Compose = Callable[[], Awaitable[tuple[OutgoingMessage, str | None]]]


class DraftSender:
    """Sends the drafts of one account, or leaves them for a person to send."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def deliver_once(self, attempt: SendAttempt, write: Compose) -> mail_records.SentMessage:
        """Send what *write* composes, or hold it as a draft, once; see the two methods."""
        return await (self._hold_once if attempt.hold else self._send_once)(attempt, write)

    async def _hold_once(self, attempt: SendAttempt, write: Compose) -> mail_records.SentMessage:
        """
        Make a draft of what *write* composes; there is none besides that of an earlier attempt.

        Returns:
            The ids of the draft; without ids when the person has sent or deleted it.

        Raises:
            OutcomeUnknown: There may be a draft.
            TakenOver: Another attempt has begun, and makes the draft.
            ProviderFailure: There is no draft yet.
        """
        find = partial(self._find_one, attempt.message_id)
        if attempt.draft_id == WITHDRAWN:
            raise OutcomeUnknown
        if attempt.draft_id not in {None, CREATING}:
            delivery.note_resumed()
            return await self._held(str(attempt.draft_id))
        draft = await find() if attempt.draft_id == CREATING else None
        if draft is not None:
            delivery.note_resumed()
        else:
            message, thread_id = await write()
            serialized = _serialize(message)
            await attempt.store(CREATING)
            try:
                with delivery.time_for_look_ups():
                    draft = await self._post(serialized, thread_id)
            except ProviderFailure as problem:
                failure = without_frames(problem)
                draft = await delivery.find_created(attempt, failure, find)
        await attempt.store(draft.id)
        return held_message(draft.message)

    async def _held(self, draft: str) -> mail_records.SentMessage:
        """Return the ids of a draft; no ids when there is none with this id any more."""
        params = (("format", "minimal"), ("fields", _DRAFT_FIELDS))
        try:
            response = await self._upstream.call("GET", *DRAFTS, draft, params=params)
        except Missing:
            return held_message(None)
        return held_message(response.decode(DraftReference).message)

    async def _find_one(self, message_id: str) -> DraftReference | None:
        """Return the draft with a Message-ID; None without one."""
        return next(iter(await self._find(message_id)), None)

    async def _find(self, *message_ids: str) -> Sequence[DraftReference]:
        """Return the drafts that have one of the Message-IDs."""
        query = " OR ".join(f"rfc822msgid:{message_id}" for message_id in message_ids)
        params = (("q", query), ("fields", f"drafts({_DRAFT_FIELDS})"))
        response = await self._upstream.call("GET", *DRAFTS, params=params)
        drafts = response.decode(DraftPage).drafts
        return [draft for draft in drafts if is_provider_a_id(draft.id)]

    async def _send_once(self, attempt: SendAttempt, write: Compose) -> mail_records.SentMessage:
        """
        Send what *write* composes; the draft that an earlier attempt stored is sent instead.

        Returns:
            The ids of the message; without ids when an earlier call has sent it.

        Raises:
            OutcomeUnknown: It may have been sent.
            TakenOver: Another attempt has begun, and sends the message.
            ProviderFailure: It was not sent.
        """
        if attempt.draft_id in {WITHDRAWN, CREATING}:
            raise OutcomeUnknown
        if attempt.draft_id is not None and await self._is_gone(attempt.draft_id):
            return _WITHOUT_IDS
        if attempt.draft_id is not None and current_preview() is not None:
            await write()  # it describes the message
        draft = attempt.draft_id or await self._create(attempt, write)
        try:
            with delivery.time_for_look_ups():
                return await self._send(draft)
        except _Unsent as problem:
            return await self._settle(draft, attempt, problem.failure)

    async def _create(self, attempt: SendAttempt, write: Compose) -> str:
        """Create a draft, or find it when the response was lost, and commit its id."""
        with delivery.time_for_look_ups():
            message, thread_id = await write()
        draft = await self._post_or_find(_serialize(message), thread_id, attempt.message_id)
        if attempt.earlier_ids:
            with suppress(ProviderFailure):
                for earlier in await self._find(*attempt.earlier_ids):
                    await self._delete(earlier.id)
        await delivery.commit_draft(attempt, draft.id, self._delete)
        return draft.id

    async def _post_or_find(
        self, serialized: SerializedMessage, thread_id: str | None, message_id: str
    ) -> DraftReference:
        try:
            with delivery.time_for_look_ups():
                return await self._post(serialized, thread_id)
        except ProviderFailure as problem:
            failure = without_frames(problem)
        draft = None
        if may_have_happened(failure):
            draft = await delivery.poll(partial(self._find_one, message_id))
        if draft is None:
            raise delivery.not_sent(failure)  # a retry deletes what may be left
        return draft

    async def _post(self, serialized: SerializedMessage, thread_id: str | None) -> DraftReference:
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

    async def _send(self, draft: str) -> mail_records.SentMessage:
        try:
            response = await self._upstream.call("POST", *DRAFTS, "send", json={"id": draft})
            return sent_message(response.decode(MessageReference))
        except Missing:  # another call has sent it
            return _WITHOUT_IDS
        except ProviderFailure as failure:
            raise _Unsent(failure) from failure

    async def _settle(
        self, draft: str, attempt: SendAttempt, failure: ProviderFailure
    ) -> mail_records.SentMessage:
        """
        Find out whether a draft was sent whose send failed; delete it when it was not.

        The draft stays for a later attempt when this one surely did not reach Gmail.
        """
        in_doubt = delivery.is_ambiguous(failure)
        if in_doubt and await delivery.poll(lambda: self._gone_or_none(draft)):
            return _WITHOUT_IDS
        if not in_doubt and not isinstance(failure, Refused) and attempt.store_draft is not None:
            raise delivery.not_sent(failure)
        await attempt.store(WITHDRAWN)
        try:
            await self._delete(draft)
        except Missing:
            return _WITHOUT_IDS
        except ProviderFailure:
            if in_doubt:
                raise OutcomeUnknown from failure
        await attempt.store(None)
        raise delivery.not_sent(failure)

    async def _is_gone(self, draft: str) -> bool:
        try:
            await self._upstream.call(
                "GET", *DRAFTS, draft, params=(("format", "minimal"), ("fields", "id"))
            )
        except Missing:
            return True
        return False

    async def _gone_or_none(self, draft: str) -> bool | None:
        return await self._is_gone(draft) or None

    async def _delete(self, draft: str) -> None:
        await self._upstream.call("DELETE", *DRAFTS, draft)


class _Unsent(Exception):
    """A send that failed; *failure* says how."""

    def __init__(self, failure: ProviderFailure) -> None:
        super().__init__()
        self.failure = failure


def _serialize(message: OutgoingMessage) -> SerializedMessage:
    serialized = compose.serialize(message)
    if serialized.size > MAX_MESSAGE_BYTES:
        raise Refused("The message is too large for the provider.", status=413)
    return serialized


def held_message(draft: MessageReference | None) -> mail_records.SentMessage:
    """Return the ids of the message in a draft; None where they are not known or invalid."""
    ids = sent_message(draft) if draft is not None else _WITHOUT_IDS
    return mail_records.SentMessage(email_id=ids.email_id, thread_id=ids.thread_id, held=True)


def sent_message(sent: MessageReference) -> mail_records.SentMessage:
    """Return the ids of a sent message; invalid ids become None, since the message was sent."""
    thread_id = sent.thread_id
    return mail_records.SentMessage(
        email_id=sent.id if is_provider_a_id(sent.id) else None,
        thread_id=thread_id if thread_id and is_provider_a_id(thread_id) else None,
    )
