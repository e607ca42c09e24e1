"""Quotas of a token and its ancestors: what is left of them, without charging them."""

from collections.abc import Sequence

import msgspec

from gateway.ratelimit.windows import UnlimitedCounter, questions
from gateway.store.tables import AccessToken
from policy.grants import Grant
from policy.quota import RequestCounter, token_charges


class QuotaLeft(msgspec.Struct, frozen=True):
    """
    A window of a token's quota, or of the quota of a token that it was made from.

    Attributes:
        seconds: How long the window is.
        left: Requests that it allows now.
    """

    token_id: int
    seconds: int
    limit: int
    left: int


async def left(counter: RequestCounter, chain: Sequence[AccessToken]) -> list[QuotaLeft]:
    """Return the windows of a token and its ancestors, in the order of *chain*; empty: no quota."""
    if isinstance(counter, UnlimitedCounter):
        return []
    quotas = [(token.id or 0, Grant.read(token.settings).quota) for token in chain]
    windows = []
    for charge in token_charges(quotas, 0):
        for window, question in questions(charge):
            usage = await counter.take([question])
            remaining = usage.remaining if window.limit else 0
            token_id = int(charge.key.rpartition(":")[2])
            windows.append(QuotaLeft(token_id, window.seconds, window.limit, remaining))
    return windows
