"""Small IMAP and SMTP servers in this process, for what real ones cannot be made to do."""

import asyncio
import base64
import ssl
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from certificates import certificate

from providers.imap import session, submission


@dataclass
class MailServer:
    """
    A server for one account.

    Attributes:
        port: On 127.0.0.1.
        users: User -> password.
        connections: How many there were.
        heard: Every line of the clients, in order.
        logins: Users that tried to log in, in order.
        hangs: Whether it says nothing.
        starttls: Whether it offers STARTTLS; only without TLS from the first byte.
    """

    protocol: str
    users: dict[str, str] = field(default_factory=dict)
    hangs: bool = False
    port: int = 0
    connections: int = 0
    heard: list[bytes] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)

    async def serve(self, reader, writer):
        self.connections += 1
        try:
            if self.hangs:
                await asyncio.sleep(60)
            await (self._imap if self.protocol == "imap" else self._smtp)(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _imap(self, reader, writer):
        writer.write(b"* OK ready\r\n")
        while line := await reader.readline():
            self.heard.append(line)
            tag, word, *rest = line.split()
            if word == b"CAPABILITY":
                writer.write(b"* CAPABILITY IMAP4rev1\r\n" + tag + b" OK done\r\n")
            elif word == b"LOGIN":
                user, password = (part.strip(b'"').decode() for part in rest)
                self.logins.append(user)
                good = self.users.get(user) == password
                writer.write(tag + (b" OK in\r\n" if good else b" NO [AUTHENTICATIONFAILED]\r\n"))
            else:
                writer.write(tag + b" OK\r\n")

    async def _smtp(self, reader, writer):
        writer.write(b"220 ready\r\n")
        while line := await reader.readline():
            self.heard.append(line)
            if line.startswith(b"EHLO"):
                writer.write(b"250-here\r\n250 AUTH PLAIN\r\n")
            elif line.startswith(b"AUTH PLAIN"):
                _, user, password = base64.b64decode(line.split()[2]).decode().split("\0")
                self.logins.append(user)
                good = self.users.get(user) == password
                writer.write(b"235 in\r\n" if good else b"535 no\r\n")
            else:
                writer.write(b"250 fine\r\n")


class Certificates:
    """Certificates that are their own authority, for contexts of servers and of one client."""

    def __init__(self):
        self.client = ssl.create_default_context()
        self.client.minimum_version = ssl.TLSVersion.TLSv1_2
        self._contexts = {}

    def server(self, *hosts, trusted=True, expired=False):
        """Return the context of a server of *hosts*; the same for the same hosts."""
        if hosts not in self._contexts:
            self._contexts[hosts] = self._server(*hosts, trusted=trusted, expired=expired)
        return self._contexts[hosts]

    def _server(self, *hosts, trusted, expired):
        content, key = certificate(hosts[0], *hosts, expired=expired)
        if trusted:
            self.client.load_verify_locations(cadata=content.decode())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "server.pem")
            file.write_bytes(content + key)
            context.load_cert_chain(file)
        return context


@asynccontextmanager
async def certificates():
    """Yield certificates that the mail clients of this process trust."""
    made = Certificates()
    patch = pytest.MonkeyPatch()
    for client in (session, submission):
        patch.setattr(client, "tls_context", lambda: made.client)
    try:
        yield made
    finally:
        patch.undo()
        await asyncio.sleep(0.02)  # the sockets close in the next rounds of the loop


@asynccontextmanager
async def mail_server(protocol, *, tls=None, **attributes):
    """Serve *protocol*, "imap" or "smtp", over TLS if *tls* is a context."""
    server = MailServer(protocol, **attributes)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=tls)
    server.port = listener.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listener.close()
