"""
Many reads in one call. Source: wire report 2.2, "$batch".

A part that fails is an answer like any other; what it means is for the caller to say.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import quote, urlencode

from providers.connectors.collab.failures import classify
from providers.dry_run import is_write
from providers.failures import Missing, Throttled
from providers.http.client import Upstream
from providers.http.response import Response
from providers.odata import MAX_BATCH, call_batch

_PAUSE = 0.3  # seconds before what failed in passing is asked for once more
_PASSING = frozenset({429, 500, 502, 503, 504})

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """One call among many; a POST carries no body. *changes*: as `Upstream.call`."""

    segments: tuple[str, ...]
    params: Sequence[tuple[str, str]] = ()
    method: str = "GET"
    changes: bool | None = None

    @property
    def url(self) -> str:
        """
        Below the version.

        Raises:
            Missing: A segment would not stay one.
        """
        if any(one in ("", ".", "..") for one in self.segments):
            raise Missing
        path = "".join(f"/{quote(one, safe='')}" for one in self.segments)
        return f"{path}?{urlencode(self.params, quote_via=quote)}" if self.params else path


async def read_all(upstream: Upstream, asks: Mapping[K, BatchRequest]) -> dict[K, Response]:
    """
    Make all calls, twenty at a time, and once more those that failed in passing.

    Returns:
        An answer for each, of any status.

    Raises:
        ProviderFailure: A whole batch failed.
    """
    keys = list(asks)
    chunks = [keys[at : at + MAX_BATCH] for at in range(0, len(keys), MAX_BATCH)]
    answered = await asyncio.gather(
        *(_chunk(upstream, {key: asks[key] for key in chunk}) for chunk in chunks)
    )
    return {key: answer for one in answered for key, answer in one.items()}


async def _chunk(upstream: Upstream, asks: Mapping[K, BatchRequest]) -> dict[K, Response]:
    found = await _call(upstream, asks)
    again = {key: asks[key] for key, answer in found.items() if answer.status in _PASSING}
    if not again:
        return found
    # Who is told to wait longer than this does not ask again: the rest would fail with it.
    for key in again:
        failure = classify(found[key])
        if isinstance(failure, Throttled) and failure.retry_after > 1:
            upstream.throttled(failure.retry_after)
            return found
    await asyncio.sleep(_PAUSE)
    return found | await _call(upstream, again)


async def _call(upstream: Upstream, asks: Mapping[K, BatchRequest]) -> dict[K, Response]:
    answers = await call_batch(
        upstream,
        [{"method": ask.method, "url": ask.url} for ask in asks.values()],
        changes=any(is_write(ask.method, changes=ask.changes) for ask in asks.values()),
    )
    return dict(zip(asks, answers, strict=True))
