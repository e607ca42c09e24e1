"""What the project provider's error answers mean: their statuses say nearly all of it."""

from providers.failures import ProviderFailure, Refused
from providers.http.response import Response


def classify(answer: Response) -> ProviderFailure | None:
    """Turn a non-2xx answer into a failure, None when its status says it all."""
    # 451: the workspace's own policy forbids it, as a missing right would.
    return Refused(status=403, word="451") if answer.status == 451 else None
