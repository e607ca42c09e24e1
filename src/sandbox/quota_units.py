"""
Quota units of provider A's mail: docs/spec/upstream/errors-and-throttling.md#gmail-quotas.

The sandbox has one account per upstream, so the allowance of a user belongs to the upstream.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sandbox.error_bodies import provider_a
from sandbox.http import Request, Response

ALLOWANCE = 6000  # units per user and minute
_WINDOW = 60.0  # seconds
_USUAL = 5  # of calls without a known price

# (method, path below the user; "*" is an id) -> units, as of May 2026
_PRICES: dict[tuple[str, ...], int] = {
    ("GET", "profile"): 1,
    ("GET", "messages"): 5,
    ("GET", "messages", "*"): 20,
    ("GET", "messages", "*", "attachments", "*"): 5,
    ("POST", "messages"): 25,
    ("POST", "messages", "import"): 25,
    ("POST", "messages", "send"): 100,
    ("POST", "messages", "batchModify"): 50,
    ("POST", "messages", "batchDelete"): 50,
    ("POST", "messages", "*", "modify"): 5,
    ("POST", "messages", "*", "trash"): 5,
    ("POST", "messages", "*", "untrash"): 5,
    ("DELETE", "messages", "*"): 10,
    ("GET", "threads"): 10,
    ("GET", "threads", "*"): 40,
    ("GET", "drafts"): 5,
    ("GET", "drafts", "*"): 5,
    ("POST", "drafts"): 10,
    ("POST", "drafts", "send"): 100,
    ("PUT", "drafts", "*"): 15,
    ("DELETE", "drafts", "*"): 10,
    ("GET", "labels"): 1,
    ("GET", "labels", "*"): 1,
    ("GET", "history"): 2,
    ("POST", "watch"): 100,
    ("POST", "stop"): 50,
    ("GET", "settings", "sendAs"): 1,
}


def price(request: Request) -> int:
    """Return the units of a call; 0 for calls that do not count: a batch itself, calendars."""
    if request.segments[:1] not in (("gmail",), ("upload",)) or "users" not in request.segments:
        return 0
    below = request.segments[request.segments.index("users") + 2 :]
    exact = (request.method, *below)
    return _PRICES.get(exact) or _PRICES.get(_pattern(exact), _USUAL)


def _pattern(path: Sequence[str]) -> tuple[str, ...]:
    """Replace the ids of a path: every second segment below the user."""
    return tuple("*" if at in (2, 4) else segment for at, segment in enumerate(path))


@dataclass(slots=True, kw_only=True)
class QuotaMeter:
    """
    Counts the units of the last minute, and refuses calls beyond the allowance.

    Attributes:
        allowance: Units per minute; None refuses nothing.
        clock: Monotonic seconds.
    """

    allowance: int | None = ALLOWANCE
    clock: Callable[[], float] = time.monotonic
    _spent: deque[tuple[float, int]] = field(default_factory=deque)
    _refusals: int = 0

    @property
    def spent(self) -> int:
        """Units of the calls of the last minute that were not refused."""
        now = self.clock()
        while self._spent and self._spent[0][0] <= now - _WINDOW:
            self._spent.popleft()
        return sum(units for _, units in self._spent)

    def charge(self, units: int) -> Response | None:
        """Charge a call; return the response that refuses it, which is not charged."""
        if not units:
            return None
        now, spent = self.clock(), self.spent
        if self.allowance is None or spent + units <= self.allowance:
            self._spent.append((now, units))
            return None
        self._refusals += 1
        if self._refusals % 2:
            wait = math.ceil(self._seconds_until(spent + units - self.allowance, now))
            return provider_a(429, retry_after=wait)
        message = (
            "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute per user'"
            " of service 'gmail.googleapis.com'."
        )
        return provider_a(403, reason="rateLimitExceeded", message=message)

    def _seconds_until(self, units: int, now: float) -> float:
        """Return the seconds until at least *units* of those spent are a minute old."""
        for moment, spent in self._spent:
            units -= spent
            if units <= 0:
                return max(1.0, moment + _WINDOW - now)
        return _WINDOW
