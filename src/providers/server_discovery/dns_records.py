"""SRV records (RFC 2782, RFC 6186, RFC 6764), and addresses of names."""

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from typing import Any

import msgspec

from providers.server_discovery.search import Discovery, StepOutcome

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

    @property
    def is_offered(self) -> bool:
        return bool(self.host) and self.port > 0


class DnsResolver:
    """Asks the system's servers, or one server by its address."""

    def __init__(self, server: str = "") -> None:
        """*server* is an IP address, perhaps with a port (`127.0.0.1:5353`); "": the system's."""
        self._server = server

    async def service(self, name: str) -> ServiceRecord | None:
        """
        Return the SRV record of a name to try first, by priority and weight; None if there is none.

        Raises:
            OSError: The query was not answered.
        """
        records = await self._query(name, "SRV")
        if not records:
            return None
        first = min(records, key=lambda record: (record.priority, -record.weight, record.target))
        host = first.target.to_text(omit_final_dot=True).lower().removeprefix(".")
        return ServiceRecord(host, first.port)

    async def addresses(self, host: str) -> Sequence[str]:
        """
        Return the IP addresses of a host, best first.

        Raises:
            OSError: It has none.
        """
        if self._server and not _is_of_this_machine(host):
            records = [*await self._query(host, "A"), *await self._query(host, "AAAA")]
            if not records:
                raise socket.gaierror(socket.EAI_NONAME, "no address")
            return [record.address for record in records]
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(SECONDS):
            infos = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(info[4][0]) for info in infos))

    async def _query(self, name: str, kind: str) -> list[Any]:
        import dns.asyncresolver  # noqa: PLC0415 - most processes never search
        import dns.exception  # noqa: PLC0415
        import dns.resolver  # noqa: PLC0415

        try:
            resolver = dns.asyncresolver.Resolver(configure=not self._server)
            if self._server:
                host, port = server_address(self._server)
                resolver.nameservers, resolver.port = [host], port
            resolver.lifetime = SECONDS
            answer = await resolver.resolve(name, kind, search=False)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            return []
        except (dns.exception.DNSException, OSError) as failure:
            raise OSError("DNS does not answer") from failure
        return list(answer)[:_MAX_RECORDS]


async def read_record(name: str, resolver: DnsResolver, result: Discovery) -> ServiceRecord | None:
    """Return the SRV record of a name to try first, with a step; None if there is none."""
    outcome, detail = StepOutcome.NOT_FOUND, "There is no SRV record."
    record = None
    try:
        record = await resolver.service(name)
    except OSError:
        outcome, detail = StepOutcome.FAILED, "DNS did not answer."
    if record is not None and record.is_offered:
        outcome, detail = StepOutcome.FOUND, f"DNS names {record.host}:{record.port}."
    elif record is not None:
        detail = "The domain says that it has no such server."
    result.add(name, outcome, detail)
    return record


def server_address(text: str) -> tuple[str, int]:
    """
    Return host and port of a DNS server, such as `127.0.0.1`, `127.0.0.1:5353` or `[::1]:53`.

    Raises:
        ValueError: It is not an IP address, or the port is not valid.
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


def _is_of_this_machine(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return True
