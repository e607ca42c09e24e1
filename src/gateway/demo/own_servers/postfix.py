"""Outgoing mail of the demo: Postfix on a loopback port, with the logins of its Dovecot."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gateway.demo.own_servers import processes
from gateway.demo.own_servers.dovecot import Dovecot
from gateway.demo.own_servers.processes import Process, free_port

_MAIN = """
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
virtual_transport = lmtp:inet:127.0.0.1:{lmtp_port}
mynetworks =
default_transport = discard:
alias_maps =
alias_database =
local_recipient_maps =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
smtpd_tls_security_level = none
smtpd_sasl_auth_enable = yes
smtpd_sasl_type = dovecot
smtpd_sasl_path = inet:127.0.0.1:{sasl_port}
smtpd_client_restrictions = permit_sasl_authenticated, reject
smtpd_recipient_restrictions = permit_sasl_authenticated, reject
smtpd_peername_lookup = no
smtp_dns_support_level = disabled
in_flow_delay = 0
"""
_MASTER = """
127.0.0.1:{port} inet n - n - - smtpd
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
    configuration: Path

    @property
    def url(self) -> str:
        """The address for the gateway."""
        return f"smtp+plain://127.0.0.1:{self.port}"

    def stop(self) -> None:
        """End it; its services have process groups of their own."""
        _stop(self.configuration)
        self.process.stop()


def missing() -> str | None:
    """Return why there can be no Postfix; None when there can."""
    if processes.program("postfix") is None:
        return "Postfix is not installed (package postfix)."
    if not processes.is_root():
        return "Postfix starts for root alone."
    return None


def start(folder: Path, dovecot: Dovecot, *, domain: str) -> Postfix:
    """
    Start it; mail to *domain* is delivered into the Dovecot, and other mail is discarded.

    Raises:
        CommandError: It does not start.
    """
    configuration, port = folder / "conf", free_port()
    for path in (configuration, folder / "spool", folder / "data"):
        path.mkdir()
        path.chmod(0o755)
    folder.chmod(0o755)
    shutil.chown(folder / "data", "postfix")
    (configuration / "main.cf").write_text(
        _MAIN.format(
            folder=folder, domain=domain, lmtp_port=dovecot.lmtp_port, sasl_port=dovecot.sasl_port
        )
    )
    (configuration / "master.cf").write_text(_MASTER.format(port=port))
    words = [*processes.ending_with_the_demo(), processes.program("postfix") or ""]
    command = [*words, "-c", str(configuration), "start-fg"]
    return Postfix(Process(command, port=port, log=folder / "start.log"), port, configuration)


def _stop(configuration: Path) -> None:
    command = [processes.program("postfix") or "", "-c", str(configuration), "stop"]
    subprocess.run(command, capture_output=True, check=False, timeout=30)  # noqa: S603 - a program of this machine
