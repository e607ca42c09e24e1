"""The mailboxes of the demo: Dovecot on a loopback port, without encryption."""

import grp
import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gateway.demo.own_servers import processes
from gateway.demo.own_servers.processes import Process, free_port

PACKAGE = "dovecot-imapd"
_VERSION = "2.3."  # later ones have another syntax of settings: see CONTRIBUTING.md
_LMTP = Path("/usr/lib/dovecot/lmtp")  # of the package dovecot-lmtpd

_SETTINGS = """
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
ssl = no
disable_plaintext_auth = no
auth_mechanisms = plain login
first_valid_uid = 1
first_valid_gid = 1
mail_location = maildir:~/Maildir
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = 0
  }}
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
_MAILBOX = """  mailbox {name} {{
    special_use = \\{name}
    auto = subscribe
  }}"""
_MAILBOXES = ("Drafts", "Sent", "Trash", "Junk")


@dataclass(frozen=True, slots=True)
class Dovecot:
    """
    A running server.

    Attributes:
        lmtp_port: Takes deliveries; None: dovecot-lmtpd is not installed.
        sasl_port: Takes logins of a Postfix.
    """

    process: Process
    port: int
    lmtp_port: int | None
    sasl_port: int

    @property
    def url(self) -> str:
        """The address for the gateway."""
        return f"imap+plain://127.0.0.1:{self.port}"


def missing() -> str | None:
    """Return why there can be no Dovecot; None when there can."""
    path = processes.program("dovecot")
    if path is None:
        return f"Dovecot is not installed (package {PACKAGE})."
    shown = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 - a program of this machine
    if not shown.stdout.startswith(_VERSION):
        return f"These are the settings of Dovecot {_VERSION}x, and another version is installed."
    return None


def start(folder: Path, *, domain: str, passwords: dict[str, str]) -> Dovecot:
    """
    Start it over the mailboxes in `mail` of *folder*; *passwords* is user name -> password.

    Raises:
        CommandError: It does not start.
    """
    user, group = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name
    if processes.is_root():
        user, group = "nobody", "nogroup"
    for name in ("run", "state"):
        (folder / name).mkdir()
    port, lmtp_port, sasl_port = free_port(), free_port(), free_port()
    users = folder / "users"
    users.touch(mode=0o600)
    users.write_text(
        "".join(f"{name}:{{PLAIN}}{password}::::::\n" for name, password in passwords.items())
    )
    settings = folder / "dovecot.conf"
    settings.write_text(
        _SETTINGS.format(
            folder=folder,
            user=user,
            group=group,
            domain=domain,
            port=port,
            lmtp_port=lmtp_port,
            sasl_port=sasl_port,
            lmtp=" lmtp" if _LMTP.exists() else "",
            mailboxes="\n".join(_MAILBOX.format(name=name) for name in _MAILBOXES),
        )
    )
    processes.own(folder)
    command = [*processes.as_ordinary_user(), processes.program("dovecot") or "", "-F", "-c"]
    process = Process([*command, settings], port=port, log=folder / "start.log")
    return Dovecot(process, port, lmtp_port if _LMTP.exists() else None, sasl_port)
