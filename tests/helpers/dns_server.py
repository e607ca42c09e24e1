"""
DNS servers of the tests' own, on loopback ports; they ask nobody.

A dnsmasq that answers for example.test, and a server in this process that knows no name.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

from database_servers import wait_for
from ports import free_port
from programs import program


class DnsServer:
    """A running server; *records* are settings of dnsmasq, such as `srv-host=…`."""

    def __init__(self, folder: Path, records: list[str]) -> None:
        self._program = program("dnsmasq")
        self.port = free_port()
        settings = [
            f"port={self.port}",
            "listen-address=127.0.0.1",
            "bind-interfaces",
            "no-resolv",
            "no-hosts",
            "local=/test/",
            *records,
            *(["user=nobody"] if os.getuid() == 0 else []),
        ]
        (folder / "dnsmasq.conf").write_text("".join(f"{line}\n" for line in settings))
        folder.chmod(0o755)
        self._process = subprocess.Popen(
            [self._program, "--keep-in-foreground", f"--conf-file={folder / 'dnsmasq.conf'}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(self.port)  # it answers over TCP too

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(60)


@contextmanager
def dns_server(*records: str):
    folder = Path(tempfile.mkdtemp(prefix="dnsmasq"))
    try:
        server = DnsServer(folder, list(records))
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def dns_without_names():
    """Answer every question with NXDOMAIN; yield the server's address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def answer():
            while True:
                question, client = server.recvfrom(4096)
                if not question:
                    return
                # The question again, as a response (QR, RD, RA) with the code 3, without records.
                head = question[:2] + b"\x81\x83" + question[4:6] + bytes(6)
                server.sendto(head + _question_of(question), client)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.sendto(b"", server.getsockname())
            thread.join(10)


def _question_of(message):
    """Return the question of a message: a name of labels, and four bytes."""
    end = 12
    while message[end]:
        end += message[end] + 1
    return message[12 : end + 5]
