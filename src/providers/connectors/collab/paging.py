"""
Pages of upstream's collections, as they are asked for and gone on from.

A cursor says which page, and how many of its members are consumed: ``12:`` is the first page
without its first twelve, ``0:/v1.0/…?$skiptoken=…`` another page whole. It keeps of upstream's
link only what is not ours to ask for, so that selections may change from page to page; whatever it
says is asked of our upstream alone. Source: wire report 1D.2 and 6, pitfalls 21 to 24.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

import msgspec

from providers.failures import Broken, Refused
from providers.http.client import Upstream
from providers.http.response import Response
from providers.http.urls import BaseUrl
from providers.ports.collab import InvalidCursor, Page

T = TypeVar("T")
W = TypeVar("W")
Params = Sequence[tuple[str, str]]
_NONE: Mapping[str, str] = MappingProxyType({})
# Options that are said anew for every page.
_OURS = frozenset({"$select", "$expand", "$top", "$orderby", "$filter", "$search", "search"})
_MOST_CURSOR = 2500  # characters: a page token has 4,096 at most


class ODataPage(msgspec.Struct, Generic[W]):
    """A page of upstream's."""

    value: tuple[W, ...] = ()
    next_link: str | None = msgspec.field(default=None, name="@odata.nextLink")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCursor:
    """A page, and how many of its members are consumed. *link* "" is the first page."""

    taken: int = 0
    link: str = ""

    @classmethod
    def read(cls, cursor: str | None) -> "PageCursor":
        """
        Read a cursor; None is the beginning.

        Raises:
            InvalidCursor: It is none.
        """
        if cursor is None:
            return cls()
        taken, colon, link = cursor.partition(":")
        numbered = taken.isascii() and taken.isdigit() and len(taken) <= 6
        if not colon or not numbered or link[:1] not in ("", "/"):
            raise InvalidCursor
        return cls(taken=int(taken), link=link)

    def at(self, taken: int) -> str:
        """Return the cursor of a place within the page."""
        return f"{taken}:{self.link}"


class PageReader:
    """Turns the pages of one upstream."""

    def __init__(self, upstream: Upstream, base_url: str) -> None:
        self._upstream = upstream
        self._root = BaseUrl.parse(base_url)

    async def page(  # noqa: PLR0913 - facts of one collection
        self,
        segments: Sequence[str],
        params: Params,
        shape: type[ODataPage[W]],
        *,
        cursor: str | None,
        keep: Callable[[W], T | None],
        headers: Mapping[str, str] = _NONE,
    ) -> Page[T]:
        """
        Read one page.

        Args:
            segments: Where the collection is.
            params: Our own options; they hold on every page.
            shape: What a page of it looks like.
            cursor: Where to go on; None: from the beginning.
            keep: Makes a record of a member, or leaves it out (None).
            headers: Sent with the call.

        Raises:
            InvalidCursor: *cursor* is not of this collection.
        """
        place = PageCursor.read(cursor)
        answer = await self._turn(place, segments, params, headers)
        leaf = answer.decode(shape)
        kept = [
            (number, record)
            for number, member in enumerate(leaf.value[place.taken :], place.taken + 1)
            if (record := keep(member)) is not None
        ]
        rest = self._rest(leaf.next_link, params, place)
        return Page(
            items=tuple(record for _, record in kept),
            cursors=tuple(place.at(number) for number, _ in kept),
            next=None if rest is None else PageCursor(link=rest).at(0),
        )

    async def every(
        self,
        segments: Sequence[str],
        params: Params,
        shape: type[ODataPage[W]],
        *,
        most: int,
        headers: Mapping[str, str] = _NONE,
    ) -> tuple[list[W], bool]:
        """Return the members of all pages, about *most*, and whether these are all."""
        found: list[W] = []
        place: PageCursor | None = PageCursor()
        while place is not None:
            leaf = (await self._turn(place, segments, params, headers)).decode(shape)
            found += leaf.value
            rest = self._rest(leaf.next_link, params, place)
            place = None if rest is None else PageCursor(link=rest)
            if place is not None and len(found) >= most:
                return found, False
        return found, True

    async def _turn(
        self, place: PageCursor, segments: Sequence[str], params: Params, headers: Mapping[str, str]
    ) -> Response:
        if not place.link:
            return await self._upstream.call("GET", *segments, params=params, headers=headers)
        path, _, rest = place.link.partition("?")
        query = [*parse_qsl(rest, keep_blank_values=True), *params]
        url = f"{self._root.origin}{path}?{urlencode(query, quote_via=quote)}"
        try:
            return await self._upstream.follow(url, headers=headers)
        except Refused as refusal:
            if refusal.status == 400:  # the place is no longer known; wire report 6, 24
                raise InvalidCursor from refusal
            raise

    def _rest(self, link: str | None, params: Params, place: PageCursor) -> str | None:
        """Return what a link says beyond *params*; None at the end, and in a circle."""
        if link is None:
            return None
        url = self._root.parse_page_link(link)
        path, _, query = url.raw_path.decode("ascii").partition("?")
        ours = _OURS | {name for name, _ in params}
        kept = [
            (name, value)
            for name, value in parse_qsl(query, keep_blank_values=True)
            if name not in ours
        ]
        rest = f"{path}?{urlencode(kept, quote_via=quote)}"
        if rest == place.link:
            return None
        if not kept or len(rest) > _MOST_CURSOR:
            raise Broken
        return rest
