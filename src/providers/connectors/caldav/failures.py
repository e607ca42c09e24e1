"""Error answers as failures: docs/spec/upstream/caldav.md#errors."""

from providers.failures import ProviderFailure, Refused
from providers.http.response import Response


def classify(response: Response) -> ProviderFailure | None:
    """Turn a non-2xx response into a failure; None when its status suffices."""
    if 300 <= response.status < 400:
        return Refused("The calendar server redirects to another address.", status=response.status)
    return None
