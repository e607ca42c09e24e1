"""Sliding-window rate limiter in memory, as small as a careful team would write it."""

import math
import time
from collections import deque
from collections.abc import Sequence

Windows = Sequence[tuple[int, int]]  # (limit, seconds)


class SlidingWindows:
    """Rate limiter: the times of the requests of each address or token."""

    def __init__(self) -> None:
        self._hits: dict[tuple[str, int], deque[float]] = {}

    def take(self, charges: Sequence[tuple[str, Windows]]) -> dict[str, str] | None:
        """Count a request against each (name, windows); return the headers, None when refused."""
        now = time.time()
        logs = []
        for name, windows in charges:
            for limit, seconds in windows:
                log = self._hits.setdefault((name, seconds), deque())
                while log and log[0] <= now - seconds:
                    log.popleft()
                if len(log) >= limit:
                    return None
                logs.append((limit, seconds, log))
        for _, _, log in logs:
            log.append(now)
        limit, seconds, log = min(logs, key=lambda window: window[0] - len(window[2]))
        return {
            "X-RateLimit-Limit": str(limit),
            "X-RateLimit-Remaining": str(limit - len(log)),
            "X-RateLimit-Reset": str(math.ceil(log[0] + seconds)),
        }
