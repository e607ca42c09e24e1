"""A Dovecot of the tests' own: that of the demo, with TLS, a raw log and logins by token."""

import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from certificates import certificate
from database_servers import wait_until_closed
from ports import free_port
from programs import require

from sandbox.own_servers import dovecot as own_dovecot
from sandbox.own_servers.processes import as_ordinary_user

USERS = ("ada", "ben")
DOMAIN = "example.test"

SETTINGS = """
auth_verbose = yes
auth_failure_delay = 0
service anvil {{
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service imap-login {{
  service_count = 0
  inet_listener imaps {{
    port = {tls_port}
    ssl = yes
  }}
}}
service imap {{
  service_count = 100
  process_limit = 64
}}
ssl = yes
ssl_cert = <{folder}/tls.pem
ssl_key = <{folder}/tls.key
ssl_dh =
auth_mechanisms = plain login{token_mechanisms}
{token_passdb}mail_location = mdbox:~/mdbox{layout}
mailbox_list_index = yes
protocol imap {{
  rawlog_dir = {folder}/raw/%n
  mail_max_userip_connections = {max_connections}
}}
"""

# Logins by access token; the server that issued it tells whose it is.
TOKEN_PASSDB = """passdb {{
  driver = oauth2
  mechanisms = xoauth2 oauthbearer
  args = {folder}/oauth2.conf
}}
"""
# The folders of others below user/, as far as their owners have given rights.
SHARED_SETTINGS = """
mail_plugins = acl
protocol imap {{
  mail_plugins = acl imap_acl
}}
plugin {{
  acl = vfile
  acl_shared_dict = file:{folder}/mail/shared-mailboxes
}}
namespace shared {{
  type = shared
  separator = /
  prefix = user/%%u/
  location = mdbox:%%h/mdbox
  subscriptions = no
  list = children
}}
"""
TOKEN_CONFIGURATION = """
introspection_mode = post
introspection_url = {url}
username_attribute = username
active_attribute = active
active_value = true
"""


_RIGHTS = {
    "l": "lookup",
    "r": "read",
    "s": "write-seen",
    "w": "write",
    "i": "insert",
    "p": "post",
    "k": "create",
    "x": "delete",
    "t": "write-deleted",
    "e": "expunge",
    "a": "admin",
}


class Dovecot:
    """
    A running server with users of the domain `DOMAIN`; the password is the name and "-secret".

    The sessions of `USERS` are recorded.

    Attributes:
        port: IMAP with STARTTLS.
        tls_port: IMAP over TLS.
        ports: Those of a Postfix's deliveries and logins among them.
        certificate: The file of the certificate that a client must trust.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_connections: int = 20,
        introspection_url: str = "",
        users: Sequence[str] = USERS,
        shares: bool = False,
        layout: str = "",
    ) -> None:
        """
        Start it.

        *introspection_url* tells whose an access token is; "": no logins by token. *shares*: users
        see the folders of others in which they have rights. *layout*: "index" keeps folders by
        their ids, so that sessions do not mix up a folder that was made anew with the one before.
        """
        require(own_dovecot)
        self.folder = folder
        self.port, self.tls_port = free_port(), free_port()
        self.certificate = folder / "tls.pem"
        for name in ("mail", "raw", *(f"raw/{name}" for name in USERS)):
            (folder / name).mkdir()
        certificate_text, key = certificate("Dovecot", "localhost")
        self.certificate.write_bytes(certificate_text)
        (folder / "tls.key").write_bytes(key)
        (folder / "oauth2.conf").write_text(TOKEN_CONFIGURATION.format(url=introspection_url))
        self.ports = own_dovecot.Ports(imap=self.port, lmtp=free_port(), sasl=free_port())
        own_dovecot.write_configuration(
            folder,
            self.ports,
            domain=DOMAIN,
            passwords={f"{name}@{DOMAIN}": f"{name}-secret" for name in users},
            settings=SETTINGS.format(
                folder=folder,
                tls_port=self.tls_port,
                layout=f":LAYOUT={layout}" if layout else "",
                max_connections=max_connections,
                token_mechanisms=" xoauth2 oauthbearer" if introspection_url else "",
                token_passdb=TOKEN_PASSDB.format(folder=folder) if introspection_url else "",
            )
            + (SHARED_SETTINGS.format(folder=folder) if shares else ""),
        )
        folder.chmod(0o711)
        self.start()

    def start(self) -> None:
        self._process = own_dovecot.run(self.folder, self.ports)
        self._wait_for_logins()

    def _wait_for_logins(self, seconds: float = 60) -> None:
        """Wait until it can check a password; it listens a moment before."""
        user, password, *_ = (self.folder / "users").read_text().split(":")
        until = time.monotonic() + seconds
        while True:
            try:
                self.doveadm("auth", "test", user, password.removeprefix("{PLAIN}"))
            except subprocess.CalledProcessError:
                assert time.monotonic() < until, "Dovecot checks no passwords"
                time.sleep(0.02)
            else:
                return

    def stop(self) -> None:
        self._process.stop()

    def kill(self) -> None:
        """End the server and every session, without a word to the clients."""
        self._process.kill()
        wait_until_closed(self.port, self.tls_port, self.ports.lmtp, self.ports.sasl)
        # Dovecot does not start while a process that is just ending has a socket here.
        shutil.rmtree(self.folder / "run", ignore_errors=True)

    def freeze(self) -> None:
        self._process.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.signal(signal.SIGCONT)

    def url(self, *, tls: bool = True) -> str:
        """The address of the server for `Endpoint.parse`."""
        return f"imaps://localhost:{self.tls_port}" if tls else f"imap://localhost:{self.port}"

    def subjects(self, user: str, folder: str) -> Counter[str]:
        """The subjects of the messages in a folder, as the server itself lists them."""
        words = ["-f", "flow", "fetch", "-u", f"{user}@{DOMAIN}", "hdr.subject", "mailbox", folder]
        return Counter(re.findall(r"(?m)^hdr.subject=(.*)$", self.doveadm(*words)))

    def doveadm(self, *words: str) -> str:
        """Run a command of the server's administrator; return its output."""
        command = [*as_ordinary_user(), "doveadm", "-c", self.folder / "dovecot.conf", *words]
        run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        return run.stdout

    def give(self, owner: str, folder: str, user: str, letters: str) -> None:
        """Let *user* do in a folder of *owner* what the letters of RFC 4314 say."""
        rights = [_RIGHTS[letter] for letter in letters]
        name = f"{owner}@{DOMAIN}"
        self.doveadm("acl", "set", "-u", name, folder, f"user={user}@{DOMAIN}", *rights)

    def sent_to_clients(self, user: str) -> bytes:
        """All that the server has answered in the user's sessions, in plain text."""
        return b"".join(
            path.read_bytes() for path in sorted((self.folder / "raw" / user).glob("*.out"))
        )

    def commands(self, user: str) -> bytes:
        """All that clients have sent in the user's sessions, logins excepted."""
        return b"".join(
            path.read_bytes() for path in sorted((self.folder / "raw" / user).glob("*.in"))
        )

    def forget_sessions(self, user: str) -> None:
        """Delete the raw logs; those of open sessions go on in deleted files."""
        for path in (self.folder / "raw" / user).iterdir():
            path.unlink()


@contextmanager
def dovecot_server(
    *,
    max_connections: int = 20,
    introspection_url: str = "",
    users: Sequence[str] = USERS,
    shares: bool = False,
    layout: str = "",
) -> Iterator[Dovecot]:
    folder = Path(tempfile.mkdtemp(prefix="dovecot"))
    try:
        server = Dovecot(
            folder,
            max_connections=max_connections,
            introspection_url=introspection_url,
            users=users,
            shares=shares,
            layout=layout,
        )
        try:
            yield server
        finally:
            server.thaw()
            server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
