"""Listings of Microsoft Graph: each page has a link to the next."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from operator import attrgetter
from typing import TypeVar

import msgspec

from providers.connectors.provider_b.graph_user import GraphUser
from providers.failures import TooLarge
from providers.http.response import Response
from providers.paging import PageIterator, Params, with_smaller_pages

P = TypeVar("P")
_CURSOR = attrgetter("next_link")


def pages(  # noqa: PLR0913 - keyword-only, but for what every listing has
    user: GraphUser,
    path: Sequence[str],
    params: Params,
    decode: Callable[[Response], P],
    *,
    headers: Mapping[str, str],
    first_seconds: float | None = None,
    known: Response | None = None,
) -> PageIterator[P]:
    """
    Return the pages of the listing at *path* below the account, as *decode* reads them.

    Every call has *headers*.

    *first_seconds*: the deadline of the first page, which is then not retried; None: as usual.
    *known*: the first page, when it was read.
    """
    request = _Requests(user, path, params, headers, first_seconds)
    return PageIterator(decode, request=request, cursor=_CURSOR, known=known)


class _Requests(msgspec.Struct, frozen=True):
    """Requests the pages of a listing: see `pages`; a closure takes three times the memory."""

    user: GraphUser
    path: Sequence[str]
    params: Params
    headers: Mapping[str, str]
    first_seconds: float | None

    async def __call__(self, cursor: str | None) -> Response:
        if cursor is not None:
            return await self.user.upstream.follow(cursor, headers=self.headers)
        try:
            return await self._first(self.params)
        except TooLarge:
            smaller = with_smaller_pages(self.params, "$top")
            if smaller is None:
                raise
        return await self._first(smaller)  # the links to the next pages have the same size

    def _first(self, params: Params) -> Awaitable[Response]:
        return self.user.upstream.call(
            "GET",
            *self.user.root,
            *self.path,
            params=params,
            headers=self.headers,
            deadline=self.first_seconds,
            retry=None if self.first_seconds is None else False,
        )
