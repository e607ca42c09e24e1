"""Requests by WebDAV: RFC 4918; RFC 4791, 7; RFC 6352, 8."""

from collections.abc import Sequence
from urllib.parse import urljoin, urlsplit

from providers.connectors.caldav.multistatus import (
    Multistatus,
    Resource,
    cards_body,
    multiget_body,
    propfind_body,
    query_body,
    read_multistatus,
)
from providers.failures import Broken, Missing, Refused
from providers.http.client import Upstream
from providers.http.response import Response
from providers.http.urls import BaseUrl
from providers.ports.calendar import Span
from providers.turns import in_turns

SECONDS = 30.0  # of one call; servers build indexes when they are asked
_REDIRECTS = (301, 302, 307, 308)
_MAX_REDIRECTS = 3
_MAX_MEMBERS = 2000  # of a collection whose properties are read
_ELSEWHERE = "The calendar server leads to another server: connect to that one."


class DavClient:
    """The requests of one account to the origin of its server; none of them changes anything."""

    def __init__(self, upstream: Upstream, origin: str) -> None:
        """*origin* is `scheme://host:port`."""
        self._upstream = upstream
        self._origin = origin

    async def properties(
        self, path: str, names: Sequence[str], *, depth: int = 0
    ) -> Sequence[Resource]:
        """
        Read properties of a resource, with *depth* 1 also of its first members.

        Raises:
            Missing: There is no such resource.
        """
        response = await self._request("PROPFIND", path, propfind_body(names), depth=depth)
        return (await read_multistatus(response.body, most=_MAX_MEMBERS)).resources

    async def entity_tags(self, path: str, span: Span, *, most: int) -> tuple[dict[str, str], bool]:
        """
        Return the entity tags of a calendar's events that may overlap a span, by name.

        There are at most *most*; the second value tells whether these are all.
        """
        response = await self._request("REPORT", path, query_body(span), depth=1)
        answer = await read_multistatus(response.body, most=most)
        tags = {}
        async for resource in in_turns(answer.resources):
            if name := name_of(resource.href):
                tags[name] = resource.text("DAV: getetag")
        return tags, answer.is_whole

    async def objects(self, path: str, names: Sequence[str]) -> Sequence[Resource]:
        """Return the objects of a calendar that still exist."""
        hrefs = [path + name for name in names]
        response = await self._request("REPORT", path, multiget_body(hrefs), depth=1)
        return (await read_multistatus(response.body, most=len(names))).resources

    async def cards(
        self, path: str, properties: Sequence[str], word: str, *, limit: int, most: int
    ) -> Multistatus:
        """
        Return the cards of an address book that have *word* in one of *properties*.

        A server that refuses the filter is asked for any cards. One that ignores it does so too:
        not each card has the word. *limit* is what the server is to send, *most* what is read.
        """
        try:
            body = cards_body(properties, word, most=limit)
            response = await self._request("REPORT", path, body, depth=1)
        except Refused:
            body = cards_body(properties, "", most=limit)
            response = await self._request("REPORT", path, body, depth=1)
        return await read_multistatus(response.body, most=most)

    async def text(self, path: str, *, max_bytes: int) -> str:
        """Return a resource as text."""
        response = await self._request("GET", path, None, depth=None, max_bytes=max_bytes)
        return response.body.decode("utf-8", "replace")

    def path_of(self, href: str) -> str:
        """
        Return the path of an address that the server sent.

        Raises:
            Refused: It is one of another server.
        """
        return self._path(urljoin(self._origin + "/", href))

    def _path(self, url: str) -> str:
        try:
            checked = BaseUrl(self._origin, "").parse_page_link(url)
        except Broken:
            raise Refused(_ELSEWHERE) from None
        return checked.raw_path.decode("ascii")

    async def _request(
        self,
        method: str,
        path: str,
        body: bytes | None,
        *,
        depth: int | None,
        max_bytes: int | None = None,
    ) -> Response:
        headers = {"accept": "text/xml, text/calendar"}
        if body is not None:
            headers |= {"content-type": "application/xml; charset=utf-8", "depth": str(depth)}
        url = self._origin + path
        for _ in range(_MAX_REDIRECTS + 1):
            response = await self._upstream.read_link(
                method,
                url,
                content=body,
                headers=headers,
                deadline=SECONDS,
                accept=_REDIRECTS,
                **({} if max_bytes is None else {"max_bytes": max_bytes}),
            )
            if response.status not in _REDIRECTS:
                return response
            url = self._origin + self._path(urljoin(url, response.headers.get("location", "")))
        raise Missing


def name_of(href: str) -> str:
    """Return the last segment of the path of an object; "" for a collection."""
    return urlsplit(href).path.rpartition("/")[2]
