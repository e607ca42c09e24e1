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
from providers.connectors.collab.response_types import Part, Parts
from providers.dry_run import changes
from providers.failures import Broken, Missing, Throttled
from providers.http.client import Upstream
from providers.http.response import Answer

PER_CALL = 20  # wire report 2.2
_PAUSE = 0.3  # seconds before what failed in passing is asked for once more
_PASSING = frozenset({429, 500, 502, 503, 504})

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Ask:
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


async def ask(upstream: Upstream, asks: Mapping[K, Ask]) -> dict[K, Answer]:
    """
    Make all calls, twenty at a time, and once more those that failed in passing.

    Returns:
        An answer for each, of any status.

    Raises:
        ProviderFailure: A whole batch failed.
    """
    keys = list(asks)
    chunks = [keys[at : at + PER_CALL] for at in range(0, len(keys), PER_CALL)]
    answered = await asyncio.gather(
        *(_chunk(upstream, {key: asks[key] for key in chunk}) for chunk in chunks)
    )
    return {key: answer for one in answered for key, answer in one.items()}


async def _chunk(upstream: Upstream, asks: Mapping[K, Ask]) -> dict[K, Answer]:
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


async def _call(upstream: Upstream, asks: Mapping[K, Ask]) -> dict[K, Answer]:
    keys = list(asks)
    requests = [
        {"id": str(number), "method": asks[key].method, "url": asks[key].url}
        for number, key in enumerate(keys)
    ]
    answer = await upstream.call(
        "POST",
        "v1.0",
        "$batch",
        json={"requests": requests},
        retry=True,
        changes=any(changes(one.method, said=one.changes) for one in asks.values()),
    )
    parts = {part.id: part for part in answer.decode(Parts).responses}
    if parts.keys() != {one["id"] for one in requests}:
        raise Broken
    return {key: _answer(parts[str(number)]) for number, key in enumerate(keys)}


def _answer(part: Part) -> Answer:
    headers = {name.lower(): value for name, value in (part.headers or {}).items()}
    return Answer(part.status, headers, bytes(part.body))
