"""
Many reads in one call, whatever a provider's batch looks like on the wire.

What is throttled within a batch is asked for once more; whatever else went wrong there is asked
for alone, where it is retried or raised as usual. Source: wire report 1A.1, 2.2.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from providers.failures import Throttled
from providers.http.call import Classify
from providers.http.client import Upstream
from providers.http.response import Response

T = TypeVar("T")

GONE_STATUSES = (404, 410)
_PAUSE = 0.3  # seconds before what was throttled is asked for once more


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchReader(Generic[T]):
    """
    How one kind of thing is read.

    Attributes:
        many: Asks for the things of these names in one call; answers for each of them.
        one: Asks for one thing; `GONE_STATUSES` is an answer.
        decode: Reads the answer that holds a thing.
        classify: Tells what another answer means.
        most: How many things one call may ask for.
    """

    upstream: Upstream
    many: Callable[[Sequence[str]], Awaitable[Mapping[str, Response]]]
    one: Callable[[str], Awaitable[Response]]
    decode: Callable[[Response], T]
    classify: Classify
    most: int

    async def read(self, names: Sequence[str]) -> dict[str, T]:
        """
        Read things by their names; those that are gone are left out.

        Raises:
            Throttled: Some are throttled, also when asked for once more.
            ProviderFailure: A call or one of its parts failed.
        """
        if len(names) == 1:
            return await self._singly(names)
        chunks = [names[at : at + self.most] for at in range(0, len(names), self.most)]
        found = await asyncio.gather(*map(self._chunk, chunks))
        return {name: thing for one in found for name, thing in one.items()}

    async def _chunk(self, names: Sequence[str]) -> dict[str, T]:
        parts = dict(await self.many(names))
        again = [name for name, part in parts.items() if self._throttle(part)]
        if again:
            await asyncio.sleep(_PAUSE)
            parts |= await self.many(again)
        found: dict[str, T] = {}
        odd: list[str] = []
        for name, part in parts.items():
            if part.status < 300:
                found[name] = self.decode(part)
            elif throttle := self._throttle(part):
                raise self.upstream.throttled(throttle.retry_after)
            elif part.status not in GONE_STATUSES:
                odd.append(name)
        return found | await self._singly(odd) if odd else found

    async def _singly(self, names: Sequence[str]) -> dict[str, T]:
        answers = [(name, await self.one(name)) for name in names]
        return {name: self.decode(answer) for name, answer in answers if answer.status < 300}

    def _throttle(self, part: Response) -> Throttled | None:
        failure = self.classify(part) if part.status >= 300 else None
        return failure if isinstance(failure, Throttled) else None
