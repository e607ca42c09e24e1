"""Provider B's listings: each page links to the next. Source: wire report, 2.2."""

from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TypeVar

from providers.connectors.provider_b.account_cache import ROOT
from providers.http.client import Upstream
from providers.http.response import Response
from providers.paging import PageIterator

P = TypeVar("P")


def pages(
    upstream: Upstream,
    path: Sequence[str],
    params: Sequence[tuple[str, str]],
    shape: type[P],
    *,
    headers: Mapping[str, str],
) -> PageIterator[P]:
    """Read what lies at *path* below the account; *headers* go along with every call."""

    def first() -> Awaitable[Response]:
        return upstream.call("GET", *ROOT, *path, params=params, headers=headers)

    further = partial(upstream.follow, headers=headers)
    return PageIterator(shape, first=first, following=further, cursor=attrgetter("next_link"))
