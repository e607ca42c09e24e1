"""
Many reads in one ``$batch`` call; docs/spec/upstream/microsoft-files.md.

A failed read is a response like any other; the caller decides what it means. `BatchReader` differs:
it raises for what stays throttled, and reads one by one what failed otherwise.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote, urlencode

from providers.batches import GONE_STATUSES
from providers.connectors.collab.failures import classify
from providers.dry_run import is_write
from providers.failures import Missing, Throttled
from providers.http.client import Upstream
from providers.http.response import Response
from providers.http.retry_after import wait_for_budget
from providers.odata import MAX_BATCH, call_batch

_RETRY_PAUSE_SECONDS = 0.3
_TRANSIENT_STATUSES = frozenset({429, 500, 502, 503, 504})

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """One request of a batch; a POST carries no body. *changes*: as `Upstream.call`."""

    segments: tuple[str, ...]
    params: Sequence[tuple[str, str]] = ()
    method: str = "GET"
    changes: bool | None = None

    @property
    def url(self) -> str:
        """
        The address below the version.

        Raises:
            Missing: A segment would not stay one.
        """
        if any(segment in ("", ".", "..") for segment in self.segments):
            raise Missing
        path = "".join(f"/{quote(segment, safe='')}" for segment in self.segments)
        return f"{path}?{urlencode(self.params, quote_via=quote)}" if self.params else path


async def read_all(upstream: Upstream, requests: Mapping[K, BatchRequest]) -> dict[K, Response]:
    """
    Send requests, twenty per call, and once more those that failed transiently.

    Returns:
        A response for each, of any status.

    Raises:
        ProviderFailure: A whole batch failed.
    """
    keys = list(requests)
    chunks = [keys[start : start + MAX_BATCH] for start in range(0, len(keys), MAX_BATCH)]
    answered = await asyncio.gather(
        *(_read_chunk(upstream, {key: requests[key] for key in chunk}) for chunk in chunks)
    )
    merged = {key: response for responses in answered for key, response in responses.items()}
    for response in merged.values():
        if response.status >= 400 and response.status not in GONE_STATUSES:
            upstream.collect(response)
    return merged


async def _read_chunk(upstream: Upstream, requests: Mapping[K, BatchRequest]) -> dict[K, Response]:
    responses = await _call(upstream, requests)
    failed = {
        key: requests[key]
        for key, response in responses.items()
        if response.status in _TRANSIENT_STATUSES
    }
    if not failed:
        return responses
    # A retry within a longer wait would make upstream throttle the rest of the batch too.
    for key in failed:
        failure = classify(responses[key])
        if isinstance(failure, Throttled) and (failure.named or 0) > 1:
            upstream.throttled(failure.named)
            return responses
    await asyncio.sleep(_RETRY_PAUSE_SECONDS)
    return responses | await _call(upstream, failed)


async def _call(upstream: Upstream, requests: Mapping[K, BatchRequest]) -> dict[K, Response]:
    responses = await call_batch(
        upstream,
        [{"method": request.method, "url": request.url} for request in requests.values()],
        changes=any(
            is_write(request.method, changes=request.changes) for request in requests.values()
        ),
    )
    waits = [wait for answer in responses if (wait := wait_for_budget(answer.headers)) is not None]
    if waits:
        upstream.throttled(max(waits))
    return dict(zip(requests, responses, strict=True))
