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

    __slots__ = ("_cursor", "_decode", "_known", "_page", "_request", "_seen")

    def __init__(
        self,
        decode: Callable[[Response], P],
        *,
        request: Callable[[str | None], Awaitable[Response]],
        cursor: Callable[[P], str | None],
        known: Response | None = None,
    ) -> None:
        """
        Start before the first page.

        Args:
            decode: Decodes the response that holds a page.
            request: Requests the page of a cursor; None: the first page.
            cursor: Returns the cursor of the page after this one; None after the last.
            known: The response that holds the first page, when it was read.
        """
        self._decode = decode
        self._request = request
        self._cursor = cursor
        self._known = known
        self._page: P | None = None
        self._seen: frozenset[str] = frozenset()

    async def __anext__(self) -> P:
        """
        Read the next page.

        Raises:
            Broken: Its cursor was used already: upstream's pages form a circle.
        """
        if self._page is None:
            response = self._known or await self._request(None)
        else:
            cursor = self._cursor(self._page)
            if cursor is None:
                raise StopAsyncIteration
            if cursor in self._seen:
                raise Broken
            self._seen |= {cursor}
            response = await self._request(cursor)
        self._page = page = self._decode(response)
        return page
