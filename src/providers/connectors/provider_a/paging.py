"""Listings of Google's APIs: each page has a token for the next."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

import msgspec

from providers.failures import TooLarge
from providers.http.client import Upstream
from providers.http.response import Response
from providers.paging import PageIterator, Params, with_smaller_pages


class TokenPage(Protocol):
    """A page. *next_page_token* is None or empty on the last one."""

    next_page_token: str | None


P = TypeVar("P", bound=TokenPage)


def pages(
    upstream: Upstream,
    path: Sequence[str],
    params: Params,
    shape: type[P],
    known: Response | None = None,
) -> PageIterator[P]:
    """Return the pages of the listing at *path*; *known* is the first of them, when it was read."""
    requests = _Requests(upstream, path, params)
    return PageIterator(
        lambda response: response.decode(shape),
        request=requests,
        cursor=lambda page: page.next_page_token or None,
        known=known,
    )


class _Requests(msgspec.Struct):
    """Requests the pages of a listing, fewer entries at a time once a page was too large."""

    upstream: Upstream
    path: Sequence[str]
    params: Params

    async def __call__(self, token: str | None) -> Response:
        of_page = self.params if token is None else (*self.params, ("pageToken", token))
        try:
            return await self.upstream.call("GET", *self.path, params=of_page)
        except TooLarge:
            smaller = with_smaller_pages(self.params, "maxResults")
            if smaller is None:
                raise
            self.params = smaller
        return await self(token)
