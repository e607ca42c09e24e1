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

from providers.connectors.provider_b.account_cache import PREFER
from providers.connectors.provider_b.graph_user import GraphUser
from providers.connectors.provider_b.outlook_mail import attaching
from providers.connectors.provider_b.outlook_mail.response_types import (
    Message,
    decode_message,
    decode_page,
)
from providers.failures import Broken, Missing, OutcomeUnknown, ProviderFailure, Refused
from providers.ids import is_provider_b_id
from providers.mail import delivery
from providers.mail.deliver_once import WITHOUT_IDS, SentDrafts
from providers.ports.mail import OutgoingFile, SendAttempt
from providers.records.mail import SentMessage

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
        files: To attach to it.
    """

    path: tuple[str, ...]
    request: Json
    complete: Callable[[Message], Awaitable[Json]] | None = None
    files: Sequence[OutgoingFile] = ()


class DraftSender(SentDrafts[NewDraft, Message]):
    """Sends the drafts of one account, or leaves them for a person to send."""

    def __init__(self, user: GraphUser) -> None:
        self._user = user
        self._call = partial(user.call, headers=PREFER)

    async def resume(self, message_id: str) -> Message | None:
        """Delete what an attempt left that broke off; return what the person has sent of it."""
        for message in await self._find(message_id):
            if not message.is_draft:
                return message
            with suppress(Missing):
                await self.delete(message.id)
        return None

    async def find(self, message_id: str) -> Message | None:
        draft = await super().find(message_id)
        return draft and await self._read(draft.id, _CONTENT)

    async def find_all(self, *message_ids: str) -> list[Message]:
        return [message for message in await self._find(*message_ids) if message.is_draft]

    async def read(self, draft_id: str) -> Message:
        return await self._read(draft_id, _HELD)

    def held_message(self, draft: Message) -> SentMessage:
        return SentMessage(email_id=draft.id, thread_id=draft.conversation_id, held=True)

    def may_have_created(self, failure: ProviderFailure) -> bool:
        return delivery.is_ambiguous(failure)

    async def complete(self, draft: Message, new: NewDraft, message_id: str) -> Message:
        """Change a new draft, again while it is not known whether it was changed; attach files."""
        if new.complete is not None:
            await self._change(draft.id, message_id, await new.complete(draft))
        for file in new.files:
            await attaching.attach(self._user, draft.id, file)
        return draft

    async def send(self, draft_id: str) -> SentMessage:
        await self._call("POST", *self._user.messages, draft_id, "send")
        return WITHOUT_IDS

    async def settle(
        self, draft_id: str, attempt: SendAttempt, failure: ProviderFailure
    ) -> SentMessage:
        if delivery.is_ambiguous(failure):
            looked_up: list[bool] = []

            async def sent_or_none() -> bool | None:
                looked_up.append(await self.was_sent(draft_id))
                return looked_up[-1] or None

            if await delivery.poll(sent_or_none):
                return WITHOUT_IDS
            if not (isinstance(failure, Broken) and failure.failed and looked_up):
                raise OutcomeUnknown from failure
        elif isinstance(failure, Refused | Missing):
            if await self.was_sent(draft_id):  # by another call, which is why this one was refused
                return WITHOUT_IDS
        elif attempt.store_draft is not None:
            raise delivery.not_sent(failure)
        await attempt.store(None)
        await self.discard(draft_id)
        raise delivery.not_sent(failure)

    async def was_sent(self, draft_id: str) -> bool:
        """A sent message keeps its immutable id, and appears after a delay."""
        try:
            return not (await self.read(draft_id)).is_draft
        except Missing:
            raise OutcomeUnknown from None

    async def _find(self, *message_ids: str) -> list[Message]:
        response = await self._call(
            "GET",
            *self._user.messages,
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

    async def create(self, new: NewDraft, message_id: str) -> Message:
        request = new.request
        if new.complete is not None:  # Graph composes it: the Message-ID is a change of that
            changes = {"internetMessageId": f"<{message_id}>"}
            request = {**request, "message": {**request.get("message", {}), **changes}}
        response = await self._call("POST", *self._user.root, *new.path, json=request)
        message = decode_message(response)
        if not is_provider_b_id(message.id):
            raise Broken
        return message

    async def _read(self, draft: str, select: tuple[str, str]) -> Message:
        response = await self._call("GET", *self._user.messages, draft, params=(select,))
        return decode_message(response)

    async def _change(self, draft: str, message_id: str, changes: Json) -> None:
        """Apply *changes* and the gateway's Message-ID, again while it is not known if they are."""
        members = {**changes, **self._user.author, "internetMessageId": f"<{message_id}>"}

        async def change() -> bool:
            await self._call(
                "PATCH", *self._user.messages, draft, json=members, retry=True
            )  # idempotent
            return True

        try:
            await change()
        except ProviderFailure as failure:
            if not delivery.is_ambiguous(failure) or not await delivery.poll(change):
                raise

    async def delete(self, draft_id: str) -> None:
        await self._call("DELETE", *self._user.messages, draft_id)
