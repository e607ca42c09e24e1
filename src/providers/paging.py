"""Listings that are read page by page; each page names the next one."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, Self, TypeVar

import msgspec

from providers.failures import Broken
from providers.http.response import Response
from providers.turns import turn_after_decoding

P = TypeVar("P")
Params = Sequence[tuple[str, str]]

_SMALLER = 10  # times
_SMALL = 100  # entries of a page


class PageIterator(msgspec.Struct, Generic[P]):
    """
    Pages of one listing, requested one at a time; it starts before the first page.

    Not a generator: the event loop makes a task to close one that is not read to its end.

    Attributes:
        decode: Decodes the response that holds a page.
        request: Requests the page of a cursor; None: the first page.
        cursor: Returns the cursor of the page after a page; None after the last.
        known: The response that holds the first page, when it was read.
        page: The page that was read last.
        seen: The cursors that were used.
    """

    decode: Callable[[Response], P]
    request: Callable[[str | None], Awaitable[Response]]
    cursor: Callable[[P], str | None]
    known: Response | None = None
    page: P | None = None
    seen: frozenset[str] = frozenset()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> P:
        """
        Read the next page.

        Raises:
            Broken: Its cursor was used already: upstream's pages form a circle.
        """
        if self.page is None:
            response = self.known or await self.request(None)
        else:
            cursor = self.cursor(self.page)
            if cursor is None:
                raise StopAsyncIteration
            if cursor in self.seen:
                raise Broken
            self.seen |= {cursor}
            response = await self.request(cursor)
        self.page = page = self.decode(response)
        await turn_after_decoding(response.body)
        return page


def with_smaller_pages(params: Params, name: str) -> Params | None:
    """
    Return the parameters of a listing whose pages were too large, with a tenth of their entries.

    None: they are small already. *name* is the parameter that tells the number of entries.
    """
    size = next((value for key, value in params if key == name), "")
    if not size.isdigit() or int(size) <= _SMALL:
        return None
    smaller = str(int(size) // _SMALLER)
    return [(key, smaller if key == name else value) for key, value in params]
