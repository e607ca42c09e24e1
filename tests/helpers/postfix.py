"""
A Postfix of the tests' own: submission with a login, and delivery into their Dovecot.

Mail to the users of the Dovecot is delivered there; mail to the domain `NOWHERE` is refused while
the client waits; all other mail is discarded after it was accepted, and the log says so.
"""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from uuid import uuid4

from dovecot import DOMAIN, Dovecot
from ports import free_port
from programs import program, require

from sandbox.own_servers import postfix as own_postfix

NOWHERE = "nowhere.test"

SETTINGS = """
virtual_alias_maps = {aliases}
transport_maps = inline:{{ {nowhere}=error:5.1.2 }}
header_checks = regexp:{folder}/conf/header_checks
message_size_limit = {size_limit}
smtpd_tls_cert_file = {certificate}
smtpd_tls_key_file = {key}
smtpd_tls_security_level = may
lmtp_destination_recipient_limit = 1
minimal_backoff_time = 2s
maximal_backoff_time = 5s
queue_run_delay = 2s
"""
# Each session has a process of its own: one that serves several keeps its connection to the
# Dovecot, and refuses a login once (454) after that was killed.
LISTENERS = """
127.0.0.1:{port} inet n - n - - smtpd
  -o max_use=1
  -o syslog_name=postfix/submission
  -o smtpd_tls_security_level=encrypt
  -o smtpd_sasl_auth_enable=yes
  -o smtpd_client_restrictions=permit_sasl_authenticated,reject
127.0.0.1:{tls_port} inet n - n - - smtpd
  -o max_use=1
  -o syslog_name=postfix/submissions
  -o smtpd_tls_wrappermode=yes
  -o smtpd_sasl_auth_enable=yes
  -o smtpd_client_restrictions=permit_sasl_authenticated,reject
127.0.0.1:{open_port} inet n - n - - smtpd
  -o smtpd_tls_security_level=none
  -o local_header_rewrite_clients=
tlsmgr unix - - n 1000? 1 tlsmgr
"""
_UNDER_WAY = ("incoming", "active")  # queues; what cannot be delivered yet is in another one
_DELIVERED = re.compile(r": ([0-9A-Za-z]+): to=<([^>]*)>.* status=sent ")
_SUBJECT = re.compile(r"/cleanup\[\d+\]: ([0-9A-Za-z]+): info: header Subject: (.*?) from ")
_MESSAGE_ID = re.compile(r"/cleanup\[\d+\]: ([0-9A-Za-z]+): message-id=<([^>]*)>")


class Postfix:
    """
    A running server; it knows the users and passwords of the Dovecot.

    Attributes:
        port: Submission with STARTTLS.
        tls_port: Submission over TLS.
        open_port: SMTP without encryption and login; headers stay as they are, as of mail from
            elsewhere.
    """

    def __init__(
        self,
        folder: Path,
        dovecot: Dovecot,
        *,
        size_limit: int = 41_943_040,
        aliases: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """*aliases*: further addresses of the users, by the address."""
        program("postfix")
        require(own_postfix)
        self.folder = folder
        self.port, self.tls_port, self.open_port = free_port(), free_port(), free_port()
        own_postfix.write_configuration(
            folder,
            dovecot.ports,
            domain=DOMAIN,
            listeners=LISTENERS.format(
                port=self.port, tls_port=self.tls_port, open_port=self.open_port
            ),
            settings=SETTINGS.format(
                folder=folder,
                nowhere=NOWHERE,
                certificate=dovecot.certificate,
                key=dovecot.folder / "tls.key",
                size_limit=size_limit,
                aliases=_inline_table(aliases),
            ),
        )
        (folder / "conf" / "header_checks").write_text("/^Subject:/ INFO\n")
        self.start()

    def start(self) -> None:
        self._process = own_postfix.run(self.folder, self.port)

    def stop(self) -> None:
        own_postfix.stop(self._process, self.folder)

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """End the server at once; what it has accepted stays in its queue."""
        self._signal(signal.SIGKILL)
        self._process.kill()

    def _signal(self, number: int) -> None:
        """Signal the master and its children, which have process groups of their own."""
        master = int((self.folder / "spool/pid/master.pid").read_text())
        listed = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(master)], capture_output=True, text=True, check=False
        )
        for pid in (master, *map(int, listed.stdout.split())):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue

    def url(self, *, tls: bool = True) -> str:
        """The address of the server for `Endpoint.parse`."""
        return f"smtps://localhost:{self.tls_port}" if tls else f"smtp://localhost:{self.port}"

    def log(self) -> str:
        """
        Return the log as the server has written it so far.

        The server's processes send their lines to one that writes them. Its queue is in order, so
        everything that they sent before is written when a line of our own is.
        """
        mark = f"read {uuid4().hex}"
        command = ["postlog", "-c", str(self.folder / "conf"), "-t", "tests", mark]
        subprocess.run(command, check=True, capture_output=True)
        ends = time.monotonic() + 60
        while mark not in (text := self._log_file()):
            assert time.monotonic() < ends, "the server writes no log"
            time.sleep(0.01)
        return text

    def _log_file(self) -> str:
        return (self.folder / "mail.log").read_text()

    def deliveries(self) -> list[tuple[str, str]]:
        """Message-ID and recipient of each delivery, by the server's log."""
        return self._delivered(_MESSAGE_ID)

    def delivered_subjects(self) -> list[tuple[str, str]]:
        """Subject and recipient of each delivery, by the server's log."""
        return self._delivered(_SUBJECT)

    async def wait_for_delivery(self, subject: str, to: str) -> int:
        """
        Wait for the delivery of a message and return how often it was delivered.

        The server accepts a message before it delivers it and writes that into its log.
        """
        async with asyncio.timeout(60):
            while (subject, to) not in self.delivered_subjects():  # noqa: ASYNC110 - it is a file
                await asyncio.sleep(0.1)
        await asyncio.sleep(0.3)  # for a second one
        return self.delivered_subjects().count((subject, to))

    def _delivered(self, pattern: re.Pattern[str]) -> list[tuple[str, str]]:
        """Return what was delivered, once all is that was accepted so far and can be."""
        ends = time.monotonic() + 60
        while any(list((self.folder / "spool" / name).iterdir()) for name in _UNDER_WAY):
            assert time.monotonic() < ends, "the server delivers nothing"
            time.sleep(0.01)
        log = self.log()
        names = dict(pattern.findall(log))
        return [(names.get(queue_id, ""), to) for queue_id, to in _DELIVERED.findall(log)]


def _inline_table(entries: Mapping[str, str]) -> str:
    """Write a table for a setting; Postfix takes no empty one."""
    rows = " ".join(f"{{ {name} = {value} }}" for name, value in entries.items())
    return f"inline:{{ {rows} }}" if rows else ""


@contextmanager
def postfix_server(
    dovecot: Dovecot,
    *,
    size_limit: int = 41_943_040,
    aliases: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Postfix]:
    folder = Path(tempfile.mkdtemp(prefix="postfix"))
    try:
        server = Postfix(folder, dovecot, size_limit=size_limit, aliases=aliases)
        try:
            yield server
        finally:
            server.thaw()
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
