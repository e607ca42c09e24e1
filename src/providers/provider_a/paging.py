"""Provider A's listings, page by page: each page tells a token for the next. Wire report, 1A.1."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol, TypeVar

from providers.failures import Broken
from providers.http import Upstream


class Continued(Protocol):
    """A page. *next_page_token* is None or empty on the last one."""

    next_page_token: str | None


P = TypeVar("P", bound=Continued)


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
    ) -> None:
        self._upstream = upstream
        self._path = path
        self._params = params
        self._shape = shape
        self._page: P | None = None
        self._tokens: set[str] = set()

    async def __anext__(self) -> P:
        """
        Read the next page.

        Raises:
            Broken: It was read already.
        """
        params = (*self._params, *self._more(self._page))
        answer = await self._upstream.call("GET", *self._path, params=params)
        self._page = page = answer.decode(self._shape)
        return page

    def _more(self, last: P | None) -> Sequence[tuple[str, str]]:
        if last is None:
            return ()
        token = last.next_page_token
        if not token:
            raise StopAsyncIteration
        if token in self._tokens:
            raise Broken
        self._tokens.add(token)
        return (("pageToken", token),)
