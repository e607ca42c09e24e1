"""
Drafts that are sent once, or held once: docs/spec/email.md#sending-once.

What the attempts of one intent have committed says what the next one may do:

    None       it writes a draft, and commits its id before it is sent
    CREATING   a draft to be held may have been made: it is looked for by its Message-ID
    an id      this draft is sent, unless it was
    WITHDRAWN  the draft may have been sent while it was deleted: nothing more can be known
"""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from providers.failures import (
    Broken,
    Missing,
    OutcomeUnknown,
    ProviderFailure,
    Unreachable,
    without_frames,
)
from providers.mail import delivery
from providers.ports.mail import CREATING, WITHDRAWN, SendAttempt
from providers.records.mail import SentMessage
from providers.write_previews import current_preview

WITHOUT_IDS = SentMessage()


class _Draft(Protocol):
    @property
    def id(self) -> str:
        """Return its native id."""


D = TypeVar("D", bound=_Draft)
N = TypeVar("N")

Write = Callable[[], Awaitable[N]]  # composes what a draft is made of


class HeldDrafts(ABC, Generic[N, D]):
    """Drafts of one account that are left for a person to send."""

    async def hold_once(self, attempt: SendAttempt, write: Write[N]) -> SentMessage:
        """
        Make a draft of what *write* composes; there is none besides that of an earlier attempt.

        Returns:
            The ids of the draft; without ids when it is gone.

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
        draft = await self.resume(attempt.message_id) if attempt.draft_id == CREATING else None
        if draft is None:
            draft = await self._create_held(attempt, await write())
        else:
            delivery.note_resumed()
            await describe(write)
        await attempt.store(draft.id)
        return self.held_message(draft)

    async def _held(self, draft_id: str) -> SentMessage:
        try:
            return self.held_message(await self.read(draft_id))
        except Missing:
            return SentMessage(held=True)

    async def _create_held(self, attempt: SendAttempt, new: N) -> D:
        await attempt.store(CREATING)
        try:
            with delivery.time_for_look_ups():
                draft = await self.create(new, attempt.message_id)
        except ProviderFailure as problem:
            failure = without_frames(problem)
            draft = await delivery.find_created(
                attempt, failure, lambda: self.find(attempt.message_id)
            )
        try:
            with delivery.time_for_look_ups():
                return await self.complete(draft, new, attempt.message_id)
        except ProviderFailure as problem:
            failure = without_frames(problem)
        with suppress(ProviderFailure):  # the next attempt deletes it then
            await self.delete(draft.id)
            await attempt.store(None)
        raise delivery.not_sent(failure)

    async def resume(self, message_id: str) -> D | None:
        """Return the draft that a broken attempt left; None if there is none now."""
        return await self.find(message_id)

    @abstractmethod
    async def create(self, new: N, message_id: str) -> D:
        """Create a draft."""

    async def complete(self, draft: D, new: N, message_id: str) -> D:
        """Add what a draft cannot be created with; return the whole draft."""
        del new, message_id
        return draft

    @abstractmethod
    async def find(self, message_id: str) -> D | None:
        """Return the draft with a Message-ID."""

    @abstractmethod
    async def read(self, draft_id: str) -> D:
        """Return a draft, or raise Missing."""

    @abstractmethod
    async def delete(self, draft_id: str) -> None:
        """Delete a draft."""

    @abstractmethod
    def held_message(self, draft: D) -> SentMessage:
        """Return the ids of a draft that is held."""


class SentDrafts(HeldDrafts[N, D]):
    """Drafts of one account that upstream sends by their ids, or that are left for a person."""

    async def deliver_once(self, attempt: SendAttempt, write: Write[N]) -> SentMessage:
        """Send what *write* composes, or hold it as a draft, once; see the two methods."""
        return await (self.hold_once if attempt.hold else self.send_once)(attempt, write)

    async def send_once(self, attempt: SendAttempt, write: Write[N]) -> SentMessage:
        """
        Send what *write* composes; the draft that an earlier attempt committed is sent instead.

        Returns:
            The ids of the message; without ids when upstream names none, and when an earlier call
            has sent it.

        Raises:
            OutcomeUnknown: It may have been sent.
            TakenOver: Another attempt has begun, and sends the message.
            ProviderFailure: It was not sent.
        """
        draft_id = attempt.draft_id
        if draft_id in {WITHDRAWN, CREATING}:
            raise OutcomeUnknown
        if draft_id is None:
            draft_id = await self._create_committed(attempt, write)
        elif await self.was_sent(draft_id):
            return WITHOUT_IDS
        else:
            await describe(write)
        try:
            with delivery.time_for_look_ups():
                return await self.send(draft_id)
        except ProviderFailure as problem:
            failure = without_frames(problem)
        return await self.settle(draft_id, attempt, failure)

    async def send_existing(self, draft_id: str, attempt: SendAttempt) -> SentMessage:
        """
        Send a draft of a person once; where it was not sent, it stays a draft.

        Returns:
            As `send_once`.

        Raises:
            OutcomeUnknown, TakenOver, ProviderFailure: As `send_once`.
        """
        if attempt.draft_id is not None and await self.was_sent(draft_id):
            return WITHOUT_IDS
        await attempt.store(draft_id)
        try:
            with delivery.time_for_look_ups():
                return await self.send(draft_id)
        except ProviderFailure as problem:
            failure = without_frames(problem)
        looked_up: list[bool] = []

        async def look() -> bool | None:
            looked_up.append(await self.was_sent(draft_id))
            return looked_up[-1] or None

        if delivery.is_ambiguous(failure):
            if await delivery.poll(look):
                return WITHOUT_IDS
            if not (isinstance(failure, Broken) and failure.failed and looked_up):
                raise OutcomeUnknown from failure
        raise delivery.not_sent(failure)

    async def _sent_or_none(self, draft_id: str) -> bool | None:
        return await self.was_sent(draft_id) or None

    async def _create_committed(self, attempt: SendAttempt, write: Write[N]) -> str:
        """
        Create a draft and commit its id.

        One that could not be completed is never sent: it is not known what it lacks.
        """
        with delivery.time_for_look_ups():
            new = await write()
        draft = await self._create_or_find(new, attempt.message_id)
        try:
            with delivery.time_for_look_ups():
                await self.complete(draft, new, attempt.message_id)
        except ProviderFailure as failure:
            await self.discard(draft.id)
            raise delivery.not_sent(failure) from failure
        with suppress(ProviderFailure):
            for earlier in await self.find_all(*attempt.earlier_ids) if attempt.earlier_ids else ():
                await self.discard(earlier.id)
        await delivery.commit_draft(attempt, draft.id, self.discard)
        return draft.id

    async def _create_or_find(self, new: N, message_id: str) -> D:
        try:
            with delivery.time_for_look_ups():
                return await self.create(new, message_id)
        except ProviderFailure as problem:
            failure = without_frames(problem)
        if not self.may_have_created(failure):
            raise delivery.not_sent(failure)
        draft = await delivery.poll(lambda: self.find(message_id))
        if draft is None:
            raise Unreachable(sent=False) from failure  # a retry deletes what may be left
        return draft

    async def discard(self, draft_id: str) -> None:
        """Try to delete a draft that will not be sent."""
        with suppress(ProviderFailure):
            await self.delete(draft_id)

    async def find(self, message_id: str) -> D | None:
        return next(iter(await self.find_all(message_id)), None)

    @abstractmethod
    async def find_all(self, *message_ids: str) -> Sequence[D]:
        """Return the drafts that have one of the Message-IDs."""

    @abstractmethod
    def may_have_created(self, failure: ProviderFailure) -> bool:
        """Return whether a draft is looked up whose creation failed so."""

    @abstractmethod
    async def send(self, draft_id: str) -> SentMessage:
        """Send a draft."""

    @abstractmethod
    async def was_sent(self, draft_id: str) -> bool:
        """Return whether a draft was sent; raises OutcomeUnknown where upstream cannot say."""

    @abstractmethod
    async def settle(
        self, draft_id: str, attempt: SendAttempt, failure: ProviderFailure
    ) -> SentMessage:
        """
        Find out whether a draft was sent whose send failed; delete it when it was not.

        It stays for a later attempt when this one surely did not reach upstream.
        """


async def describe(write: Write[N]) -> None:
    """Compose a message that an earlier attempt has drafted where a preview shows it."""
    if current_preview() is not None:
        await write()
