"""
Pages of upstream's collections, and cursors into them.

A cursor names a page, and how many of its members are consumed: ``12:`` is the first page without
its first twelve, ``0:/v1.0/…?$skiptoken=…`` another page whole. It keeps upstream's link without
our own options, so that selections may change from page to page; it is only ever sent to our own
upstream. See docs/spec/upstream/microsoft-files.md#folder-pages.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

import msgspec

from providers.failures import Broken, Refused, TooMuch
from providers.http.client import Upstream
from providers.http.response import Response
from providers.http.urls import BaseUrl
from providers.ports.collab import InvalidCursor, Page
from providers.turns import in_turns

T = TypeVar("T")
W = TypeVar("W")
Params = Sequence[tuple[str, str]]
_NONE: Mapping[str, str] = MappingProxyType({})
# Options that are set anew for every page.
_OWN_OPTIONS = frozenset({"$select", "$expand", "$top", "$orderby", "$filter", "$search", "search"})
_MAX_CURSOR = 2500  # characters: a page token has 4,096 at most


class ODataPage(msgspec.Struct, Generic[W]):
    """A page of a collection."""

    value: tuple[W, ...] = ()
    next_link: str | None = msgspec.field(default=None, name="@odata.nextLink")
    delta_link: str | None = msgspec.field(default=None, name="@odata.deltaLink")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCursor:
    """A page and the number of its members that are consumed; *link* "" is the first page."""

    consumed: int = 0
    link: str = ""

    @classmethod
    def parse(cls, cursor: str | None) -> "PageCursor":
        """
        Parse a cursor; None is the beginning.

        Raises:
            InvalidCursor: The text is not a cursor.
        """
        if cursor is None:
            return cls()
        consumed, colon, link = cursor.partition(":")
        is_count = consumed.isascii() and consumed.isdigit() and len(consumed) <= 6
        if not colon or not is_count or link[:1] not in ("", "/"):
            raise InvalidCursor
        return cls(consumed=int(consumed), link=link)

    def after(self, consumed: int) -> str:
        """Return the cursor of a position within the page."""
        return f"{consumed}:{self.link}"


class PageReader:
    """Reads the collections of one upstream."""

    def __init__(self, upstream: Upstream, base_url: str) -> None:
        self._upstream = upstream
        self._base_url = BaseUrl.parse(base_url)

    async def page(  # noqa: PLR0913 - facts of one collection
        self,
        segments: Sequence[str],
        params: Params,
        shape: type[ODataPage[W]],
        *,
        cursor: str | None,
        to_record: Callable[[W], T | None],
        headers: Mapping[str, str] = _NONE,
    ) -> Page[T]:
        """
        Read one page.

        Args:
            segments: The address of the collection.
            params: Our own options, sent for every page.
            shape: The type of its pages.
            cursor: Where to continue; None: from the beginning.
            to_record: Makes a record of a member, or leaves it out (None).
            headers: Sent with the call.

        Raises:
            InvalidCursor: *cursor* is not of this collection.
        """
        position = PageCursor.parse(cursor)
        response = await self._get(position, segments, params, headers)
        page = await response.decoded(shape)
        members = enumerate(page.value[position.consumed :], position.consumed + 1)
        numbered = [
            (number, record)
            async for number, member in in_turns(members)
            if (record := to_record(member)) is not None
        ]
        link = self._next_link(page.next_link, params, position)
        return Page(
            items=tuple(record for _, record in numbered),
            cursors=tuple(position.after(number) for number, _ in numbered),
            next=None if link is None else PageCursor(link=link).after(0),
        )

    async def read_all(  # noqa: PLR0913 - facts of one collection
        self,
        segments: Sequence[str],
        params: Params,
        shape: type[ODataPage[W]],
        *,
        limit: int,
        headers: Mapping[str, str] = _NONE,
        first: Response | None = None,
    ) -> tuple[list[W], bool]:
        """
        Read page after page until about *limit* members are there.

        Args:
            segments: The address of the collection.
            params: Our own options, sent for every page.
            shape: The type of its pages.
            limit: Members that end the reading.
            headers: Sent with the calls.
            first: The first page, when it was read already.

        Returns:
            The members, and whether these are all.
        """
        members: list[W] = []
        position: PageCursor | None = PageCursor()
        while position is not None:
            answer = first or await self._get(position, segments, params, headers)
            first = None
            page = await answer.decoded(shape)
            members += page.value
            link = self._next_link(page.next_link, params, position)
            position = None if link is None else PageCursor(link=link)
            if position is not None and len(members) >= limit:
                return members, False
        return members, True

    async def read_delta(
        self, segments: Sequence[str], params: Params, shape: type[ODataPage[W]], *, limit: int
    ) -> tuple[list[W], str]:
        """
        Read all pages of a delta query without a token; arguments as of `read_all`.

        Returns:
            The members, and the link for `is_unchanged`; "" when upstream gave none of use.

        Raises:
            TooMuch: There are more than *limit* members.
        """
        members: list[W] = []
        position = PageCursor()
        while True:
            response = await self._get(position, segments, params, _NONE)
            page = await response.decoded(shape)
            members += page.value
            if len(members) > limit:
                raise TooMuch
            link = self._next_link(page.next_link, params, position)
            if link is None:
                break
            position = PageCursor(link=link)
        try:
            return members, self._next_link(page.delta_link, params, position) or ""
        except Broken:
            return members, ""

    async def is_unchanged(self, link: str) -> bool:
        """
        Return whether upstream tells nothing since the *link* of `read_delta`.

        Raises:
            InvalidCursor, Missing: Upstream no longer knows the link.
        """
        response = await self._get(PageCursor(link=link), (), (), _NONE)
        page = await response.decoded(ODataPage[msgspec.Raw])
        return not page.value and page.next_link is None

    async def _get(
        self,
        position: PageCursor,
        segments: Sequence[str],
        params: Params,
        headers: Mapping[str, str],
    ) -> Response:
        if not position.link:
            return await self._upstream.call("GET", *segments, params=params, headers=headers)
        path, _, options = position.link.partition("?")
        query = [*parse_qsl(options, keep_blank_values=True), *params]
        url = f"{self._base_url.origin}{path}?{urlencode(query, quote_via=quote)}"
        try:
            return await self._upstream.follow(url, headers=headers)
        except Refused as refusal:
            if refusal.status == 400:  # upstream no longer knows the link
                raise InvalidCursor from refusal
            raise

    def _next_link(self, link: str | None, params: Params, position: PageCursor) -> str | None:
        """Return a link without our own options; None at the end, and for a link to itself."""
        if link is None:
            return None
        url = self._base_url.parse_page_link(link)
        path, _, query = url.raw_path.decode("ascii").partition("?")
        own_options = _OWN_OPTIONS | {name for name, _ in params}
        options = [
            (name, value)
            for name, value in parse_qsl(query, keep_blank_values=True)
            if name not in own_options
        ]
        next_link = f"{path}?{urlencode(options, quote_via=quote)}"
        if next_link == position.link:
            return None
        if not options or len(next_link) > _MAX_CURSOR:
            raise Broken
        return next_link
