"""
Reads of many objects in one upstream call, whatever the upstream's batch format.

Throttled parts of a batch are requested again after growing waits. Parts that failed otherwise are
requested one by one, where they are retried or raise as usual. The rules:
docs/spec/upstream/errors-and-throttling.md#failed-parts-of-a-batch.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Generic, TypeVar

import msgspec

from providers.failures import Throttled, TooLarge
from providers.http.attempt import Classify
from providers.http.client import Upstream
from providers.http.response import Response
from providers.turns import in_turns, turn_after_decoding

T = TypeVar("T")

GONE_STATUSES = (404, 410)


class BatchReader(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """
    Reader of one kind of object.

    Attributes:
        read_many: Requests objects by name in one call; returns one response per name.
        read_one: Requests one object; `GONE_STATUSES` do not raise.
        decode: Decodes the response that holds an object.
        classify: Turns any other response into a failure.
        max_size: Objects per call.
    """

    upstream: Upstream
    read_many: Callable[[Sequence[str]], Awaitable[Mapping[str, Response]]]
    read_one: Callable[[str], Awaitable[Response]]
    decode: Callable[[Response], T]
    classify: Classify
    max_size: int

    async def read(self, names: Sequence[str]) -> dict[str, T]:
        """
        Read objects by their names; those that are gone are left out.

        Raises:
            Throttled: Some stay throttled, or longer than a request can wait.
            ProviderFailure: A call or a part of it failed.
        """
        if len(names) == 1:
            return await self._read_singly(names)
        chunks = [names[at : at + self.max_size] for at in range(0, len(names), self.max_size)]
        objects: dict[str, T] = {}
        for chunk in chunks:  # one after another: upstreams limit what an account does at once
            objects |= await self._read_chunk(chunk)
        return objects

    async def _read_chunk(self, names: Sequence[str]) -> dict[str, T]:
        try:
            parts = dict(await self.read_many(names))
        except TooLarge:
            if len(names) == 1:
                raise
            half = len(names) // 2
            return await self._read_chunk(names[:half]) | await self._read_chunk(names[half:])
        while throttles := self._throttles(parts):
            self.upstream.collect(parts[next(iter(throttles))])
            waits = (throttle.named for throttle in throttles.values() if throttle.named)
            await self.upstream.wait_for_throttle(max(waits, default=None))
            parts |= await self.read_many(tuple(throttles))
        objects: dict[str, T] = {}
        failed: list[str] = []
        async for name, part in in_turns(parts.items()):
            if part.status < 300:
                objects[name] = self.decode(part)
            elif part.status not in GONE_STATUSES:
                failed.append(name)
        return objects | await self._read_singly(failed) if failed else objects

    async def _read_singly(self, names: Sequence[str]) -> dict[str, T]:
        objects: dict[str, T] = {}
        for name in names:
            response = await self.read_one(name)
            if response.status < 300:
                objects[name] = self.decode(response)
                await turn_after_decoding(response.body)
        return objects

    def _throttles(self, parts: Mapping[str, Response]) -> dict[str, Throttled]:
        failures = {name: self.classify(part) for name, part in parts.items() if part.status >= 300}
        return {
            name: failure for name, failure in failures.items() if isinstance(failure, Throttled)
        }
