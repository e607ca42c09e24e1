"""
Drafts that are sent once, or held once: docs/spec/upstream/outlook-mail.md#send.

A draft is created with the gateway's Message-ID, its id is committed, then it is sent once. Graph
does not return the ids of sent messages.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from providers.connectors.provider_b.account_cache import MESSAGES, PREFER, ROOT
from providers.connectors.provider_b.outlook_mail import attaching
from providers.connectors.provider_b.outlook_mail.response_types import (
    Message,
    decode_message,
    decode_page,
)
from providers.failures import (
    Broken,
    Missing,
    OutcomeUnknown,
    ProviderFailure,
    Refused,
    Unreachable,
    without_frames,
)
from providers.http.client import Upstream
from providers.ids import is_provider_b_id
from providers.mail import delivery
from providers.ports.mail import CREATING, WITHDRAWN, OutgoingFile, SendAttempt
from providers.records import mail as mail_records

_WITHOUT_IDS = mail_records.SentMessage()
_HELD = ("$select", "id,conversationId,isDraft")
_CONTENT = ("$select", "id,conversationId,isDraft,body,toRecipients,ccRecipients")

Json = dict[str, Any]


class NewDraft(msgspec.Struct, frozen=True, kw_only=True):
    """
    The call that creates a draft, and the changes that complete it.

    Attributes:
        path: Below the account.
        request: Its JSON body.
        complete: Returns the members to change in the created draft; None: it is complete.
    """

    path: tuple[str, ...]
    request: Json
    complete: Callable[[Message], Awaitable[Json]] | None = None


Compose = Callable[[], Awaitable[NewDraft]]


class DraftSender:
    """Sends the drafts of one account, or leaves them for a person to send."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._call = partial(upstream.call, headers=PREFER)

    async def deliver_once(
        self, attempt: SendAttempt, write: Compose, files: Sequence[OutgoingFile]
    ) -> mail_records.SentMessage:
        """Send what *write* composes, or hold it as a draft, once; see the two methods."""
        return await (self._hold_once if attempt.hold else self._send_once)(attempt, write, files)

    async def discard(self, draft: str) -> None:
        """Try to delete a draft that will not be sent."""
        with suppress(ProviderFailure):
            await self._delete(draft)

    # -- holding

    async def _hold_once(
        self, attempt: SendAttempt, write: Compose, files: Sequence[OutgoingFile]
    ) -> mail_records.SentMessage:
        """
        Make a draft; there is none besides that of an earlier attempt.

        Returns:
            The ids of the draft, also when the person has sent it; without ids when it is deleted.

        Raises:
            OutcomeUnknown: There may be a draft.
            TakenOver: Another attempt has begun, and makes the draft.
            ProviderFailure: There is no draft yet, or one that the next attempt deletes.
        """
        if attempt.draft_id == WITHDRAWN:
            raise OutcomeUnknown
        if attempt.draft_id not in {None, CREATING}:
            delivery.note_resumed()
            return await self._held(str(attempt.draft_id))
        if attempt.draft_id == CREATING:
            sent = await self._delete_unfinished(attempt.message_id)
            if sent is not None:
                delivery.note_resumed()
                await attempt.store(sent.id)
                return _held_message(sent)
        new = await write()
        await attempt.store(CREATING)
        draft = await self._create_held(attempt, new)
        try:
            with delivery.time_for_look_ups():
                if new.complete is not None:
                    await self._change(draft.id, attempt.message_id, await new.complete(draft))
                for file in files:
                    await attaching.attach(self._upstream, draft.id, file)
        except ProviderFailure as problem:
            failure = without_frames(problem)
        else:
            await attempt.store(draft.id)
            return _held_message(draft)
        with suppress(ProviderFailure):  # the next attempt deletes it then
            await self._delete(draft.id)
            await attempt.store(None)
        raise delivery.not_sent(failure)

    async def _create_held(self, attempt: SendAttempt, new: NewDraft) -> Message:
        """Create a draft with its Message-ID, by which it is found when the answer is lost."""
        try:
            with delivery.time_for_look_ups():
                return await self._create(new, attempt.message_id)
        except ProviderFailure as problem:
            failure = without_frames(problem)
        return await delivery.find_created(
            attempt, failure, partial(self._find_draft, attempt.message_id)
        )

    async def _delete_unfinished(self, *message_ids: str) -> Message | None:
        """Delete what attempts that broke off have drafted; return what the person has sent."""
        for message in await self._find(*message_ids):
            if not message.is_draft:
                return message
            with suppress(Missing):
                await self._delete(message.id)
        return None

    async def _held(self, draft: str) -> mail_records.SentMessage:
        try:
            return _held_message(await self._read(draft, _HELD))
        except Missing:
            return mail_records.SentMessage(held=True)

    # -- sending

    async def _send_once(
        self, attempt: SendAttempt, write: Compose, files: Sequence[OutgoingFile]
    ) -> mail_records.SentMessage:
        """
        Create a draft and send it; a draft that an earlier attempt left is sent instead.

        Raises:
            OutcomeUnknown: The message may have been sent.
            TakenOver: Another attempt has begun, and sends the message.
            ProviderFailure: The message was not sent.
        """
        draft = attempt.draft_id
        if draft in {WITHDRAWN, CREATING}:
            raise OutcomeUnknown
        if draft is not None and await self._was_sent(draft):
            return _WITHOUT_IDS
        with delivery.time_for_look_ups():
            if draft is None:
                draft = await self._create_or_find(attempt.message_id, write)
                await self._attach(draft, files)
                if attempt.earlier_ids:
                    with suppress(ProviderFailure):
                        await self._delete_unfinished(*attempt.earlier_ids)
                await delivery.commit_draft(attempt, draft, self.discard)
            try:
                await self._call("POST", *MESSAGES, draft, "send")
            except ProviderFailure as problem:
                failure = without_frames(problem)
            else:
                return _WITHOUT_IDS
        return await self._settle(draft, attempt, failure)

    async def _settle(
        self, draft: str, attempt: SendAttempt, failure: ProviderFailure
    ) -> mail_records.SentMessage:
        """
        Find out whether a draft was sent whose send failed; delete it when it was not.

        The draft stays for a later attempt when this one surely did not reach Graph.
        """
        if delivery.is_ambiguous(failure):
            looked_up: list[bool] = []

            async def sent_or_none() -> bool | None:
                looked_up.append(await self._was_sent(draft))
                return looked_up[-1] or None

            if await delivery.poll(sent_or_none):
                return _WITHOUT_IDS
            if not (isinstance(failure, Broken) and failure.failed and looked_up):
                raise OutcomeUnknown from failure
        elif isinstance(failure, Refused | Missing):
            if await self._was_sent(draft):  # by another call, which is why this one was refused
                return _WITHOUT_IDS
        elif attempt.store_draft is not None:
            raise delivery.not_sent(failure)
        await attempt.store(None)
        await self.discard(draft)
        raise delivery.not_sent(failure)

    async def _was_sent(self, draft: str) -> bool:
        """
        Return whether a draft is a sent message now; its immutable id stays the same.

        Raises:
            OutcomeUnknown: It is neither, or not yet: a sent message appears after a delay.
        """
        try:
            return not (await self._read(draft, ("$select", "id,isDraft"))).is_draft
        except Missing:
            raise OutcomeUnknown from None

    async def _create_or_find(self, message_id: str, write: Compose) -> str:
        """
        Create the draft and complete it; return its id.

        A draft whose response was lost is found by its Message-ID. One that could not be completed
        is deleted.
        """
        new = await write()
        try:
            draft = await self._create(new, message_id)
        except ProviderFailure as failure:
            if not delivery.is_ambiguous(failure):
                raise
            created = await delivery.poll(partial(self._find_draft, message_id))
            if created is None:
                raise Unreachable(sent=False) from failure  # at worst a draft remains
            draft = created
        if new.complete is not None:
            await self._complete(draft.id, message_id, await new.complete(draft))
        return draft.id

    async def _complete(self, draft: str, message_id: str, changes: Json) -> None:
        """Change a new draft, again while it is not known whether it was changed."""

        async def change() -> bool:
            await self._change(draft, message_id, changes)
            return True

        try:
            await self._change(draft, message_id, changes)
        except ProviderFailure as problem:
            failure = without_frames(problem)
            if delivery.is_ambiguous(failure) and await delivery.poll(change):
                return
            await self.discard(draft)
            raise delivery.not_sent(failure) from None

    async def _attach(self, draft: str, files: Sequence[OutgoingFile]) -> None:
        """
        Attach files to a new draft, whose id is not committed yet.

        After a failure it is not known which files the draft has, so it is never sent.

        Raises:
            ProviderFailure: Nothing was sent; the draft is deleted if possible.
        """
        for file in files:
            try:
                await attaching.attach(self._upstream, draft, file)
            except ProviderFailure as failure:
                await self.discard(draft)
                raise delivery.not_sent(failure) from failure

    # -- calls

    async def _find(self, *message_ids: str) -> list[Message]:
        response = await self._call(
            "GET",
            *MESSAGES,
            params=(
                (
                    "$filter",
                    " or ".join(
                        f"internetMessageId eq '<{message_id.replace(chr(39), chr(39) * 2)}>'"
                        for message_id in message_ids
                    ),
                ),
                _HELD,
                ("$top", "5"),
            ),
        )
        messages = decode_page(response).value
        return [message for message in messages if is_provider_b_id(message.id)]

    async def _find_draft(self, message_id: str) -> Message | None:
        messages = await self._find(message_id)
        draft = next((message for message in messages if message.is_draft), None)
        return draft and await self._read(draft.id, _CONTENT)

    async def _create(self, new: NewDraft, message_id: str) -> Message:
        request = new.request
        if new.complete is not None:  # Graph composes it: the Message-ID is a change of that
            changes = {"internetMessageId": f"<{message_id}>"}
            request = {**request, "message": {**request.get("message", {}), **changes}}
        response = await self._call("POST", *ROOT, *new.path, json=request)
        message = decode_message(response)
        if not is_provider_b_id(message.id):
            raise Broken
        return message

    async def _read(self, draft: str, select: tuple[str, str]) -> Message:
        response = await self._call("GET", *MESSAGES, draft, params=(select,))
        return decode_message(response)

    async def _change(self, draft: str, message_id: str, changes: Json) -> None:
        """Apply *changes* and the gateway's Message-ID."""
        members = {**changes, "internetMessageId": f"<{message_id}>"}
        await self._call("PATCH", *MESSAGES, draft, json=members, retry=True)  # idempotent

    async def _delete(self, draft: str) -> None:
        await self._call("DELETE", *MESSAGES, draft)


def _held_message(draft: Message) -> mail_records.SentMessage:
    return mail_records.SentMessage(email_id=draft.id, thread_id=draft.conversation_id, held=True)
