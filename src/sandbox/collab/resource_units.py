"""
Throttling by resource units.

See docs/spec/upstream/errors-and-throttling.md#microsoft-graph-limits.
"""

from collections import deque

from sandbox.collab.store import ContentStore
from sandbox.error_bodies import THROTTLED
from sandbox.http import Request
from sandbox.provider_b.responses import GraphError

WINDOW = 60.0  # seconds
HEADERS_FROM = 0.8  # share of the budget: above it, responses carry the rate limit headers


class ResourceUnitMeter:
    """Counts resource units per account over a sliding minute, if the settings name a budget."""

    def __init__(self, store: ContentStore) -> None:
        self._store = store

    def charge(self, account: str, request: Request) -> dict[str, str]:
        """
        Charge a request and return the rate limit headers of its response.

        Raises:
            GraphError: activityLimitReached; the refused request is charged, too.
        """
        budget = self._store.settings.units
        if budget is None:
            return {}
        now = self._store.now_seconds()
        spent = self._store.spent_units.setdefault(account, deque())
        while spent and spent[0][0] <= now - WINDOW:
            spent.popleft()
        spent.append((now, units(request)))
        used = sum(price for _, price in spent)
        reset = max(1, round(spent[0][0] + WINDOW - now))
        rate_headers = {
            "ratelimit-limit": str(budget),
            "ratelimit-remaining": str(max(0, budget - used)),
            "ratelimit-reset": str(reset),
        }
        if used > budget:
            raise GraphError(
                429,
                "activityLimitReached",
                "The request has been throttled",
                headers={**rate_headers, "retry-after": str(reset)},
                inner=THROTTLED,
            )
        return rate_headers if used > budget * HEADERS_FROM else {}


def units(request: Request) -> int:
    """Return the resource units of a request."""
    text = f"{request.path}?{request.first('$expand')}"
    if any(word in text for word in ("permissions", "invite", "createLink")):
        return 5
    if request.path.endswith("/delta") and not request.first("token"):
        return 2
    single = request.method == "GET" and not request.path.endswith(
        ("/children", "/items", "/lists", "/drives", "/sites")
    )
    return 1 if single else 2
