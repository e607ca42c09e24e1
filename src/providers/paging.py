"""Listings read page by page, where each page tells how to ask for the next."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Generic, TypeVar

from providers.failures import Broken
from providers.http.response import Response

P = TypeVar("P")


class PageIterator(AsyncIterator[P], Generic[P]):
    """
    The pages of one listing, asked for one by one.

    No generator: one that nobody reads to its end costs the loop a task that closes it.
    """

    def __init__(
        self,
        shape: type[P],
        *,
        first: Callable[[], Awaitable[Response]],
        further: Callable[[str], Awaitable[Response]],
        mark: Callable[[P], str | None],
    ) -> None:
        """
        Begin before the first page.

        Args:
            shape: Of a page.
            first: Asks for the first page.
            further: Asks for the page of a mark.
            mark: Tells the mark of the page after this one; None after the last one.
        """
        self._shape = shape
        self._first = first
        self._further = further
        self._mark = mark
        self._page: P | None = None
        self._seen: set[str] = set()

    async def __anext__(self) -> P:
        """
        Read the next page.

        Raises:
            Broken: It was read already.
        """
        if self._page is None:
            answer = await self._first()
        else:
            mark = self._mark(self._page)
            if mark is None:
                raise StopAsyncIteration
            if mark in self._seen:
                raise Broken
            self._seen.add(mark)
            answer = await self._further(mark)
        self._page = page = answer.decode(self._shape)
        return page
