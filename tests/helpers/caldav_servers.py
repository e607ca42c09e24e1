"""Radicale and Xandikos for the tests: CalDAV on loopback ports, files in folders of their own."""

import base64
import http.client
import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from xml.sax.saxutils import escape

from database_servers import wait_for
from ports import free_port
from programs import program

USER, PASSWORD = "ada", "ada-secret"

RADICALE = """
[server]
hosts = 127.0.0.1:{port}
max_connections = 20
timeout = 30
[auth]
type = htpasswd
htpasswd_filename = {folder}/users
htpasswd_encryption = plain
delay = 0
[rights]
type = owner_only
[storage]
filesystem_folder = {folder}/data
[web]
type = none
[logging]
level = info
"""


class CaldavServer:
    """
    A running server with the user `USER`.

    Attributes:
        name: "radicale" or "xandikos".
        home: Path of the collection of the user's calendars.
        has_passwords: Whether it refuses wrong ones.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self.port = free_port()
        self.home = f"/{USER}/" if name == "radicale" else f"/{USER}/calendars/"
        self.has_passwords = name == "radicale"
        self._program = program(name)
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, "HOME": str(self.folder)},
                start_new_session=True,
            )
        wait_for(self.port)

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(60)

    def freeze(self) -> None:
        os.killpg(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.killpg(self._process.pid, signal.SIGCONT)

    def set_password(self, password: str) -> None:
        (self.folder / "users").write_text(f"{USER}:{password}\n")

    def request(self, method: str, path: str, body: bytes | str = b"", **headers: str) -> bytes:
        """Make a request of the owner's; return the body of the answer, which is 2xx."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        sent = {"Authorization": f"Basic {pair}", "Content-Type": "text/calendar; charset=utf-8"}
        content = body.encode() if isinstance(body, str) else body
        try:
            connection.request(method, path, content, {**sent, **headers})
            answer = connection.getresponse()
            text = answer.read()
            assert 200 <= answer.status < 300, (method, path, answer.status, text[:500])
            return text
        finally:
            connection.close()

    def add_calendar(self, name: str, title: str, *, zone: str = "") -> str:
        """Make a calendar; return its path."""
        path = f"{self.home}{name}/"
        timezone = f"<C:calendar-timezone>{zone}</C:calendar-timezone>" if zone else ""
        body = (
            '<C:mkcalendar xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:set><D:prop>'
            f"<D:displayname>{escape(title)}</D:displayname>{timezone}</D:prop></D:set></C:mkcalendar>"
        )
        self.request("MKCALENDAR", path, body, **{"Content-Type": "application/xml"})
        return path

    def add_address_book(self, name: str) -> str:
        """Make an address book; return its path."""
        home = self.home if self.name == "radicale" else f"/{USER}/contacts/"
        body = (
            '<D:mkcol xmlns:D="DAV:" xmlns:A="urn:ietf:params:xml:ns:carddav"><D:set><D:prop>'
            "<D:resourcetype><D:collection/><A:addressbook/></D:resourcetype>"
            f"<D:displayname>{escape(name)}</D:displayname></D:prop></D:set></D:mkcol>"
        )
        self.request("MKCOL", f"{home}{name}/", body, **{"Content-Type": "application/xml"})
        return f"{home}{name}/"

    def put(self, path: str, text: str) -> None:
        """Store a calendar object, or a card."""
        self.request("PUT", path, text)

    def delete(self, path: str) -> None:
        self.request("DELETE", path)

    def _command(self) -> list[str]:
        if self.name == "radicale":
            self.set_password(PASSWORD)
            configuration = self.folder / "config"
            configuration.write_text(RADICALE.format(folder=self.folder, port=self.port))
            return [self._program, "--config", str(configuration)]
        (self.folder / "data").mkdir(exist_ok=True)
        listening = ["-l", "127.0.0.1", "-p", str(self.port)]
        principal = ["--current-user-principal", f"/{USER}/", "--defaults"]
        return [self._program, "-d", str(self.folder / "data"), *listening, *principal]


@contextmanager
def caldav_server(name: str):
    folder = Path(tempfile.mkdtemp(prefix=name))
    try:
        server = CaldavServer(name, folder)
        try:
            yield server
        finally:
            server.thaw()
            server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
