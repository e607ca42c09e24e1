"""A domain whose DNS, web pages and mail servers are in this process."""

import socket
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import httpx
import pytest
from scripted_mail_servers import Certificates, certificates, mail_server

from providers.http.origins import Origins
from providers.server_discovery import discovery, trust
from providers.server_discovery.dns_records import ServiceRecord
from providers.server_discovery.search import Search

DOMAIN, ADA, PASSWORD = "example.test", "ada@example.test", "ada-secret"


@dataclass
class Domain:
    """
    The domain `DOMAIN`.

    Attributes:
        records: Name -> SRV record; takes the place of `DnsResolver` with the next one.
        hosts: Host -> IP address.
        web: What answers its https pages.
        requests: The requests to these pages.
    """

    stack: AsyncExitStack
    certificates: Certificates
    records: dict[str, ServiceRecord] = field(default_factory=dict)
    hosts: dict[str, str] = field(default_factory=dict)
    web: object = None
    requests: list[httpx.Request] = field(default_factory=list)

    async def service(self, name):
        return self.records.get(name)

    async def addresses(self, host):
        if host not in self.hosts:
            raise socket.gaierror(socket.EAI_NONAME, "no such host")
        return [self.hosts[host]]

    async def serve(self, protocol, host, *, names=(), tls=True, trusted=True, **attributes):
        """Start a mail server at *host*, with a certificate for *names*; by default its own."""
        context = self.certificates.server(*(names or [host]), trusted=trusted) if tls else None
        users = {ADA: PASSWORD}
        server = mail_server(protocol, tls=context, **{"users": users, **attributes})
        self.hosts.setdefault(host, "127.0.0.1")
        return await self.stack.enter_async_context(server)

    def record(self, service, host, port):
        self.records[f"_{service}._tcp.{DOMAIN}"] = ServiceRecord(host, port)

    async def search(self, *, seconds=15.0, **options):
        """Search for the mail servers of ada, unless *options* say otherwise."""

        async def answer(request):
            self.requests.append(request)
            return httpx.Response(404) if self.web is None else self.web(request)

        wanted = {"email": ADA, "password": PASSWORD, "calendar": False, **options}
        origins = Origins(transport=httpx.MockTransport(answer))
        try:
            return await discovery.discover(
                Search(**wanted), resolver=self, origins=origins, seconds=seconds
            )
        finally:
            await origins.aclose()


@pytest.fixture
async def domain(monkeypatch):
    """The domain; addresses of this machine count as those of the internet, unless 10.x."""
    monkeypatch.setattr(trust, "is_public", lambda address: not address.startswith("10."))
    async with certificates() as made, _opened(made) as opened:
        yield opened


@asynccontextmanager
async def _opened(made):
    async with AsyncExitStack() as stack:
        yield Domain(stack, made)
