"""
Outgoing mail of the demo: Postfix on a loopback port, with the logins of its Dovecot.

The tests run a Postfix by the same configuration, with listeners and settings of their own
(`tests/helpers`).
"""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sandbox.own_servers import processes
from sandbox.own_servers.dovecot import Dovecot, Ports
from sandbox.own_servers.processes import Process, free_port

_CONFIGURATION = "conf"
_COMMON_SETTINGS = """
compatibility_level = 3.6
queue_directory = {folder}/spool
data_directory = {folder}/data
maillog_file = {folder}/mail.log
maillog_file_prefixes = {folder}
myhostname = mail.{domain}
mydomain = {domain}
mydestination =
virtual_mailbox_domains = {domain}
virtual_mailbox_maps = static:all
virtual_transport = lmtp:inet:127.0.0.1:{ports.lmtp}
mynetworks =
default_transport = discard:
alias_maps =
alias_database =
local_recipient_maps =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
smtpd_sasl_type = dovecot
smtpd_sasl_path = inet:127.0.0.1:{ports.sasl}
smtpd_recipient_restrictions = permit_sasl_authenticated, reject_unauth_destination
smtpd_peername_lookup = no
smtp_dns_support_level = disabled
in_flow_delay = 0
"""
_DEMO_LISTENER = """
127.0.0.1:{port} inet n - n - - smtpd
  -o smtpd_tls_security_level=none
  -o smtpd_sasl_auth_enable=yes
  -o smtpd_client_restrictions=permit_sasl_authenticated,reject
"""
_SERVICES = """
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
proxymap unix - - n - - proxymap
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
lmtp unix - - n - - lmtp
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
showq unix n - n - - showq
postlog unix-dgram n - n - 1 postlogd
"""


@dataclass(frozen=True, slots=True)
class Postfix:
    """A running server."""

    process: Process
    port: int
    folder: Path

    @property
    def url(self) -> str:
        """The address for the gateway."""
        return f"smtp+plain://127.0.0.1:{self.port}"

    def stop(self) -> None:
        """End it."""
        stop(self.process, self.folder)


def missing() -> str | None:
    """Return why there can be no Postfix; None when there can."""
    if processes.program("postfix") is None:
        return "Postfix is not installed (package postfix)."
    if not processes.is_root():
        return "Postfix starts for root alone."
    return None


def write_configuration(
    folder: Path, ports: Ports, *, domain: str, listeners: str, settings: str = ""
) -> None:
    """
    Write a server's files into *folder*.

    Args:
        folder: Of the server alone.
        ports: Of the Dovecot that takes the deliveries to *domain* and checks the logins.
        domain: Mail to others is discarded.
        listeners: The entries of `master.cf` for what it listens on.
        settings: What `main.cf` has besides the common settings.
    """
    configuration = folder / _CONFIGURATION
    for path in (configuration, folder / "spool", folder / "data"):
        path.mkdir()
        path.chmod(0o755)
    folder.chmod(0o755)
    shutil.chown(folder / "data", "postfix")
    common = _COMMON_SETTINGS.format(folder=folder, domain=domain, ports=ports)
    (configuration / "main.cf").write_text(common + settings)
    (configuration / "master.cf").write_text(listeners + _SERVICES)


def run(folder: Path, port: int) -> Process:
    """
    Run a server by the configuration in *folder*, and wait until it listens on *port*.

    Raises:
        CannotStart: It does not start.
    """
    command = [*processes.ending_with_the_demo(), *_command(folder, "start-fg")]
    return Process(command, port=port, log=folder / "start.log")


def stop(process: Process, folder: Path) -> None:
    """End the server that runs in *folder*; its services have process groups of their own."""
    command = _command(folder, "stop")
    subprocess.run(command, capture_output=True, check=False, timeout=30)  # noqa: S603 - a program of this machine
    process.stop()


def start(folder: Path, dovecot: Dovecot, *, domain: str) -> Postfix:
    """
    Start the demo's server; mail to *domain* is delivered into the Dovecot.

    Raises:
        CannotStart: It does not start.
    """
    port = free_port()
    listener = _DEMO_LISTENER.format(port=port)
    write_configuration(folder, dovecot.ports, domain=domain, listeners=listener)
    return Postfix(run(folder, port), port, folder)


def _command(folder: Path, action: str) -> list[str]:
    return [processes.program("postfix") or "", "-c", str(folder / _CONFIGURATION), action]
