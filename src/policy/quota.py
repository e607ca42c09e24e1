"""Rolling windows that calls are charged to, and the port of the counter (docs/spec/limits.md)."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple, Protocol

import msgspec

from policy.grants import TokenQuota

MINUTE, HOUR, DAY = 60, 3600, 86_400  # seconds


class Window(msgspec.Struct, frozen=True):
    """At most *limit* requests in any *seconds* seconds."""

    limit: int
    seconds: int


# Bucket -> its windows, per client IP (docs/spec/limits.md#rate-limits). `graphql` counts calls of
# POST /graphql with a refused token, which belong to no surface.
SURFACE_WINDOWS: Mapping[str, tuple[Window, ...]] = MappingProxyType(
    {
        "email": (Window(60, MINUTE), Window(300, HOUR)),
        "calendar": (Window(100, MINUTE), Window(500, HOUR)),
        "tasks": (Window(60, MINUTE), Window(300, HOUR)),
        "collab": (Window(60, MINUTE), Window(300, HOUR)),
        "management": (Window(60, MINUTE), Window(600, HOUR)),
        "graphql": (Window(60, MINUTE), Window(300, HOUR)),
    }
)


class Charge(NamedTuple):
    """
    *cost* requests against every window of *key*.

    *owner* is the client address, or the first ancestor of the token: what processes share is
    stored by owner.
    """

    key: str
    windows: tuple[Window, ...]
    cost: int = 1
    owner: str = ""


class RateLimitResult(NamedTuple):
    """
    Result of a charge, for the window with the fewest requests left.

    Attributes:
        reset: Unix seconds at which that window next frees a slot.
        retry_after: Whole seconds, at least 1, until the charge would be allowed; 0 when it is.
    """

    allowed: bool
    limit: int
    remaining: int
    reset: int
    retry_after: int


class RequestCounter(Protocol):
    """Counts requests in true sliding windows, in one process or across many."""

    async def take(self, charges: Sequence[Charge]) -> RateLimitResult:
        """Count all charges, or none when one of them exceeds a window."""


@lru_cache(maxsize=1024)  # equal quotas share their windows
def token_windows(quota: TokenQuota) -> tuple[Window, ...]:
    """Return the windows of a token's own quota, which count in addition to those of its IP."""
    limits = ((quota.per_minute, MINUTE), (quota.per_hour, HOUR), (quota.per_day, DAY))
    return tuple(Window(limit, seconds) for limit, seconds in limits if limit is not None)


def token_charges(quotas: Sequence[tuple[int, TokenQuota]], cost: int) -> list[Charge]:
    """Return the charges of *cost* requests to a token and its ancestors; none without windows."""
    windows = ((token_id, token_windows(quota)) for token_id, quota in quotas)
    family = f"token:{quotas[-1][0]}"
    return [
        Charge(f"token:{token_id}", limits, cost, family) for token_id, limits in windows if limits
    ]
