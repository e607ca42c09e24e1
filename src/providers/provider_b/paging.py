"""Provider B's listings, page by page: each page links to the next. Source: wire report, 2.2."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol, TypeVar

from providers.answers import Answer
from providers.failures import Broken
from providers.http import Upstream
from providers.provider_b.memory import ROOT


class Linked(Protocol):
    """A page. *next_link* is None on the last one."""

    next_link: str | None


P = TypeVar("P", bound=Linked)


class Pages(AsyncIterator[P]):
    """
    The pages of one listing, asked for one by one.

    No generator: one that nobody reads to its end costs the loop a task that closes it.
    """

    def __init__(
        self,
        upstream: Upstream,
        path: Sequence[str],
        params: Sequence[tuple[str, str]],
        shape: type[P],
        *,
        headers: Mapping[str, str],
    ) -> None:
        """Read what lies at *path* below the account. *headers* go along with every call."""
        self._upstream = upstream
        self._path = path
        self._params = params
        self._shape = shape
        self._headers = headers
        self._page: P | None = None
        self._links: set[str] = set()

    async def __anext__(self) -> P:
        """
        Read the next page.

        Raises:
            Broken: It was read already.
        """
        self._page = page = (await self._answer(self._page)).decode(self._shape)
        return page

    async def _answer(self, last: P | None) -> Answer:
        if last is None:
            return await self._upstream.call(
                "GET", *ROOT, *self._path, params=self._params, headers=self._headers
            )
        link = last.next_link
        if link is None:
            raise StopAsyncIteration
        if link in self._links:
            raise Broken
        self._links.add(link)
        return await self._upstream.follow(link, headers=self._headers)
