"""
Outbound proxies and certificate authorities, by the usual environment variables.

docs/spec/upstream/README.md#proxies-and-certificates.
"""

import asyncio
import base64
import functools
import re
import ssl
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment

import httpx
import msgspec

_OPENED = re.compile(rb"HTTP/1\.[01] 2\d\d\b")
_MAX_HEAD_BYTES = 16 * 1024  # of a proxy's answer


class ProxyRefused(httpx.ProxyError):
    """The proxy does not open a tunnel, or does not speak HTTP."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """
    An HTTP proxy that opens tunnels.

    Attributes:
        authorization: Value of the Proxy-Authorization header; empty: none is sent.
    """

    host: str
    port: int
    authorization: str = field(default="", repr=False)

    @classmethod
    def parse(cls, url: str) -> "Proxy":
        """
        Read ``http://user:password@host:port``; the scheme may be left out.

        Raises:
            ValueError: It is another kind of proxy, or no URL.
        """
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError("HTTPS_PROXY must be http://host:port.")
        authorization = ""
        if parts.username is not None:
            secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            authorization = f"Basic {base64.b64encode(secret.encode()).decode()}"
        return cls(host=parts.hostname, port=parts.port or 80, authorization=authorization)

    def request(self, host: str, port: int) -> bytes:
        """Return the request for a tunnel."""
        name = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        lines = [f"CONNECT {name} HTTP/1.1", f"host: {name}"]
        if self.authorization:
            lines.append(f"proxy-authorization: {self.authorization}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


class Proxies(msgspec.Struct, frozen=True, kw_only=True):
    """
    The proxy of calls over TLS, and the hosts that are called without it.

    Attributes:
        https: None: there is no proxy.
        bypassed: Hosts, each with its subdomains and perhaps with a port; ``*``: all.
    """

    https: Proxy | None = None
    bypassed: frozenset[str] = frozenset()

    @classmethod
    def from_environment(cls) -> "Proxies":
        """
        Read HTTPS_PROXY, else ALL_PROXY, and NO_PROXY, in either case of letters.

        Raises:
            ValueError: The proxy is not one that we can use.
        """
        named = getproxies_environment()
        url = named.get("https") or named.get("all")
        names = (name.strip().lstrip(".").lower() for name in named.get("no", "").split(","))
        return cls(https=Proxy.parse(url) if url else None, bypassed=frozenset(filter(None, names)))

    def proxy_for(self, host: str, port: int) -> Proxy | None:
        """Return the proxy of an https origin; None: it is called directly."""
        if self.https is None or "*" in self.bypassed:
            return None
        labels = host.lower().split(".")
        domains = {".".join(labels[start:]) for start in range(len(labels))}
        direct = self.bypassed & {*domains, *(f"{domain}:{port}" for domain in domains)}
        return None if direct else self.https


@functools.cache
def environment_tls_context() -> ssl.SSLContext:
    """Return the TLS context for HTTP/1.1 that trusts SSL_CERT_FILE or SSL_CERT_DIR, if set."""
    context = httpx.create_ssl_context(trust_env=True)
    context.set_alpn_protocols(["http/1.1"])
    return context


async def open_tunnel(
    connection: asyncio.Protocol, proxy: Proxy, host: str, port: int, tls: ssl.SSLContext
) -> None:
    """
    Connect *connection* to *host* through a tunnel of *proxy*, and speak TLS in it.

    Raises:
        ProxyRefused: The proxy refuses the tunnel.
        OSError: The proxy cannot be reached, or TLS fails.
    """
    loop = asyncio.get_running_loop()
    transport, tunnel = await loop.create_connection(_TunnelRequest, proxy.host, proxy.port)
    try:
        transport.write(proxy.request(host, port))
        await tunnel.opened
        secured = await loop.start_tls(transport, connection, tls, server_hostname=host)
    except BaseException:
        transport.abort()
        raise
    if secured is None:
        raise ConnectionResetError
    connection.connection_made(secured)


class _TunnelRequest(asyncio.Protocol):
    """Waits for the proxy's answer to CONNECT."""

    def __init__(self) -> None:
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, rest = self._received.partition(b"\r\n\r\n")
        if not end and len(self._received) <= _MAX_HEAD_BYTES:
            return
        # Bytes after the head would be lost; the server sends none, since TLS begins with ours.
        if end and not rest and _OPENED.match(head):
            self._settle(None)
        else:
            self._settle(ProxyRefused("The proxy refused the tunnel."))

    def eof_received(self) -> None:
        self._settle(ProxyRefused("The proxy closed the connection."))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - of the protocol
        self._settle(ProxyRefused("The proxy closed the connection."))

    def _settle(self, failure: Exception | None) -> None:
        if self.opened.done():
            return
        if failure is None:
            self.opened.set_result(None)
        else:
            self.opened.set_exception(failure)
