"""Listings that are read page by page; each page names the next one."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Generic, TypeVar

from providers.failures import Broken
from providers.http.response import Response

P = TypeVar("P")


class PageIterator(AsyncIterator[P], Generic[P]):
    """
    Pages of one listing, requested one at a time.

    Not a generator: the event loop makes a task to close one that is not read to its end.
    """

    def __init__(
        self,
        page_type: type[P],
        *,
        first: Callable[[], Awaitable[Response]],
        following: Callable[[str], Awaitable[Response]],
        cursor: Callable[[P], str | None],
    ) -> None:
        """
        Start before the first page.

        Args:
            page_type: What responses decode to.
            first: Requests the first page.
            following: Requests the page of a cursor.
            cursor: Returns the cursor of the page after this one; None after the last.
        """
        self._page_type = page_type
        self._first = first
        self._following = following
        self._cursor = cursor
        self._page: P | None = None
        self._seen: set[str] = set()

    async def __anext__(self) -> P:
        """
        Read the next page.

        Raises:
            Broken: Its cursor was used already: upstream's pages form a circle.
        """
        if self._page is None:
            response = await self._first()
        else:
            cursor = self._cursor(self._page)
            if cursor is None:
                raise StopAsyncIteration
            if cursor in self._seen:
                raise Broken
            self._seen.add(cursor)
            response = await self._following(cursor)
        self._page = page = response.decode(self._page_type)
        return page
