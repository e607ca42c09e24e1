"""Listings of Google's APIs: each page has a token for the next."""

from collections.abc import Awaitable, Sequence
from typing import Protocol, TypeVar

from providers.http.client import Upstream
from providers.http.response import Response
from providers.paging import PageIterator


class TokenPage(Protocol):
    """A page. *next_page_token* is None or empty on the last one."""

    next_page_token: str | None


P = TypeVar("P", bound=TokenPage)


def pages(
    upstream: Upstream, path: Sequence[str], params: Sequence[tuple[str, str]], shape: type[P]
) -> PageIterator[P]:
    """Return the pages of the listing at *path*."""

    def first() -> Awaitable[Response]:
        return upstream.call("GET", *path, params=params)

    def following(token: str) -> Awaitable[Response]:
        return upstream.call("GET", *path, params=(*params, ("pageToken", token)))

    return PageIterator(
        shape, first=first, following=following, cursor=lambda page: page.next_page_token or None
    )
