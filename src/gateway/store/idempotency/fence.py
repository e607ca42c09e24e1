"""Stops the writes of an attempt that lost its `Idempotency-Key` to a later request."""

import msgspec

from gateway.store.idempotency.store import IdempotencyStore
from policy.refusals import Conflict
from policy.vocabulary import Code
from providers.write_fence import TakenOver
from rest_compat.ledger import Attempt


class KeyTakenOver(Conflict, TakenOver):
    """409 `IDEMPOTENCY_IN_PROGRESS`: another request has taken the key over."""

    def __init__(self) -> None:
        super().__init__(
            "This request lost its Idempotency-Key to a later one and was stopped."
            " Repeat it to get the outcome.",
            code=Code.IDEMPOTENCY_IN_PROGRESS,
        )


class AttemptFence(msgspec.Struct, frozen=True):
    """
    An attempt under an `Idempotency-Key`, as connectors ask it.

    Implements `providers.write_fence.WriteFence` and `providers.ports.mail.StoreDraft`.
    """

    attempt: Attempt
    ledger: IdempotencyStore

    async def confirm(self) -> None:
        """
        Return if no other attempt has begun, and none can while an upstream call lasts.

        Raises:
            KeyTakenOver: Another request has taken the key over.
            Overloaded: The database did not answer.
        """
        if not await self.ledger.confirm(self.attempt):
            raise KeyTakenOver

    async def store_draft(self, draft: str | None) -> None:
        """
        Commit the id of the draft that later attempts send, or that there is none.

        Raises:
            KeyTakenOver: Another request has taken the key over; nothing was stored.
            Overloaded: The database did not answer, so that it may or may not have been stored.
        """
        if not await self.ledger.store_draft(self.attempt, draft):
            raise KeyTakenOver
