"""Listings of Microsoft Graph: each page has a link to the next."""

from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TypeVar

from providers.connectors.provider_b.account_cache import ROOT
from providers.http.client import Upstream
from providers.http.response import Response
from providers.paging import PageIterator

P = TypeVar("P")


def pages(  # noqa: PLR0913 - keyword-only, but for what every listing has
    upstream: Upstream,
    path: Sequence[str],
    params: Sequence[tuple[str, str]],
    shape: type[P],
    *,
    headers: Mapping[str, str],
    first_seconds: float | None = None,
) -> PageIterator[P]:
    """
    Return the pages of the listing at *path* below the account; every call has *headers*.

    *first_seconds*: the deadline of the first page, which is then not retried; None: as usual.
    """

    def first() -> Awaitable[Response]:
        return upstream.call(
            "GET",
            *ROOT,
            *path,
            params=params,
            headers=headers,
            deadline=first_seconds,
            retry=None if first_seconds is None else False,
        )

    following = partial(upstream.follow, headers=headers)
    return PageIterator(shape, first=first, following=following, cursor=attrgetter("next_link"))
