"""A Dovecot of the tests' own: IMAP on loopback ports, its files in a folder of its own."""

import grp
import os
import pwd
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
from database_servers import leave_out, program, wait_for, wait_until_closed
from ports import free_port

from gateway.demo.own_servers import dovecot as own_servers_dovecot

USERS = ("ada", "ben")
DOMAIN = "example.test"

CONFIGURATION = """
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/dovecot.log
auth_verbose = yes
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
protocols = imap{lmtp}
listen = 127.0.0.1
hostname = mail.{domain}
postmaster_address = postmaster@{domain}
auth_failure_delay = 0
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service imap-login {{
  chroot =
  service_count = 0
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
    ssl = yes
  }}
}}
service imap {{
  service_count = 100
  process_limit = 64
}}
service lmtp {{
  inet_listener lmtp {{
    port = {lmtp_port}
  }}
}}
service auth {{
  inet_listener {{
    port = {sasl_port}
  }}
}}
service stats {{
  chroot =
}}
ssl = yes
ssl_cert = <{folder}/tls.pem
ssl_key = <{folder}/tls.key
ssl_dh =
disable_plaintext_auth = no
auth_mechanisms = plain login{token_mechanisms}
{token_passdb}passdb {{
  driver = passwd-file
  args = username_format=%u {folder}/users
}}
userdb {{
  driver = passwd-file
  args = username_format=%u {folder}/users
  override_fields = uid={user} gid={group} home={folder}/mail/%n
}}
first_valid_uid = 1
first_valid_gid = 1
mail_location = mdbox:~/mdbox
mailbox_list_index = yes
mail_max_userip_connections = {max_connections}
namespace inbox {{
  inbox = yes
  separator = /
  mailbox Drafts {{
    special_use = \\Drafts
    auto = subscribe
  }}
  mailbox Sent {{
    special_use = \\Sent
    auto = subscribe
  }}
  mailbox Trash {{
    special_use = \\Trash
    auto = subscribe
  }}
  mailbox Junk {{
    special_use = \\Junk
    auto = subscribe
  }}
}}
protocol imap {{
  rawlog_dir = {folder}/raw/%n
  imap_capability = +SPECIAL-USE
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
TOKEN_CONFIGURATION = """
introspection_mode = post
introspection_url = {url}
username_attribute = username
active_attribute = active
active_value = true
"""


class Dovecot:
    """
    A running server with users of the domain `DOMAIN`; the password is the name and "-secret".

    The sessions of `USERS` are recorded.

    Attributes:
        port: IMAP with STARTTLS.
        tls_port: IMAP over TLS.
        lmtp_port: Delivery, where Debian's dovecot-lmtpd is installed.
        sasl_port: Logins of a Postfix.
        certificate: The file of the certificate that a client must trust.
    """

    def __init__(
        self,
        folder: Path,
        *,
        max_connections: int = 20,
        introspection_url: str = "",
        users: Sequence[str] = USERS,
    ) -> None:
        """*introspection_url* tells whose an access token is; "": no logins by token."""
        self._program = program("dovecot", "/usr/sbin")
        if (reason := own_servers_dovecot.missing()) is not None:
            leave_out(reason)
        self.folder = folder
        self.port, self.tls_port = free_port(), free_port()
        self.lmtp_port, self.sasl_port = free_port(), free_port()
        self.certificate = folder / "tls.pem"
        # Dovecot delivers no mail as root.
        self._as_user = []
        user, group = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name
        if os.getuid() == 0:
            user, group = "nobody", "nogroup"
            self._as_user = [program("setpriv"), "--reuid=nobody", "--regid=nogroup"]
            self._as_user.append("--clear-groups")
        for name in ("run", "state", "mail", "raw"):
            (folder / name).mkdir()
        for name in USERS:
            (folder / "raw" / name).mkdir()
        (folder / "users").write_text(
            "".join(f"{name}@{DOMAIN}:{{PLAIN}}{name}-secret::::::\n" for name in users)
        )
        certificate_text, key = certificate("Dovecot", "localhost")
        self.certificate.write_bytes(certificate_text)
        (folder / "tls.key").write_bytes(key)
        (folder / "dovecot.conf").write_text(
            CONFIGURATION.format(
                folder=folder,
                user=user,
                group=group,
                domain=DOMAIN,
                port=self.port,
                tls_port=self.tls_port,
                lmtp_port=self.lmtp_port,
                sasl_port=self.sasl_port,
                lmtp=" lmtp" if Path("/usr/lib/dovecot/lmtp").exists() else "",
                max_connections=max_connections,
                token_mechanisms=" xoauth2 oauthbearer" if introspection_url else "",
                token_passdb=TOKEN_PASSDB.format(folder=folder) if introspection_url else "",
            )
        )
        (folder / "oauth2.conf").write_text(TOKEN_CONFIGURATION.format(url=introspection_url))
        folder.chmod(0o711)
        if os.getuid() == 0:
            for path in [folder, *folder.rglob("*")]:
                shutil.chown(path, user, group)
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [*self._as_user, self._program, "-F", "-c", self.folder / "dovecot.conf"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        wait_for(self.port)
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
        self._process.terminate()
        self._process.wait(60)

    def kill(self) -> None:
        """End the server and every session, without a word to the clients."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(60)
        wait_until_closed(self.port, self.tls_port)

    def freeze(self) -> None:
        os.killpg(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.killpg(self._process.pid, signal.SIGCONT)

    def url(self, *, tls: bool = True) -> str:
        """The address of the server for `Endpoint.parse`."""
        return f"imaps://localhost:{self.tls_port}" if tls else f"imap://localhost:{self.port}"

    def subjects(self, user: str, folder: str) -> Counter[str]:
        """The subjects of the messages in a folder, as the server itself lists them."""
        words = ["-f", "flow", "fetch", "-u", f"{user}@{DOMAIN}", "hdr.subject", "mailbox", folder]
        return Counter(re.findall(r"(?m)^hdr.subject=(.*)$", self.doveadm(*words)))

    def doveadm(self, *words: str) -> str:
        """Run a command of the server's administrator; return its output."""
        command = [*self._as_user, "doveadm", "-c", self.folder / "dovecot.conf", *words]
        run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        return run.stdout

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
    *, max_connections: int = 20, introspection_url: str = "", users: Sequence[str] = USERS
) -> Iterator[Dovecot]:
    folder = Path(tempfile.mkdtemp(prefix="dovecot"))
    try:
        server = Dovecot(
            folder,
            max_connections=max_connections,
            introspection_url=introspection_url,
            users=users,
        )
        try:
            yield server
        finally:
            server.thaw()
            server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
