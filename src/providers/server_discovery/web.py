"""Requests without credentials to servers that a search has not confirmed yet."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import urljoin

from providers.failures import Unreachable
from providers.http.client import Upstream
from providers.http.origins import Origins
from providers.http.urls import BaseUrl
from providers.server_discovery.trust import Trust

SECONDS = 4.0  # of one request
MAX_BYTES = 64 * 1024
_REDIRECTS = (301, 302, 303, 307, 308)
_MAX_REDIRECTS = 4
# A base URL that no server has: every other one is foreign to it, and must then be public.
_NOWHERE = "https://server-discovery.invalid"
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class WebResponse:
    """An answer; *url* is where it came from, after redirects."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Web:
    """The requests of one search."""

    origins: Origins
    trust: Trust

    async def request(
        self,
        method: str,
        url: str,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
        accept: Collection[int] = (),
    ) -> WebResponse:
        """
        Make a request over https and follow redirects over https; nothing secret is sent.

        A redirect comes from a server whose certificate is valid, so the domain vouches for its
        target.

        Args:
            method: One that changes nothing.
            url: An https URL.
            content: The body.
            headers: Names in lower case.
            accept: Statuses besides 2xx that do not raise.

        Raises:
            NeedsConfirmation: As `Trust.admit`.
            OSError: The host has no address.
            ProviderFailure: The server does not answer so, or with more than `MAX_BYTES`.
        """
        for hop in range(_MAX_REDIRECTS + 1):
            try:
                base = BaseUrl.parse(url.partition("?")[0])
            except ValueError:
                raise Unreachable("A redirect leads to no address.") from None
            if not base.origin.startswith("https:"):
                raise Unreachable("A redirect leads to an address without encryption.")
            await self.trust.admit(base.hostname, vouched=hop > 0)
            is_confirmed = self.trust.is_confirmed(base.hostname)
            upstream = Upstream(
                self.origins,
                base.origin if is_confirmed else _NOWHERE,
                connection=connection_of(base.origin),
                name="server-discovery",
                hosts=(base.origin,),
            )
            try:
                async with upstream.open_stream(
                    method,
                    url,
                    content=content,
                    headers=headers,
                    deadline=SECONDS,
                    max_bytes=MAX_BYTES,
                    accept=(*accept, *_REDIRECTS),
                ) as response:
                    body = b"".join([chunk async for chunk in response.chunks])
            finally:
                self.origins.forget(connection_of(base.origin))
            if response.status not in _REDIRECTS:
                return WebResponse(url, response.status, response.headers, body)
            url = urljoin(url, response.headers.get("location", ""))
        raise Unreachable("There are too many redirects.")


def connection_of(origin: str) -> str:
    """Return the key of the limits and the health of calls to an origin."""
    return f"server-discovery {origin}"
