"""
Upstream URLs: built from path segments, or sent by upstream and checked before they are called.

The rules are those of docs/spec/reliability.md#id-injection and #server-side-request-forgery.
"""

import ipaddress
from collections.abc import Collection, Sequence
from functools import cached_property, lru_cache
from typing import Any
from urllib.parse import quote, unquote

import httpx
import msgspec

from providers.failures import Broken, Missing

_PORTS = {"http": 80, "https": 443}
_QUOTED = {code: quote(chr(code), safe="") for code in range(128)}
_MAX_LENGTH = 65_536  # characters; the limit of httpx, and no real id is that long


def origin_of(url: httpx.URL) -> str:
    """Return ``scheme://host:port``; the port is always written."""
    host = f"[{url.host}]" if ":" in url.host else url.host
    return f"{url.scheme}://{host}:{url.port or _PORTS.get(url.scheme, 0)}"


def parse_url(text: str) -> httpx.URL:
    """
    Parse an absolute http(s) URL without userinfo and fragment.

    Raises:
        ValueError: It is not one, or parsers may disagree about it.
    """
    if "\\" in text or "#" in text or any(char <= " " or char == "\x7f" for char in text):
        raise ValueError("The URL holds a character that has no business there.")
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, UnicodeError):
        raise ValueError("This is not a URL.") from None
    if url.scheme not in _PORTS or not url.host or url.userinfo:
        raise ValueError("The URL must be http or https, with a host and without userinfo.")
    if url.port is not None and not 0 < url.port < 65536:
        raise ValueError("The URL has an impossible port.")
    return url


class SharedParams(tuple[tuple[str, str], ...]):  # noqa: SLOT001 - it keeps its text
    """Parameters that many requests have in common, and nothing of a caller: encoded once."""

    @cached_property
    def encoded(self) -> str:
        """The query."""
        return _encoded(self)


class BaseUrl(msgspec.Struct, frozen=True):
    """
    Base URL of an upstream.

    Attributes:
        origin: ``scheme://host:port``.
        prefix: The path, without a slash at its end.
    """

    origin: str
    prefix: str

    @classmethod
    def parse(cls, text: str) -> "BaseUrl":
        """
        Parse a base URL.

        Raises:
            ValueError: It is not an http(s) URL, or has userinfo, a query or a fragment.
        """
        url = parse_url(text)
        if "?" in text:
            raise ValueError("A base URL has no query.")
        prefix = url.raw_path.decode("ascii").rstrip("/")
        if not _has_no_dot_segments(prefix):
            raise ValueError("A base URL has no dot segments.")
        return cls(origin_of(url), prefix)

    @property
    def host(self) -> bytes:
        """The header of that name."""
        return _host_of(self.origin)

    @property
    def hostname(self) -> str:
        """The name or address of the host, an internationalized name in A-labels."""
        return httpx.URL(self.origin).raw_host.decode("ascii")

    @property
    def is_loopback(self) -> bool:
        """Whether the host is this machine, by its name."""
        host = httpx.URL(self.origin).host
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"

    def join(self, segments: Sequence[str], params: Sequence[tuple[str, str]]) -> httpx.URL:
        """
        Build a URL; each of *segments* is percent-encoded to exactly one path segment.

        Raises:
            Missing: A segment is empty, "." or "..", or holds a lone surrogate, or the URL is too
                long: no upstream object has such an id.
        """
        path = self.prefix
        for segment in segments:
            if segment in ("", ".", ".."):
                raise Missing
            if segment.isascii():
                path += "/" + segment.translate(_QUOTED)
                continue
            try:
                path += "/" + quote(segment, safe="")
            except UnicodeEncodeError:
                raise Missing from None
        if type(params) is SharedParams:
            query: str | None = params.encoded
        else:
            query = encode_query(params) if params else None
        if len(self.origin) + len(path) + len(query or "") >= _MAX_LENGTH:
            raise Missing
        return _assembled(self.origin, path or "/", query)

    def parse_page_link(self, link: str) -> httpx.URL:
        """
        Parse a link to the next page: docs/spec/upstream/README.md#links-to-the-next-page.

        Raises:
            Broken: It does not lie under this base URL.
        """
        try:
            url = parse_url(link)
        except ValueError:
            raise Broken from None
        path = url.raw_path.partition(b"?")[0].decode("ascii")
        if origin_of(url) != self.origin or not _has_no_dot_segments(path):
            raise Broken
        if path != self.prefix and not path.startswith(self.prefix + "/"):
            raise Broken
        return url

    def parse_preauthenticated(self, link: str, hosts: Collection[str]) -> httpx.URL:
        """
        Parse a pre-authenticated URL, on this origin or on one of *hosts*.

        Args:
            link: As upstream sent it.
            hosts: Host names, or suffixes that start with a dot, for https on its default port;
                or origins, ``scheme://host:port``.

        Raises:
            Broken: It leads elsewhere.
        """
        try:
            url = parse_url(link)
        except ValueError:
            raise Broken from None
        if origin_of(url) == self.origin or origin_of(url) in hosts:
            return url
        host = url.host
        known = any(host == name or (name[:1] == "." and host.endswith(name)) for name in hosts)
        if url.scheme != "https" or url.port is not None or not known:
            raise Broken
        return url


def encode_query(params: Sequence[tuple[str, str]]) -> str:
    """Return ``urlencode(params, quote_via=quote)``, but faster."""
    if isinstance(params, SharedParams):
        return params.encoded
    return _encoded(params)


def _encoded(params: Sequence[tuple[str, str]]) -> str:
    return "&".join([f"{_quoted(name)}={_quoted(value)}" for name, value in params])


def _quoted(text: str) -> str:
    """Return ``quote(text, safe="")``, but faster for ASCII text."""
    if not text.isascii():
        return quote(text, safe="")
    return text if text.isalnum() else text.translate(_QUOTED)


def _assembled(origin: str, path: str, query: str | None) -> httpx.URL:
    """
    Return ``httpx.URL(origin + path + "?" + query)`` of parts that are percent-encoded already.

    httpx would check every character once more, which costs more than the rest of a call.
    """
    url = httpx.URL.__new__(httpx.URL)
    scheme, userinfo, host, port, *_ = parts = _origin_parts(origin)
    # Without the Python functions that named tuples are made by.
    url._uri_reference = tuple.__new__(  # noqa: SLF001 - see above
        type(parts), (scheme, userinfo, host, port, path, query, None)
    )
    return url


@lru_cache(maxsize=256)
def _origin_parts(origin: str) -> Any:
    return httpx.URL(origin)._uri_reference  # noqa: SLF001 - no public way around its parser


@lru_cache(maxsize=256)
def _host_of(origin: str) -> bytes:
    return httpx.URL(origin).netloc


def _has_no_dot_segments(path: str) -> bool:
    """Return whether a path has no dot segment and no backslash, however they are encoded."""
    return all(
        unquote(unquote(segment)) not in (".", "..") and "\\" not in unquote(segment)
        for segment in path.split("/")
    )
