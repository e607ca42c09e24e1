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
    upstream: Upstream,
    path: Sequence[str],
    params: Sequence[tuple[str, str]],
    shape: type[P],
    known: Response | None = None,
) -> PageIterator[P]:
    """Return the pages of the listing at *path*; *known* is the first of them, when it was read."""

    def request(token: str | None) -> Awaitable[Response]:
        of_page = params if token is None else (*params, ("pageToken", token))
        return upstream.call("GET", *path, params=of_page)

    return PageIterator(
        lambda response: response.decode(shape),
        request=request,
        cursor=lambda page: page.next_page_token or None,
        known=known,
    )
