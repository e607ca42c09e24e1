"""SRV and TXT records (RFC 2782, RFC 6186, RFC 6764), and addresses of names."""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:  # it is imported late: most processes never search
    from dns.asyncresolver import Resolver as DnsPython

SECONDS = 3.0  # of one query, repetitions included
_MAX_RECORDS = 10
_PORT = 53


class ServiceRecord(msgspec.Struct, frozen=True):
    """
    An SRV record.

    Attributes:
        host: Without a dot at its end; "": the domain does not offer the service.
    """

    host: str
    port: int
    priority: int = 0
    weight: int = 0


class Resolver(Protocol):
    """The questions of a search to DNS; implemented by `DnsResolver`."""

    async def services(self, name: str) -> Sequence[ServiceRecord]:
        """
        Return the SRV records of a name in the order to try them; empty when there are none.

        Raises:
            OSError: The query was not answered.
        """

    async def texts(self, name: str) -> Sequence[str]:
        """Return the TXT records of a name; raises as `services`."""

    async def addresses(self, host: str) -> Sequence[str]:
        """
        Return the IP addresses of a host, best first.

        Raises:
            OSError: It has none.
        """


class DnsResolver:
    """Asks the system's servers, or one server by its address."""

    def __init__(self, server: str = "") -> None:
        """*server* is an IP address, perhaps with a port (`127.0.0.1:5353`); "": the system's."""
        self._server = server

    async def services(self, name: str) -> Sequence[ServiceRecord]:
        """See `Resolver`."""
        records = [
            ServiceRecord(
                record.target.to_text(omit_final_dot=True).lower().removeprefix("."),
                record.port,
                record.priority,
                record.weight,
            )
            for record in await self._query(name, "SRV")
        ]
        return sorted(records, key=lambda record: (record.priority, -record.weight, record.host))

    async def texts(self, name: str) -> Sequence[str]:
        """See `Resolver`."""
        return [
            b"".join(record.strings).decode("utf-8", "replace")
            for record in await self._query(name, "TXT")
        ]

    async def addresses(self, host: str) -> Sequence[str]:
        """See `Resolver`."""
        if self._server and not _is_literal(host):
            records = [*await self._query(host, "A"), *await self._query(host, "AAAA")]
            if not records:
                raise socket.gaierror(socket.EAI_NONAME, "no address")
            return [record.address for record in records]
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(SECONDS):
            infos = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(info[4][0]) for info in infos))

    async def _query(self, name: str, kind: str) -> list[Any]:
        import dns.exception  # noqa: PLC0415 - most processes never search
        import dns.resolver  # noqa: PLC0415

        try:
            answer = await self._resolver().resolve(name, kind, search=False)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            return []
        except (dns.exception.DNSException, OSError) as failure:
            raise OSError("DNS does not answer") from failure
        return list(answer)[:_MAX_RECORDS]

    def _resolver(self) -> "DnsPython":
        import dns.asyncresolver  # noqa: PLC0415
        import dns.resolver  # noqa: PLC0415

        if not self._server:
            try:
                resolver = dns.asyncresolver.Resolver()
            except dns.resolver.NoResolverConfiguration as failure:
                raise OSError("no DNS server is configured") from failure
        else:
            host, port = server_address(self._server)
            resolver = dns.asyncresolver.Resolver(configure=False)
            resolver.nameservers, resolver.port = [host], port
        resolver.lifetime = SECONDS
        return resolver


def server_address(text: str) -> tuple[str, int]:
    """
    Return host and port of a DNS server, such as `127.0.0.1`, `127.0.0.1:5353` or `[::1]:53`.

    Raises:
        ValueError: It is no IP address, or the port is not valid.
    """
    host, port = text.strip(), str(_PORT)
    if host.startswith("["):
        host, _, port = host[1:].partition("]")
        port = port.removeprefix(":") or str(_PORT)
    elif host.count(":") == 1:
        host, _, port = host.partition(":")
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise ValueError("must be an IP address, perhaps with a port")
    return str(ipaddress.ip_address(host)), int(port)


def _is_literal(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
