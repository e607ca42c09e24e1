"""Storage of queued rows, of which none blocks the others."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from gateway.store.database import StorageUnavailable
from gateway.store.failures import is_rejected

R = TypeVar("R")


async def store_or_discard(
    batch: Sequence[R],
    store: Callable[[Sequence[R]], Awaitable[None]],
    on_discarded: Callable[[Exception], None],
) -> None:
    """
    Store *batch*; discard only rows that the database can never store, which would block it.

    Args:
        batch: The rows, in order.
        store: Stores rows in one transaction.
        on_discarded: Called for each row that is discarded, with the reason.

    Raises:
        StorageUnavailable: The batch, or a part of it, is to be stored later.
    """
    try:
        await store(batch)
    except StorageUnavailable:
        raise
    except Exception as failure:
        if not is_rejected(failure):
            raise StorageUnavailable from failure
        if len(batch) == 1:
            on_discarded(failure)
            return
        for row in batch:
            await store_or_discard([row], store, on_discarded)
