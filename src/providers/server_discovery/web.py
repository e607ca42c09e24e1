"""Requests without credentials to servers that a search has not confirmed yet."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from urllib.parse import urljoin

from providers.failures import ProviderFailure, Unreachable
from providers.http.client import Upstream
from providers.http.origins import Origins
from providers.http.urls import BaseUrl
from providers.server_discovery.trust import Trust

SECONDS = 4.0  # of one request
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


class Web:
    """The requests of one search."""

    def __init__(self, origins: Origins, trust: Trust) -> None:
        self._origins = origins
        self._trust = trust

    async def request(  # noqa: PLR0913 - keyword-only
        self,
        method: str,
        url: str,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] = _NO_HEADERS,
        max_bytes: int,
        accept: Collection[int] = (),
        vouched: bool = False,
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
            max_bytes: Of the body.
            accept: Statuses besides 2xx that do not raise.
            vouched: As `Trust.admit`.

        Raises:
            NeedsConfirmation: As `Trust.admit`.
            OSError: The host has no address.
            ProviderFailure: The server does not answer so.
        """
        for _ in range(_MAX_REDIRECTS + 1):
            try:
                base = BaseUrl.parse(url.partition("?")[0])
            except ValueError:
                raise Unreachable("A redirect leads to no address.") from None
            if not base.origin.startswith("https:"):
                raise Unreachable("A redirect leads to an address without encryption.")
            host = base.hostname
            await self._trust.admit(host, vouched=vouched)
            is_public = not self._trust.is_confirmed(host)
            answer = await self._call(
                method,
                url,
                base.origin,
                content=content,
                headers=headers,
                max_bytes=max_bytes,
                accept=accept,
                is_public=is_public,
            )
            if answer.status not in _REDIRECTS:
                return answer
            url, vouched = urljoin(url, answer.headers.get("location", "")), True
        raise Unreachable("There are too many redirects.")

    async def _call(  # noqa: PLR0913 - keyword-only
        self,
        method: str,
        url: str,
        origin: str,
        *,
        content: bytes | None,
        headers: Mapping[str, str],
        max_bytes: int,
        accept: Collection[int],
        is_public: bool,
    ) -> WebResponse:
        upstream = Upstream(
            self._origins,
            _NOWHERE if is_public else origin,
            connection=connection_of(origin),
            name="server-discovery",
            hosts=(origin,),
        )
        try:
            async with upstream.open_stream(
                method,
                url,
                content=content,
                headers=headers,
                deadline=SECONDS,
                max_bytes=max_bytes,
                accept=(*accept, *_REDIRECTS),
            ) as response:
                chunks = [chunk async for chunk in response.chunks]
                return WebResponse(url, response.status, response.headers, b"".join(chunks))
        finally:
            self._origins.forget(connection_of(origin))


def connection_of(origin: str) -> str:
    """Return the key of the limits and the health of calls to an origin."""
    return f"server-discovery {origin}"


def sentence_of(failure: BaseException) -> str:
    """Return what a failed request means, for a report."""
    return failure.message if isinstance(failure, ProviderFailure) else "The name is not known."
