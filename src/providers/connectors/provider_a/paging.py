"""Provider A's listings: each page tells a token for the next. Source: wire report, 1A.1."""

from collections.abc import Awaitable, Sequence
from typing import Protocol, TypeVar

from providers.http.client import Upstream
from providers.http.response import Response
from providers.paging import PageIterator


class Continued(Protocol):
    """A page. *next_page_token* is None or empty on the last one."""

    next_page_token: str | None


P = TypeVar("P", bound=Continued)


def pages(
    upstream: Upstream, path: Sequence[str], params: Sequence[tuple[str, str]], shape: type[P]
) -> PageIterator[P]:
    """Read what lies at *path*."""

    def first() -> Awaitable[Response]:
        return upstream.call("GET", *path, params=params)

    def further(token: str) -> Awaitable[Response]:
        return upstream.call("GET", *path, params=(*params, ("pageToken", token)))

    return PageIterator(
        shape, first=first, following=further, cursor=lambda page: page.next_page_token or None
    )
