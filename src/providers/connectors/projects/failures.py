"""Error responses as failures: docs/spec/upstream/errors-and-throttling.md#asana-errors."""

from providers.failures import Broken, ProviderFailure, Refused
from providers.http.response import Response


def classify(response: Response) -> ProviderFailure | None:
    """Turn a non-2xx response into a failure; None when its status suffices."""
    if response.status == 503:  # an outage, also with Retry-After; its throttle is 429
        return Broken(failed=True)
    # 451: a policy of the workspace forbids the request, which equals a missing permission.
    return Refused(status=403, word="451") if response.status == 451 else None
