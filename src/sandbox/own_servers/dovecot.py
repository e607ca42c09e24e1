"""
The mailboxes of the demo: Dovecot on a loopback port, without encryption.

The tests run a Dovecot by the same configuration, with settings of their own (`tests/helpers`).
"""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.own_servers import processes
from sandbox.own_servers.processes import Process, free_port

PACKAGE = "dovecot-imapd"
_VERSION = "2.3."  # later ones have another syntax of settings: see CONTRIBUTING.md
_FILE = "dovecot.conf"
_LMTP = Path("/usr/lib/dovecot/lmtp")  # of the package dovecot-lmtpd

_COMMON_SETTINGS = """
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/dovecot.log
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
protocols = imap{lmtp}
listen = 127.0.0.1
hostname = mail.{domain}
postmaster_address = postmaster@{domain}
disable_plaintext_auth = no
first_valid_uid = 1
first_valid_gid = 1
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {ports.imap}
  }}
}}
service lmtp {{
  inet_listener lmtp {{
    port = {ports.lmtp}
  }}
}}
service auth {{
  inet_listener {{
    port = {ports.sasl}
  }}
}}
passdb {{
  driver = passwd-file
  args = username_format=%u {folder}/users
}}
userdb {{
  driver = passwd-file
  args = username_format=%u {folder}/users
  override_fields = uid={user} gid={group} home={folder}/mail/%n
}}
namespace inbox {{
  inbox = yes
  separator = /
{mailboxes}
}}
protocol imap {{
  imap_capability = +SPECIAL-USE
}}
"""
_DEMO_SETTINGS = """
ssl = no
auth_mechanisms = plain login
mail_location = maildir:~/Maildir
service imap-login {
  inet_listener imaps {
    port = 0
  }
}
"""
_MAILBOX = """  mailbox {name} {{
    special_use = \\{name}
    auto = subscribe
  }}"""
_MAILBOXES = ("Drafts", "Sent", "Trash", "Junk")


@dataclass(frozen=True, slots=True)
class Ports:
    """
    Loopback ports of a server.

    Attributes:
        imap: Without encryption.
        lmtp: Takes deliveries, where dovecot-lmtpd is installed.
        sasl: Takes logins of a Postfix.
    """

    imap: int
    lmtp: int
    sasl: int


@dataclass(frozen=True, slots=True)
class Dovecot:
    """A running server."""

    process: Process
    ports: Ports

    @property
    def url(self) -> str:
        """The address for the gateway."""
        return f"imap+plain://127.0.0.1:{self.ports.imap}"


def missing() -> str | None:
    """Return why there can be no Dovecot; None when there can."""
    path = processes.program("dovecot")
    if path is None:
        return f"Dovecot is not installed (package {PACKAGE})."
    shown = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 - a program of this machine
    if not shown.stdout.startswith(_VERSION):
        other = shown.stdout.strip() or "of another version"
        return f"Dovecot {other} is installed; the settings are those of Dovecot {_VERSION}x."
    return None


def can_deliver() -> bool:
    """Return whether the package is installed that takes deliveries."""
    return _LMTP.exists()


def write_configuration(
    folder: Path, ports: Ports, *, domain: str, passwords: Mapping[str, str], settings: str
) -> None:
    """
    Write a server's files into *folder*, whose `mail` holds a folder for each user.

    Args:
        folder: Of the server alone; the ordinary user then owns it.
        ports: What the server listens on.
        domain: Of the users.
        passwords: User name, with the domain -> password.
        settings: What the server has besides the common settings: at least `ssl`,
            `auth_mechanisms` and `mail_location`.
    """
    user, group = processes.ordinary_user()
    for name in ("run", "state"):
        (folder / name).mkdir()
    users = folder / "users"
    users.touch(mode=0o600)
    users.write_text(
        "".join(f"{name}:{{PLAIN}}{password}::::::\n" for name, password in passwords.items())
    )
    common = _COMMON_SETTINGS.format(
        folder=folder,
        user=user,
        group=group,
        domain=domain,
        ports=ports,
        lmtp=" lmtp" if can_deliver() else "",
        mailboxes="\n".join(_MAILBOX.format(name=name) for name in _MAILBOXES),
    )
    (folder / _FILE).write_text(settings + common)
    processes.own(folder)


def run(folder: Path, ports: Ports) -> Process:
    """
    Run a server by the configuration in *folder*.

    Raises:
        CannotStart: It does not start.
    """
    command = [*processes.as_ordinary_user(), processes.program("dovecot") or "", "-F", "-c"]
    return Process([*command, folder / _FILE], port=ports.imap, log=folder / "start.log")


def start(folder: Path, *, domain: str, passwords: Mapping[str, str]) -> Dovecot:
    """
    Start the demo's server over the mailboxes in `mail` of *folder*.

    Raises:
        CannotStart: It does not start.
    """
    ports = Ports(imap=free_port(), lmtp=free_port(), sasl=free_port())
    write_configuration(folder, ports, domain=domain, passwords=passwords, settings=_DEMO_SETTINGS)
    return Dovecot(run(folder, ports), ports)
